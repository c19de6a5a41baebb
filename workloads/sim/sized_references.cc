// SPDX-License-Identifier: Apache-2.0
#include "workloads/sim/sized_references.h"

#include <algorithm>

#include "workloads/sim/opt.h"

namespace mezz::sim {
namespace {

// As in w_tinylfu.cc.
constexpr double kWindowPart = 0.01;
constexpr double kProbationPart = 0.2;
constexpr uint64_t kHitsPerBlockAndHalving = 32;

uint64_t PartOf(uint64_t capacity, double share) {
  return static_cast<uint64_t>(static_cast<double>(capacity) * share);
}

uint64_t MeanBytes(const BlockTrace& trace) {
  return std::max<uint64_t>(1, trace.footprint_bytes() / std::max(1u, trace.unique()));
}

}  // namespace

bool SizedLru::Access(BlockId block) {
  const uint64_t bytes = trace_.bytes(block);
  const bool hit = resident_[block] != 0;
  if (hit) {
    list_.Remove(block);
    list_.PushHead(0, block);
    return true;
  }
  if (bytes > capacity_) return false;
  while (used_ + bytes > capacity_) {
    const BlockId victim = list_.Tail(0);
    list_.Remove(victim);
    resident_[victim] = 0;
    used_ -= trace_.bytes(victim);
  }
  resident_[block] = 1;
  used_ += bytes;
  list_.PushHead(0, block);
  return false;
}

bool SizedClock::Access(BlockId block) {
  if (state_[block] != kAbsent) {
    state_[block] = kHit;
    return true;
  }
  const uint64_t bytes = trace_.bytes(block);
  if (bytes > capacity_) return false;
  while (used_ + bytes > capacity_) {
    const BlockId oldest = list_.Tail(0);
    list_.Remove(oldest);
    if (state_[oldest] == kHit) {
      state_[oldest] = kResident;
      list_.PushHead(0, oldest);
      continue;
    }
    state_[oldest] = kAbsent;
    used_ -= trace_.bytes(oldest);
  }
  state_[block] = kResident;
  used_ += bytes;
  list_.PushHead(0, block);
  return false;
}

SizedS3Fifo::SizedS3Fifo(const BlockTrace& trace, uint64_t capacity, bool fills_main)
    : trace_(trace),
      capacity_(capacity),
      small_max_(std::max<uint64_t>(1, PartOf(capacity, 0.1))),
      main_max_(capacity - std::min(capacity, small_max_)),
      ghost_max_(PartOf(capacity, 0.9)),
      fills_main_(fills_main),
      lists_(trace.unique(), 3),
      state_(trace.unique()) {}

bool SizedS3Fifo::Access(BlockId block) {
  State& state = state_[block];
  if (state.place == kSmall || state.place == kMain) {
    state.hits = static_cast<uint8_t>(std::min(state.hits + 1, kHitsMax));
    return true;
  }
  const uint64_t bytes = trace_.bytes(block);
  if (bytes > capacity_) return false;
  const bool ghost = state.place == kGhost;
  if (ghost) Take(block);
  while (used_[kSmall] + used_[kMain] + bytes > capacity_) Evict();
  state.hits = 0;
  const bool small_is_full = used_[kSmall] + bytes > small_max_;
  Put(ghost || (fills_main_ && !has_evicted_ && small_is_full) ? kMain : kSmall, block);
  return false;
}

void SizedS3Fifo::Put(Place place, BlockId block) {
  lists_.PushHead(place, block);
  state_[block].place = place;
  used_[place] += trace_.bytes(block);
}

void SizedS3Fifo::Take(BlockId block) {
  lists_.Remove(block);
  used_[state_[block].place] -= trace_.bytes(block);
  state_[block].place = kNowhere;
}

void SizedS3Fifo::Evict() {
  has_evicted_ = true;
  if (used_[kMain] > main_max_ || used_[kSmall] == 0) {
    EvictMain();
  } else {
    EvictSmall();
  }
}

void SizedS3Fifo::EvictSmall() {
  while (used_[kSmall] > 0) {
    const BlockId oldest = lists_.Tail(kSmall);
    Take(oldest);
    if (state_[oldest].hits < kHitsToMain) return Remember(oldest);
    state_[oldest].hits = 0;
    Put(kMain, oldest);
  }
}

void SizedS3Fifo::EvictMain() {
  for (;;) {
    const BlockId oldest = lists_.Tail(kMain);
    Take(oldest);
    if (state_[oldest].hits == 0) return;
    --state_[oldest].hits;
    Put(kMain, oldest);
  }
}

void SizedS3Fifo::Remember(BlockId block) {
  const uint64_t bytes = trace_.bytes(block);
  if (bytes > ghost_max_) return;
  while (used_[kGhost] + bytes > ghost_max_) Take(lists_.Tail(kGhost));
  Put(kGhost, block);
}

SizedWTinyLfu::SizedWTinyLfu(const BlockTrace& trace, uint64_t capacity)
    : trace_(trace),
      capacity_(capacity),
      window_max_(std::max(std::min(MeanBytes(trace), capacity), PartOf(capacity, kWindowPart))),
      main_max_(capacity - window_max_),
      probation_max_(PartOf(main_max_, kProbationPart)),
      protected_max_(PartOf(main_max_, 1 - kProbationPart)),
      hits_per_halving_(kHitsPerBlockAndHalving * std::max<uint64_t>(1, main_max_ / MeanBytes(trace))),
      lists_(trace.unique(), 3),
      place_(trace.unique(), kNowhere),
      filter_(std::max<uint64_t>(1, main_max_ / MeanBytes(trace))) {}

void SizedWTinyLfu::Put(Place place, BlockId block) {
  lists_.PushHead(place, block);
  place_[block] = place;
  used_[place] += trace_.bytes(block);
}

void SizedWTinyLfu::Take(BlockId block) {
  lists_.Remove(block);
  used_[place_[block]] -= trace_.bytes(block);
  place_[block] = kNowhere;
}

bool SizedWTinyLfu::Access(BlockId block) {
  switch (static_cast<Place>(place_[block])) {
    case kWindow:
      Take(block);
      Put(kWindow, block);
      return true;
    case kProbation:
    case kProtected:
      HitMain(block);
      return true;
    case kNowhere:
      break;
  }
  const uint64_t bytes = trace_.bytes(block);
  if (bytes > capacity_) return false;
  while (used_[kWindow] + main_used() + bytes > capacity_) EvictFromWindow();
  Put(kWindow, block);
  filter_.Add(block);
  return false;
}

void SizedWTinyLfu::HitMain(BlockId block) {
  Take(block);
  Put(kProtected, block);
  while (used_[kProtected] > protected_max_) {
    const BlockId cooled = lists_.Tail(kProtected);
    Take(cooled);
    Put(kProbation, cooled);
    while (used_[kProbation] > probation_max_) Take(lists_.Tail(kProbation));
  }
  filter_.Add(block);
  if (++main_hits_ < hits_per_halving_) return;
  main_hits_ = 0;
  filter_.Halve();
}

BlockId SizedWTinyLfu::MainVictim() const { return lists_.Tail(used_[kProbation] > 0 ? kProbation : kProtected); }

void SizedWTinyLfu::InsertMain(BlockId block) {
  const uint64_t bytes = trace_.bytes(block);
  const bool to_protected = used_[kProbation] + bytes > probation_max_ && used_[kProtected] + bytes <= protected_max_;
  Put(to_protected ? kProtected : kProbation, block);
}

// Moves blocks from the window to the main part until one has gone.
void SizedWTinyLfu::EvictFromWindow() {
  for (bool evicted = false; !evicted;) {
    if (used_[kWindow] == 0) return Take(MainVictim());
    const BlockId candidate = lists_.Tail(kWindow);
    const uint64_t bytes = trace_.bytes(candidate);
    Take(candidate);
    while (main_used() + bytes > main_max_ && main_used() > 0 &&
           filter_.Estimate(candidate) > filter_.Estimate(MainVictim()))
      Take(MainVictim());
    if (main_used() + bytes <= main_max_) {
      InsertMain(candidate);
    } else {
      evicted = true;
    }
    filter_.Add(candidate);
  }
}

uint64_t PfooLowerMisses(const BlockTrace& trace, const std::vector<uint32_t>& next_uses, uint64_t capacity,
                         uint64_t warmup) {
  const std::vector<BlockId>& accesses = trace.accesses();
  std::vector<uint64_t> costs;  // of the hits after the warm-up that can be had
  for (uint64_t at = 0; at < accesses.size(); ++at) {
    const uint32_t next = next_uses[at];
    const uint64_t bytes = trace.bytes(accesses[at]);
    if (next == kNever || next < warmup || bytes > capacity) continue;
    costs.push_back(bytes * (next - std::max(at, warmup)));
  }
  std::ranges::sort(costs);
  const uint64_t counted = accesses.size() - warmup;
  unsigned __int128 left = static_cast<unsigned __int128>(capacity) * counted;
  uint64_t hits = 0;
  for (const uint64_t cost : costs) {
    if (cost > left) break;
    left -= cost;
    ++hits;
  }
  return counted - hits;
}

}  // namespace mezz::sim
