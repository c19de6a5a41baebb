// SPDX-License-Identifier: Apache-2.0
#include "integration/warm_dram.h"

#include <algorithm>

#include "integration/compaction_thread.h"

namespace mezz {

void WarmDram::Open() {
  if (scm_.recovery().outcome == RecoveryReport::Outcome::kRecovered) budget_.Open(options_.WarmDramBytes());
}

// An earlier life had the block in DRAM; or was killed before it could tell, and the block is of a kind that DRAM gains
// most by.
bool WarmDram::Takes(const PinnedBlock& block) {
  if (block.carried() == Carried::kNo || OnCompactionThread()) return false;
  if (block.carried() != Carried::kFromDram && !IsMetadata(block.role())) return false;
  if (block.role() == BlockRole::kBlob && options_.blobs == BlobPlacement::kScm) return false;
  return budget_.Take(block.logical_bytes());
}

// More than half of the SCM tier is not written over for it: that is warm by itself. A child stores nothing, and the
// DRAM tier's locks may be held by threads that it does not have.
bool WarmDram::StartSaving() {
  if (options_.scm.scrub_on_close || scm_.figures().is_closed() || scm_.in_child() || scm_.medium().IsNameless())
    return false;
  save_left_ = std::min(options_.WarmDramBytes(), scm_.figures().capacity_bytes() / 2);
  if (!saves()) return false;
  save_until_ns_ = options_.NowNs() + HybridCacheOptions::kWarmSaveSeconds * 1'000'000'000;
  scm_.NoteDramGoes();
  return true;
}

bool WarmDram::WantsWrite(const BlockKey& key, BlockRole role) {
  if (!saves()) return false;
  if (key.file() == FileId{0} || scm_.IsForgotten(key.file())) return false;
  if (role == BlockRole::kBlob && options_.blobs == BlobPlacement::kScm) return false;
  if (scm_.NotePromoted(key)) return false;
  if (options_.NowNs() >= save_until_ns_) save_left_ = 0;
  return saves();
}

// Raw: packing would take most of the time. Reclaim may pack it.
void WarmDram::Write(const BlockKey& key, BlockRole role, size_t bytes, const BlockSource& source, bool was_hit) {
  if (bytes > save_left_) {
    save_left_ = 0;
    return;
  }
  const bool proven = was_hit || IsMetadata(role) || dram_.hit_bits() == nullptr;
  const Generation generation = proven ? Generation::kProven : Generation::kYoung;
  if (scm_.Put(key, role, bytes, source, generation) != PutResult::kStored) return;
  save_left_ -= bytes;
  scm_.NotePromoted(key);
}

}  // namespace mezz
