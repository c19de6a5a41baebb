// SPDX-License-Identifier: Apache-2.0
#include "admission/miniature_tier.h"

#include <algorithm>

namespace mezz {

MiniatureTier::MiniatureTier(Strictness strictness, size_t records, MiniatureSample* sample)
    : sample_(*sample),
      strictness_(strictness),
      young_(strictness <= Strictness::kLatest ? 0 : records),
      proven_(records) {}

void MiniatureTier::StartAnew() {
  young_.Clear();
  proven_.Clear();
  used_bytes_ = young_bytes_ = 0;
  hits_ = write_cost_ = dropped_frequency_ = 0;
  hits_in_turn_ = 0;
  filled_ = false;
}

void MiniatureTier::Decay(double by) {
  hits_ *= by;
  write_cost_ *= by;
}

void MiniatureTier::Hit(SampledKey* key) {
  View& view = ViewOf(key);
  view.heat = std::min(view.heat + 1u, 3u);
  hits_ += 1;
  ++hits_in_turn_;
}

void MiniatureTier::Forget(SampledKey* key) {
  View& view = ViewOf(key);
  if (view.place == Place::kNowhere) return;
  assert(used_bytes_ >= key->bytes && (view.place != Place::kYoung || young_bytes_ >= key->bytes));
  used_bytes_ -= key->bytes;
  if (view.place == Place::kYoung) young_bytes_ -= key->bytes;
  view.place = Place::kNowhere;
  view.number = 0;
}

unsigned MiniatureTier::Demote(SampledKey* key, bool was_hit) {
  if (Holds(*key)) return 0;
  if (filled_ && !Admits(key, was_hit)) {
    LeaveGhost(key);
    return 0;
  }
  const bool proven = strictness_ <= Strictness::kLatest || (strictness_ != Strictness::kDramFirst && HasGhost(key));
  const unsigned walked = MakeRoom(key->bytes);
  ViewOf(key).heat = HeatOfNew(proven ? Generation::kProven : Generation::kYoung);
  Put(key, proven);
  return walked;
}

bool MiniatureTier::Admits(SampledKey* key, bool was_hit) const {
  if (!AsksForEvidence(strictness_)) return true;
  if (!was_hit && !HasGhost(key)) return false;
  return strictness_ == Strictness::kEvidence || sample_.FrequencyOf(*key) >= kOverDropped * dropped_frequency_;
}

void MiniatureTier::Put(SampledKey* key, bool proven) {
  Queue& queue = proven ? proven_ : young_;
  if (queue.full()) {  // of records that are stale, or smaller than expected
    const Record oldest = queue.Pop();
    SampledKey& other = sample_.keys[oldest.slot];
    if (IsOf(oldest, &other)) Forget(&other);
  }
  View& view = ViewOf(key);
  view.number = ++writes_ & kNumberMask;
  view.place = proven ? Place::kProven : Place::kYoung;
  queue.Push({.slot = static_cast<uint32_t>(key - sample_.keys.data()) & (kKeysMax - 1),
              .number = static_cast<uint32_t>(view.number)});
  used_bytes_ += key->bytes;
  if (!proven) young_bytes_ += key->bytes;
  write_cost_ += sample_.write_cost * key->bytes / sample_.block_bytes;
}

unsigned MiniatureTier::MakeRoom(uint64_t bytes) {
  constexpr double kDroppedWeight = 0.01;  // of one drop, in the mean frequency of what is dropped
  unsigned walked = 0;
  for (; walked < kWalkedPerEventMax && used_bytes_ + bytes > sample_.scm_bytes; ++walked) {
    if (young_.empty() && proven_.empty()) break;
    filled_ = true;
    const bool young = proven_.empty() || (young_bytes_ > sample_.young_bytes && !young_.empty());
    const Record record = young ? young_.Pop() : proven_.Pop();
    SampledKey& key = sample_.keys[record.slot];
    View& view = ViewOf(&key);
    if (view.place != (young ? Place::kYoung : Place::kProven) || !IsOf(record, &key)) continue;
    Forget(&key);
    // As AdaptivePolicy::OnReclaim.
    if (key.in_dram == 0 && view.heat >= (young ? 1 : HeatOfSpared(strictness_)) && walked < kWalkedPerEventMax / 2) {
      --view.heat;
      Put(&key, /*proven=*/true);
      continue;
    }
    LeaveGhost(&key);
    if (!young && key.in_dram == 0)
      dropped_frequency_ += kDroppedWeight * (sample_.FrequencyOf(key) - dropped_frequency_);
  }
  return walked;
}

}  // namespace mezz
