// SPDX-License-Identifier: Apache-2.0
#include "admission/miniatures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "tests/support/random.h"
#include "tests/support/seed.h"

namespace mezz {
namespace {

using test::Mix;  // keys are numbered; what is told must be well mixed

constexpr uint32_t kBlockBytes = 4096;
constexpr uint64_t kDramBlocks = 200;
constexpr uint64_t kScmBlocks = 800;

// A strict LRU for the DRAM tier, which everything enters, and the calls AdaptivePolicy would make.
class Driver {
 public:
  explicit Driver(uint64_t scale = 1, double write_cost = Miniatures::kWriteCost)
      : dram_blocks_(kDramBlocks * scale),
        write_cost_(write_cost),
        sketch_((kDramBlocks + kScmBlocks) * scale, 1),
        miniatures_({kDramBlocks * scale * kBlockBytes, kScmBlocks * scale * kBlockBytes, kBlockBytes}, sketch_) {}

  void Access(uint64_t key) {
    const uint64_t hash = Mix(key);
    if (const auto found = where_.find(key); found != where_.end()) {
      found->second->hit = true;
      order_.splice(order_.begin(), order_, found->second);
      return;
    }
    sketch_.Increment(hash);
    if (miniatures_.Samples(hash)) miniatures_.OnDramMiss(hash, /*in_scm=*/true, /*enters_dram=*/true);
    if (order_.size() == dram_blocks_) {
      const Entry oldest = order_.back();
      const uint64_t oldest_hash = Mix(oldest.key);
      if (oldest.hit) sketch_.Increment(oldest_hash);
      if (miniatures_.Samples(oldest_hash))
        miniatures_.OnDramEviction(oldest_hash, kBlockBytes, oldest.hit, write_cost_);
      where_.erase(oldest.key);
      order_.pop_back();
    }
    order_.push_front({key, false});
    where_[key] = order_.begin();
    if (++accesses_ % 300 == 0) sketch_.AgeNextLine();  // ten look-ups a block and halving
  }

  const FrequencySketch& sketch() const { return sketch_; }
  Miniatures& miniatures() { return miniatures_; }

 private:
  struct Entry {
    uint64_t key;
    bool hit;
  };
  const uint64_t dram_blocks_;
  const double write_cost_;
  FrequencySketch sketch_;
  Miniatures miniatures_;
  std::list<Entry> order_;
  std::unordered_map<uint64_t, std::list<Entry>::iterator> where_;
  uint64_t accesses_ = 0;
};

class MiniaturesVerdict : public testing::TestWithParam<uint64_t> {
 protected:
  void SetUp() override { RecordProperty("seed", std::to_string(seed_)); }
  const uint64_t scale_ = GetParam();  // 1: every key is sampled
  const uint64_t seed_ = test::Seed();
  std::mt19937_64 random_{seed_};
  Driver driver_{scale_};
};

// A window of fresh blocks moves on, and each is asked for four times while it is in it: longer than DRAM lasts,
// shorter than SCM does. Waiting for a ghost costs each of them a miss.
TEST_P(MiniaturesVerdict, IsOpenWhereReuseFollowsRecency) {
  for (uint64_t i = 0; i < 60'000 * scale_; ++i) driver_.Access(i / 4 + random_() % (kScmBlocks * scale_ / 2));
  EXPECT_FALSE(AsksForEvidence(driver_.miniatures().verdict()));
}

// The same where each write costs more than the hits that it brings: those that pack dearly.
TEST_P(MiniaturesVerdict, AsksForEvidenceWhereWritesAreDear) {
  Driver driver(scale_, /*write_cost=*/5);
  for (uint64_t i = 0; i < 60'000 * scale_; ++i) driver.Access(i / 4 + random_() % (kScmBlocks * scale_ / 2));
  EXPECT_TRUE(AsksForEvidence(driver.miniatures().verdict()));
}

TEST_P(MiniaturesVerdict, AsksForEvidenceOnALoopLargerThanBothTiers) {
  for (uint64_t i = 0; i < 60'000 * scale_; ++i) driver_.Access(i % (3 * (kDramBlocks + kScmBlocks) * scale_));
  EXPECT_TRUE(AsksForEvidence(driver_.miniatures().verdict()));
}

// Half of the accesses go to blocks that never come back, the others to a set somewhat larger than SCM.
TEST_P(MiniaturesVerdict, AsksForEvidenceAmongOneHitBlocks) {
  const uint64_t lasting = kScmBlocks * scale_ * 5 / 4;
  for (uint64_t i = 0; i < 60'000 * scale_; ++i) driver_.Access(i % 2 == 0 ? random_() % lasting : 1'000'000'000 + i);
  EXPECT_TRUE(AsksForEvidence(driver_.miniatures().verdict()));
}

TEST_P(MiniaturesVerdict, ChangesWithTheWorkload) {
  for (uint64_t i = 0; i < 60'000 * scale_; ++i) driver_.Access(i / 4 + random_() % (kScmBlocks * scale_ / 2));
  ASSERT_FALSE(AsksForEvidence(driver_.miniatures().verdict()));
  for (uint64_t i = 0; i < 60'000 * scale_; ++i)
    driver_.Access(1'000'000'000 + i % (3 * (kDramBlocks + kScmBlocks) * scale_));
  ASSERT_TRUE(AsksForEvidence(driver_.miniatures().verdict()));
  for (uint64_t i = 0; i < 60'000 * scale_; ++i)
    driver_.Access(2'000'000'000 + i / 4 + random_() % (kScmBlocks * scale_ / 2));
  EXPECT_FALSE(AsksForEvidence(driver_.miniatures().verdict()));
}
INSTANTIATE_TEST_SUITE_P(Scale, MiniaturesVerdict, testing::Values(1, 8));

// They dropped a block, or never had it, and the SCM tier goes on serving it in place.
TEST(Miniatures, GetBackWhatTheTierServesInPlace) {
  const FrequencySketch sketch(kDramBlocks + kScmBlocks, 1);
  Miniatures miniatures({kDramBlocks * kBlockBytes, kScmBlocks * kBlockBytes, kBlockBytes}, sketch);
  for (uint64_t key = 0; key < 2 * kScmBlocks; ++key) {
    miniatures.OnDramMiss(Mix(key), /*in_scm=*/true, /*enters_dram=*/true);
    miniatures.OnDramEviction(Mix(key), kBlockBytes, /*was_hit=*/false);
  }
  ASSERT_TRUE(miniatures.stale()) << "no key came twice";
  for (uint64_t i = 0; i < 10 * kScmBlocks; ++i)
    miniatures.OnDramMiss(Mix(1'000'000 + i % (kScmBlocks / 2)), /*in_scm=*/true, /*enters_dram=*/false);
  EXPECT_FALSE(miniatures.stale());
}

// A set that fits is asked for in turn. How often that was a move. `in_scm`: the SCM tier has it, too.
int MovesWhile(uint64_t lookups, uint64_t first_key, bool in_scm, Miniatures* miniatures) {
  int moves = 0;
  for (uint64_t i = 0; i < lookups; ++i)
    moves += miniatures->OnDramMiss(Mix(first_key + i % (kScmBlocks / 2)), in_scm, /*enters_dram=*/false);
  return moves;
}
// All miniatures are full after it.
void Scan(uint64_t first_key, Miniatures* miniatures) {
  for (uint64_t key = 0; key < 2 * kScmBlocks; ++key)
    ASSERT_FALSE(miniatures->OnDramMiss(Mix(first_key + key), /*in_scm=*/false, /*enters_dram=*/false));
}

TEST(Miniatures, TellThatTheLoadHasMovedWhereTheTierLagsBehind) {
  const FrequencySketch sketch(kDramBlocks + kScmBlocks, 1);
  Miniatures miniatures({kDramBlocks * kBlockBytes, kScmBlocks * kBlockBytes, kBlockBytes}, sketch);
  Scan(1'000'000, &miniatures);
  EXPECT_EQ(MovesWhile(20 * kScmBlocks, 0, /*in_scm=*/true, &miniatures), 0);
  EXPECT_EQ(MovesWhile(3 * kScmBlocks, 10'000, /*in_scm=*/false, &miniatures), 1);
  EXPECT_EQ(miniatures.verdict(), Strictness::kLatest) << "until that one is full";
  Scan(2'000'000, &miniatures);
  EXPECT_NE(miniatures.verdict(), Strictness::kLatest);
  EXPECT_EQ(MovesWhile(8 * kScmBlocks, 20'000, /*in_scm=*/false, &miniatures), 0) << "too soon";
  EXPECT_EQ(MovesWhile(8 * kScmBlocks, 20'000, /*in_scm=*/false, &miniatures), 1);
}

TEST(Miniatures, TakeNoScanForAMove) {
  const FrequencySketch sketch(kDramBlocks + kScmBlocks, 1);
  Miniatures miniatures({kDramBlocks * kBlockBytes, kScmBlocks * kBlockBytes, kBlockBytes}, sketch);
  for (uint64_t key = 0; key < 40 * kScmBlocks; ++key)
    ASSERT_FALSE(miniatures.OnDramMiss(Mix(key), /*in_scm=*/false, /*enters_dram=*/false));
}

// Everything fits: all find all of it and write nothing any more.
TEST(Miniatures, OfEqualsTheStrictestIsFollowed) {
  const FrequencySketch sketch(kDramBlocks + kScmBlocks, 1);
  Miniatures miniatures({kDramBlocks * kBlockBytes, kScmBlocks * kBlockBytes, kBlockBytes}, sketch);
  for (uint64_t key = 0; key < kScmBlocks / 2; ++key) {
    miniatures.OnDramMiss(Mix(key), /*in_scm=*/true, /*enters_dram=*/true);
    miniatures.OnDramEviction(Mix(key), kBlockBytes, /*was_hit=*/false);
  }
  for (uint64_t i = 0; i < 10 * kScmBlocks; ++i)
    miniatures.OnDramMiss(Mix(i % (kScmBlocks / 2)), /*in_scm=*/true, /*enters_dram=*/false);
  EXPECT_EQ(miniatures.verdict(), Strictness::kFrequency);
}

// At or above the threshold lies just more than kHotShare of DRAM, above it no more than that.
TEST(Miniatures, TheHotThresholdFillsItsShareOfDram) {
  std::mt19937_64 random(test::Seed());
  for (int round = 0; round < 30; ++round) {
    const uint64_t dram_blocks = 50 + random() % 400;
    FrequencySketch sketch(1000, random());
    Miniatures miniatures({dram_blocks * kBlockBytes, (1000 - dram_blocks) * kBlockBytes, kBlockBytes}, sketch);
    std::vector<uint64_t> hashes(1000);
    const unsigned frequency_max = 1 + random() % FrequencySketch::kMax;
    for (uint64_t& hash : hashes) {
      hash = random();
      const unsigned wanted = 1 + std::min(random() % frequency_max, random() % frequency_max);
      while (sketch.Estimate(hash) < wanted) sketch.Increment(hash);
    }
    for (int pass = 0; pass < 8; ++pass) {
      for (const uint64_t hash : hashes) miniatures.OnDramMiss(hash, /*in_scm=*/true, /*enters_dram=*/false);
    }
    const unsigned threshold = miniatures.hot_frequency();
    const auto blocks_from = [&](unsigned frequency) {
      return static_cast<double>(
          std::ranges::count_if(hashes, [&](uint64_t hash) { return sketch.Estimate(hash) >= frequency; }));
    };
    const double room = Miniatures::kHotShare * static_cast<double>(dram_blocks);
    ASSERT_GE(threshold, 1u);
    if (threshold == Miniatures::kNothingIsHot) {
      // What would just fill the share is no hotter than most.
      unsigned filling = FrequencySketch::kMax;
      while (blocks_from(filling) <= room + 10) --filling;
      double sum = 0;
      for (const uint64_t hash : hashes) sum += sketch.Estimate(hash);
      ASSERT_LE(filling, 1.05 * Miniatures::kHotOverMean * sum / static_cast<double>(hashes.size()));
      continue;
    }
    ASSERT_LE(blocks_from(threshold + 1), room + 10) << "threshold " << threshold;  // a set of slots may have run over
    if (threshold == 1) continue;
    ASSERT_GE(blocks_from(threshold), room - 10) << "threshold " << threshold;
  }
}

TEST(Miniatures, SampleTheSameNumberOfBlocksWhateverTheCapacity) {
  std::mt19937_64 random(test::Seed());
  const FrequencySketch sketch(1, 0);
  for (const uint64_t blocks : {uint64_t{1}, uint64_t{100}, uint64_t{1024}, uint64_t{1025}, uint64_t{320'000},
                                uint64_t{1} << 20, uint64_t{4'000'000}, uint64_t{1} << 32}) {
    SCOPED_TRACE(blocks);
    const Miniatures miniatures({blocks / 5 * kBlockBytes, (blocks - blocks / 5) * kBlockBytes, kBlockBytes}, sketch);
    EXPECT_LE(miniatures.dram_bytes(), 512u << 10);
    if (blocks > uint64_t{1} << 20) continue;
    uint64_t sampled = 0;
    for (uint64_t i = 0; i < blocks; ++i) sampled += miniatures.Samples(random());
    if (blocks <= 1024) {
      EXPECT_EQ(sampled, blocks);
    } else {
      EXPECT_LE(sampled, 1024u + 180) << "five standard deviations";
      EXPECT_GE(sampled, 512u - 120) << "one key in a power of two";
    }
  }
}

TEST(Miniatures, BearAnySizeAndAnyCall) {
  std::mt19937_64 random(test::Seed());
  for (int round = 0; round < 50; ++round) {
    FrequencySketch sketch(100, 1);
    const Miniatures::Options options{.dram_bytes = random() % 3 == 0 ? 0 : random() % 1'000'000,
                                      .scm_bytes = random() % 3 == 0 ? 0 : random() % 1'000'000,
                                      .block_bytes = static_cast<uint32_t>(random() % 3 == 0 ? 0 : random() % 9000)};
    Miniatures miniatures(options, sketch);
    const size_t bytes = miniatures.dram_bytes();
    for (int i = 0; i < 5000; ++i) {
      const uint64_t hash = Mix(random() % 1000);
      if (random() % 2 == 0) {
        miniatures.OnDramMiss(hash, random() % 2 == 0, random() % 2 == 0);
      } else {
        miniatures.OnDramEviction(hash, static_cast<uint32_t>(random() % 8 == 0 ? random() : random() % 9000),
                                  random() % 2 == 0);
      }
      ASSERT_LT(static_cast<size_t>(miniatures.verdict()), kStrictnesses);
      ASSERT_LE(miniatures.hot_frequency(), FrequencySketch::kMax);
    }
    ASSERT_EQ(miniatures.dram_bytes(), bytes) << "it allocates only when it is made";
  }
}

// A few blocks hot, the rest never twice: next to nothing found means stale; a set that fits does not.
TEST(Miniatures, AreStaleOnlyWhereNothingIsFound) {
  Driver useless;
  for (uint64_t i = 0; i < 30'000; ++i) useless.Access(i);
  EXPECT_TRUE(useless.miniatures().stale());
  Driver useful;
  for (uint64_t i = 0; i < 30'000; ++i) useful.Access(i * 7919 % (kScmBlocks / 2));
  EXPECT_FALSE(useful.miniatures().stale());
}

// Sixteen times the size at first: one key in as many more is followed, in the same memory, and the verdict still
// comes.
TEST(Miniatures, FollowAGrownTierThroughAThinnerSampleInTheSameMemory) {
  std::mt19937_64 random(test::Seed());
  Driver driver;
  Miniatures& miniatures = driver.miniatures();
  const size_t bytes = miniatures.dram_bytes();
  const auto sampled = [&] {
    int count = 0;
    for (uint64_t key = 0; key < 64'000; ++key) count += miniatures.Samples(Mix(key));
    return count;
  };
  EXPECT_EQ(sampled(), 64'000);
  miniatures.SetCapacity(16 * kDramBlocks * kBlockBytes, 16 * kScmBlocks * kBlockBytes);
  EXPECT_NEAR(sampled(), 64'000 / 16, 400);
  EXPECT_EQ(miniatures.dram_bytes(), bytes);
  for (uint64_t i = 0; i < 1'000'000; ++i) driver.Access(i / 4 + random() % (16 * kScmBlocks / 2));
  EXPECT_FALSE(AsksForEvidence(miniatures.verdict())) << "recency, over what a tier of this size can bridge";
  miniatures.SetCapacity(kDramBlocks * kBlockBytes / 8, kScmBlocks * kBlockBytes / 8);
  EXPECT_EQ(sampled(), 64'000) << "never denser than there is memory for";
  EXPECT_EQ(miniatures.dram_bytes(), bytes);
  for (uint64_t i = 0; i < 30'000; ++i) driver.Access(2'000'000'000 + i % (3 * (kDramBlocks + kScmBlocks)));
  EXPECT_TRUE(AsksForEvidence(miniatures.verdict()));
}

// Every record of a full miniature is as hot as can be, and a block of a thousandth, then one of a thousand times the
// usual size wants in: neither walks the whole queue.
TEST(Miniatures, NoEventWalksMoreThanAFewRecords) {
  const FrequencySketch sketch(kDramBlocks + kScmBlocks, 1);
  Miniatures miniatures({kDramBlocks * kBlockBytes, kScmBlocks * kBlockBytes, kBlockBytes}, sketch);
  uint64_t walked = 0;
  const auto evict = [&](uint64_t key, uint32_t bytes) {
    miniatures.OnDramEviction(Mix(key), bytes, /*was_hit=*/true);
    const uint64_t now = miniatures.walked_records();
    ASSERT_LE(now - walked, kStrictnesses * MiniatureTier::kWalkedPerEventMax);
    walked = now;
  };
  for (uint64_t key = 0; key < kScmBlocks; ++key) evict(key, kBlockBytes);
  for (int hit = 0; hit < 3; ++hit) {
    for (uint64_t key = 0; key < kScmBlocks; ++key)
      miniatures.OnDramMiss(Mix(key), /*in_scm=*/true, /*enters_dram=*/false);
  }
  for (uint64_t key = 10'000; key < 10'100; ++key) evict(key, 4);
  ASSERT_GT(walked, 0u);
  for (uint64_t key = 20'000; key < 20'100; ++key) evict(key, 1000 * kBlockBytes);
}

}  // namespace
}  // namespace mezz
