// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "cache/status.h"
#include "cache/wal/wal_layout.h"
#include "cache/wal/wal_store.h"

namespace mezz {

// Reads a formatted medium into a new store: which files there are, how long they are, and which extents are free. A
// crash during the recovery, or right after it, is recovered to the same.
class WalRecoverer {
 public:
  explicit WalRecoverer(WalStore& store) : store_(store), medium_(store.medium_) {}
  // Recovers the store. An error if the superblock is damaged or of another geometry.
  Status Recover();

 private:
  using ExtentHeader = wal_layout::ExtentHeader;
  struct Slot {
    wal_layout::Entry entry;
    uint32_t number;
    std::string name;
  };

  Status ReadSuperblock();
  std::vector<Slot> ReadDirectory();
  void ReadExtents();
  void StartEpoch();
  void RecoverFile(WalFile& file);
  // Walks an extent's chunks, but not beyond the position `end` of the file. Returns where the walk ended, in the file
  // and in the extent.
  struct Walk {
    uint64_t position;
    uint64_t at;
    size_t chunks;
  };
  Walk WalkChunks(const ExtentHeader& header, uint64_t end) const;
  bool IsChunk(const ExtentHeader& header, uint64_t at, uint32_t* bytes) const;
  // Whether a chunk lies after `at`, where the walk ended. Then bytes that were drained before it are damaged.
  bool ChunkBehind(const ExtentHeader& header, uint64_t at) const;
  void TellDamage(WalFile& file);
  void EraseExtent(uint32_t extent);
  // Notes a line that is neither valid nor empty, left by a write that a crash cut short. A later write there, cut
  // short too, could add the words that this one lacks, and so make it valid.
  void NoteTorn(uint64_t at);
  void EraseTorn();
  const std::byte* At(uint64_t at) const { return medium_.memory().base() + at; }

  WalStore& store_;
  WalMedium& medium_;
  uint64_t serial_max_ = 0;
  std::vector<uint64_t> torn_;
  std::map<uint64_t, std::map<uint32_t, ExtentHeader>> by_file_;  // file -> ordinal -> header
  std::vector<bool> taken_;                                       // indexed by extent
};

}  // namespace mezz
