// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "admission/decision_counters.h"
#include "admission/policy.h"
#include "cache/scm_tier.h"
#include "integration/dram_tier.h"
#include "integration/move_gate.h"
#include "integration/options.h"
#include "integration/policy_in_force.h"

namespace mezz {

// Both tiers of a live cache, as the flow between them needs them (TierFlow says what each function is for).
class LiveTiers {
 public:
  struct Block {
    const BlockKey& key;
    BlockRole role;
    size_t bytes;
    const BlockSource* source = nullptr;  // not null where it may come to a Put
    const Image* image = nullptr;         // of a block that comes from flash, if it is known
    bool evicted = false;                 // a move of bytes that DRAM had: a change of the key may overtake it
  };
  // The parts of the cache, which are its own and outlive this. `scm` is there once it is open, `gate` where moves
  // are guarded.
  struct Parts {
    const HybridCacheOptions& options;
    PolicyInForce& policy;
    DecisionCounters& decisions;
    const std::unique_ptr<ScmTier>& scm;
    const std::unique_ptr<MoveGate>& gate;
    const DramTier& dram;
  };
  explicit LiveTiers(const Parts& parts) : parts_(parts) {}

  BlockFacts FactsOf(const Block& block) const {
    return {.key = block.key,
            .role = block.role,
            .bytes = static_cast<uint32_t>(block.bytes),
            .scm_hollow = block.evicted && scm().IsHollow(),
            .past_dram = block.role == BlockRole::kBlob && keeps_blobs_from_dram()};
  }
  Policy& policy() const { return parts_.policy.get(); }
  bool keeps_blobs_from_dram() const { return parts_.options.blobs == BlobPlacement::kScm; }
  bool NoteDramEviction(const Block& block);
  bool packs() const { return parts_.options.scm.pack != PackMode::kOff; }
  std::optional<Codec> codec() const {
    const PackMode mode = parts_.options.scm.pack;
    return mode == PackMode::kAuto ? std::nullopt : CodecOf(mode);
  }
  void UseCodec(std::optional<Codec> codec);
  unsigned ZstdPercent() const { return scm().zstd_percent(); }
  bool grows() const { return scm().ready_bytes() < scm().capacity_bytes() && scm().PrepareStatus().ok(); }
  uint32_t PackedBytes(uint32_t bytes) const { return scm().PackedBytesExpected(bytes); }
  uint32_t ImageBytes(const Block& block) const;
  void NotePromoted(const Block& block) { scm().NotePromoted(block.key); }
  void Erase(const Block& block) { scm().Erase(block.key); }
  bool Put(const Block& block, Generation generation, Form form);
  void Count(Event event, BlockRole role) { scm().counters().Add(event, role); }
  void Count(DecisionPoint point, const Decision& decision, BlockRole role) {
    parts_.decisions.Add(point, decision, role);
  }
  // What both tiers have counted.
  CounterSnapshot Counters() const;
  uint64_t DramHits() const { return Counters()[Event::kDramHit]; }

 private:
  ScmTier& scm() const { return *parts_.scm; }

  const Parts parts_;
};

}  // namespace mezz
