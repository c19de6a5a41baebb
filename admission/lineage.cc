// SPDX-License-Identifier: Apache-2.0
#include "admission/lineage.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace mezz {
namespace {

constexpr unsigned kFrequencyMax = 15;
constexpr uint16_t kEntriesMax = 255;

}  // namespace

void Lineage::Sum::Add(const Parent& parent) {
  assert(parent.entries > 0);
  ++keys[static_cast<size_t>(parent.standing)];
  frequency += static_cast<double>(parent.frequency) / parent.entries;
}

Lineage Lineage::Sum::Result() const {
  Lineage lineage{.kind = Kind::kHeir};
  uint32_t all = 0;
  for (const uint32_t count : keys) all += count;
  if (all == 0) return lineage;
  for (size_t i = 0; i < kStandings; ++i) {
    lineage.percent[i] = static_cast<uint8_t>(100 * uint64_t{keys[i]} / all);
    if (keys[i] != 0) lineage.best = static_cast<Standing>(i);
  }
  lineage.frequency = static_cast<uint8_t>(std::min<long>(std::lround(frequency), kFrequencyMax));
  return lineage;
}

ParentTable::ParentTable() : sets_(std::make_unique<std::array<Set, kKeys / kWays>>()) {}

uint64_t ParentTable::WordOf(uint64_t hash, const Parent& parent) {
  assert(parent.standing != Standing::kNowhere && parent.frequency <= kFrequencyMax && parent.entries > 0);
  return hash >> kTagShift << kTagShift | uint64_t{std::min(parent.entries, kEntriesMax)} << 6 |
         uint64_t{parent.frequency} << 2 | static_cast<uint64_t>(parent.standing);
}

Parent ParentTable::ParentOf(uint64_t word) {
  return {.standing = static_cast<Standing>(word & 3),
          .frequency = static_cast<uint8_t>(word >> 2 & kFrequencyMax),
          .entries = static_cast<uint16_t>(word >> 6 & kEntriesMax)};
}

void ParentTable::Note(uint64_t hash, const Parent& parent) {
  auto& words = (*sets_)[SetOf(hash)].words;
  const auto same_key = [hash](uint64_t word) { return word != 0 && (word ^ hash) >> kTagShift == 0; };
  uint64_t moved = WordOf(hash, parent);
  for (const std::atomic<uint64_t>& word : words) {
    const uint64_t old = word.load(std::memory_order_relaxed);
    if (same_key(old) && ParentOf(old).standing > parent.standing) moved = old;
  }
  // The youngest stands first: each is moved on by one, as far as the key's old place, or out of the set.
  for (std::atomic<uint64_t>& word : words) {
    const uint64_t old = word.load(std::memory_order_relaxed);
    word.store(moved, std::memory_order_relaxed);
    if (old == 0 || same_key(old)) return;
    moved = old;
  }
}

void ParentTable::Clear() {
  for (Set& set : *sets_) {
    for (std::atomic<uint64_t>& word : set.words) word.store(0, std::memory_order_relaxed);
  }
}

std::optional<Parent> ParentTable::Find(uint64_t hash) const {
  for (const std::atomic<uint64_t>& slot : (*sets_)[SetOf(hash)].words) {
    const uint64_t word = slot.load(std::memory_order_relaxed);
    if (word != 0 && (word ^ hash) >> kTagShift == 0) return ParentOf(word);
  }
  return std::nullopt;
}

}  // namespace mezz
