// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "cache/status.h"
#include "cache/wal/wal_layout.h"
#include "cache/wal/wal_store.h"

namespace mezz {

// Reads a formatted medium into a new store: who is there, how long, what is free. Leaves the medium so that a crash on
// the way, or right behind it, is recovered to the same.
class WalRecoverer {
 public:
  explicit WalRecoverer(WalStore& store) : store_(store) {}
  // Refuses a medium whose superblock is damaged or of another geometry.
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
  // Walks an extent's chunks, but not beyond `end` in the file. Returns the end in the file, and the one in the extent.
  struct Walk {
    uint64_t position;
    uint64_t at;
    size_t chunks;
  };
  Walk WalkChunks(const ExtentHeader& header, uint64_t end) const;
  bool IsChunk(const ExtentHeader& header, uint64_t at, uint32_t* bytes) const;
  // A chunk behind `at`, where the walk ended: what was drained before it was appended is damaged.
  bool ChunkBehind(const ExtentHeader& header, uint64_t at) const;
  void TellDamage(WalFile& file);
  void EraseExtent(uint32_t extent);
  // A line that is neither valid nor empty: half of what a crash cut short. What is written there next, cut short in
  // its turn, may have the very words that this one lacks, and would make it whole.
  void NoteTorn(uint64_t at);
  void EraseTorn();
  const std::byte* At(uint64_t at) const { return store_.medium().base() + at; }

  WalStore& store_;
  uint64_t serial_max_ = 0;
  std::vector<uint64_t> torn_;
  std::map<uint64_t, std::map<uint32_t, ExtentHeader>> by_file_;  // file -> ordinal -> header
  std::vector<bool> taken_;                                       // by extent
};

}  // namespace mezz
