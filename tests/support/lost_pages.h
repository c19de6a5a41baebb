// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace mezz::test {

inline constexpr uint64_t kPageBytes = 4096;

// From now on whoever touches one of these pages gets SIGBUS, as behind the end of a file that was cut off; their bytes
// are lost. Both are multiples of a page.
inline void LosePages(std::byte* at, uint64_t bytes = kPageBytes) {
  const int empty = memfd_create("lost", 0);
  ASSERT_GE(empty, 0);
  // Not by its function, which the thread sanitizer takes for a write by this thread.
  ASSERT_NE(syscall(SYS_mmap, at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, empty, off_t{0}), -1);
  close(empty);
}

// That many pages, which can be lost. Its owner unmaps them.
class Pages {
 public:
  explicit Pages(uint64_t count) : bytes_(count * kPageBytes) {
    void* const made = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(made, MAP_FAILED);
    base_ = static_cast<std::byte*>(made);
  }
  ~Pages() { munmap(base_, bytes_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  std::byte* base() const { return base_; }
  std::span<const std::byte> all() const { return {base_, bytes_}; }

 private:
  const uint64_t bytes_;
  std::byte* base_ = nullptr;
};

}  // namespace mezz::test
