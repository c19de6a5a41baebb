// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cache/types.h"

namespace mezz {

struct TierParts;

// The DRAM that a tier takes, in bytes. While it recovers it takes 4 MiB more.
struct ScmDram {
  uint64_t index = 0;
  uint64_t segments = 0;  // the segment table
  uint64_t packing = 0;
  uint64_t rest = 0;  // counters, the object itself

  uint64_t total() const { return index + segments + packing + rest; }
};

// What ScmTier::Audit derived anew from the index and the medium.
struct ScmAudit {
  uint64_t resident_blocks = 0;
  uint64_t resident_payload_bytes = 0;  // as stored
  uint64_t resident_logical_bytes = 0;  // of the blocks, unpacked
  uint64_t packed_blocks = 0;
  uint64_t live_pins = 0;
  uint64_t medium_bytes = 0;            // capacity in use
  uint64_t dram_bytes = 0;              // every structure of the tier
  std::vector<std::string> violations;  // empty: index, segments and counters agree
};

// One of several media.
struct MemberFigures {
  std::string description;
  // That may be used, as far as SetCapacity lets the tier use all of them; and that hold records.
  uint64_t bytes = 0, usage_bytes = 0;
  uint32_t faults = 0;
  bool is_out = false;  // it failed, and is not used any more
  Level level = Level::kFast;
};

// What a tier tells of itself. Counters has what happened; here is what is.
//
// Thread-safe. Changes nothing of what the tier does; TakeLongestReclaim begins anew. Cheap, except where noted.
class ScmFigures {
 public:
  explicit ScmFigures(TierParts& parts) : parts_(parts) {}

  // The capacity in use, without segments whose memory failed. 0 if the tier is closed.
  uint64_t capacity_bytes() const;
  // Bytes of segments that hold records.
  uint64_t usage_bytes() const;
  uint64_t resident_blocks() const;
  // Bytes of segments that are pinned now. Walks the segment table: tens of microseconds for 10,000 segments.
  uint64_t pinned_bytes() const;
  // Empty if the tier has one medium. Walks the segment table.
  std::vector<MemberFigures> MembersNow() const;
  ScmDram dram() const;

  // Whether the tier has closed itself, or is about to (ScmOptions::faults_max).
  bool is_closed() const;
  // Faults of the medium since it was opened: bytes that were whole in this life and are not any more.
  uint32_t faults() const;
  // Those of the faults that were contained bus errors.
  uint64_t bus_errors() const;
  // Bytes of the segments that are out of use, because their memory failed or holds bad blocks.
  uint64_t quarantined_bytes() const;

  size_t max_block_bytes() const;
  // How many bytes a block of `bytes` would probably take packed, judged by those packed of late.
  uint32_t PackedBytesExpected(uint32_t bytes) const;
  // The size that zstd packs to of late, in percent of LZ4's. REQUIRES: the tier's pack is PackMode::kAuto.
  unsigned zstd_percent() const;
  // Puts that staged their block; and puts that packed it themselves, because the stage was full.
  uint64_t staged_puts() const;
  uint64_t unstaged_puts() const;
  // Tombstones that erase=durable wrote since Open.
  uint64_t tombstones_written() const;
  // The most records that one thread settled in one stay in reclaim, since the last call of this: a measure of how long
  // a put may have waited.
  uint64_t TakeLongestReclaim() const;

  // Calls `visit(key, bytes of the block, role)` for resident blocks. Concurrent changes may be seen or not. While the
  // index grows, a block may be visited twice. Reads each record's header.
  void ForEach(const std::function<void(const BlockKey&, size_t, BlockRole)>& visit) const;
  // The bytes that resident blocks of files with `such` take on the medium. Staged blocks take none yet. Reads each
  // record's header.
  uint64_t RecordBytesOf(const std::function<bool(FileId)>& such) const;

 private:
  TierParts& parts_;
};

}  // namespace mezz
