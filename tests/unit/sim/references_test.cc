// SPDX-License-Identifier: Apache-2.0
// The single-tier references against naive models of the same rules, and OPT against trying everything.
#include "workloads/sim/references.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "test_traces.h"
#include "workloads/sim/opt.h"
#include "workloads/sim/w_tinylfu.h"

namespace mezz::sim {
namespace {

// The rules, told as plainly as can be: vectors searched from end to end.
class NaiveLru {
 public:
  explicit NaiveLru(uint64_t capacity) : capacity_(capacity) {}
  bool Access(BlockId block) {
    const auto at = std::find(blocks_.begin(), blocks_.end(), block);
    const bool hit = at != blocks_.end();
    if (hit) blocks_.erase(at);
    if (blocks_.size() == capacity_) blocks_.pop_front();
    blocks_.push_back(block);
    return hit;
  }

 private:
  const uint64_t capacity_;
  std::deque<BlockId> blocks_;  // oldest first
};

struct Counted {
  BlockId block;
  int hits;
};
Counted* Find(std::deque<Counted>& queue, BlockId block) {
  const auto at = std::find_if(queue.begin(), queue.end(), [&](const Counted& c) { return c.block == block; });
  return at == queue.end() ? nullptr : &*at;
}

class NaiveClock {
 public:
  explicit NaiveClock(uint64_t capacity) : capacity_(capacity) {}
  bool Access(BlockId block) {
    if (Counted* found = Find(queue_, block)) {
      found->hits = 1;
      return true;
    }
    while (queue_.size() >= capacity_) {
      const Counted oldest = queue_.front();
      queue_.pop_front();
      if (oldest.hits > 0) queue_.push_back({oldest.block, oldest.hits - 1});
    }
    queue_.push_back({block, 0});
    return false;
  }

 private:
  const uint64_t capacity_;
  std::deque<Counted> queue_;
};

class NaiveS3Fifo {
 public:
  explicit NaiveS3Fifo(uint64_t capacity) : capacity_(capacity), small_max_(std::max<uint64_t>(1, capacity / 10)) {}
  bool Access(BlockId block) {
    for (auto* queue : {&small_, &main_}) {
      if (Counted* found = Find(*queue, block)) {
        ++found->hits;
        return true;
      }
    }
    const auto ghost = std::find(ghost_.begin(), ghost_.end(), block);
    const bool remembered = ghost != ghost_.end();
    if (remembered) ghost_.erase(ghost);
    while (small_.size() + main_.size() >= capacity_) {
      if (main_.size() > capacity_ - small_max_ || small_.empty()) {
        EvictMain();
      } else {
        EvictSmall();
      }
    }
    (remembered ? main_ : small_).push_back({block, 0});
    return false;
  }

 private:
  void EvictSmall() {
    while (!small_.empty()) {
      const Counted oldest = small_.front();
      small_.pop_front();
      if (oldest.hits < 2) {
        const auto ghosts = static_cast<uint64_t>(static_cast<double>(capacity_) * 0.9);
        if (ghosts == 0) return;
        if (ghost_.size() == ghosts) ghost_.pop_front();
        ghost_.push_back(oldest.block);
        return;
      }
      main_.push_back({oldest.block, 0});
    }
  }
  void EvictMain() {
    for (;;) {
      const Counted oldest = main_.front();
      main_.pop_front();
      if (oldest.hits == 0) return;
      main_.push_back({oldest.block, std::min(oldest.hits, 3) - 1});
    }
  }

  const uint64_t capacity_, small_max_;
  std::deque<Counted> small_, main_;
  std::deque<BlockId> ghost_;
};

// W-TinyLFU with exact counts, wherever the filter counts exactly too: few blocks, so nothing collides for long.
class NaiveWTinyLfu {
 public:
  explicit NaiveWTinyLfu(uint64_t capacity)
      : capacity_(capacity),
        window_max_(std::max<uint64_t>(1, capacity / 100)),
        main_max_(capacity - window_max_),
        probation_max_(static_cast<uint64_t>(static_cast<double>(main_max_) * 0.2)),
        protected_max_(static_cast<uint64_t>(static_cast<double>(main_max_) * 0.8)),
        filter_(std::max<uint64_t>(1, main_max_)) {}

  bool Access(BlockId block) {
    if (Drop(window_, block)) {
      window_.push_back(block);
      return true;
    }
    const bool on_probation = Drop(probation_, block);
    if (on_probation || Drop(protected_, block)) {
      protected_.push_back(block);
      if (protected_.size() > protected_max_) {
        probation_.push_back(protected_.front());
        protected_.pop_front();
        if (probation_.size() > probation_max_) probation_.pop_front();
      }
      filter_.Add(block);
      if (++hits_ == 32 * main_max_) {
        hits_ = 0;
        filter_.Halve();
      }
      return true;
    }
    while (window_.size() + probation_.size() + protected_.size() >= capacity_) Evict();
    window_.push_back(block);
    filter_.Add(block);
    return false;
  }

 private:
  static bool Drop(std::deque<BlockId>& queue, BlockId block) {
    const auto at = std::find(queue.begin(), queue.end(), block);
    if (at == queue.end()) return false;
    queue.erase(at);
    return true;
  }
  std::deque<BlockId>& VictimQueue() { return probation_.empty() ? protected_ : probation_; }
  void Admit(BlockId block) {
    const bool full = probation_.size() >= probation_max_;
    (full && protected_.size() < protected_max_ ? protected_ : probation_).push_back(block);
  }
  void Evict() {
    for (;;) {
      if (window_.empty()) return VictimQueue().pop_front();
      const BlockId candidate = window_.front();
      window_.pop_front();
      const bool room = probation_.size() + protected_.size() < main_max_;
      const bool wins = !room && main_max_ > 0 && filter_.Estimate(candidate) > filter_.Estimate(VictimQueue().front());
      if (wins) VictimQueue().pop_front();
      if (room || wins) Admit(candidate);
      filter_.Add(candidate);
      if (!room && !wins) return;
    }
  }

  const uint64_t capacity_, window_max_, main_max_, probation_max_, protected_max_;
  CountingFilter filter_;
  std::deque<BlockId> window_, probation_, protected_;  // oldest first
  uint64_t hits_ = 0;
};

constexpr uint32_t kBlocks = 200;

template <typename Reference, typename Naive>
void ExpectSameHits() {
  std::mt19937_64 random(test::Seed());
  for (int round = 0; round < 60; ++round) {
    const std::vector<BlockId> accesses = MixedAccesses(random, 3000, kBlocks);
    const uint64_t capacity = 1 + random() % (round % 2 == 0 ? 15 : 150);
    Reference reference(kBlocks, capacity);
    Naive naive(capacity);
    for (size_t at = 0; at < accesses.size(); ++at) {
      ASSERT_EQ(reference.Access(accesses[at]), naive.Access(accesses[at]))
          << "access " << at << ", capacity " << capacity << ", round " << round;
    }
  }
}

TEST(LruReference, HitsWhereTheNaiveModelDoes) { ExpectSameHits<LruReference, NaiveLru>(); }
TEST(ClockReference, HitsWhereTheNaiveModelDoes) { ExpectSameHits<ClockReference, NaiveClock>(); }
TEST(S3FifoReference, HitsWhereTheNaiveModelDoes) { ExpectSameHits<S3FifoReference, NaiveS3Fifo>(); }
TEST(WTinyLfuReference, HitsWhereTheNaiveModelDoes) { ExpectSameHits<WTinyLfuReference, NaiveWTinyLfu>(); }

TEST(CountingFilter, NeverCountsLessThanWasAdded) {
  std::mt19937_64 random(test::Seed());
  CountingFilter filter(100);
  std::map<BlockId, uint32_t> exact;
  for (int i = 0; i < 2000; ++i) {
    const auto block = static_cast<BlockId>(random() % 300);
    filter.Add(block);
    ++exact[block];
  }
  for (const auto& [block, count] : exact) EXPECT_GE(filter.Estimate(block), count);
}

uint64_t OptMisses(const std::vector<BlockId>& accesses, uint32_t blocks, uint64_t capacity) {
  const std::vector<uint32_t> next = NextUses(accesses, blocks);
  OptReference opt(next, capacity);
  uint64_t misses = 0;
  for (uint32_t at = 0; at < accesses.size(); ++at) misses += !opt.AccessAt(at);
  return misses;
}

// The least misses any choice of what to keep can have.
uint64_t LeastMisses(const std::vector<BlockId>& accesses, size_t at, std::set<BlockId> kept, uint64_t capacity,
                     std::map<std::pair<size_t, std::set<BlockId>>, uint64_t>* known) {
  if (at == accesses.size()) return 0;
  const auto memo = known->find({at, kept});
  if (memo != known->end()) return memo->second;
  uint64_t least;
  const BlockId block = accesses[at];
  if (kept.contains(block)) {
    least = LeastMisses(accesses, at + 1, kept, capacity, known);
  } else {
    least = 1 + LeastMisses(accesses, at + 1, kept, capacity, known);  // bypass
    std::set<BlockId> with = kept;
    with.insert(block);
    if (with.size() <= capacity) least = std::min(least, 1 + LeastMisses(accesses, at + 1, with, capacity, known));
    for (const BlockId victim : kept) {
      std::set<BlockId> other = with;
      other.erase(victim);
      if (with.size() > capacity) least = std::min(least, 1 + LeastMisses(accesses, at + 1, other, capacity, known));
    }
  }
  known->emplace(std::pair(at, std::move(kept)), least);
  return least;
}

TEST(OptReference, MissesAsSeldomAsAnyChoiceCan) {
  std::mt19937_64 random(test::Seed());
  for (int round = 0; round < 150; ++round) {
    const auto blocks = static_cast<uint32_t>(2 + random() % 5);
    std::vector<BlockId> accesses(4 + random() % 12);
    for (BlockId& block : accesses) block = static_cast<BlockId>(random() % blocks);
    for (uint64_t capacity = 1; capacity <= 3; ++capacity) {
      std::map<std::pair<size_t, std::set<BlockId>>, uint64_t> known;
      ASSERT_EQ(OptMisses(accesses, blocks, capacity), LeastMisses(accesses, 0, {}, capacity, &known))
          << "round " << round << ", capacity " << capacity;
    }
  }
}

TEST(OptReference, NeverMissesMoreWithMoreCapacityAndNeverMoreThanAnyPolicy) {
  std::mt19937_64 random(test::Seed());
  for (int round = 0; round < 20; ++round) {
    const std::vector<BlockId> accesses = MixedAccesses(random, 2000, kBlocks);
    uint64_t before = UINT64_MAX;
    for (uint64_t capacity = 1; capacity <= kBlocks; capacity += 1 + random() % 9) {
      const uint64_t misses = OptMisses(accesses, kBlocks, capacity);
      ASSERT_LE(misses, before);
      before = misses;
      S3FifoReference s3_fifo(kBlocks, capacity);
      LruReference lru(kBlocks, capacity);
      uint64_t s3_fifo_misses = 0, lru_misses = 0;
      for (const BlockId block : accesses) {
        s3_fifo_misses += !s3_fifo.Access(block);
        lru_misses += !lru.Access(block);
      }
      ASSERT_LE(misses, std::min(s3_fifo_misses, lru_misses));
    }
  }
}

TEST(PositionSet, IsASetWithAGreatest) {
  std::mt19937_64 random(test::Seed());
  for (const uint64_t bound : {1, 63, 64, 65, 4096, 4097, 300000}) {
    PositionSet positions(bound);
    std::set<uint64_t> model;
    for (int i = 0; i < 3000; ++i) {
      const uint64_t position = random() % bound;
      ASSERT_EQ(positions.contains(position), model.contains(position));
      if (model.erase(position) != 0) {
        positions.Erase(position);
      } else {
        positions.Insert(position);
        model.insert(position);
      }
      ASSERT_EQ(positions.size(), model.size());
      if (!model.empty()) {
        ASSERT_EQ(positions.Greatest(), *model.rbegin());
      }
    }
  }
}

// Misses on a fixed trace. A change here is a change of behaviour: say why in the commit.
TEST(References, HaveTheirGoldenMisses) {
  std::mt19937_64 random(1);
  const std::vector<BlockId> accesses = MixedAccesses(random, 20000, 1000);
  const auto misses = [&](auto cache) {
    uint64_t count = 0;
    for (const BlockId block : accesses) count += !cache.Access(block);
    return count;
  };
  struct Golden {
    uint64_t capacity, lru, clock, s3_fifo, w_tinylfu, opt;
  };
  for (const Golden& golden :
       {Golden{20, 13149, 13151, 15232, 18478, 11053}, Golden{100, 11638, 11650, 11563, 15151, 7860},
        Golden{500, 6220, 6220, 6191, 6114, 2853}}) {
    EXPECT_EQ(misses(LruReference(1000, golden.capacity)), golden.lru);
    EXPECT_EQ(misses(ClockReference(1000, golden.capacity)), golden.clock);
    EXPECT_EQ(misses(S3FifoReference(1000, golden.capacity)), golden.s3_fifo);
    EXPECT_EQ(misses(WTinyLfuReference(1000, golden.capacity)), golden.w_tinylfu);
    EXPECT_EQ(OptMisses(accesses, 1000, golden.capacity), golden.opt);
  }
}

}  // namespace
}  // namespace mezz::sim
