// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "admission/curves/block_event.h"
#include "admission/lineage.h"
#include "cache/types.h"

namespace mezz {

// The number of a block of a trace in memory: 0 to unique() - 1, in the order of first appearance.
using BlockId = uint32_t;
inline constexpr BlockId kNoBlock = UINT32_MAX;

// What is known of blocks, indexed by their numbers.
struct TraceBlocks {
  std::vector<uint64_t> keys;
  std::vector<uint32_t> bytes;   // empty: unit_bytes each
  std::vector<BlockRole> roles;  // empty: data
};

// What happens between two accesses (BlockEvent), as the models run it.
struct TraceEvent {
  uint64_t before = 0;  // the access that it comes before
  uint64_t time_us = 0;
  BlockEventKind kind = BlockEventKind::kFileDeleted;
  BlockId block = kNoBlock;       // kFileDeleted: none
  uint32_t keys = 0;              // in the block; 0: not known
  uint32_t first = 0, count = 0;  // of TraceEvents::shares (kCompacted) or dead (kFileDeleted)
  Lineage lineage{};              // as recorded, of kFlushed and of kCompacted without shares
};
struct TraceEvents {
  std::vector<TraceEvent> events;  // by `before`
  std::vector<ParentShare<BlockId>> shares;
  std::vector<BlockId> dead;

  std::span<const ParentShare<BlockId>> SharesOf(const TraceEvent& event) const {
    if (event.kind != BlockEventKind::kCompacted) return {};
    return {shares.data() + event.first, event.count};
  }
  std::span<const BlockId> DeadOf(const TraceEvent& event) const { return {dead.data() + event.first, event.count}; }
};

// Accesses in memory, as the models of the tiers run them: dense block numbers instead of keys.
class BlockTrace {
 public:
  BlockTrace() = default;
  // A trace of these blocks. Its accesses are set later, several times where they come in parts. REQUIRES: they are
  // accesses to these blocks.
  BlockTrace(std::string name, uint32_t unit_bytes, TraceBlocks blocks);
  void SetAccesses(std::vector<BlockId> accesses) { accesses_ = std::move(accesses); }
  std::vector<BlockId> TakeAccesses() { return std::exchange(accesses_, {}); }

  const std::string& name() const { return name_; }
  const TraceEvents& events() const { return events_; }  // none: nobody writes, or the trace does not tell
  const std::vector<BlockId>& accesses() const { return accesses_; }
  uint32_t unique() const { return static_cast<uint32_t>(blocks_.keys.size()); }
  uint64_t key(BlockId block) const { return blocks_.keys[block]; }
  const std::vector<uint64_t>& keys() const { return blocks_.keys; }
  uint32_t bytes(BlockId block) const { return blocks_.bytes.empty() ? unit_bytes_ : blocks_.bytes[block]; }
  BlockRole role(BlockId block) const { return blocks_.roles.empty() ? BlockRole::kData : blocks_.roles[block]; }
  bool has_time() const { return !time_us_.empty(); }
  const std::vector<uint64_t>& time_us() const { return time_us_; }  // by access; empty where the trace has none
  uint32_t unit_bytes() const { return unit_bytes_; }
  uint64_t footprint_bytes() const { return footprint_bytes_; }

 protected:
  std::string name_;
  uint32_t unit_bytes_ = 0;
  TraceBlocks blocks_;
  std::vector<BlockId> accesses_;
  std::vector<uint64_t> time_us_;
  TraceEvents events_;
  uint64_t footprint_bytes_ = 0;
};

}  // namespace mezz
