// SPDX-License-Identifier: Apache-2.0
#include "admission/rocksdb_policies.h"

#include <algorithm>

namespace mezz {
namespace {

size_t Blocks(uint64_t bytes, const PolicyOptions& options) {
  return bytes / std::max<uint32_t>(options.block_bytes, 1);
}

// The blocks of the DRAM tier; if its size is not known, those of the SCM tier.
size_t DramBlocks(const PolicyOptions& options) {
  return Blocks(options.dram_bytes != 0 ? options.dram_bytes : options.scm_bytes, options);
}

}  // namespace

PlaceholderPolicy::PlaceholderPolicy(const PolicyOptions& options)
    : dram_dummies_(DramBlocks(options), options.seed),
      scm_dummies_(Blocks(options.scm_bytes, options), options.seed + 1) {}

Decision PlaceholderPolicy::OnMiss(const BlockFacts& block) {
  dram_dummies_.Take(HashOf(block.key));
  return {Action::kToDram, Reason::kPolicyDefault};
}

Decision PlaceholderPolicy::OnDramEviction(const BlockFacts& block) {
  if (block.in_scm) return {Action::kKeep, Reason::kClean};
  const uint64_t hash = HashOf(block.key);
  if (scm_dummies_.Take(hash)) return {Action::kToScm, Reason::kGhost};
  scm_dummies_.Insert(hash);
  return {Action::kDrop, Reason::kNoEvidence};
}

Decision PlaceholderPolicy::OnScmHit(const BlockFacts& block) {
  const uint64_t hash = HashOf(block.key);
  if (dram_dummies_.Take(hash)) {
    scm_dummies_.Insert(hash);
    return {Action::kMove, Reason::kGhost};
  }
  dram_dummies_.Insert(hash);
  return {Action::kInPlace, Reason::kNoEvidence};
}

size_t PlaceholderPolicy::dram_bytes() const {
  return sizeof(*this) - sizeof(dram_dummies_) - sizeof(scm_dummies_) + dram_dummies_.dram_bytes() +
         scm_dummies_.dram_bytes();
}

ThreeQueuePolicy::ThreeQueuePolicy(const PolicyOptions& options)
    : dram_dummies_(DramBlocks(options), options.seed), promoted_(DramBlocks(options), options.seed + 1) {}

Decision ThreeQueuePolicy::OnMiss(const BlockFacts& block) {
  const uint64_t hash = HashOf(block.key);
  dram_dummies_.Take(hash);
  promoted_.Take(hash);
  return {Action::kToDram, Reason::kPolicyDefault};
}

Decision ThreeQueuePolicy::OnDramEviction(const BlockFacts& block) {
  const bool promoted = promoted_.Take(HashOf(block.key));
  if (block.in_scm) return {Action::kKeep, Reason::kClean};
  if (promoted) return {Action::kDrop, Reason::kPolicyDefault};
  return {Action::kToScm, Reason::kPolicyDefault};
}

Decision ThreeQueuePolicy::OnScmHit(const BlockFacts& block) {
  const uint64_t hash = HashOf(block.key);
  if (dram_dummies_.Take(hash)) {
    promoted_.Insert(hash);
    return {Action::kPromote, Reason::kGhost};
  }
  dram_dummies_.Insert(hash);
  return {Action::kInPlace, Reason::kNoEvidence};
}

size_t ThreeQueuePolicy::dram_bytes() const {
  return sizeof(*this) - sizeof(dram_dummies_) - sizeof(promoted_) + dram_dummies_.dram_bytes() +
         promoted_.dram_bytes();
}

}  // namespace mezz
