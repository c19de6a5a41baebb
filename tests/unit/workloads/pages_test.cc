// SPDX-License-Identifier: Apache-2.0
#include "workloads/replay/processes/pages.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>

#include "cache/types.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

namespace mezz {
namespace {

constexpr size_t kHugePageBytes = 2 << 20;
constexpr size_t kBytes = 8 * kHugePageBytes;

// Private memory as malloc maps it.
class Heap {
 public:
  Heap() {
    memory_ = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(memory_, MAP_FAILED);
    std::memset(memory_, 1, kBytes);
  }
  ~Heap() { munmap(memory_, kBytes); }
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;

  // Whether this kernel makes huge pages of small ones.
  bool CanCollapse() const {
    const auto begin = RoundUp(reinterpret_cast<uint64_t>(memory_), kHugePageBytes);
    return madvise(reinterpret_cast<void*>(begin), kHugePageBytes, MADV_COLLAPSE) == 0;
  }

 private:
  void* memory_;
};

TEST(Pages, HeapsAreMadeHugeAndCounted) {
  if (!Heap().CanCollapse()) GTEST_SKIP() << "this kernel makes no huge pages of small ones";
  const Heap heap;
  const PageCounts before = PageCounts::Now();
  EXPECT_GT(before.resident_bytes, kBytes);
  UseHugePages();
  const PageCounts after = PageCounts::Now();
  EXPECT_GE(after.huge_bytes, before.huge_bytes + kBytes - 2 * kHugePageBytes) << "all but the ends";
  EXPECT_GT(after.huge_share(), before.huge_share());
  EXPECT_LE(after.huge_share(), 1);
}

}  // namespace
}  // namespace mezz
