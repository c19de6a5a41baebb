// SPDX-License-Identifier: Apache-2.0
#include "admission/curves/scm_segments_model.h"

#include <utility>

#include "cache/layout.h"

namespace mezz::sim {

ScmSegmentsModel::ScmSegmentsModel(const ScmModelOptions& options)
    : segment_(options.segment),
      exact_(options.exact_capacity),
      limit_(static_cast<uint32_t>(std::max<uint64_t>(1, options.capacity / options.segment))) {
  if (exact_) return;
  overhead_ = sizeof(layout::SegmentHeader);
  first_overhead_ = layout::kSuperblockSpace + sizeof(layout::SegmentHeader);
  segments_.resize(limit_);
  for (uint32_t i = limit_; i-- > 0;) free_.push_back(i);
}

// With exact capacity there always is one, as the units in use are what limits the tier.
uint32_t ScmSegmentsModel::Open() {
  if (free_.empty()) {
    segments_.emplace_back();
    free_.push_back(static_cast<uint32_t>(segments_.size() - 1));
  }
  const uint32_t id = free_.back();
  free_.pop_back();
  segments_[id].records.clear();
  segments_[id].forms.clear();
  segments_[id].dead = 0;
  segments_[id].tail = id == 0 ? first_overhead_ : overhead_;
  return id;
}

void ScmSegmentsModel::Advance(Lane* lane) {
  Seal(lane);
  lane->open = Open();
}

bool ScmSegmentsModel::Reserve(Lane* lane, uint64_t units, size_t kept_free) {
  if (Fits(*lane, units)) return true;
  if (!exact_ && free_.size() <= kept_free) return false;
  Advance(lane);
  return Fits(*lane, units);
}

void ScmSegmentsModel::Seal(Lane* lane) {
  const std::optional<uint32_t> sealed = std::exchange(lane->open, {});
  if (!sealed) return;
  lane->sealed->push_back(*sealed);
  if (IsSparse(segments_[*sealed])) MoveToSparse(lane->sealed, *sealed);
}

bool ScmSegmentsModel::MoveToSparse(std::deque<uint32_t>* sealed, uint32_t id) {
  const auto found = std::ranges::find(*sealed, id);
  if (found == sealed->end()) return false;
  sealed->erase(found);
  sparse_.push_back({id, sealed == &proven_ ? Generation::kProven : Generation::kYoung});
  ++became_sparse_;
  return true;
}

void ScmSegmentsModel::AddDead(uint32_t id, uint64_t units) {
  const bool was_sparse = IsSparse(segments_[id]);
  segments_[id].dead += units;
  // One that is open is looked at when it is sealed; the victim is emptied anyway.
  if (!was_sparse && IsSparse(segments_[id]) && !MoveToSparse(&young_, id)) MoveToSparse(&proven_, id);
}

std::optional<ScmSegmentsModel::Victim> ScmSegmentsModel::TakeVictim(unsigned young_percent) {
  if (exact_ && young_.empty() && proven_.empty() && sparse_.empty()) {
    // All there is lies in open segments: with few and small ones that can be.
    Seal(young.open ? &young : &proven);
  }
  if (!sparse_.empty()) {
    const Sparse first = sparse_.front();
    sparse_.pop_front();
    return Victim{.segment = first.segment, .generation = first.of, .sparse = true};
  }
  const bool young_first = young_.size() * 100 > uint64_t{limit_} * young_percent;
  std::deque<uint32_t>* queue = young_first ? &young_ : &proven_;
  if (queue->empty()) queue = young_first ? &proven_ : &young_;
  if (queue->empty()) return std::nullopt;
  const uint32_t id = queue->front();
  queue->pop_front();
  return Victim{
      .segment = id, .generation = queue == &young_ ? Generation::kYoung : Generation::kProven, .sparse = false};
}

std::vector<uint32_t> ScmSegmentsModel::Listed(std::vector<bool>* holds_records) const {
  std::vector<uint32_t> listed(segments_.size(), 0);
  holds_records->assign(segments_.size(), false);
  for (const uint32_t id : free_) ++listed[id];
  const auto holds = [&](uint32_t id) {
    ++listed[id];
    (*holds_records)[id] = true;
  };
  for (const uint32_t id : young_) holds(id);
  for (const uint32_t id : proven_) holds(id);
  for (const Sparse& sparse : sparse_) holds(sparse.segment);
  for (const Lane* lane : {&young, &proven}) {
    if (lane->open) holds(*lane->open);
  }
  return listed;
}

}  // namespace mezz::sim
