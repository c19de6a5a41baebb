// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cache/media/medium.h"
#include "cache/media/model.h"
#include "cache/status.h"
#include "cache/wal/wal_file.h"
#include "cache/wal/wal_layout.h"

namespace mezz {

enum class WalOutcome { kOk, kNotFound, kFull, kDirectoryFull, kNameTooLong, kIoError };
std::string_view ToString(WalOutcome outcome);

using WalUuid = std::array<uint64_t, 2>;
std::string ToString(const WalUuid& uuid);  // 32 hexadecimal digits

// What an opening found. `damaged` logs hold a valid chunk behind one that is not: no crash leaves that.
struct WalRecovery {
  uint64_t files = 0;
  uint64_t bytes = 0;
  uint64_t damaged = 0;
  uint64_t dropped_extents = 0;  // of an append that was under way
};

// Append-only files on a medium of fixed extents: what write-ahead logs need, and no more. Layout: wal_layout.h.
//
// Durable on return are Create, Rename, Remove and Truncate, each one step for whoever opens the medium after a crash;
// of appended bytes those that a Sync saw. A crash leaves of a file a prefix of what was appended, at least what was
// synced, never a byte of what lay there before. (On a medium of page granularity "crash" means the process's, and with
// `write_back` also the machine's.)
//
// Once the kernel could not write back, nothing is durable any more that was not before: whoever changes a file gets
// kIoError, now and ever after. Logs can still be read, and removed, which a crash may undo.
//
// A name is any string of 1 to kNameBytesMax bytes. Removed or replaced files can be read by who holds them; their
// extents are free when nobody does.
//
// Thread-safe; each file has one writer at a time, and any number of readers beside it. No call is made into a store
// from a forked child.
class WalStore {
 public:
  using Geometry = wal_layout::Geometry;
  using FilePtr = std::shared_ptr<WalFile>;

  struct Settings {
    MediumModelName model = MediumModelName::kNone;
    // Null: what is drained is durable. Else the bytes lie in a page cache, and this asks the kernel to write some
    // pages; not 0 if it cannot.
    int (*write_back)(void* pages, size_t bytes) = nullptr;
  };

  // Takes a medium that begins with our superblock (`existing`), and recovers its files; or formats it.
  static Status Open(std::unique_ptr<Medium> medium, bool existing, const Geometry& geometry, const Settings& settings,
                     std::shared_ptr<WalStore>* store);
  ~WalStore();

  // An empty file; replaces one of that name.
  WalOutcome Create(std::string_view name, FilePtr* file);
  FilePtr Find(std::string_view name) const;  // null if there is none
  // Replaces a file of the name `to`.
  WalOutcome Rename(std::string_view from, std::string_view to);
  WalOutcome Remove(std::string_view name);
  // All names that begin with `prefix`, sorted.
  std::vector<std::string> List(std::string_view prefix) const;

  // All of `bytes` or, where there is no room for all, none.
  WalOutcome Append(WalFile& file, std::span<const std::byte> bytes);
  WalOutcome Sync(WalFile& file);
  // `*file` becomes another object, which holds the first `length` bytes, or all and zeros behind.
  WalOutcome Truncate(FilePtr* file, uint64_t length);

  const Medium& medium() const { return *medium_; }
  // What has become of the file that the logs lie in, as the rest of a sentence that begins with its path, and what to
  // do. Empty: it is found again by the name it was opened by.
  std::string NameTrouble() const;
  // As Medium::WatchName. Call it once.
  void WatchName(const std::function<void()>& told) { medium_->WatchName(told); }
  const Geometry& geometry() const { return geometry_; }
  const WalUuid& uuid() const { return uuid_; }
  const WalRecovery& recovery() const { return recovery_; }
  uint64_t free_bytes() const;
  // The longest file that an empty store holds if it is appended in large pieces.
  uint64_t LongestFile() const;

 private:
  friend class WalFile;
  friend class WalRecoverer;
  struct ByName {
    using is_transparent = void;
    bool operator()(std::string_view a, std::string_view b) const { return a < b; }
  };

  WalStore(std::unique_ptr<Medium> medium, const Geometry& geometry, const Settings& settings);
  void Format();

  // Streams a multiple of 64 bytes.
  void Put(uint64_t at, const void* from, size_t bytes);
  // What was put is durable, and seen by all.
  void Drain() { medium_->Drain(); }
  // Beyond that, where the medium's bytes lie in a page cache.
  void Flush(uint64_t at, uint64_t bytes);
  void DrainAndFlush(uint64_t at, uint64_t bytes);

  void PutChunk(const WalFile::Extent& extent, uint64_t at, std::span<const std::byte> bytes);
  void PutExtentHeader(const WalFile::Extent& extent, uint64_t file, uint32_t ordinal);
  bool TakeExtents(size_t count, std::vector<WalFile::Extent>* taken);
  void GiveBack(const std::vector<WalFile::Extent>& extents);  // by ~WalFile

  // What an operation that needed the medium's health comes to.
  WalOutcome Health() const { return broken_.load(std::memory_order_acquire) ? WalOutcome::kIoError : WalOutcome::kOk; }

  uint64_t NextSerialLocked();
  // `spare`: slots that must stay free, so that a rename never lacks one.
  WalOutcome CheckEntryLocked(std::string_view name, size_t spare) const;
  // Takes a slot and makes the entry durable there.
  void PutEntryLocked(std::string_view name, WalFile* file);
  void EraseSlotLocked(uint32_t slot);
  void DropLocked(const FilePtr& file);

  const std::unique_ptr<Medium> medium_;
  const BusErrorWatch watch_;  // of its memory; what is read of it is not tried
  const Geometry geometry_;
  const Settings settings_;
  std::unique_ptr<Throttle> throttle_;  // null: no model
  WalUuid uuid_{};
  uint64_t seed_ = 0;  // of checksums, from the UUID
  WalRecovery recovery_;
  // false --a write-back failed, or the memory did not take a store: release--> true; loaded with acquire
  std::atomic<bool> broken_{false};

  mutable std::mutex mutex_;
  uint64_t serial_ = 0;  // guarded by mutex_, as all below
  std::map<std::string, FilePtr, ByName> files_;
  std::vector<uint32_t> free_slots_;
  std::deque<uint32_t> free_extents_;  // the longest free first: wear is spread
};

}  // namespace mezz
