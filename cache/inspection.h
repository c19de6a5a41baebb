// SPDX-License-Identifier: Apache-2.0
// What lies on a medium, for who looks at it from outside: nothing is changed, and nothing but checksums is believed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

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

// `medium`: its bytes, or the first of them. `verify`: reads all payloads, and checks them; with the key of a keyed
// medium against their codes, else against their checksums, which tell damage and not who made them. REQUIRES:
// WhyOfNoUse(the superblock, key) is empty, if there is a key.
Inspection Inspect(std::span<const std::byte> medium, bool verify, const VerifyKey* key = nullptr);

}  // namespace mezz
