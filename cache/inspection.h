// SPDX-License-Identifier: Apache-2.0
// What lies on a medium, for tools that look at it from outside. Nothing is changed, and nothing but checksums is
// trusted.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cache/superblock.h"
#include "cache/types.h"

namespace mezz {

struct Inspection {
  FoundSuperblock superblock;  // all else is filled in only if it is kWhole
  uint64_t segments = 0;
  uint64_t young = 0, proven = 0;  // segments that hold records
  uint64_t empty = 0;  // the others, without those of snapshot and tombstones: never filled, erased, of another life,
                       // or with damaged headers
  uint64_t filled_bytes = 0;  // from each segment's start to the end of its last record
  struct Records {
    uint64_t records = 0;
    uint64_t bytes = 0;  // of their payloads, as stored
    uint64_t packed = 0;
    uint64_t damaged = 0;  // with `verify`: payloads that do not match their checksum or code
  };
  std::array<Records, kBlockRoles> of_role{};  // records of blocks, older records of a key included
  Records dictionaries;
  // The same blocks by age: by tenths of the segments that hold records, the youngest first.
  struct Age {
    uint64_t segments = 0;
    Records blocks;
  };
  static constexpr size_t kAges = 10;
  std::array<Age, kAges> of_age{};
  // The same blocks by the session that wrote their files, as far as RocksDB's keys tell (SessionOf); those with most
  // bytes first.
  struct Session {
    uint32_t session = 0;
    uint64_t files = 0;  // at least; with more than kFilesMax in all, some are not told apart
    Records blocks;
  };
  static constexpr size_t kSessionsMax = 64, kFilesMax = size_t{1} << 20;
  std::vector<Session> sessions;
  uint64_t more_sessions = 0;  // sessions beyond kSessionsMax
  Records of_more_sessions;
  Records nameless;    // blocks whose keys name no file: they do not outlive the process
  bool keyed = false;  // stored with verify=keyed
  // Tombstones of erased keys. The records above include those that a tombstone erases.
  struct Tombstones {
    uint64_t segments = 0;
    uint64_t tombstones = 0;
    bool lost = false;  // some are damaged or missing, so no block of the medium is found again
  };
  Tombstones tombstones;
  uint64_t voids = 0;  // void records: space that was taken and never filled
  // The snapshot of the index that a clean close left.
  struct Snapshot {
    uint64_t segments = 0;  // whole ones; the others of a wrong snapshot count as empty
    uint64_t bytes = 0;
    uint64_t records = 0;
    std::string wrong;  // why it cannot be used. Empty: it can, or there is none (no segments)
  };
  Snapshot snapshot;
  // The medium is one of so many. If there are several, tombstones and snapshot are not looked for, as others may have
  // them.
  size_t members = 1;
  uint64_t unknown = 0;  // whole headers of a role or with flags that this program does not know
};

// The number of the session (one opening of a database) that wrote a block's file. RocksDB's key holds the lowest 24
// bits of the session's id, the last one first, in the upper bits of its second half. In a process RocksDB counts
// sessions up; in the next process it begins at any number. The database's own id is only in a hash. So a database that
// was opened several times shows as several sessions, and a file of more than 4 TiB too. Two sessions of different
// processes have the same number in one case of 16 million. REQUIRES: the key names a file.
constexpr uint32_t SessionOf(const BlockKey& key) { return static_cast<uint32_t>(key.words[1] >> 40); }

// Inspects a medium. `medium`: its bytes, or the first of them. `verify`: reads and checks all payloads. With the key
// of a keyed medium it checks their codes, else their checksums, which show damage but not who wrote them. REQUIRES: if
// there is a key, WhyOfNoUse(the superblock, key) is empty.
Inspection Inspect(std::span<const std::byte> medium, bool verify, const VerifyKey* key = nullptr);

}  // namespace mezz
