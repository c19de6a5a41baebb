// SPDX-License-Identifier: Apache-2.0
#pragma once

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
#include <utility>
#include <vector>

#include "cache/media/medium.h"
#include "cache/status.h"
#include "cache/wal/wal_file.h"
#include "cache/wal/wal_medium.h"

namespace mezz {

// What an opening found. A `damaged` log has a valid chunk after one that is not valid, which no crash leaves.
struct WalRecovery {
  uint64_t files = 0;
  uint64_t bytes = 0;
  uint64_t damaged = 0;
  uint64_t dropped_extents = 0;  // of appends that a crash cut short
};

// Append-only files on a medium of fixed extents: what write-ahead logs need, and no more. Layout: wal_layout.h.
//
// Durability. Create, Rename, Remove and Truncate are durable on return, and each is one step for a crash. Appended
// bytes are durable after a Sync. A crash leaves a prefix of what was appended to a file, and at least all that was
// synced; never a byte that lay there before. (On a medium of page granularity "crash" means that of the process, and
// with `write_back` also that of the machine.)
//
// If the kernel cannot write back, nothing more becomes durable: every change of a file returns kIoError from then on.
// Logs can still be read. They can be removed too, but a crash may undo that.
//
// A name is any string of 1 to kNameBytesMax bytes. A removed or replaced file can still be read through its FilePtr.
// Its extents are free once no FilePtr is left.
//
// Thread-safe. Each file has one writer at a time, and any number of readers beside it. A forked child must not call
// into a store.
class WalStore {
 public:
  using Geometry = wal_layout::Geometry;
  using FilePtr = std::shared_ptr<WalFile>;
  using Settings = WalMedium::Settings;

  // Opens a store. With `existing` the medium begins with our superblock, and its files are recovered; without, it is
  // formatted.
  static Status Open(std::unique_ptr<Medium> medium, bool existing, const Geometry& geometry, const Settings& settings,
                     std::shared_ptr<WalStore>* store);

  // Creates an empty file, in place of one with that name.
  WalOutcome Create(std::string_view name, FilePtr* file);
  FilePtr Find(std::string_view name) const;  // null if there is none
  // Renames a file. A file with the name `to` is replaced.
  WalOutcome Rename(std::string_view from, std::string_view to);
  WalOutcome Remove(std::string_view name);
  // All names that begin with `prefix`, sorted.
  std::vector<std::string> List(std::string_view prefix) const;

  // Appends all of `bytes`, or none if there is no room for all.
  WalOutcome Append(WalFile& file, std::span<const std::byte> bytes);
  WalOutcome Sync(WalFile& file);
  // Makes `*file` another object, which has the first `length` bytes; beyond the old end they are zeros.
  WalOutcome Truncate(FilePtr* file, uint64_t length);

  const Medium& medium() const { return medium_.memory(); }
  // What is wrong with the name of the file that the logs lie in, and what to do, as the rest of a sentence whose
  // subject is its path. Empty: the file is found by the name that it was opened by.
  std::string NameTrouble() const;
  // Watches that name: see Medium::WatchName. Call it once.
  void WatchName(const std::function<void(std::string_view trouble)>& told) { medium_.WatchName(told); }
  const Geometry& geometry() const { return medium_.geometry(); }
  const WalUuid& uuid() const { return medium_.uuid(); }
  const WalRecovery& recovery() const { return recovery_; }
  uint64_t free_bytes() const;
  // The longest file that an empty store can hold, if it is appended in large pieces.
  uint64_t LongestFile() const;

 private:
  friend class WalFile;
  friend class WalRecoverer;
  struct ByName {
    using is_transparent = void;
    bool operator()(std::string_view a, std::string_view b) const { return a < b; }
  };

  WalStore(std::unique_ptr<Medium> medium, const Geometry& geometry, const Settings& settings)
      : medium_(std::move(medium), geometry, settings) {}
  bool TakeExtents(size_t count, std::vector<WalFile::Extent>* taken);
  void GiveBack(const std::vector<WalFile::Extent>& extents);  // called by ~WalFile

  uint64_t NextSerialLocked();
  // `spare`: slots that must stay free, so that a rename never lacks one.
  WalOutcome CheckEntryLocked(std::string_view name, size_t spare) const;
  // Takes a slot, and makes the entry durable there.
  void PutEntryLocked(std::string_view name, WalFile* file);
  void EraseSlotLocked(uint32_t slot);
  void DropLocked(const FilePtr& file);

  WalMedium medium_;
  WalRecovery recovery_;

  mutable std::mutex mutex_;
  uint64_t serial_ = 0;  // guarded by mutex_, as all below
  std::map<std::string, FilePtr, ByName> files_;
  std::vector<uint32_t> free_slots_;
  std::deque<uint32_t> free_extents_;  // the one that is free for longest first, to spread the wear
};

}  // namespace mezz
