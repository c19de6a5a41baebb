// SPDX-License-Identifier: Apache-2.0
#include "cache/media/populate.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "cache/media/bus_errors.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

namespace mezz {
namespace {

uint64_t PageBytes() {
  static const auto bytes = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

// Makes pages present and dirty without changing a byte, even if others write to them meanwhile.
void TouchPages(std::byte* at, uint64_t bytes) {
  for (uint64_t offset = 0; offset < bytes; offset += PageBytes()) {
    std::atomic_ref<uint8_t>(reinterpret_cast<uint8_t&>(at[offset])).fetch_or(0, std::memory_order_relaxed);
  }
}

long FaultsOfThisThread() {
  rusage usage{};
  return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_minflt + usage.ru_majflt : 0;
}

}  // namespace

bool KernelCanPopulate() {
  static const bool can = [] {
    void* page = mmap(nullptr, PageBytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return false;
    const bool populated = madvise(page, PageBytes(), MADV_POPULATE_WRITE) == 0;
    munmap(page, PageBytes());
    return populated;
  }();
  return can;
}

int TouchEnds(std::byte* at, uint64_t bytes, PageSize* pages) {
  const long before = FaultsOfThisThread();
  for (const uint64_t offset : {uint64_t{0}, bytes - PageBytes()}) {
    if (const int error = Populate(at + offset, PageBytes()); error != 0) return error;
  }
  // The kernel counts the faults of MADV_POPULATE_WRITE as this thread's: a second one means two pages.
  *pages = FaultsOfThisThread() - before <= 1 ? PageSize::kHuge : PageSize::kSmall;
  return 0;
}

int Collapse(std::byte* at, uint64_t bytes) { return madvise(at, bytes, MADV_COLLAPSE) == 0 ? 0 : errno; }

int Populate(std::byte* at, uint64_t bytes) {
  if (madvise(at, bytes, MADV_POPULATE_WRITE) == 0) return 0;
  if (errno != EINVAL) return errno;
  // An older kernel, or a kind of mapping that cannot be populated.
  return BusErrors::Try([&] { TouchPages(at, bytes); }) ? 0 : EIO;
}

}  // namespace mezz
