// SPDX-License-Identifier: Apache-2.0
// Models of RocksDB's stock caches, for the DRAM tier, without bytes. Each has
//
//   Hit(block)                       true, and the block's standing raised, if it is resident
//   Insert(block, priority, evicted) makes room, calling evicted(block, was_hit) for each block that leaves, then
//                                    brings the block in as not hit. REQUIRES: not resident
//   MakeRoom(block, evicted)         makes room as Insert does, for an object of that block which the cache holds for a
//                                    while without finding it (CreateStandalone). REQUIRES: not resident
//   Erase(block)                     removes the block without a call. REQUIRES: resident
//   resident(block), usage(), Prefetch(block), Audit(violations)
//
// A block is released as soon as it was looked up: there is one thread and no pins. The charges must outlive the model,
// and that of a resident block must not change.
#pragma once

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstdint>
#include <string>
#include <vector>

#include "admission/curves/block_key.h"
#include "admission/curves/block_lists.h"
#include "admission/curves/block_trace.h"

namespace mezz::sim {

enum class DramCache : uint8_t { kHcc, kLru };

// The least bytes of a shard: of RocksDB's LRUCache, and of HyperClockCache as the live cache sets it
// (integration/hybrid_cache.cc). And the most shards of either.
inline constexpr uint32_t kLruShardBytesMin = 512 << 10, kHccShardBytesMin = 2 << 20, kShardsMax = 64;
// The number of shards of a live cache of `capacity` bytes.
inline uint32_t LiveShards(DramCache cache, uint64_t capacity) {
  const uint64_t shard_bytes = cache == DramCache::kLru ? kLruShardBytesMin : kHccShardBytesMin;
  return static_cast<uint32_t>(
      std::min<uint64_t>(std::bit_floor(std::max<uint64_t>(1, capacity / shard_bytes)), kShardsMax));
}

enum class DramPriority : uint8_t { kBottom, kLow, kHigh };
// The priority with which RocksDB inserts blocks of this role by default.
inline DramPriority PriorityOf(BlockRole role) {
  if (IsMetadata(role)) return DramPriority::kHigh;
  return role == BlockRole::kBlob ? DramPriority::kBottom : DramPriority::kLow;
}

inline constexpr uint32_t kLruHandleBytes = 88;  // LRUCache: its handle, as malloc rounds it
inline constexpr uint64_t kHccSlotBytes = 64;    // HyperClockCache: one slot of its table

struct DramModelOptions {
  uint64_t capacity = 0;            // units: blocks or bytes, as the charges
  double high_priority_pool = 0.5;  // LRUCacheOptions::high_pri_pool_ratio; 0: one strict LRU list
  uint32_t shards = 1;              // a power of two
  uint64_t slot_charge = 0;         // HyperClockCache charges each slot of its table
  uint64_t seed = 1;                // of the hashes that assign blocks to shards
};

// What each block is charged: one unit, or bytes.
class Charges {
 public:
  Charges() = default;
  explicit Charges(std::vector<uint32_t> by_block) : by_block_(std::move(by_block)) {}
  uint64_t of(BlockId block) const { return by_block_.empty() ? 1 : by_block_[block]; }
  // Sets a block's charge. REQUIRES: these are charges by block, and the block is in no tier that uses them.
  void Set(BlockId block, uint32_t charge) { by_block_[block] = charge; }

 private:
  std::vector<uint32_t> by_block_;  // empty: 1 each
};

// LRUCache with the midpoint insertion of its priority pools. New blocks start in the middle of the list. Blocks of
// high priority, and blocks that were hit, go to the front part (`high_priority_pool` of the capacity), whose oldest
// blocks move back to the middle. The oldest of all leaves. (The pool for low priority is empty by default, so bottom
// priority is no lower.) Each shard is such a list; a hash assigns blocks to shards.
class LruModel {
 public:
  LruModel(uint32_t blocks, const Charges&& charges, const DramModelOptions& options) = delete;
  LruModel(uint32_t blocks, const Charges& charges, const DramModelOptions& options);

  bool resident(BlockId block) const { return state_[block].resident; }
  uint64_t usage() const;
  void Prefetch(BlockId block) const {
    __builtin_prefetch(&state_[block], 1);
    lists_.Prefetch(block);
  }

  bool Hit(BlockId block) {
    State& state = state_[block];
    if (!state.resident) return false;
    state.hit = true;
    const uint32_t shard = ShardOf(block);
    Unlink(shard, block);
    Link(shard, block, pools_);
    return true;
  }

  // A hit by a compaction counts as any hit here.
  bool HitByCompaction(BlockId block) { return Hit(block); }

  template <typename Evicted>
  void MakeRoom(BlockId block, Evicted&& evicted) {
    const uint64_t charge = charges_.of(block);
    const uint32_t index = ShardOf(block);
    Shard& shard = shards_[index];
    while (shard.usage + charge > capacity_ && !(lists_.empty(LowList(index)) && lists_.empty(HighList(index)))) {
      const BlockId oldest = lists_.Tail(lists_.empty(LowList(index)) ? HighList(index) : LowList(index));
      Unlink(index, oldest);
      shard.usage -= charges_.of(oldest);
      state_[oldest].resident = false;
      evicted(oldest, state_[oldest].hit);
    }
  }

  template <typename Evicted>
  void Insert(BlockId block, DramPriority priority, Evicted&& evicted) {
    MakeRoom(block, evicted);
    const uint32_t index = ShardOf(block);
    shards_[index].usage += charges_.of(block);
    state_[block] = State{.resident = true};
    Link(index, block, pools_ && priority == DramPriority::kHigh);
  }

  void Erase(BlockId block) {
    assert(resident(block));
    const uint32_t shard = ShardOf(block);
    Unlink(shard, block);
    shards_[shard].usage -= charges_.of(block);
    state_[block].resident = false;
  }

  void Audit(std::vector<std::string>* violations) const;

 private:
  struct State {
    bool resident : 1 = false;
    bool hit : 1 = false;
    bool high : 1 = false;
  };
  struct Shard {
    uint64_t usage = 0;
    uint64_t high_usage = 0;
  };
  static constexpr uint32_t HighList(uint32_t shard) { return 2 * shard; }
  static constexpr uint32_t LowList(uint32_t shard) { return 2 * shard + 1; }

  uint32_t ShardOf(BlockId block) const {
    return shards_.size() == 1 ? 0 : static_cast<uint32_t>(MixWord(block ^ salt_) & (shards_.size() - 1));
  }
  void Link(uint32_t shard, BlockId block, bool high) {
    state_[block].high = high;
    lists_.PushHead(high ? HighList(shard) : LowList(shard), block);
    if (!high) return;
    shards_[shard].high_usage += charges_.of(block);
    while (shards_[shard].high_usage > high_max_) {
      const BlockId back = lists_.Tail(HighList(shard));
      Unlink(shard, back);
      Link(shard, back, false);
    }
  }
  void Unlink(uint32_t shard, BlockId block) {
    lists_.Remove(block);
    if (state_[block].high) shards_[shard].high_usage -= charges_.of(block);
  }

  const Charges& charges_;
  const uint64_t capacity_, high_max_;  // of a shard
  const bool pools_;
  const uint64_t salt_;
  BlockLists lists_;
  std::vector<State> state_;
  std::vector<Shard> shards_;
};

// AutoHyperClockCache. Blocks are in chains by a hash of their key; the table of chains grows by linear hashing, so
// that a chain has at most 0.6 blocks in the mean. A block's countdown starts at 3, 2 or 1 by its priority, and rises
// with each hit, to 3. To make room a pointer sweeps the table, four chains a step, with the chains that share their
// low bits: countdowns fall, and all blocks of the step that are at 0 leave. So more may leave than was needed.
class HccModel {
 public:
  HccModel(uint32_t blocks, const Charges&& charges, const DramModelOptions& options) = delete;
  HccModel(uint32_t blocks, const Charges& charges, const DramModelOptions& options);

  bool resident(BlockId block) const { return state_[block].resident; }
  uint64_t usage() const;  // blocks alone, without the table
  void Prefetch(BlockId block) const { __builtin_prefetch(&state_[block], 1); }

  bool Hit(BlockId block) {
    State& state = state_[block];
    if (!state.resident) return false;
    state.hit = true;
    state.countdown = static_cast<uint8_t>(std::min(state.countdown + 1, kCountdownMax));
    return true;
  }

  // A compaction's hit makes a block stay longer too. But it does not count as a hit for evicted(), as the live cache
  // keeps bits of its own for that.
  bool HitByCompaction(BlockId block) {
    const bool hit = state_[block].hit;
    if (!Hit(block)) return false;
    state_[block].hit = hit;
    return true;
  }

  template <typename Evicted>
  void MakeRoom(BlockId block, Evicted&& evicted) {
    Shard& shard = ShardOf(Hash(block));
    const uint64_t charge = charges_.of(block);
    if (shard.usage + charge <= shard.capacity || charge > shard.usage) return;
    uint64_t wanted = charge;
    if (shard.usage > shard.capacity) wanted += std::min(shard.capacity / 1024, charge) + 1;
    Evict(&shard, wanted, evicted);
  }

  template <typename Evicted>
  void Insert(BlockId block, DramPriority priority, Evicted&& evicted) {
    const uint64_t hash = Hash(block);
    Shard& shard = ShardOf(hash);
    while (shard.occupancy + 1 > OccupancyMax(shard.homes.size())) Grow(&shard);
    MakeRoom(block, evicted);
    shard.usage += charges_.of(block);
    ++shard.occupancy;
    uint32_t& head = shard.homes[HomeOf(shard, hash)];
    state_[block] =
        State{.next = head, .countdown = static_cast<uint8_t>(1 + static_cast<int>(priority)), .resident = true};
    head = block;
  }

  void Erase(BlockId block);

  void Audit(std::vector<std::string>* violations) const;

 private:
  struct State {
    uint32_t next = kNoBlock;  // the next block of its chain
    uint8_t countdown = 0;
    bool hit = false;
    bool resident = false;
  };
  struct Shard {
    std::vector<uint32_t> homes;  // chains' first blocks; the size is the table's used length
    uint64_t capacity = 0;
    uint64_t usage = 0;  // charges of the blocks and of the table
    uint64_t occupancy = 0;
    uint64_t clock_pointer = 0;
    uint64_t clock_mask = 0;
    std::vector<BlockId> leaving;
  };
  static constexpr int kCountdownMax = 3;
  static constexpr uint64_t kHomesPerStep = 4;

  uint64_t Hash(BlockId block) const { return MixWord(block ^ salt_); }
  Shard& ShardOf(uint64_t hash) { return shards_[hash >> 32 & (shards_.size() - 1)]; }
  static uint64_t OccupancyMax(uint64_t homes) {
    return static_cast<uint64_t>(static_cast<double>(homes) * 0.6 + 0.999);
  }
  static uint64_t HomeOf(const Shard& shard, uint64_t hash) {
    const uint64_t wide = hash & (std::bit_ceil(shard.homes.size()) - 1);
    return wide < shard.homes.size() ? wide : hash & (std::bit_floor(shard.homes.size()) - 1);
  }
  void Grow(Shard* shard);
  void SweepChain(Shard* shard, uint64_t home);

  template <typename Evicted>
  void Evict(Shard* shard, uint64_t wanted, Evicted&& evicted) {
    uint64_t freed = 0;
    uint64_t pointer_max = 0;
    while (freed < wanted) {
      const uint64_t pointer = shard->clock_pointer;
      shard->clock_pointer += kHomesPerStep;
      // At the beginning of each pass the steps may follow the growth of the table.
      if ((pointer & shard->clock_mask) == 0) shard->clock_mask = std::bit_floor(shard->homes.size()) - 1;
      const uint64_t stride = shard->clock_mask + 1;
      for (uint64_t base = pointer & shard->clock_mask; base < shard->homes.size(); base += stride) {
        for (uint64_t home = base; home < std::min(base + kHomesPerStep, shard->homes.size()); ++home)
          SweepChain(shard, home);
      }
      for (const BlockId block : shard->leaving) {
        freed += charges_.of(block);
        evicted(block, state_[block].hit);
      }
      shard->occupancy -= shard->leaving.size();
      shard->leaving.clear();
      if (pointer_max == 0) pointer_max = pointer + (kCountdownMax + 1) * stride;
      if (pointer + kHomesPerStep >= pointer_max) break;
    }
    shard->usage -= freed;
  }

  const Charges& charges_;
  const uint64_t slot_charge_;
  const uint64_t salt_;
  std::vector<State> state_;
  std::vector<Shard> shards_;
};

}  // namespace mezz::sim
