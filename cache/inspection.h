// SPDX-License-Identifier: Apache-2.0
// What lies on a medium, for who looks at it from outside: nothing is changed, and nothing but checksums is believed.
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
  FoundSuperblock superblock;  // the rest is of kWhole
  uint64_t segments = 0;
  uint64_t young = 0, proven = 0;  // segments that hold records
  uint64_t empty = 0;  // the others, but for those of snapshot and tombstones: never filled, erased, of another life,
                       // or damaged headers
  uint64_t filled_bytes = 0;  // from each segment's start to the end of its last record
  struct Records {
    uint64_t records = 0;
    uint64_t bytes = 0;  // of their payloads, as stored
    uint64_t packed = 0;
    uint64_t damaged = 0;  // with `verify`: payloads that do not match
  };
  std::array<Records, kBlockRoles> of_role{};  // of blocks; older records of a key too
  Records dictionaries;
  // Of the same blocks, in each tenth of the segments that hold records, as these were opened: the youngest first.
  struct Age {
    uint64_t segments = 0;
    Records blocks;
  };
  static constexpr size_t kAges = 10;
  std::array<Age, kAges> of_age{};
  // And by who wrote their files, as far as RocksDB's keys tell (SessionOf): those with most bytes first.
  struct Session {
    uint32_t session = 0;
    uint64_t files = 0;  // at least: with more than kFilesMax in all, some are not told apart
    Records blocks;
  };
  static constexpr size_t kSessionsMax = 64, kFilesMax = size_t{1} << 20;
  std::vector<Session> sessions;
  uint64_t more_sessions = 0;  // that have no place there
  Records of_more_sessions;
  Records nameless;    // of blocks whose keys name no file: they do not outlive the process
  bool keyed = false;  // by verify=keyed
  // Of erased keys: what lies before them of a key is counted above all the same.
  struct Tombstones {
    uint64_t segments = 0;
    uint64_t tombstones = 0;
    bool lost = false;  // some are damaged or missing: nothing of the medium is found again
  };
  Tombstones tombstones;
  uint64_t voids = 0;  // space that was taken and never filled
  // Of the index, as a clean close left it: who opens the medium with the same options need not look further.
  struct Snapshot {
    uint64_t segments = 0;  // whole ones; the rest of one that is wrong counts as empty
    uint64_t bytes = 0;
    uint64_t records = 0;
    std::string wrong;  // not empty: it is of no use. Empty, and no segments: there is none
  };
  Snapshot snapshot;
  uint64_t unknown = 0;  // whole headers of a role or with flags that this program does not know
};

// Which opening of which database wrote the file that a block belongs to. RocksDB's key holds, in the upper bits of its
// second half, the lowest 24 of the session's id, the last one first: RocksDB counts them up in a process and begins
// anywhere in the next one. The database's own id went into a hash. So a database that was opened several times shows
// as several sessions, two of different processes have the same number in one case of 16 million, and a file of more
// than 4 TiB shows as several. REQUIRES: the key names a file.
constexpr uint32_t SessionOf(const BlockKey& key) { return static_cast<uint32_t>(key.words[1] >> 40); }

// `medium`: its bytes, or the first of them. `verify`: reads all payloads, and checks them; with the key of a keyed
// medium against their codes, else against their checksums, which tell damage and not who made them. REQUIRES:
// WhyOfNoUse(the superblock, key) is empty, if there is a key.
Inspection Inspect(std::span<const std::byte> medium, bool verify, const VerifyKey* key = nullptr);

}  // namespace mezz
