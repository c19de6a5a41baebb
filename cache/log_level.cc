// SPDX-License-Identifier: Apache-2.0
#include "cache/log_level.h"

#include <algorithm>
#include <cassert>

namespace mezz {

using State = SegmentTable::State;

LogLevel::LogLevel(Level level, uint32_t begin, uint32_t end, uint64_t sparse_bytes, SegmentTable* table,
                   LogMembers* members, const Shares* shares, Counters* counters)
    : level_(level),
      begin_(begin),
      end_(end),
      sparse_bytes_(sparse_bytes),
      table_(table),
      members_(members),
      shares_(shares),
      counters_(counters),
      young_(size()),
      proven_(size()),
      sparse_(size()),
      unready_(size()),
      limit_(size()),
      unused_count_(size()) {
  free_.reserve(size());
  parked_.reserve(size());
  parked_withdrawn_.reserve(size());
}

// Below what is free already: the stack hands out the start of the medium first. No allocation: there is room.
void LogLevel::Provide(uint32_t from, uint32_t end) {
  const size_t before = free_.size();
  for (uint32_t i = end; i-- > from;) {
    if (table_->state(SegmentId{i}) != State::kUnready) continue;  // adopted, or quarantined
    table_->Change(SegmentId{i}, State::kUnready, State::kFree);
    free_.push_back(SegmentId{i});
  }
  unready_ -= static_cast<uint32_t>(free_.size() - before);
  std::rotate(free_.begin(), free_.begin() + static_cast<ptrdiff_t>(before), free_.end());
  if (withdrawn() != 0) FollowMembers();
  Count();
}

SegmentId LogLevel::TakeFree(uint32_t near) {
  auto taken = free_.end() - 1;
  if (members_->count() > 1) {
    uint32_t have = 0;
    for (const SegmentId id : free_) have |= 1u << members_->Of(id);
    const uint32_t near_ones = have & near;
    const size_t member = members_->TakeTurn(near_ones != 0 ? near_ones : have);
    while (members_->Of(*taken) != member) --taken;
  }
  const SegmentId id = *taken;
  free_.erase(taken);
  Count();
  return id;
}

void LogLevel::AddFree(SegmentId id) {
  if (members_->IsWithdrawn(id)) table_->Change(id, State::kFree, State::kParked);
  (members_->IsWithdrawn(id) ? parked_withdrawn_ : free_).push_back(id);
  Count();
}

void LogLevel::NoteQuarantined(SegmentId id) {
  quarantined_.fetch_add(1, std::memory_order_relaxed);
  if (members_->IsWithdrawn(id)) withdrawn_.fetch_sub(1, std::memory_order_relaxed);
}

void LogLevel::FollowMembers() {
  uint32_t withdrawn = 0;
  for (uint32_t i = begin_; i < end_; ++i) {
    const bool counts = members_->IsWithdrawn(SegmentId{i}) && table_->state(SegmentId{i}) != State::kQuarantined;
    withdrawn += counts ? 1 : 0;
  }
  withdrawn_.store(withdrawn, std::memory_order_relaxed);
  for (std::vector<SegmentId>* const parked : {&parked_, &parked_withdrawn_}) {
    for (const SegmentId id : *parked) {
      table_->Change(id, State::kParked, State::kFree);
      free_.push_back(id);
    }
    parked->clear();
  }
  const auto going =
      std::stable_partition(free_.begin(), free_.end(), [&](SegmentId id) { return !members_->IsWithdrawn(id); });
  for (auto at = going; at != free_.end(); ++at) {
    table_->Change(*at, State::kFree, State::kParked);
    parked_withdrawn_.push_back(*at);
  }
  free_.erase(going, free_.end());
  Count();
}

bool LogLevel::HasWithdrawn() const {
  if (withdrawn() == 0) return false;
  for (const SegmentQueue* const queue : {&young_, &proven_, &sparse_}) {
    for (size_t at = 0; at < queue->size(); ++at) {
      if (members_->IsWithdrawn((*queue)[at])) return true;
    }
  }
  return false;
}

// How many of the segments that are ready must not be used.
uint32_t LogLevel::Surplus() const {
  const uint32_t ready = size() - std::min(size(), unready_ + quarantined() + withdrawn());
  return ready > limit() ? ready - limit() : 0;
}

void LogLevel::Park(size_t kept) {
  const uint32_t surplus = Surplus();
  while (parked_.size() < surplus && free_.size() > kept) {
    table_->Change(free_.back(), State::kFree, State::kParked);
    parked_.push_back(free_.back());
    free_.pop_back();
  }
  Count();
}

void LogLevel::Unpark() {
  const uint32_t surplus = Surplus();
  while (parked_.size() > surplus) {
    table_->Change(parked_.back(), State::kParked, State::kFree);
    free_.push_back(parked_.back());
    parked_.pop_back();
  }
  Count();
}

uint32_t LogLevel::ToReclaim(uint32_t draining) const {
  const uint32_t surplus = Surplus(), going = static_cast<uint32_t>(parked_.size()) + draining;
  return surplus > going ? surplus - going : 0;
}

void LogLevel::Queue(SegmentId id, Generation generation, At at) {
  assert(table_->state(id) == State::kSealed && Has(id));
  const bool sparse = (*table_)[id].dead.load(std::memory_order_relaxed) >= sparse_bytes_;
  SegmentQueue& queue = sparse ? sparse_ : generation == Generation::kProven ? proven_ : young_;
  at == At::kBegin ? queue.PushFront(id) : queue.PushBack(id);
  if (sparse) {
    (*table_)[id].sparse_of = generation;
    counters_->Add(Event::kScmSegmentSparse, BlockRole::kOther);
  }
  Count();
}

std::optional<Generation> LogLevel::TakeWhole(SegmentId id) {
  if (young_.Erase(id)) return Generation::kYoung;
  if (proven_.Erase(id)) return Generation::kProven;
  return std::nullopt;
}

std::optional<Generation> LogLevel::TakeFromQueue(SegmentId id) {
  if (const auto generation = TakeWhole(id)) return generation;
  if (!sparse_.Erase(id)) return std::nullopt;
  Count();
  return (*table_)[id].sparse_of;
}

bool LogLevel::MayTake(SegmentId id, bool pinned_too) const {
  if (!members_->IsReady(id) && !pinned_too) return false;  // nothing could be written to it yet
  return pinned_too ? table_->writers(id) == 0 : table_->pins(id) == 0;
}

template <typename MayBe>
void LogLevel::TakeSparse(MayBe&& may_be, bool pinned_too, Victim* victim) {
  const auto found = sparse_.Find(
      [&](SegmentId id) { return may_be(ShareOf(id)) && !members_->IsWithdrawn(id) && MayTake(id, pinned_too); });
  if (!found) return;
  victim->segment = sparse_[*found];
  victim->generation = (*table_)[*victim->segment].sparse_of;
  victim->sparse = true;
  sparse_.EraseAt(*found);
  Count();
}

template <typename MayBe>
void LogLevel::TakeSealed(MayBe&& may_be, Generation generation, bool pinned_too, Victim* victim) {
  SegmentQueue& queue = generation == Generation::kYoung ? young_ : proven_;
  const auto found = queue.Find([&](SegmentId id) {
    if (!may_be(ShareOf(id)) || members_->IsWithdrawn(id)) return false;
    if (MayTake(id, pinned_too)) return true;
    // Whoever recovers records into one is no reader.
    if (!pinned_too && members_->IsReady(id) && table_->writers(id) == 0) ++victim->skipped_pinned;
    return false;
  });
  if (!found) return;
  victim->segment = queue[*found];
  victim->generation = generation;
  queue.EraseAt(*found);
}

// may_be(share): whether the victim may be one of its segments.
template <typename MayBe>
void LogLevel::TakeOf(MayBe&& may_be, bool pinned_too, unsigned young_percent, Victim* victim) {
  TakeSparse(may_be, pinned_too, victim);
  if (victim->segment) return;
  const bool young_first = young_.size() * 100 > uint64_t{usable()} * young_percent;
  const Generation first = young_first ? Generation::kYoung : Generation::kProven;
  const Generation second = young_first ? Generation::kProven : Generation::kYoung;
  TakeSealed(may_be, first, /*pinned_too=*/false, victim);
  if (!victim->segment) TakeSealed(may_be, second, /*pinned_too=*/false, victim);
  if (!victim->segment && pinned_too) TakeSealed(may_be, first, pinned_too, victim);
  if (!victim->segment && pinned_too) TakeSealed(may_be, second, pinned_too, victim);
}

LogLevel::Victim LogLevel::TakeWithdrawn() {
  const auto may_take = [this](SegmentId id) { return members_->IsWithdrawn(id) && table_->writers(id) == 0; };
  for (const SegmentQueue* const queue : {&proven_, &young_, &sparse_}) {
    const auto found = queue->Find(may_take);
    if (!found) continue;
    const SegmentId id = (*queue)[*found];
    return {.segment = id, .generation = *TakeFromQueue(id), .sparse = queue == &sparse_, .share = ShareOf(id)};
  }
  return {};
}

LogLevel::Victim LogLevel::TakeVictim(bool pinned_too, ShareId needs, unsigned young_percent) {
  Victim victim;
  victim.sealed = static_cast<uint32_t>(sealed());
  const bool is_full = shares_->IsFull(needs, level_);
  for (const SharePriority priority : {SharePriority::kLow, SharePriority::kNormal, SharePriority::kHigh}) {
    if (victim.segment || is_full || shares_->count() == 0) break;
    const auto may_be = [&](ShareId share) {
      return shares_->limits(share).priority == priority && shares_->MayLose(share, level_);
    };
    TakeOf(may_be, /*pinned_too=*/false, young_percent, &victim);
  }
  if (!victim.segment && shares_->count() != 0)
    TakeOf([&](ShareId share) { return share == needs; }, /*pinned_too=*/false, young_percent, &victim);
  if (!victim.segment && (shares_->count() == 0 || pinned_too))
    TakeOf([](ShareId) { return true; }, pinned_too, young_percent, &victim);
  if (victim.segment) victim.share = ShareOf(*victim.segment);
  return victim;
}

bool LogLevel::HasVictimFor(ShareId needs) const {
  const bool is_full = shares_->IsFull(needs, level_);
  for (const SegmentQueue* const queue : {&young_, &proven_, &sparse_}) {
    for (size_t at = 0; at < queue->size(); ++at) {
      if (members_->IsWithdrawn((*queue)[at])) continue;
      const ShareId share = ShareOf((*queue)[at]);
      if (shares_->count() == 0 || share == needs || (!is_full && shares_->MayLose(share, level_))) return true;
    }
  }
  return false;
}

}  // namespace mezz
