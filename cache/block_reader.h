// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "cache/block_source.h"
#include "cache/fault_handler.h"
#include "cache/pinned_block.h"
#include "cache/tier_parts.h"
#include "cache/types.h"

namespace mezz {

// Finds blocks, and answers for those that it has found until they are released: asks the index, and then the stage;
// checks what it finds as ScmOptions::verify says; forgets and counts what is damaged.
//
// Thread-safe. Lock-free, unless the block is staged.
class BlockReader {
 public:
  BlockReader(TierParts& parts, FaultHandler* fault_handler) : parts_(parts), fault_handler_(fault_handler) {}

  // As ScmTier's functions of these names.
  PinnedBlock Find(const BlockKey& key, BlockRole role, Heat heat);
  bool Contains(const BlockKey& key);
  Held Compare(const BlockKey& key, size_t bytes, BlockSource source);
  void Unpin(const std::byte* payload) { parts_.log.Unpin(SegmentOf(payload)); }

  // As PinnedBlock's functions of these names.
  bool Unpack(const PinnedBlock& block, std::byte* to);
  std::optional<std::span<const std::byte>> SteadyBytes(const PinnedBlock& block);
  void RejectImage(const PinnedBlock& block);
  void Release(StagedBlocks::Slot slot) { parts_.stage->Unpin(slot); }

 private:
  bool FindInto(const BlockKey& key, BlockRole role, Heat heat, PinnedBlock* found);
  // Not inlined, like all that Find calls and a hit does not need.
  [[gnu::noinline]] bool FindElsewhere(const BlockKey& key, BlockRole role, Heat heat, PinnedBlock* found);
  [[gnu::noinline]] bool Miss(BlockRole role);  // counts it, and returns false
  bool TakeStaged(const BlockKey& key, Heat heat, PinnedBlock* found);
  bool Take(Index::Entry entry, KeyReader& reader, Heat heat, PinnedBlock* found);
  bool PayloadFails(const record::Header& header, IndexWord word, bool unproven);
  [[gnu::noinline]] bool TakePacked(const record::Header& header, IndexWord word, PinnedBlock* found);
  bool HasDictionaryOf(const layout::PackedPrefix& prefix, SegmentId segment) const;
  Held CompareStaged(const BlockKey& key, size_t bytes, BlockSource source);
  void ForgetRecord(const PinnedBlock& block);
  SegmentId SegmentOf(const std::byte* address) const { return parts_.log.SegmentAt(parts_.medium.OffsetOf(address)); }

  TierParts& parts_;
  FaultHandler* const fault_handler_;
};

}  // namespace mezz
