// SPDX-License-Identifier: Apache-2.0
// How a policy is asked, counted and replaced, whatever the RocksDB release.
#include "integration/hybrid_core.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <algorithm>
#include <cstring>
#include <future>
#include <limits>
#include <thread>
#include <vector>

#include "integration/compaction_thread.h"
#include "rocksdb/env.h"
#include "tests/support/random.h"
#include "tests/support/scripted_policy.h"
#include "tests/support/seed.h"
#include "tests/support/tier_fixture.h"

namespace mezz {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr size_t kBytes = 4000;

class HybridCoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    options_.dram_bytes = 3 << 20;
    options_.scm = test::AnonymousOptions(16 * kSegmentBytesMin);
    options_.write_budget_bytes_per_second = 5 << 20;
    test::UseScript(&options_, &script_);
    ASSERT_EQ(HybridCore::Open(options_, &core_).message(), "");
  }
  void TearDown() override {
    if (core_ != nullptr) test::ExpectSound(core_->scm());
  }

  static BlockSource Zeros() {
    static const auto zeros = [](size_t, size_t bytes, std::byte* to) {
      std::memset(to, 0, bytes);
      return true;
    };
    return zeros;
  }
  void Evict(uint64_t n, bool was_hit = false, BlockRole role = BlockRole::kData) {
    core_->OnDramEviction(test::Key(n), role, kBytes, was_hit, Zeros());
  }
  HybridCore::Serve Hit(uint64_t n) {
    const PinnedBlock block = core_->Find(test::Key(n), BlockRole::kData);
    EXPECT_TRUE(block);
    return core_->OnScmHit(test::Key(n), block);
  }
  uint64_t Decided(DecisionPoint point, Action action, Reason reason, BlockRole role = BlockRole::kData) {
    return core_->Decisions().of(point, action, reason, role);
  }

  test::Script script_;
  HybridCacheOptions options_;
  std::unique_ptr<HybridCore> core_;
};

TEST_F(HybridCoreTest, PolicyLearnsTheSizesAndTheBudget) {
  EXPECT_EQ(script_.made_with.dram_bytes, options_.dram_bytes);
  EXPECT_EQ(script_.made_with.scm_bytes, options_.scm.capacity_bytes);
  EXPECT_EQ(script_.made_with.block_bytes, options_.scm.expected_block_bytes);
  EXPECT_EQ(script_.made_with.write_budget_bytes_per_second, 5u << 20);
}

TEST_F(HybridCoreTest, MissGoesWhereThePolicySays) {
  const auto miss = [&](uint64_t n) { return core_->OnMiss(test::Key(n), BlockRole::kIndex, kBytes, Zeros()); };
  EXPECT_EQ(miss(1), HybridCore::Placement::kDram);
  script_.on_miss = {Action::kToScm, Reason::kRole};
  EXPECT_EQ(miss(2), HybridCore::Placement::kScm);
  EXPECT_TRUE(core_->scm().Contains(test::Key(2)));
  script_.on_miss = {Action::kBypass, Reason::kCompaction};
  EXPECT_EQ(miss(3), HybridCore::Placement::kNowhere);
  EXPECT_FALSE(core_->scm().Contains(test::Key(3)));
  EXPECT_EQ(core_->Snapshot()[Event::kInsertBypassed], 1u);
  EXPECT_EQ(Decided(DecisionPoint::kMiss, Action::kToDram, Reason::kPolicyDefault, BlockRole::kIndex), 1u);
  EXPECT_EQ(Decided(DecisionPoint::kMiss, Action::kToScm, Reason::kRole, BlockRole::kIndex), 1u);
  EXPECT_EQ(Decided(DecisionPoint::kMiss, Action::kBypass, Reason::kCompaction, BlockRole::kIndex), 1u);
  EXPECT_EQ(core_->Decisions().of(DecisionPoint::kMiss, Action::kBypass), 1u);
}

TEST_F(HybridCoreTest, BlobValuesStayOutOfDramWhateverThePolicySays) {
  core_.reset();
  options_.blobs = BlobPlacement::kScm;
  const Status opened = HybridCore::Open(options_, &core_);
  if (opened.code() == Status::Code::kNotSupported) GTEST_SKIP() << opened.message();
  const auto miss = [&](uint64_t n, BlockRole role, size_t bytes = kBytes) {
    return core_->OnMiss(test::Key(n), role, bytes, Zeros());
  };
  EXPECT_EQ(miss(1, BlockRole::kBlob), HybridCore::Placement::kScm);
  EXPECT_TRUE(script_.misses.back().bypass_dram);
  EXPECT_EQ(Decided(DecisionPoint::kMiss, Action::kToScm, Reason::kRole, BlockRole::kBlob), 1u);
  EXPECT_EQ(miss(2, BlockRole::kData), HybridCore::Placement::kDram);
  EXPECT_FALSE(script_.misses.back().bypass_dram);
  EXPECT_EQ(miss(3, BlockRole::kBlob, kSegmentBytesMin), HybridCore::Placement::kNowhere) << "larger than a segment";
  EXPECT_EQ(core_->Snapshot()[Event::kInsertBypassed], 1u);
  script_.on_miss = {Action::kBypass, Reason::kCompaction};
  EXPECT_EQ(miss(4, BlockRole::kBlob), HybridCore::Placement::kNowhere) << "the policy's own word against SCM";
  for (const Action up : {Action::kPromote, Action::kMove}) {
    script_.on_scm_hit = {up, Reason::kFrequency};
    EXPECT_EQ(Hit(1), HybridCore::Serve::kInPlace);
  }
  EXPECT_EQ(Decided(DecisionPoint::kScmHit, Action::kInPlace, Reason::kRole, BlockRole::kBlob), 2u);
}

TEST_F(HybridCoreTest, RefusedEvictionIsCountedWithItsReason) {
  script_.on_eviction = {Action::kDrop, Reason::kTooCold};
  Evict(1, /*was_hit=*/true, BlockRole::kFilter);
  EXPECT_FALSE(core_->scm().Contains(test::Key(1)));
  EXPECT_TRUE(script_.evictions.back().was_hit_in_dram);
  EXPECT_EQ(core_->Snapshot()[Event::kRefusedPolicy], 1u);
  EXPECT_EQ(Decided(DecisionPoint::kDramEviction, Action::kDrop, Reason::kTooCold, BlockRole::kFilter), 1u);
  EXPECT_THAT(core_->Report(), HasSubstr("decision.dram_eviction.drop.too_cold: 1 (filter 1)\n"));
  EXPECT_THAT(core_->Report(), Not(HasSubstr("decision.miss"))) << "what never happened was shown";
}

TEST_F(HybridCoreTest, MovedBlockLeavesItsRecordAndAPromotedOneKeepsIt) {
  Evict(1);
  Evict(2);
  script_.on_scm_hit = {Action::kPromote, Reason::kFrequency};
  EXPECT_EQ(Hit(1), HybridCore::Serve::kPromote);
  core_->OnPromoted(test::Key(1), BlockRole::kData, HybridCore::Serve::kPromote);
  EXPECT_TRUE(core_->scm().Contains(test::Key(1)));
  script_.on_scm_hit = {Action::kMove, Reason::kFrequency};
  EXPECT_EQ(Hit(2), HybridCore::Serve::kMove);
  core_->OnPromoted(test::Key(2), BlockRole::kData, HybridCore::Serve::kMove);
  EXPECT_FALSE(core_->scm().Contains(test::Key(2)));
  EXPECT_EQ(core_->Snapshot()[Event::kPromotion], 2u);
  EXPECT_EQ(Decided(DecisionPoint::kScmHit, Action::kMove, Reason::kFrequency), 1u);
}

TEST_F(HybridCoreTest, ReclaimAsksThePolicy) {
  script_.on_reclaim = {Action::kSpare, Reason::kGhost};
  for (uint64_t n = 0; n < 2000; ++n) Evict(n);
  ASSERT_FALSE(script_.reclaims.empty());
  EXPECT_EQ(script_.reclaims[0].key, test::Key(0)) << "the oldest first";
  EXPECT_EQ(script_.reclaims[0].bytes, kBytes);
  EXPECT_TRUE(script_.reclaims[0].in_scm);
  EXPECT_GT(core_->Snapshot()[Event::kScmSecondChance], 0u);
  EXPECT_EQ(Decided(DecisionPoint::kReclaim, Action::kSpare, Reason::kGhost), script_.reclaims.size());
}

TEST_F(HybridCoreTest, AnswerThatItsPointDoesNotAllowIsCountedAndHarmless) {
  script_.on_miss = {Action::kSpare, Reason::kHit};
  EXPECT_EQ(core_->OnMiss(test::Key(1), BlockRole::kData, kBytes, Zeros()), HybridCore::Placement::kDram);
  EXPECT_EQ(core_->Decisions().invalid(), 1u);
  EXPECT_THAT(core_->Report(), HasSubstr("decision.invalid: 1"));
}

TEST_F(HybridCoreTest, DecisionsOfManyThreadsAddUp) {
  std::vector<std::thread> threads;
  ASSERT_TRUE(core_->SetPolicy("dram_first").ok());  // the script is not for threads
  for (uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      for (uint64_t n = 0; n < 100; ++n) Evict(1000 * t + n);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Decided(DecisionPoint::kDramEviction, Action::kToScm, Reason::kPolicyDefault), 400u);
}

// Of blocks that nobody asked for, one in 24 may pass for hit, however far the DRAM tier has grown since.
TEST_F(HybridCoreTest, HitBitsAndPoliciesFollowTheDramTier) {
  constexpr uint64_t kBlocks = 1000;
  core_->observers().KeepHitBits(kBlocks * core_->options().scm.expected_block_bytes);
  const size_t bytes = core_->hit_bits_bytes();
  core_->OnDramCapacity(16 * kBlocks * core_->options().scm.expected_block_bytes);
  EXPECT_EQ(script_.told_dram_bytes, 16 * kBlocks * core_->options().scm.expected_block_bytes);
  EXPECT_EQ(core_->hit_bits_bytes(), 16 * bytes);
  for (uint64_t n = 0; n < 16 * kBlocks; ++n)
    core_->observers().NoteDramHit(test::Key(n), BlockRole::kData, [] { return size_t{0}; });
  const uint64_t strangers = 4000;
  for (uint64_t n = 0; n < strangers; ++n) Evict(1'000'000 + n);
  const auto hit = std::ranges::count_if(script_.evictions, [](const BlockFacts& b) { return b.was_hit_in_dram; });
  EXPECT_LT(hit, strangers / 20);
  Evict(5);
  EXPECT_TRUE(script_.evictions.back().was_hit_in_dram);
  core_->OnDramCapacity(4096);
  EXPECT_EQ(core_->hit_bits_bytes(), 16 * bytes) << "what was noted is kept";
}

// The live curve sees hits by way of the hit bits.
TEST_F(HybridCoreTest, PoliciesAreToldTheSameWithAndWithoutALiveCurve) {
  const auto told = [&](double curve_rate) {
    core_.reset();
    options_.curve = curve_rate != 0;
    if (options_.curve) options_.curve_rate = curve_rate;
    EXPECT_TRUE(HybridCore::Open(options_, &core_).ok());
    core_->observers().KeepHitBits(100 * core_->options().scm.expected_block_bytes);
    script_.evictions.clear();
    test::Random random(test::Seed());
    for (int i = 0; i < 20'000; ++i) {
      const uint64_t n = random.Below(2000);  // so many that they share bits
      if (random.OneIn(3)) {
        Evict(n);
      } else {
        core_->observers().NoteDramHit(test::Key(n), BlockRole::kData, [] { return kBytes; });
      }
    }
    std::vector<bool> hit;
    for (const BlockFacts& block : script_.evictions) hit.push_back(block.was_hit_in_dram);
    return hit;
  };
  const std::vector<bool> without = told(0);
  EXPECT_GT(std::ranges::count(without, true), 1000);
  EXPECT_GT(std::ranges::count(without, false), 1000);
  for (const double rate : {0.0001, 0.01, 0.3, 1.0}) EXPECT_EQ(told(rate), without) << "curve_rate=" << rate;
}

TEST_F(HybridCoreTest, DramHitsAreToldInBulkAndEachOnce) {
  constexpr uint64_t kHits = 12'345;
  for (uint64_t i = 0; i < kHits; ++i) core_->dram_hits().Add(BlockRole::kData);
  EXPECT_EQ(script_.dram_hits, 0u) << "a DRAM hit asked the policy";
  for (int i = 0; i < 20'000; ++i) core_->Find(test::Key(1), BlockRole::kData);
  EXPECT_EQ(script_.dram_hits, kHits);
}

TEST_F(HybridCoreTest, PoliciesHearOfNewCapacitiesThoseMadeLaterIncluded) {
  const uint64_t half = options_.scm.capacity_bytes / 2;
  ASSERT_TRUE(core_->SetPolicy("dram_first").ok());
  ASSERT_TRUE(core_->SetScmCapacity(half).ok());
  EXPECT_EQ(script_.told_scm_bytes, half) << "a policy that is kept for later was not told";
  core_->OnDramCapacity(uint64_t{1} << 30);
  EXPECT_EQ(script_.told_dram_bytes, uint64_t{1} << 30);
  ASSERT_TRUE(core_->SetScmCapacity(half).ok());
  ASSERT_TRUE(core_->SetPolicy("scripted2").ok());
  EXPECT_EQ(script_.made_with.dram_bytes, uint64_t{1} << 30);
  EXPECT_EQ(script_.made_with.scm_bytes, options_.scm.capacity_bytes) << "it may grow again";
  EXPECT_EQ(script_.told_scm_bytes, half);
}

// With dram_total= the DRAM tier yields 64 KiB at a time, and what a policy tunes itself by would begin anew each time.
TEST_F(HybridCoreTest, PoliciesHearOfADramTierOnceItHasMovedByAnEighth) {
  constexpr uint64_t kYielded = 64 << 10, kBefore = uint64_t{1} << 30;
  core_->OnDramCapacity(kBefore);
  const int told = script_.capacities_told;
  for (uint64_t bytes = kBefore - kYielded; bytes > kBefore * 7 / 8; bytes -= kYielded) core_->OnDramCapacity(bytes);
  EXPECT_EQ(script_.capacities_told, told);
  core_->OnDramCapacity(kBefore * 7 / 8);
  EXPECT_EQ(script_.capacities_told, told + 1);
  EXPECT_EQ(script_.told_dram_bytes, kBefore * 7 / 8);
  core_->OnDramCapacity(kBefore * 7 / 8 - kYielded);
  ASSERT_TRUE(core_->SetPolicy("scripted2").ok());
  EXPECT_EQ(script_.made_with.dram_bytes, kBefore * 7 / 8 - kYielded) << "one that is made later";
}

// To a policy, a DRAM tier of 0 bytes is one of which it knows nothing.
TEST_F(HybridCoreTest, PoliciesHearThatTheDramTierIsGone) {
  core_->OnDramCapacity(uint64_t{1} << 30);
  core_->OnDramCapacity(0);
  EXPECT_EQ(script_.told_dram_bytes, 1u);
  EXPECT_THAT(core_->Report(), HasSubstr("dram.tier_bytes: 0\n"));
  ASSERT_TRUE(core_->SetScmCapacity(options_.scm.capacity_bytes / 2).ok());
  EXPECT_EQ(script_.told_dram_bytes, 1u);
  core_->OnDramCapacity(uint64_t{1} << 20);
  EXPECT_EQ(script_.told_dram_bytes, uint64_t{1} << 20);
}

// A capacity of "no limit" is common where a cache is never to evict.
TEST_F(HybridCoreTest, PoliciesHearOfNoMoreDramThanThereIs) {
  core_->OnDramCapacity(std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(script_.told_dram_bytes, ThisMachine().memory_bytes);
  for (const char* policy : {"adaptive", "placeholder", "three_queue"}) EXPECT_TRUE(core_->SetPolicy(policy).ok());
}

TEST_F(HybridCoreTest, ATierThatIsSwitchedOffTellsItsPolicyOnce) {
  core_.reset();
  options_.scm.pack = PackMode::kLz4;
  ASSERT_TRUE(HybridCore::Open(options_, &core_).ok());
  ASSERT_TRUE(core_->SetScmCapacity(0).ok());
  const int told = script_.capacities_told;
  for (uint64_t n = 0; n < 100; ++n) Evict(n);
  EXPECT_EQ(script_.evictions.size(), 100u);
  EXPECT_EQ(script_.capacities_told, told);
}

// The index holds no more than four times as many, however well they pack.
TEST_F(HybridCoreTest, PoliciesHearOfFourTimesTheScmTierAtMost) {
  core_.reset();
  options_.scm.pack = PackMode::kLz4;
  ASSERT_TRUE(HybridCore::Open(options_, &core_).ok());
  const uint64_t capacity = options_.scm.capacity_bytes;
  for (uint64_t n = 0; n < 20 * capacity / kBytes; ++n) {
    Evict(n);  // of zeros
    ASSERT_LE(script_.told_scm_bytes, 4 * capacity);
  }
  EXPECT_GT(script_.told_scm_bytes, 3 * capacity) << "by steps of an eighth";
}

TEST_F(HybridCoreTest, PolicyIsReplacedWhileRunningAndKeptForLater) {
  EXPECT_EQ(core_->policy_name(), "scripted");
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(core_->SetPolicy("bidirectional").ok());
    EXPECT_EQ(core_->policy_name(), "bidirectional");
    EXPECT_THAT(core_->Report(), HasSubstr("\npolicy: bidirectional\n"));
    EXPECT_THAT(core_->Report(), HasSubstr(";policy=bidirectional;"));
    Evict(round);
    EXPECT_EQ(Hit(round), HybridCore::Serve::kPromote);
    ASSERT_TRUE(core_->SetPolicy("scripted").ok());
    EXPECT_EQ(Hit(round), HybridCore::Serve::kInPlace);
  }
  EXPECT_LE(script_.made, 2) << "a policy that came back was made anew";  // one of them to judge the options
  const Status refused = core_->SetPolicy("best");
  EXPECT_EQ(refused.code(), Status::Code::kInvalidArgument);
  EXPECT_THAT(refused.message(), HasSubstr("policy=best"));
  EXPECT_THAT(refused.message(), HasSubstr("dram_first"));
  EXPECT_EQ(core_->policy_name(), "scripted");
}

// Runs `work` on a thread of that name, which it has before it looks anything up.
template <typename Work>
void OnThreadNamed(const char* name, Work work) {
  std::thread([&] {
    ASSERT_EQ(pthread_setname_np(pthread_self(), name), 0);
    work();
  }).join();
}

TEST(CompactionThread, IsKnownByTheNameThatRocksDbGaveIt) {
  for (const char* name : {"rocksdb:low", "rocksdb:bottom"})
    OnThreadNamed(name, [] { EXPECT_TRUE(OnCompactionThread()); });
  for (const char* name : {"rocksdb:high", "rocksdb:user", "rocksdb", "low", "db_bench"})
    OnThreadNamed(name, [] { EXPECT_FALSE(OnCompactionThread()); });
  EXPECT_FALSE(OnCompactionThread());
}

TEST(CompactionThread, HandsItsNameDownToSubcompactions) {
  OnThreadNamed("rocksdb:low", [] { std::thread([] { EXPECT_TRUE(OnCompactionThread()); }).join(); });
}

TEST(CompactionThread, IsOneOfRocksDbsOwnPools) {
  rocksdb::Env* const env = rocksdb::Env::Default();
  const auto in_pool = [env](rocksdb::Env::Priority pool) {
    env->IncBackgroundThreadsIfNeeded(1, pool);
    std::promise<bool> answer;
    env->Schedule([](void* to) { static_cast<std::promise<bool>*>(to)->set_value(OnCompactionThread()); }, &answer,
                  pool);
    return answer.get_future().get();
  };
  EXPECT_TRUE(in_pool(rocksdb::Env::LOW));
  EXPECT_TRUE(in_pool(rocksdb::Env::BOTTOM));
  EXPECT_FALSE(in_pool(rocksdb::Env::HIGH));
}

TEST_F(HybridCoreTest, CompactionReadsAreNoEvidence) {
  Evict(1);
  OnThreadNamed("rocksdb:low", [&] {
    for (int i = 0; i < 3; ++i) Hit(1);
    core_->OnMiss(test::Key(2), BlockRole::kData, kBytes, Zeros());
    EXPECT_TRUE(script_.misses.back().by_compaction);
    core_->OnMiss(test::Key(3), BlockRole::kData, kBytes, Zeros(), /*image=*/nullptr, /*warms=*/true);
    EXPECT_FALSE(script_.misses.back().by_compaction) << "what it has written is not what it read";
  });
  EXPECT_TRUE(script_.scm_hits.back().by_compaction);
  EXPECT_EQ(script_.scm_hits.back().scm_heat, 0) << "a compaction's read made the block hot";
  Hit(1);
  EXPECT_FALSE(script_.scm_hits.back().by_compaction);
  EXPECT_EQ(script_.scm_hits.back().scm_heat, 1);
}

}  // namespace
}  // namespace mezz
