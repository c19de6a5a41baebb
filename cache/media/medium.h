// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cache/base/words.h"
#include "cache/media/bus_errors.h"
#include "cache/media/child_rules.h"
#include "cache/options.h"
#include "cache/status.h"

namespace mezz {

class Preparer;

// How a store becomes durable, as libpmem2 grants it for a mapping.
enum class StoreGranularity { kByte, kCacheLine, kPage };
template <>
inline constexpr Words<3> kWordsOf<StoreGranularity> = {"byte", "cache line", "page"};

// What every report says about the medium.
struct MediumInfo {
  std::string description;  // "file /mnt/pmem0/mezz (ext4-dax)", "numa node 1", "DRAM of this process"
  StoreGranularity granularity = StoreGranularity::kPage;
  bool persistent_memory = false;  // real persistent memory: the kernel granted MAP_SYNC, or it is devdax
  // Whether the medium stands in for another one: a model adds a device's time, or the page cache of a file on disk
  // serves as memory. DRAM that is used as DRAM, in the process, on tmpfs or on a node with CPUs, stands in for
  // nothing.
  bool emulated = true;
};

// The bytes [begin, end) of a medium.
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
  // Where its members begin, if it is several media; else 0 alone. Copies of the superblock stand at each of them.
  const std::vector<uint64_t>& begins() const { return begins_; }
  // `address` lies on the medium.
  uint64_t OffsetOf(const std::byte* address) const { return static_cast<uint64_t>(address - base_); }
  // What is there of one of them.
  virtual const MediumInfo& member_info(size_t /*member*/) const { return info_; }
  // The member that the byte at `offset` belongs to.
  size_t MemberAt(uint64_t offset) const {
    return static_cast<size_t>(std::ranges::upper_bound(begins_, offset) - begins_.begin()) - 1;
  }

  // Streams `bytes` from `from` to `to` with non-temporal stores. `to` is 64-byte aligned and on the medium; `bytes` is
  // a multiple of 64. The stores of one thread become visible to others once that thread calls Drain(); with a
  // granularity of kByte or kCacheLine they are then durable too. False: the memory failed, and the bus error was
  // contained (bus_errors.h); some of the bytes may have been stored.
  [[nodiscard]] bool Stream(std::byte* to, const void* from, size_t bytes) const {
    return BusErrors::Try([&] { stream_(to, from, bytes); });
  }
  void Drain() const { drain_(); }
  // Drains, and waits until these bytes, which this thread streamed, are as durable as the medium can make them,
  // whatever its granularity. With kPage that is an msync, which takes milliseconds. False: the system could not write
  // them back. Trying again proves nothing, as the system may have forgotten that they must be written.
  [[nodiscard]] bool Persist(const std::byte* from, size_t bytes) const {
    drain_();
    return persist_ == nullptr || persist_(from, bytes);
  }
  // Several media: until this call the destructor undoes what was done to make new ones.
  virtual void KeepChanges() {}
  // Lets the medium end after bytes(). A file that was larger keeps its end until this call, which comes once the
  // superblock says that the medium is smaller now.
  virtual void GiveUpRest() const {}
  // How many bytes from its beginning the medium held before it was opened. The rest reads as zeros.
  virtual uint64_t bytes_before() const { return 0; }
  // What is wrong with the name of the medium's file, as the rest of a sentence whose subject is the medium. Empty: the
  // file is found by the name that it was opened by, or never had a name. Takes about 2 us.
  virtual std::string NameTrouble() const { return {}; }
  // Whether the file has no name any more. Nobody can open it again then, so nothing need be kept in it.
  virtual bool IsNameless() const { return false; }
  // From now on, while the medium lives, `told` is called once when there is NameTrouble, with that, by a thread of the
  // medium; of several media once for each. It may throw std::bad_alloc alone, which is left at that. Does nothing
  // where the system does not tell of changes. Call it once.
  virtual void WatchName(const std::function<void(std::string_view trouble)>& /*told*/) {}
  // The ranges that the kernel knew to be bad when the medium was opened; a load or store there may end the process.
  // Empty if the kernel does not tell.
  virtual std::vector<BadRange> BadRanges() const { return {}; }

 protected:
  Medium() = default;

  ChildRules child_rules_;
  std::byte* base_ = nullptr;
  uint64_t bytes_ = 0;
  std::vector<uint64_t> begins_{0};
  MediumInfo info_;
  void (*stream_)(void* to, const void* from, size_t bytes) = nullptr;
  void (*drain_)() = nullptr;
  bool (*persist_)(const void* from, size_t bytes) = nullptr;  // null: a drain suffices, or nothing can persist
};

// Opens and maps a medium, and formats nothing. Before a byte is changed it returns an error for what it must not use:
// a missing parent, a directory, a symbolic link, foreign bytes, a file that another process has locked or that is
// read-only, or a file system or node that is too small. Then it reserves the space and prefaults it. `*existing` tells
// whether the medium already has a superblock of ours.
//
// With a `preparer` and options.prepare == kBackground only a first part is ready on return: kFirstBytesMin or
// kSegmentsMin segments, whichever is more. The caller must then start `*preparer`, which prepares the rest, and
// destroy it before the medium. Otherwise everything is ready, and `*preparer` has nothing to do.
Status OpenMedium(const ScmOptions& options, std::unique_ptr<Medium>* medium, bool* existing,
                  std::unique_ptr<Preparer>* preparer = nullptr);
inline constexpr uint64_t kFirstBytesMin = 16 << 20;

// For tests: is given the medium that was opened, and gives what is used instead. Empty: that medium is used.
using WrapMedium = std::function<std::unique_ptr<Medium>(std::unique_ptr<Medium>)>;

}  // namespace mezz
