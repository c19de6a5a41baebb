// SPDX-License-Identifier: Apache-2.0
#include "cache/media/prefault.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <fstream>
#include <limits>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "cache/base/text.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

namespace mezz {
namespace {

constexpr uint64_t kChunkBytes = 16 << 20;

uint64_t PageBytes() { return static_cast<uint64_t>(sysconf(_SC_PAGESIZE)); }

// Makes a page present and dirty without changing it, whoever else writes to it.
void TouchPages(std::byte* at, uint64_t bytes) {
  for (uint64_t offset = 0; offset < bytes; offset += PageBytes()) {
    std::atomic_ref<uint8_t>(reinterpret_cast<uint8_t&>(at[offset])).fetch_or(0, std::memory_order_relaxed);
  }
}

// 0 or an errno. A hit in place touches two or three pages of the medium and little else, so 4 KiB pages would cost it
// as many page walks: 2 MiB pages are asked for where DAX does not give them anyway. Linux 6.1 collapses tmpfs and
// anonymous memory when told to, whatever its settings; where it will not, nothing is lost.
int PopulateChunk(std::byte* at, uint64_t bytes) {
  if (madvise(at, bytes, MADV_POPULATE_WRITE) == 0) {
    madvise(at, bytes, MADV_COLLAPSE);
    return 0;
  }
  if (errno != EINVAL) return errno;
  TouchPages(at, bytes);  // an older kernel, or a kind of mapping that cannot be populated
  return 0;
}

// Workers take chunks from a counter until none is left or one of them failed.
class Prefaulter {
 public:
  Prefaulter(std::byte* base, uint64_t bytes, const std::function<void(const PrefaultProgress&)>& on_progress)
      : base_(base), bytes_(bytes), on_progress_(on_progress) {}

  // 0 or the first errno.
  int Run(unsigned threads) {
    std::vector<std::jthread> helpers;
    try {
      for (unsigned i = 1; i < threads; ++i) helpers.emplace_back([this] { Work(); });
    } catch (const std::system_error&) {
      // Fewer threads only take longer.
    }
    Work();
    helpers.clear();
    return error_.load(std::memory_order_relaxed);
  }

 private:
  void Work() {
    while (error_.load(std::memory_order_relaxed) == 0) {
      const uint64_t offset = next_.fetch_add(kChunkBytes, std::memory_order_relaxed);
      if (offset >= bytes_) return;
      const uint64_t chunk = std::min(kChunkBytes, bytes_ - offset);
      if (const int error = PopulateChunk(base_ + offset, chunk); error != 0) {
        error_.store(error, std::memory_order_relaxed);
        return;
      }
      Report(chunk);
    }
  }

  void Report(uint64_t chunk) {
    if (!on_progress_) return;
    const std::scoped_lock lock(mutex_);
    done_ += chunk;
    on_progress_({.bytes_done = done_, .bytes_total = bytes_});
  }

  std::byte* const base_;
  const uint64_t bytes_;
  const std::function<void(const PrefaultProgress&)>& on_progress_;
  std::atomic<uint64_t> next_{0};  // grows past bytes_ by at most one chunk per worker
  std::atomic<int> error_{0};      // joined before it is read for the last time
  std::mutex mutex_;
  uint64_t done_ = 0;  // guarded by mutex_
};

unsigned ThreadCount(const ScmOptions& options, uint64_t bytes) {
  const unsigned wanted =
      options.prefault_threads != 0 ? options.prefault_threads : std::max(1u, std::thread::hardware_concurrency());
  return static_cast<unsigned>(std::min<uint64_t>(wanted, (bytes + kChunkBytes - 1) / kChunkBytes));
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

Status Prefault(std::byte* base, uint64_t bytes, const ScmOptions& options, std::string_view medium) {
  const int error = Prefaulter(base, bytes, options.on_prefault).Run(ThreadCount(options, bytes));
  switch (error) {
    case 0:
      return Status::Ok();
    case EFAULT:  // what a page fault that ends in SIGBUS becomes here: the file system is full
    case ENOMEM:
    case ENOSPC:
      return Status::NoSpace(
          fmt::format("{} ran out of space while {} were being reserved: free some or lower "
                      "capacity_bytes",
                      medium, ExactBytes(bytes)));
    default:
      return Status::IoError(
          fmt::format("{} could not be prefaulted ({}): use another medium", medium, ErrnoText(error)));
  }
}

uint64_t AvailableMemoryBytes() {
  std::ifstream meminfo("/proc/meminfo");
  for (std::string line; std::getline(meminfo, line);) {
    uint64_t kib = 0;
    if (std::sscanf(line.c_str(), "MemAvailable: %lu kB", &kib) == 1) return kib << 10;
  }
  return std::numeric_limits<uint64_t>::max();
}

Status CheckMemoryHolds(uint64_t bytes, std::string_view medium) {
  const uint64_t available = AvailableMemoryBytes();
  if (bytes <= available) return Status::Ok();
  return Status::NoSpace(fmt::format("{} needs {} of memory and the machine has {} available: lower capacity_bytes",
                                     medium, ExactBytes(bytes), ExactBytes(available)));
}

}  // namespace mezz
