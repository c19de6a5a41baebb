// SPDX-License-Identifier: Apache-2.0
#include "workloads/sim/w_tinylfu.h"

#include <algorithm>
#include <cmath>

#include "admission/curves/block_key.h"

namespace mezz::sim {
namespace {

constexpr double kWindowShare = 0.01;
constexpr double kProbationShare = 0.2;
constexpr double kCountersPerBlock = 14.377587548448;  // -ln(0.001) / ln(2)^2
constexpr uint64_t kHitsPerBlockAndHalving = 32;       // of the main part

uint64_t MeanCharge(uint32_t blocks, const Charges& charges) {
  uint64_t sum = 0;
  for (BlockId block = 0; block < blocks; ++block) sum += charges.of(block);
  return std::max<uint64_t>(1, sum / std::max(1u, blocks));
}

}  // namespace

CountingFilter::CountingFilter(uint64_t blocks)
    : counters_(std::max<uint64_t>(
          2 * kHashes, static_cast<uint64_t>(std::ceil(kCountersPerBlock * static_cast<double>(blocks))))) {}

uint32_t CountingFilter::Index(uint64_t hash, uint32_t i) const {
  const uint32_t mixed = static_cast<uint32_t>(hash) + i * static_cast<uint32_t>(hash >> 32);
  return static_cast<uint32_t>(uint64_t{mixed} * counters_.size() >> 32);
}

void CountingFilter::Add(BlockId block) {
  const uint64_t hash = MixWord(block);
  for (uint32_t i = 0; i < kHashes; ++i) ++counters_[Index(hash, i)];
}

uint32_t CountingFilter::Estimate(BlockId block) const {
  const uint64_t hash = MixWord(block);
  uint32_t least = UINT32_MAX;
  for (uint32_t i = 0; i < kHashes; ++i) least = std::min(least, counters_[Index(hash, i)]);
  return least;
}

void CountingFilter::Halve() {
  for (uint32_t& counter : counters_) counter >>= 1;
}

WTinyLfuReference::WTinyLfuReference(uint32_t blocks, uint64_t capacity, const Charges& charges)
    : charges_(charges),
      mean_charge_(MeanCharge(blocks, charges)),
      capacity_(capacity),
      window_max_(std::max(std::min(mean_charge_, capacity), PartOf(capacity, kWindowShare))),
      main_max_(capacity - window_max_),
      probation_max_(PartOf(main_max_, kProbationShare)),
      protected_max_(PartOf(main_max_, 1 - kProbationShare)),
      lists_(blocks, 3),
      place_(blocks, kNowhere),
      filter_(std::max<uint64_t>(1, main_max_ / mean_charge_)) {}

void WTinyLfuReference::Put(Place place, BlockId block) {
  lists_.PushHead(place, block);
  place_[block] = place;
  used_[place] += charges_.of(block);
}

void WTinyLfuReference::Take(BlockId block) {
  lists_.Remove(block);
  used_[place_[block]] -= charges_.of(block);
  place_[block] = kNowhere;
}

bool WTinyLfuReference::Access(BlockId block) {
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
  const uint64_t charge = charges_.of(block);
  if (charge > capacity_) return false;
  while (used_[kWindow] + main_used() + charge > capacity_) EvictFromWindow();
  Put(kWindow, block);
  filter_.Add(block);
  return false;
}

void WTinyLfuReference::HitMain(BlockId block) {
  Take(block);
  Put(kProtected, block);
  while (used_[kProtected] > protected_max_) {
    const BlockId cooled = lists_.Tail(kProtected);
    Take(cooled);
    Put(kProbation, cooled);
    while (used_[kProbation] > probation_max_) Take(lists_.Tail(kProbation));
  }
  filter_.Add(block);
  if (++main_hits_ < kHitsPerBlockAndHalving * std::max<uint64_t>(1, main_max_ / mean_charge_)) return;
  main_hits_ = 0;
  filter_.Halve();
}

BlockId WTinyLfuReference::MainVictim() const { return lists_.Tail(used_[kProbation] > 0 ? kProbation : kProtected); }

void WTinyLfuReference::InsertMain(BlockId block) {
  const uint64_t charge = charges_.of(block);
  const bool to_protected = used_[kProbation] + charge > probation_max_ && used_[kProtected] + charge <= protected_max_;
  Put(to_protected ? kProtected : kProbation, block);
}

// Moves blocks from the window to the main part until one has gone.
void WTinyLfuReference::EvictFromWindow() {
  for (bool evicted = false; !evicted;) {
    if (used_[kWindow] == 0) return Take(MainVictim());
    const BlockId candidate = lists_.Tail(kWindow);
    const uint64_t charge = charges_.of(candidate);
    Take(candidate);
    while (main_used() + charge > main_max_ && main_used() > 0 &&
           filter_.Estimate(candidate) > filter_.Estimate(MainVictim()))
      Take(MainVictim());
    if (main_used() + charge <= main_max_) {
      InsertMain(candidate);
    } else {
      evicted = true;
    }
    filter_.Add(candidate);
  }
}

}  // namespace mezz::sim
