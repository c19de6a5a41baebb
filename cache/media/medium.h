// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cache/media/bus_errors.h"
#include "cache/media/child_rules.h"
#include "cache/options.h"
#include "cache/status.h"

namespace mezz {

class Preparer;

// What a store must do to become durable, as libpmem2 grants it.
enum class StoreGranularity { kByte, kCacheLine, kPage };
std::string_view ToString(StoreGranularity granularity);

// What every report says about the medium.
struct MediumInfo {
  std::string description;  // "file /mnt/pmem0/mezz (ext4-dax)", "numa node 1", "DRAM of this process"
  StoreGranularity granularity = StoreGranularity::kPage;
  bool persistent_memory = false;  // real persistent memory: the kernel granted MAP_SYNC, or devdax
  // It stands in for another: a model adds a device's time, or the page cache of a disk's file serves as memory. DRAM
  // that is used as DRAM, in the process, on tmpfs or on a node with CPUs, stands in for nothing.
  bool emulated = true;
};

// [begin, end) of a medium, in bytes.
struct BadRange {
  uint64_t begin = 0, end = 0;
  bool Meets(uint64_t from, uint64_t to) const { return begin < to && from < end; }
};
inline bool AnyMeets(const std::vector<BadRange>& bad, uint64_t from, uint64_t to) {
  return std::ranges::any_of(bad, [&](const BadRange& range) { return range.Meets(from, to); });
}

// A mapped range of byte-addressable memory that belongs to this process until the Medium is destroyed. Reads are plain
// loads from base(). Thread-safe: callers write disjoint ranges, and only where the medium is ready (preparer.h).
//
// In a forked child the medium may be read, not written, and the child's destructor leaves file and lock alone
// (child_rules.h).
class Medium {
 public:
  virtual ~Medium() = default;
  Medium(const Medium&) = delete;
  Medium& operator=(const Medium&) = delete;

  std::byte* base() const { return base_; }
  uint64_t bytes() const { return bytes_; }
  const MediumInfo& info() const { return info_; }

  // Streams `bytes` from `from` to `to` with non-temporal stores. `to` is 64-byte aligned and on the medium; `bytes`
  // is a multiple of 64. The stores of one thread become visible to others, and durable where the granularity is
  // kByte or kCacheLine, once that thread calls Drain(). False: memory that is not there any more, contained
  // (bus_errors.h); some of the bytes may have been stored.
  [[nodiscard]] bool Stream(std::byte* to, const void* from, size_t bytes) const {
    return BusErrors::Try([&] { stream_(to, from, bytes); });
  }
  void Drain() const { drain_(); }
  // Until these bytes, which this thread streamed, are as durable as the medium can make them, whatever its
  // granularity: under kPage that is an msync, so milliseconds. Drains. False: the system could not write them back; it
  // may have forgotten that they are to be, so trying again proves nothing.
  [[nodiscard]] bool Persist(const std::byte* from, size_t bytes) const {
    drain_();
    return persist_ == nullptr || persist_(from, bytes);
  }
  // The medium may end after bytes(): a file that was larger keeps its end until what stands on it says that it is
  // smaller now.
  virtual void GiveUpRest() const {}
  // What of it held bytes before it was opened, from its beginning; what lies behind reads as zeros.
  virtual uint64_t bytes_before() const { return 0; }
  // What has become of the file that it lies in, as the rest of a sentence that begins with the medium. Empty: it is
  // found again by the name it was opened by, or never had one. Some 2 us.
  virtual std::string NameTrouble() const { return {}; }
  // The file has no name any more: nobody will open it again, so that nothing need be kept in it.
  virtual bool IsNameless() const { return false; }
  // From now on, while the medium lives, `told` is called once, when there is NameTrouble; by a thread of the medium's.
  // Where the system does not tell of it, nothing is done. Call it once.
  virtual void WatchName(const std::function<void()>& /*told*/) {}
  // What the kernel knew to be bad when the medium was opened: a load or store there may end the process. None where it
  // does not tell.
  virtual std::vector<BadRange> BadRanges() const { return {}; }

 protected:
  Medium() = default;

  ChildRules child_rules_;
  std::byte* base_ = nullptr;
  uint64_t bytes_ = 0;
  MediumInfo info_;
  void (*stream_)(void* to, const void* from, size_t bytes) = nullptr;
  void (*drain_)() = nullptr;
  bool (*persist_)(const void* from, size_t bytes) = nullptr;  // null: a drain does it, or nothing can
};

// Maps, checks, formats nothing: refuses what it must not use (missing parent, directory, symbolic link, foreign
// bytes, locked by another process, read-only, too small a file system or node) before a byte is changed, then
// reserves the space and prefaults it. `*existing` tells whether the medium already carries a superblock of ours.
//
// With a `preparer` and options.prepare == kBackground only a first part is ready on return: kFirstBytesMin or
// kSegmentsMin segments, whichever is more. The caller then starts `*preparer`, which does the rest, and destroys it
// before the medium. Otherwise all is ready, and so says `*preparer`.
Status OpenMedium(const ScmOptions& options, std::unique_ptr<Medium>* medium, bool* existing,
                  std::unique_ptr<Preparer>* preparer = nullptr);
inline constexpr uint64_t kFirstBytesMin = 16 << 20;

}  // namespace mezz
