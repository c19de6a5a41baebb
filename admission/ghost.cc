// SPDX-License-Identifier: Apache-2.0
#include "admission/ghost.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <tuple>

namespace mezz {
namespace {

constexpr uint64_t kLowBits = 0x0001'0001'0001'0001ull;  // of each lane
constexpr uint64_t kHighBits = kLowBits << 15;
constexpr uint64_t kLaneMask = 0xffff;

// Lane 31, the last of the last word, is no fingerprint.
constexpr size_t kHandWord = 7;
constexpr unsigned kHandShift = 48;
constexpr uint64_t kHandLane = kLaneMask << kHandShift;

// Makes a good hash of any (the finalizer of splitmix64). Callers' hashes may be sequential.
uint64_t Mix(uint64_t hash) {
  hash ^= hash >> 30;
  hash *= 0xbf58476d1ce4e5b9ull;
  hash ^= hash >> 27;
  hash *= 0x94d049bb133111ebull;
  return hash ^ hash >> 31;
}

// Marks the high bit of each lane that equals the fingerprint. A borrow may also mark a lane above one that matches, so
// only the lowest mark is certain.
uint64_t Matches(size_t index, uint64_t word, uint64_t fingerprint) {
  uint64_t difference = word ^ fingerprint;
  if (index == kHandWord) difference |= kHandLane;
  return (difference - kLowBits) & ~difference & kHighBits;
}

}  // namespace

Ghost::Ghost(size_t entries, uint64_t seed, unsigned doublings_max)
    : seed_(seed), table_(std::max<size_t>(1, (entries + kLanes - 1) / kLanes), doublings_max) {}

Ghost::Place Ghost::PlaceOf(uint64_t hash) const {
  const uint64_t mixed = Mix(hash + 0x9e3779b97f4a7c15ull * (seed_ + 1));
  const uint64_t fingerprint = std::max<uint64_t>(mixed & kLaneMask, 1);
  return {&table_.Of(mixed), fingerprint * kLowBits};
}

bool Ghost::Contains(uint64_t hash) const {
  const Place place = PlaceOf(hash);
  uint64_t matches = 0;
  for (size_t i = 0; i < place.line->words.size(); ++i) {
    matches |= Matches(i, place.line->words[i].load(std::memory_order_relaxed), place.fingerprint);
  }
  return matches != 0;
}

bool Ghost::Take(uint64_t hash) { return Remove(PlaceOf(hash)); }

bool Ghost::Remove(const Place& place) {
  bool removed = false;
  for (size_t i = 0; i < place.line->words.size(); ++i) {
    std::atomic<uint64_t>& word = place.line->words[i];
    uint64_t seen = word.load(std::memory_order_relaxed);
    while (const uint64_t matches = Matches(i, seen, place.fingerprint)) {
      const int lane_shift = std::countr_zero(matches) / kLaneBits * kLaneBits;
      assert((seen >> lane_shift & kLaneMask) == (place.fingerprint & kLaneMask));
      assert(i != kHandWord || lane_shift != static_cast<int>(kHandShift));
      if (word.compare_exchange_weak(seen, seen & ~(kLaneMask << lane_shift), std::memory_order_relaxed,
                                     std::memory_order_relaxed)) {
        removed = true;
        seen = word.load(std::memory_order_relaxed);
      }
    }
  }
  return removed;
}

void Ghost::Insert(uint64_t hash) {
  const Place place = PlaceOf(hash);
  Remove(place);
  const uint64_t hand =
      place.line->words[kHandWord].fetch_add(uint64_t{1} << kHandShift, std::memory_order_relaxed) >> kHandShift;
  const unsigned lane = hand % kLanes;
  static_assert(kLanes == kLanesOfWord * std::tuple_size_v<decltype(Line::words)> - 1, "the last lane is the hand's");
  const unsigned lane_shift = lane % kLanesOfWord * kLaneBits;
  std::atomic<uint64_t>& word = place.line->words[lane / kLanesOfWord];
  const uint64_t fingerprint = (place.fingerprint & kLaneMask) << lane_shift;
  uint64_t seen = word.load(std::memory_order_relaxed);
  while (!word.compare_exchange_weak(seen, (seen & ~(kLaneMask << lane_shift)) | fingerprint, std::memory_order_relaxed,
                                     std::memory_order_relaxed)) {
  }
}

}  // namespace mezz
