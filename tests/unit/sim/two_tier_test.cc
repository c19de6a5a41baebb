// SPDX-License-Identifier: Apache-2.0
// The order of events between the tiers, and the goldens of the policies.
#include "admission/curves/two_tier.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <span>

#include "admission/curves/block_key.h"
#include "test_traces.h"
#include "workloads/sim/access_time.h"
#include "workloads/sim/runner.h"

namespace mezz::sim {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// Writes down what it is asked, and answers as it was told.
class ScriptedPolicy final : public Policy {
 public:
  Action on_miss = Action::kToDram;
  Action on_warm = Action::kToScm;
  Action on_eviction = Action::kToScm;
  Action on_hit = Action::kInPlace;
  Action on_reclaim = Action::kDrop;
  Action on_demotion = Action::kDemote;
  std::vector<std::string> log;
  uint64_t dram_hits = 0;

  std::string_view name() const override { return "scripted"; }
  bool may_divert_misses() const override { return true; }
  Decision OnMiss(const BlockFacts& block) override {
    EXPECT_FALSE(block.in_scm);
    return Answer("miss", block, on_miss);
  }
  Decision OnWarm(const BlockFacts& block, const Lineage& lineage) override {
    log.push_back(fmt::format("{} best {} of {} {} {} {} frequency {}",
                              lineage.kind == Lineage::Kind::kHeir ? "heir" : "flushed", static_cast<int>(lineage.best),
                              lineage.percent[0], lineage.percent[1], lineage.percent[2], lineage.percent[3],
                              lineage.frequency));
    return Answer("warm", block, on_warm);
  }
  uint8_t Frequency(const BlockKey& key) const override { return static_cast<uint8_t>(key.words[1]); }
  Decision OnDramEviction(const BlockFacts& block) override {
    log.push_back(fmt::format("{}{}", block.was_hit_in_dram ? "hit " : "", block.in_scm ? "clean" : "dirty"));
    return Answer("evict", block, block.in_scm ? Action::kKeep : on_eviction);
  }
  Decision OnScmHit(const BlockFacts& block) override { return Answer("scm", block, on_hit); }
  Decision OnReclaim(const BlockFacts& block) override {
    EXPECT_TRUE(block.in_scm);
    if (block.in_dram) log.push_back("in dram");
    if (block.demotable) log.push_back("demotable");
    return Answer("reclaim", block, on_reclaim);
  }
  Decision OnDemotion(const BlockFacts& block) override { return Answer("demotion", block, on_demotion); }
  void OnDramHits(uint64_t count) override { dram_hits += count; }
  size_t dram_bytes() const override { return 0; }

 private:
  Decision Answer(const char* question, const BlockFacts& block, Action action) {
    EXPECT_EQ(block.key, BlockKeyOf(block.key.words[1]));
    EXPECT_EQ(block.bytes, 4096u);
    log.push_back(fmt::format("{} {} heat {}", question, block.key.words[1], block.scm_heat));
    return {action, Reason::kGhost};
  }
};

TwoTierOptions Small(uint64_t dram, uint64_t scm) {
  TwoTierOptions options;
  options.dram_cache = DramCache::kLru;
  options.dram = {.capacity = dram, .high_priority_pool = 0};
  options.scm = {.capacity = scm, .segment = 1};
  return options;
}

SimCounts RunKeys(const std::vector<uint64_t>& keys, const TwoTierOptions& options, Policy* policy) {
  return RunOn(LoadKeys(keys), options, policy);
}

// Users' look-ups of keys, each after its events.
class EventSource final : public RequestSource {
 public:
  struct Step {
    uint64_t key;
    std::vector<BlockEvent> events;
  };
  explicit EventSource(std::vector<Step> steps) : steps_(std::move(steps)) {}
  bool Next(Request* request) override {
    if (at_ == steps_.size()) return false;
    *request = {.key = steps_[at_++].key};
    return true;
  }
  std::span<const BlockEvent> events() const override { return steps_[at_ - 1].events; }
  Status status() const override { return Status::Ok(); }
  Status Rewind() override { return Status::NotSupported(""); }
  std::string description() const override { return "events"; }

 private:
  const std::vector<Step> steps_;
  size_t at_ = 0;
};

LoadedTrace LoadSteps(std::vector<EventSource::Step> steps) {
  EventSource source(std::move(steps));
  LoadedTrace trace;
  EXPECT_EQ(LoadedTrace::Load(&source, {}, &trace).message(), "");
  return trace;
}

// In the tests below all blocks are of file 0, unless they say so. The script knows a block to be asked for as often as
// its number says.
BlockEvent Read(uint64_t key, uint32_t keys) {
  return {.kind = BlockEventKind::kCompactionLookUp, .key = key, .keys = keys};
}
BlockEvent Written(uint64_t key, std::vector<ParentShare<uint64_t>> parents) {
  return {.kind = BlockEventKind::kCompacted, .key = key, .parents = std::move(parents)};
}
constexpr uint64_t kNone = ParentShare<uint64_t>::kNoParent;

// 1 goes to DRAM, and to SCM when 2 comes. Of block 9's ten keys 4 stood in 1, 3 in 2, 1 in both, 2 in none; of
// those parents' frequencies each key has its share.
TEST(TwoTier, AnHeirComesFromWhereItsParentsStoodInTheseTiers) {
  const LoadedTrace trace =
      LoadSteps({{1, {}},
                 {2, {}},
                 {2, {Read(1, 10), Read(2, 4), Written(9, {{4, 1}, {3, 2}, {1, 1}, {0, 2}, {2, kNone}})}},
                 {9, {}}});
  ScriptedPolicy policy;
  const SimCounts counts = RunOn(trace, Small(1, 4), &policy);
  EXPECT_THAT(policy.log, ElementsAre("miss 1 heat 0", "miss 2 heat 0", "dirty", "evict 1 heat 0",  // as ever
                                      "scm 1 heat 0",                                               // a compaction's
                                      "heir best 3 of 20 40 0 40 frequency 2", "warm 9 heat 0",     // 0.4 + 4 * 0.5
                                      "scm 9 heat 1"));
  EXPECT_EQ(counts.inserts_to_scm, 1u);
}

TEST(TwoTier, WhatCompactionsLookUpIsNoUsersHitOrMiss) {
  const LoadedTrace trace = LoadSteps({{1, {}}, {1, {Read(1, 4), Read(1, 4), Read(2, 4)}}, {3, {}}, {1, {Read(1, 4)}}});
  ScriptedPolicy policy;
  const SimCounts counts = RunOn(trace, Small(1, 4), &policy);
  EXPECT_EQ(counts.accesses, 4u);
  EXPECT_EQ(counts.dram_hits, 1u);
  EXPECT_EQ(counts.misses, 2u) << "2 was missed by a compaction alone, and is not kept";
  EXPECT_EQ(counts.scm_hits(), 1u);
  EXPECT_EQ(policy.dram_hits, 3u) << "the policy is told of all";
}

// The heat of 1 goes to its heirs: the second is one of a cold block.
TEST(TwoTier, ARecordHandsItsHeatOver) {
  const LoadedTrace trace =
      LoadSteps({{1, {}}, {2, {}}, {1, {}}, {2, {Read(1, 1), Written(8, {{1, 1}}), Read(1, 1), Written(9, {{1, 1}})}}});
  ScriptedPolicy policy;
  RunOn(trace, Small(1, 8), &policy);
  const auto warmed = [&](const char* text) { return std::ranges::count(policy.log, text); };
  EXPECT_EQ(warmed("heir best 2 of 0 0 100 0 frequency 1"), 1);
  EXPECT_EQ(warmed("heir best 1 of 0 100 0 0 frequency 1"), 1);
}

// 0 and 1 lie in SCM, which is full, and 2 in DRAM.
TEST(TwoTier, ABlockOfADeletedFileMakesRoom) {
  std::vector<EventSource::Step> steps = {{0, {}}, {1, {}}, {2, {}}};
  steps.push_back({2, {{.kind = BlockEventKind::kFileDeleted, .key = KeyInFile(0, 0)}}});
  for (uint32_t other = 0; other < 3; ++other) steps.push_back({KeyInFile(7, other), {}});
  const LoadedTrace trace = LoadSteps(std::move(steps));
  ScriptedPolicy policy;
  const SimCounts counts = RunOn(trace, Small(1, 2), &policy);
  EXPECT_EQ(counts.demotions, 4u) << "2 left DRAM for nowhere: its file is gone as well";
  EXPECT_THAT(policy.log, Not(Contains(HasSubstr("reclaim"))));
  EXPECT_EQ(counts.events[Event::kRefusedDeadFile], 1u);
}

TEST(TwoTier, WithoutHeirsWhatIsWrittenIsANewBlock) {
  const LoadedTrace trace = LoadSteps({{1, {}}, {2, {Read(1, 1), Written(9, {{1, 1}})}}, {9, {}}});
  ScriptedPolicy policy;
  TwoTierOptions options = Small(1, 4);
  options.heirs = false;
  const SimCounts counts = RunOn(trace, options, &policy);
  EXPECT_EQ(counts.misses, 3u);
  EXPECT_EQ(counts.inserts_to_scm, 0u);
}

TEST(LoadedTrace, RefusesASampleOfATraceThatNamesParents) {
  EventSource source({{1, {Read(1, 1)}}, {1, {}}});
  LoadedTrace trace;
  EXPECT_THAT(LoadedTrace::Load(&source, {.sample = 0.5}, &trace).message(), HasSubstr("--sample=0.5"));
}

// As the tiers do, where every block is a unit: the script expects blocks of one.
TEST(TwoTier, TellsThePolicyOfUnitsWhateverTheTraceSays) {
  std::vector<Request> requests;
  for (const uint64_t key : {1, 2, 1}) {
    requests.push_back({.key = key});
    requests.back().value_bytes = 100'000;
  }
  const LoadedTrace trace = LoadAll(VectorSource(std::move(requests)));
  ASSERT_EQ(trace.bytes(0), 100'000u);
  ScriptedPolicy policy;
  RunOn(trace, Small(1, 4), &policy);
  EXPECT_GE(policy.log.size(), 4u);
}

TEST(TwoTier, PromotesAfterMakingRoomAndDemotesCleanly) {
  ScriptedPolicy policy;
  policy.on_hit = Action::kPromote;
  const SimCounts counts = RunKeys({1, 2, 1, 1, 2}, Small(1, 4), &policy);
  EXPECT_THAT(policy.log, ElementsAre("miss 1 heat 0",                             // 1 to DRAM
                                      "miss 2 heat 0", "dirty", "evict 1 heat 0",  // 2 to DRAM, 1 to SCM
                                      "scm 1 heat 1", "dirty", "evict 2 heat 0",   // 1 back, 2 to SCM
                                      "scm 2 heat 1", "hit clean", "evict 1 heat 0"));
  EXPECT_EQ(counts.dram_hits, 1u);
  EXPECT_EQ(policy.dram_hits, 1u);
  EXPECT_EQ(counts.promotions, 2u);
  EXPECT_EQ(counts.demotions, 2u);
  EXPECT_EQ(counts.misses, 2u);
  EXPECT_EQ(counts.ghost_hits, 7u);
}

TEST(TwoTier, ServesInPlaceWithoutMovement) {
  ScriptedPolicy policy;
  const SimCounts counts = RunKeys({1, 2, 1, 1, 1, 1}, Small(1, 4), &policy);
  EXPECT_THAT(policy.log, ElementsAre("miss 1 heat 0", "miss 2 heat 0", "dirty", "evict 1 heat 0", "scm 1 heat 1",
                                      "scm 1 heat 2", "scm 1 heat 3", "scm 1 heat 3"));
  EXPECT_EQ(counts.scm_in_place, 4u);
  EXPECT_EQ(counts.promotions, 0u);
}

TEST(TwoTier, AMovedBlockLeavesScm) {
  ScriptedPolicy policy;
  policy.on_hit = Action::kMove;
  const SimCounts counts = RunKeys({1, 2, 1, 2}, Small(1, 4), &policy);
  EXPECT_EQ(counts.moves, 2u);
  EXPECT_EQ(counts.promotions, 2u);
  EXPECT_EQ(counts.demotions, 3u);  // 1 is written anew
}

TEST(TwoTier, MissesGoWhereThePolicySays) {
  ScriptedPolicy to_scm;
  to_scm.on_miss = Action::kToScm;
  EXPECT_EQ(RunKeys({1, 2, 1, 2}, Small(1, 4), &to_scm).inserts_to_scm, 2u);
  ScriptedPolicy bypass;
  bypass.on_miss = Action::kBypass;
  EXPECT_EQ(RunKeys({1, 2, 1, 2}, Small(1, 4), &bypass).misses, 4u);
  ScriptedPolicy drop;
  drop.on_eviction = Action::kDrop;
  EXPECT_EQ(RunKeys({1, 2, 1, 2}, Small(1, 4), &drop).misses, 4u);
}

TEST(TwoTier, ReclaimAsksAboutEachLiveRecordAndTellsOfDram) {
  ScriptedPolicy policy;
  policy.on_hit = Action::kPromote;
  policy.on_reclaim = Action::kSpare;
  // 1 is promoted, so its record is a copy; then 2 and 3 need its room in an SCM tier of two.
  RunKeys({1, 2, 1, 3, 1, 4, 1, 5, 1}, Small(2, 2), &policy);
  EXPECT_THAT(policy.log, ::testing::Contains(::testing::StartsWith("reclaim")));
}

// 1, 2 and 3 leave DRAM one by one; SCM has a fast level of one block before a slow one of two.
TEST(TwoTier, OrderedMediaAskAboutDemotionsAndCountByLevel) {
  ScriptedPolicy policy;
  TwoTierOptions options = Small(1, 3);
  options.scm.fast_capacity = 1;
  const SimCounts counts = RunKeys({1, 2, 3, 1, 2, 1}, options, &policy);
  EXPECT_THAT(policy.log, ElementsAre("miss 1 heat 0", "miss 2 heat 0", "dirty", "evict 1 heat 0",  //
                                      "miss 3 heat 0", "dirty", "evict 2 heat 0",                   //
                                      "demotable", "reclaim 1 heat 0", "demotion 1 heat 0", "scm 1 heat 1",
                                      "scm 2 heat 1", "scm 1 heat 2"));
  EXPECT_EQ(counts.level_demotions, 1u);
  EXPECT_EQ(counts.level_demoted_units, 1u);
  EXPECT_EQ(counts.scm_writes(), 3u) << "two of them from DRAM";
  EXPECT_EQ(counts.slow.in_place, 2u);
  EXPECT_EQ(counts.fast_hits(), 1u);
  options.warmup_accesses = 5;
  ScriptedPolicy another;
  const SimCounts of_last = RunKeys({1, 2, 3, 1, 2, 1}, options, &another);
  EXPECT_EQ(of_last.level_demotions, 0u);
  EXPECT_EQ(of_last.slow.in_place, 1u);
  EXPECT_EQ(of_last.fast_hits(), 0u);
}

TEST(TwoTier, WhatACompactionFindsOnTheSlowLevelIsNoUsersHit) {
  const LoadedTrace trace = LoadSteps({{1, {}}, {2, {}}, {3, {}}, {3, {Read(1, 4)}}});
  ScriptedPolicy policy;
  TwoTierOptions options = Small(1, 3);
  options.scm.fast_capacity = 1;
  const SimCounts counts = RunOn(trace, options, &policy);
  EXPECT_THAT(policy.log, Contains("scm 1 heat 0"));
  EXPECT_EQ(counts.slow.hits(), 0u);
}

TEST(TwoTier, WhatDramHoldsIsToldOfAndNotOfferedToTheSlowLevel) {
  ScriptedPolicy policy;
  policy.on_hit = Action::kPromote;
  TwoTierOptions options = Small(2, 4);
  options.scm.fast_capacity = 2;
  // 1 is promoted, and 4 sends 3 to the fast level, which holds 1 and 2.
  const SimCounts counts = RunKeys({1, 2, 3, 1, 4}, options, &policy);
  ASSERT_GE(policy.log.size(), 4u);
  EXPECT_THAT(std::span(policy.log).last(4), ElementsAre("evict 3 heat 0", "in dram", "demotable", "reclaim 1 heat 1"));
  EXPECT_EQ(counts.level_demotions, 0u);
}

TEST(TwoTier, ABlockThatIsHotOnTheSlowLevelIsWrittenToTheFastOne) {
  ScriptedPolicy policy;
  policy.on_hit = Action::kPromote;
  TwoTierOptions options = Small(1, 4);
  options.scm.fast_capacity = 1;
  // 1 lies on the slow level, and is promoted for the second time when 3 displaces it.
  const SimCounts counts = RunKeys({1, 2, 3, 1, 3, 1, 3}, options, &policy);
  EXPECT_EQ(counts.slow.promotions, 2u);
  EXPECT_EQ(counts.fast_hits(), 2u);
  EXPECT_EQ(counts.events[Event::kCleanEviction], 2u) << "1 for the first time, and 3";
  EXPECT_EQ(counts.demotions, 4u) << "1 twice, 2 and 3";
}

TEST(TwoTier, WarmupIsNotCounted) {
  ScriptedPolicy policy;
  TwoTierOptions options = Small(1, 4);
  options.warmup_accesses = 3;
  const SimCounts counts = RunKeys({1, 2, 1, 1, 2}, options, &policy);
  EXPECT_EQ(counts.accesses, 2u);
  EXPECT_EQ(counts.scm_in_place + counts.dram_hits + counts.promotions, 2u);
  EXPECT_EQ(counts.misses, 0u);
}

TEST(TwoTier, TheClockNeverFallsAndFollowsTheTrace) {
  const LoadedTrace trace =
      LoadAll(VectorSource({{.key = 1, .time_us = 5}, {.key = 1, .time_us = 4}, {.key = 1, .time_us = 9}}));
  ScriptedPolicy policy;
  SimClock clock;
  RunOn(trace, Small(1, 4), &policy, &clock);
  EXPECT_EQ(clock.now_ns, 9000u);
}

// Answers at random what the contract allows, and some of what it does not.
class RandomPolicy final : public Policy {
 public:
  explicit RandomPolicy(uint64_t seed) : random_(seed) {}
  std::string_view name() const override { return "random"; }
  bool may_divert_misses() const override { return true; }
  Decision OnMiss(const BlockFacts&) override { return Any(); }
  Decision OnDramEviction(const BlockFacts&) override { return Any(); }
  Decision OnScmHit(const BlockFacts&) override { return Any(); }
  Decision OnReclaim(const BlockFacts&) override { return Any(); }
  Decision OnDemotion(const BlockFacts&) override { return Any(); }
  size_t dram_bytes() const override { return 0; }

 private:
  Decision Any() { return {static_cast<Action>(random_() % kActions), static_cast<Reason>(random_() % kReasons)}; }
  std::mt19937_64 random_;
};

TEST(TwoTier, AddsUpWhateverThePolicyDoes) {
  std::mt19937_64 random(test::Seed());
  for (int round = 0; round < 40; ++round) {
    const LoadedTrace trace = LoadMixed(random, 5000, 500);
    TwoTierOptions options = Small(1 + random() % 100, 1 + random() % 200);
    options.scm.segment = 1 + random() % options.scm.capacity;
    if (round % 2 == 0) options.scm.fast_capacity = random() % options.scm.capacity;
    options.dram_cache = random() % 2 == 0 ? DramCache::kLru : DramCache::kHcc;
    RandomPolicy policy(random());
    const SimCounts counts = RunOn(trace, options, &policy);
    ASSERT_EQ(counts.dram_hits + counts.scm_hits() + counts.misses, counts.accesses);
    ASSERT_LE(counts.slow.hits(), counts.scm_hits());
    ASSERT_EQ(counts.scm_writes(), counts.scm_written_units) << "round " << round;
  }
}

TEST(MeanAccessNs, AddsUpWhatItSays) {
  const AccessCosts costs = CostsOf(GetMediumModel(MediumModelName::kOptane100), 4096, 80);
  EXPECT_DOUBLE_EQ(costs.dram_hit_ns, BlockSearchLines(4096) * 81.0);
  EXPECT_DOUBLE_EQ(costs.miss_ns, 80'000 + costs.dram_hit_ns);
  EXPECT_DOUBLE_EQ(costs.scm_write_ns, 4160 / 2.3);
  EXPECT_NEAR(costs.promotion_ns, 305 + 4096 / (640.0 / 170) + 40 + 0.03 * 4096, 1e-6);
  EXPECT_LE(costs.scm_hit_ns, costs.promotion_ns);
  SimCounts counts;
  counts.accesses = 10;
  counts.dram_hits = 4;
  counts.scm_in_place = 2;
  counts.promotions = 1;
  counts.misses = 3;
  counts.demotions = 2;
  counts.second_chances = 1;
  EXPECT_NEAR(MeanAccessNs(costs, counts),
              (4 * costs.dram_hit_ns + 2 * costs.scm_hit_ns + costs.promotion_ns + 3 * costs.miss_ns +
               2 * costs.scm_write_ns + costs.spare_ns) /
                  10,
              1e-9);
}

TEST(MeanAccessNs, TakesTheMediumOfEachLevel) {
  const auto of = [](MediumModelName name) {
    AccessCosts costs = CostsOf(GetMediumModel(name), 4096, 80);
    AddPackedCosts(GetMediumModel(name), 4096, Codec::kLz4, 2048, &costs);
    return costs;
  };
  const AccessCosts fast = of(MediumModelName::kCxl), slow = of(MediumModelName::kOptane100);
  SimCounts counts;
  counts.accesses = 1;
  const auto with = [&](auto&& count) {
    SimCounts one = counts;
    count(one, one.slow);
    return MeanAccessNs(fast, slow, one);
  };
  const double error = 1e-6;
  EXPECT_NEAR(with([](auto& all, auto&) { all.scm_in_place = 1; }), fast.scm_hit_ns, error);
  EXPECT_NEAR(with([](auto& all, auto& of_slow) { all.scm_in_place = of_slow.in_place = 1; }), slow.scm_hit_ns, error);
  EXPECT_NEAR(with([](auto& all, auto& of_slow) { all.scm_unpacked = of_slow.unpacked = 1; }), slow.unpack_ns, error);
  EXPECT_NEAR(with([](auto& all, auto& of_slow) { all.promotions = of_slow.promotions = 1; }), slow.promotion_ns,
              error);
  EXPECT_NEAR(with([](auto& all, auto& of_slow) {
                all.promotions = of_slow.promotions = all.packed_promotions = of_slow.packed_promotions = 1;
              }),
              slow.unpack_ns, error);
  EXPECT_NEAR(with([](auto& all, auto& of_slow) { all.second_chances = of_slow.second_chances = 1; }), slow.spare_ns,
              error);
  EXPECT_NEAR(with([](auto& all, auto& of_slow) {
                all.second_chances = all.packed_second_chances = all.packed_writes = 1;
                of_slow.second_chances = of_slow.packed_second_chances = 1;
              }),
              slow.packed_spare_ns, error);
  EXPECT_NEAR(
      with([](auto& all, auto& of_slow) { all.packed_at_reclaim = of_slow.packed_at_reclaim = all.packed_writes = 1; }),
      slow.repack_ns, error);
  EXPECT_NEAR(with([](auto& all, auto&) { all.level_demotions = 1; }),
              fast.spare_ns - fast.scm_write_ns + slow.scm_write_ns, error);
  EXPECT_NEAR(with([](auto& all, auto&) { all.level_demotions = all.packed_level_demotions = all.packed_writes = 1; }),
              fast.packed_spare_ns - fast.packed_write_ns + slow.packed_write_ns, error);
}

// Misses, DRAM hits and SCM writes on a fixed trace. A change here is a change of behaviour: say why in the commit.
struct Golden {
  const char* policy;
  DramCache dram_cache;
  bool exact;
  uint64_t misses, dram_hits, scm_writes;
};

class Goldens : public ::testing::TestWithParam<Golden> {};

TEST_P(Goldens, Hold) {
  const Golden& golden = GetParam();
  std::mt19937_64 random(1);
  const LoadedTrace trace = LoadMixed(random, 60'000, 4000);
  TwoTierOptions options;
  options.dram_cache = golden.dram_cache;
  options.dram = {.capacity = 100};
  options.scm = {.capacity = 400, .segment = 2};
  if (!golden.exact) {
    options.dram = {.capacity = 100 * 4200, .slot_charge = 64};
    options.dram_charges.assign(trace.unique(), 4096 + 64);
    options.record_units.assign(trace.unique(), 4160);
    options.scm = {.capacity = 10 << 18, .segment = 1 << 18, .exact_capacity = false, .writer_lanes = 1};
  }
  std::unique_ptr<Policy> policy;
  ASSERT_TRUE(MakePolicy(golden.policy, {}, &policy).ok());
  const SimCounts counts = RunOn(trace, options, policy.get());
  EXPECT_EQ(counts.misses, golden.misses);
  EXPECT_EQ(counts.dram_hits, golden.dram_hits);
  EXPECT_EQ(counts.scm_writes(), golden.scm_writes);
}

INSTANTIATE_TEST_SUITE_P(Policies, Goldens,
                         ::testing::Values(Golden{"dram_first", DramCache::kLru, true, 33485, 17609, 37481},
                                           Golden{"dram_first", DramCache::kHcc, true, 33550, 17521, 37505},
                                           Golden{"scm_first", DramCache::kLru, true, 34892, 12662, 44430},
                                           Golden{"scm_first", DramCache::kHcc, true, 35211, 12578, 45176},
                                           Golden{"bidirectional", DramCache::kLru, true, 33872, 20499, 36222},
                                           Golden{"bidirectional", DramCache::kHcc, true, 33978, 20416, 35066},
                                           Golden{"bidirectional", DramCache::kLru, false, 33687, 20499, 36980},
                                           Golden{"bidirectional", DramCache::kHcc, false, 33944, 20380, 36694}));

// Whoever changes what `adaptive` does in a tier that packs changes these.
TEST(PackedGoldens, Hold) {
  std::mt19937_64 random(1);
  const LoadedTrace trace = LoadMixed(random, 60'000, 4000);
  SimOptions options;
  options.policies = {"adaptive"};
  options.totals = {{.text = "0.2", .share = 0.2}};
  const auto run = [&](const char* pack, const char* ratio) {
    EXPECT_TRUE(ParsePacking(pack, ratio, &options).ok());
    SimReport report;
    EXPECT_EQ(RunTrace(trace, options, &report).message(), "");
    const SimCounts& counts = report.rows.front().counts;
    return std::vector<uint64_t>{counts.misses, counts.scm_writes(), counts.packed_writes, counts.pack_rejected};
  };
  EXPECT_THAT(run("off", ""), ElementsAre(30227, 6765, 0, 0));
  EXPECT_THAT(run("lz4", "2.2"), ElementsAre(23436, 9103, 8462, 0));
  EXPECT_THAT(run("zstd", "3.3"), ElementsAre(18339, 13285, 12644, 0));
  EXPECT_THAT(run("zstd", "1"), ElementsAre(30428, 6865, 0, 668));
}

// It decides as without packing: nothing grows for blocks that do not fit after all.
TEST(TwoTier, ATierWhereNothingPacksIsNotTakenForALargerOne) {
  class CapacityListener final : public Policy {
   public:
    explicit CapacityListener(std::vector<uint64_t>* told) : told_(*told) {}
    std::string_view name() const override { return "listener"; }
    bool may_divert_misses() const override { return false; }
    Decision OnMiss(const BlockFacts&) override { return {Action::kToDram, Reason::kPolicyDefault}; }
    Decision OnDramEviction(const BlockFacts& block) override {
      return {block.in_scm ? Action::kKeep : Action::kToScm, Reason::kPolicyDefault};
    }
    Decision OnScmHit(const BlockFacts&) override { return {Action::kInPlace, Reason::kPolicyDefault}; }
    void OnCapacity(uint64_t, uint64_t scm_bytes) override { told_.push_back(scm_bytes); }
    size_t dram_bytes() const override { return 0; }

   private:
    std::vector<uint64_t>& told_;
  };
  constexpr uint64_t kScmBytes = 400 * 4096;
  std::mt19937_64 random(1);
  const LoadedTrace trace = LoadMixed(random, 60'000, 4000);
  const auto told = [&](uint32_t codec_bytes) {
    TwoTierOptions options;
    options.dram = {.capacity = 100};
    options.scm = {.capacity = kScmBytes, .segment = 2 * 4096};
    options.record_units.assign(trace.unique(), 4096);
    options.pack = PackOptions{.codec = Codec::kLz4,
                               .block_bytes = std::vector<uint32_t>(trace.unique(), 4096),
                               .codec_bytes = std::vector<uint32_t>(trace.unique(), codec_bytes),
                               .dram_bytes = 100 * 4096,
                               .scm_bytes = kScmBytes};
    std::vector<uint64_t> capacities;
    CapacityListener policy(&capacities);
    const SimCounts counts = RunOn(trace, options, &policy);
    EXPECT_GT(counts.pack_tries, 0u);
    return capacities;
  };
  EXPECT_THAT(told(4096), ElementsAre(kScmBytes));
  EXPECT_GT(told(2000).back(), kScmBytes * 7 / 4);
}

}  // namespace
}  // namespace mezz::sim
