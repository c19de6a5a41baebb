// SPDX-License-Identifier: Apache-2.0
#include "admission/curves/dram_models.h"

#include <fmt/format.h>

namespace mezz::sim {
namespace {

// The chains at first: one page of RocksDB's 64-byte slots. A cache smaller than a page has four.
constexpr uint64_t kHomesAtFirst = 64;

}  // namespace

LruModel::LruModel(uint32_t blocks, const Charges& charges, const DramModelOptions& options)
    : charges_(charges),
      capacity_((options.capacity + options.shards - 1) / options.shards),
      high_max_(static_cast<uint64_t>(static_cast<double>(capacity_) * options.high_priority_pool)),
      pools_(options.high_priority_pool > 0),
      salt_(MixWord(options.seed ^ 0x6c7275ull)),
      lists_(blocks, 2 * options.shards),
      state_(blocks),
      shards_(options.shards) {}

uint64_t LruModel::usage() const {
  uint64_t sum = 0;
  for (const Shard& shard : shards_) sum += shard.usage;
  return sum;
}

void LruModel::Audit(std::vector<std::string>* violations) const {
  std::vector<Shard> seen(shards_.size());
  std::vector<uint64_t> residents(shards_.size(), 0);
  for (BlockId block = 0; block < state_.size(); ++block) {
    if (!state_[block].resident) continue;
    Shard& shard = seen[ShardOf(block)];
    shard.usage += charges_.of(block);
    if (state_[block].high) shard.high_usage += charges_.of(block);
    ++residents[ShardOf(block)];
  }
  for (size_t i = 0; i < shards_.size(); ++i) {
    const Shard& shard = shards_[i];
    if (seen[i].usage != shard.usage)
      violations->push_back(fmt::format("DRAM blocks charge {}, {} counted", seen[i].usage, shard.usage));
    if (seen[i].high_usage != shard.high_usage)
      violations->push_back(fmt::format("the pool holds {}, {} counted", seen[i].high_usage, shard.high_usage));
    if (shard.usage > capacity_ && residents[i] > 1)
      violations->push_back(fmt::format("DRAM holds {} of {}", shard.usage, capacity_));
  }
}

HccModel::HccModel(uint32_t blocks, const Charges& charges, const DramModelOptions& options)
    : charges_(charges),
      slot_charge_(options.slot_charge),
      salt_(MixWord(options.seed ^ 0x636c6f636bull)),
      state_(blocks),
      shards_(options.shards) {
  for (Shard& shard : shards_) {
    shard.capacity = (options.capacity + options.shards - 1) / options.shards;
    shard.homes.assign(kHomesAtFirst, kNoBlock);
    shard.clock_mask = kHomesAtFirst - 1;
    shard.usage = kHomesAtFirst * slot_charge_;
  }
}

uint64_t HccModel::usage() const {
  uint64_t sum = 0;
  for (const Shard& shard : shards_) sum += shard.usage - shard.homes.size() * slot_charge_;
  return sum;
}

// Splits the next chain in two by one more bit of the hash. Both keep their order.
void HccModel::Grow(Shard* shard) {
  const uint64_t home = shard->homes.size();
  const uint64_t old_home = home & (std::bit_floor(home) - 1);
  const uint64_t mask = 2 * std::bit_floor(home) - 1;
  shard->homes.push_back(kNoBlock);
  shard->usage += slot_charge_;
  uint32_t* stays = &shard->homes[old_home];
  uint32_t* moves = &shard->homes[home];
  for (BlockId block = *stays; block != kNoBlock;) {
    const BlockId next = state_[block].next;
    uint32_t*& link = (Hash(block) & mask) == home ? moves : stays;
    *link = block;
    link = &state_[block].next;
    block = next;
  }
  *stays = kNoBlock;
  *moves = kNoBlock;
}

void HccModel::SweepChain(Shard* shard, uint64_t home) {
  constexpr uint64_t kPrefetchDistance = 2 * kHomesPerStep;
  const uint64_t ahead = home + kPrefetchDistance;
  if (ahead < shard->homes.size() && shard->homes[ahead] != kNoBlock)
    __builtin_prefetch(&state_[shard->homes[ahead]], 1);
  uint32_t* link = &shard->homes[home];
  while (*link != kNoBlock) {
    State& state = state_[*link];
    if (state.countdown > 0) {
      --state.countdown;
      link = &state.next;
      continue;
    }
    shard->leaving.push_back(*link);
    state.resident = false;
    *link = state.next;
  }
}

void HccModel::Erase(BlockId block) {
  assert(resident(block));
  const uint64_t hash = Hash(block);
  Shard& shard = ShardOf(hash);
  uint32_t* link = &shard.homes[HomeOf(shard, hash)];
  while (*link != block) link = &state_[*link].next;
  *link = state_[block].next;
  state_[block].resident = false;
  shard.usage -= charges_.of(block);
  --shard.occupancy;
}

void HccModel::Audit(std::vector<std::string>* violations) const {
  uint64_t resident = 0;
  for (const State& state : state_) resident += state.resident;
  uint64_t hanging = 0;
  for (const Shard& shard : shards_) {
    uint64_t usage = shard.homes.size() * slot_charge_;
    uint64_t occupancy = 0;
    for (uint64_t home = 0; home < shard.homes.size(); ++home) {
      for (BlockId block = shard.homes[home]; block != kNoBlock; block = state_[block].next) {
        usage += charges_.of(block);
        ++occupancy;
        if (!state_[block].resident) violations->push_back(fmt::format("block {} hangs in a chain but left", block));
        if (HomeOf(shard, Hash(block)) != home)
          violations->push_back(fmt::format("block {} is in a wrong chain", block));
      }
    }
    hanging += occupancy;
    if (usage != shard.usage) violations->push_back(fmt::format("a shard charges {}, {} counted", usage, shard.usage));
    if (occupancy != shard.occupancy)
      violations->push_back(fmt::format("a shard holds {} blocks, {} counted", occupancy, shard.occupancy));
  }
  if (hanging != resident) violations->push_back(fmt::format("{} blocks in chains, {} resident", hanging, resident));
}

}  // namespace mezz::sim
