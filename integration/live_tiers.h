// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "admission/decision_counters.h"
#include "admission/policy.h"
#include "cache/scm_tier.h"
#include "integration/database_shares.h"
#include "integration/dram_tier.h"
#include "integration/move_gate.h"
#include "integration/options.h"
#include "integration/policy_in_force.h"

namespace mezz {

// Both tiers of a live cache, with the functions that the flow between them needs. TierFlow says what each is for.
class LiveTiers {
 public:
  struct Block {
    const BlockKey& key;
    BlockRole role;
    size_t bytes;
    const BlockSource* source = nullptr;  // not null where a Put may follow
    const Image* image = nullptr;         // for a block that comes from flash; null if not known
    bool evicted = false;                 // true if DRAM had the bytes, so a change of the key may overtake the move
    PackedBy packed_by = PackedBy::kCaller;
    ShareId share = kNoShare;  // whose block it is
  };
  // The parts of the cache, which owns them; they must outlive this. `scm` is null until the cache is open, and `gate`
  // is null unless moves are guarded.
  struct Parts {
    const HybridCacheOptions& options;
    PolicyInForce& policy;
    DecisionCounters& decisions;
    const std::unique_ptr<ScmTier>& scm;
    const std::unique_ptr<MoveGate>& gate;
    const DramTier& dram;
    const DatabaseShares& databases;
  };
  explicit LiveTiers(const Parts& parts) : parts_(parts) {}

  BlockFacts FactsOf(const Block& block) const {
    return {.key = block.key,
            .role = block.role,
            .bytes = static_cast<uint32_t>(block.bytes),
            .scm_sparse = block.evicted && scm().IsSparse(),
            .bypass_dram = block.role == BlockRole::kBlob && keeps_blobs_from_dram()};
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
  unsigned ZstdPercent() const { return scm().figures().zstd_percent(); }
  bool grows() const {
    return scm().preparer().ready_bytes() < scm().figures().capacity_bytes() && scm().preparer().status().ok();
  }
  uint32_t PackedBytes(uint32_t bytes) const { return scm().figures().PackedBytesExpected(bytes); }
  uint32_t ImageBytes(const Block& block) const;
  void NotePromoted(const Block& block) { scm().NotePromoted(block.key); }
  void Erase(const Block& block) { scm().Erase(block.key); }
  bool Put(const Block& block, Generation generation, Form form);
  void Count(Event event, BlockRole role) { scm().counters().Add(event, role); }
  void Count(DecisionPoint point, const Decision& decision, BlockRole role) {
    parts_.decisions.Add(point, decision, role);
  }
  // The counters of both tiers.
  CounterSnapshot Counters() const;
  uint64_t DramHits() const { return Counters()[Event::kDramHit]; }

 private:
  ScmTier& scm() const { return *parts_.scm; }

  const Parts parts_;
};

}  // namespace mezz
