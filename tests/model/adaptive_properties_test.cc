// SPDX-License-Identifier: Apache-2.0
// What `adaptive` promises whatever the workload, run through the simulator's two tiers, one unit a block. The traces
// are generated and the bounds derived from the sizes; MEZZ_SEED repeats a run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <numeric>
#include <ostream>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "../unit/sim/test_traces.h"
#include "admission/curves/two_tier.h"
#include "admission/policy.h"
#include "admission/write_limits.h"
#include "workloads/sim/runner.h"

namespace mezz::sim {
namespace {

using Keys = std::vector<uint64_t>;

constexpr uint32_t kBlockBytes = 4096;  // what LoadKeys makes
constexpr uint64_t kFresh = 1'000'000'000;
constexpr uint64_t kSeeds[] = {1, 2, 3};  // of means of several streams, the same each time

struct Tiers {
  DramCache dram_cache;
  uint64_t dram, scm;
  uint64_t total() const { return dram + scm; }
};

void PrintTo(const Tiers& tiers, std::ostream* out) { *out << tiers.dram << " + " << tiers.scm << " blocks"; }

// Counts of the accesses from `from` on, the earlier ones being the warm-up.
SimCounts RunPolicy(std::string_view name, const Keys& keys, const Tiers& tiers, size_t from) {
  const LoadedTrace trace = LoadKeys(keys);
  TwoTierOptions options;
  options.dram_cache = tiers.dram_cache;
  options.dram = {.capacity = tiers.dram};
  options.scm = {.capacity = tiers.scm, .segment = std::max<uint64_t>(1, tiers.scm / 256)};
  options.warmup_accesses = from;
  SimClock clock;
  const PolicyOptions sizes{.dram_bytes = tiers.dram * kBlockBytes,
                            .scm_bytes = tiers.scm * kBlockBytes,
                            .block_bytes = kBlockBytes,
                            .now_ns = [&clock] { return clock.now_ns; }};
  std::unique_ptr<Policy> policy;
  EXPECT_TRUE(MakePolicy(name, sizes, &policy).ok());
  const SimCounts counts = RunOn(trace, options, policy.get(), &clock);
  return counts;
}

double PerAccess(uint64_t count, const SimCounts& counts) {
  return static_cast<double>(count) / static_cast<double>(counts.accesses);
}
double HitRatio(const SimCounts& counts) { return 1 - PerAccess(counts.misses, counts); }
// Of one LRU list of both tiers' size.
double LruHitRatio(const Keys& keys, const Tiers& tiers, size_t from) {
  const uint64_t misses = CountReferenceMisses("lru", LoadKeys(keys), tiers.total(), from, {});
  return 1 - static_cast<double>(misses) / static_cast<double>(keys.size() - from);
}
// Of one cache of so many blocks that has counted every access, and keeps the blocks asked for most and latest.
double MostFrequentHits(const Keys& keys, uint64_t blocks, size_t from) {
  struct Count {
    uint64_t asked = 0, last = 0;
  };
  std::map<uint64_t, Count> counts;
  std::set<std::tuple<uint64_t, uint64_t, uint64_t>> kept;  // asked, last, key
  uint64_t hits = 0;
  for (uint64_t i = 0; i < keys.size(); ++i) {
    auto& [asked, last] = counts[keys[i]];
    if (kept.erase({asked, last, keys[i]}) != 0 && i >= from) ++hits;
    last = i;
    kept.insert({++asked, last, keys[i]});
    if (kept.size() > blocks) kept.erase(kept.begin());
  }
  return static_cast<double>(hits) / static_cast<double>(keys.size() - from);
}
double Share(uint64_t part, uint64_t whole) { return static_cast<double>(part) / static_cast<double>(whole); }

// The first `to` keys.
Keys Until(const Keys& keys, size_t to) { return {keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(to)}; }

class Zipf {
 public:
  Zipf(uint64_t blocks, double exponent) : sums_(blocks) {
    double sum = 0;
    for (uint64_t i = 0; i < blocks; ++i) sums_[i] = sum += std::pow(static_cast<double>(i + 1), -exponent);
  }
  template <typename Random>
  uint64_t operator()(Random& random) const {
    const double drawn = static_cast<double>(random() >> 11) * 0x1p-53 * sums_.back();
    return static_cast<uint64_t>(std::ranges::upper_bound(sums_, drawn) - sums_.begin());
  }

 private:
  std::vector<double> sums_;
};

class AdaptiveProperty : public ::testing::TestWithParam<Tiers> {
 protected:
  const Tiers tiers_ = GetParam();
  std::mt19937_64 random_{test::Seed()};

  // Each of the first `blocks` keys once, in random order.
  void AppendPass(uint64_t blocks, Keys* keys) {
    const auto start = static_cast<std::ptrdiff_t>(keys->size());
    keys->resize(keys->size() + blocks);
    std::iota(keys->begin() + start, keys->end(), 0);
    std::shuffle(keys->begin() + start, keys->end(), random_);
  }
  void Report(const char* what, double value) { std::printf("  %s: %.4f\n", what, value); }
};

// A hot set larger than DRAM, then ten times both tiers of keys that never come back, then the hot set again: it misses
// no more than before, but for what only DRAM held.
TEST_P(AdaptiveProperty, AScanEvictsNothingHot) {
  const uint64_t hot = tiers_.total() * 7 / 10;
  Keys keys;
  for (uint64_t i = 0; i < 20 * hot; ++i) keys.push_back(random_() % hot);
  Keys undisturbed = keys;
  for (uint64_t i = 0; i < 10 * tiers_.total(); ++i) keys.push_back(kFresh + i);
  const size_t after_scan = keys.size();
  Keys pass;
  AppendPass(hot, &pass);
  const size_t after_warmup = undisturbed.size();
  undisturbed.insert(undisturbed.end(), pass.begin(), pass.end());
  keys.insert(keys.end(), pass.begin(), pass.end());
  const SimCounts before = RunPolicy("adaptive", undisturbed, tiers_, after_warmup);
  const SimCounts after = RunPolicy("adaptive", keys, tiers_, after_scan);
  Report("misses before, of hot set", Share(before.misses, hot));
  Report("misses after, of hot set", Share(after.misses, hot));
  Report("DRAM, of hot set", Share(tiers_.dram, hot));
  Report("misses after, dram_first", Share(RunPolicy("dram_first", keys, tiers_, after_scan).misses, hot));
  EXPECT_LE(after.misses, before.misses + tiers_.dram + hot / 50);
}

// LRU and FIFO find nothing of a loop that does not fit. Ours keeps nearly all that SCM can hold of it, and where
// SCM keeps all it can, DRAM keeps something too.
class AdaptiveLoop : public AdaptiveProperty {
 protected:
  void Expect(double length, double of_scm) {
    const auto loop = static_cast<uint64_t>(length * static_cast<double>(tiers_.total()));
    Keys keys;
    for (uint64_t i = 0; i < 12 * loop; ++i) keys.push_back(i % loop);
    const SimCounts counts = RunPolicy("adaptive", keys, tiers_, 4 * loop);
    Report("hits", HitRatio(counts));
    Report("SCM of loop", Share(tiers_.scm, loop));
    Report("SCM writes per access", PerAccess(counts.scm_writes(), counts));
    EXPECT_GE(HitRatio(counts), of_scm * Share(tiers_.scm, loop));
  }
};
TEST_P(AdaptiveLoop, KeepsMostOfOneAThirdLargerThanBothTiers) { Expect(4.0 / 3, 1); }
TEST_P(AdaptiveLoop, KeepsPartOfOneHalfLargerThanBothTiers) { Expect(1.5, 0.95); }
TEST_P(AdaptiveLoop, KeepsPartOfOneThreeTimesAsLarge) { Expect(3, 1.05); }

// Every object twice, `between` other blocks apart: writing it a second time is worth nothing.
class AdaptiveTwice : public AdaptiveProperty {
 protected:
  void Compare(uint64_t between) {
    const uint64_t distance = between / 2;  // objects: half of the accesses between are others' second
    const uint64_t objects = 15 * tiers_.total();
    for (uint64_t i = 0; i < objects + distance; ++i) {
      if (i < objects) keys_.push_back(kFresh + i);
      if (i >= distance) keys_.push_back(kFresh + i - distance);
    }
    adaptive_ = RunPolicy("adaptive", keys_, tiers_, from_);
    dram_first_ = RunPolicy("dram_first", keys_, tiers_, from_);
    Report("hits", HitRatio(adaptive_));
    Report("hits, dram_first", HitRatio(dram_first_));
    Report("SCM writes per access", PerAccess(adaptive_.scm_writes(), adaptive_));
    Report("SCM writes per access, dram_first", PerAccess(dram_first_.scm_writes(), dram_first_));
  }
  const size_t from_ = 5 * tiers_.total();
  Keys keys_;
  SimCounts adaptive_, dram_first_;
};

// Too far apart for any tier to find the second time.
TEST_P(AdaptiveTwice, WhatComesBackTooLateDoesNotFloodScm) {
  Compare(2 * tiers_.total());
  EXPECT_LE(static_cast<double>(adaptive_.scm_writes()), 0.1 * static_cast<double>(dram_first_.scm_writes()));
}

// Beyond DRAM and well within SCM.
TEST_P(AdaptiveTwice, WhatComesBackInTimeDoesNotFloodScm) {
  Compare(tiers_.dram + tiers_.scm / 2);
  EXPECT_LE(static_cast<double>(adaptive_.scm_writes()), 0.5 * static_cast<double>(dram_first_.scm_writes()));
}
TEST_P(AdaptiveTwice, WhatComesBackInTimeIsFound) {
  Compare(tiers_.dram + tiers_.scm / 2);
  const double lru = LruHitRatio(keys_, tiers_, from_);
  Report("hits, one LRU list", lru);
  EXPECT_GE(HitRatio(adaptive_), lru / 2);
}

// Two working sets in turn. Both fit: soon nothing misses. Neither fits beside the other: two points at most behind
// dram_first and bidirectional (scm_first is never the best of the three here).
class AdaptiveAlternating : public AdaptiveProperty {
 protected:
  Keys Alternate(uint64_t blocks, uint64_t accesses_each, int turns) {
    const Zipf zipf(blocks, 0.6);
    Keys keys;
    for (int turn = 0; turn < turns; ++turn) {
      for (uint64_t i = 0; i < accesses_each; ++i) keys.push_back(zipf(random_) + (turn % 2 == 0 ? 0 : kFresh));
    }
    return keys;
  }
  double BestSimple(const Keys& keys, size_t from) {
    return std::max(HitRatio(RunPolicy("dram_first", keys, tiers_, from)),
                    HitRatio(RunPolicy("bidirectional", keys, tiers_, from)));
  }
};
TEST_P(AdaptiveAlternating, HoldsTwoSetsThatFitTogether) {
  const uint64_t set = tiers_.scm * 9 / 20;
  const Keys keys = Alternate(set, 4 * set, 12);
  const SimCounts counts = RunPolicy("adaptive", keys, tiers_, keys.size() / 2);
  Report("hits", HitRatio(counts));
  EXPECT_GE(HitRatio(counts), 0.97);
}
TEST_P(AdaptiveAlternating, IsHardlyWorseThanTheSimpleRulesWhereTurnsAreLong) {
  const uint64_t set = tiers_.total() * 3 / 4;
  const Keys keys = Alternate(set, 16 * set, 6);
  const double ours = HitRatio(RunPolicy("adaptive", keys, tiers_, keys.size() / 3));
  const double best = BestSimple(keys, keys.size() / 3);
  Report("hits", ours);
  Report("hits, best simple", best);
  EXPECT_GE(ours, best - 0.02);
}
// Of three fixed streams the mean: one alone decides by chance which of two sets is kept.
TEST_P(AdaptiveAlternating, IsNoWorseThanTheSimpleRulesWhereTurnsAreShort) {
  const uint64_t set = tiers_.total() * 3 / 4;
  double ours = 0, best = 0;
  for (const uint64_t seed : kSeeds) {
    random_.seed(seed);
    const Keys keys = Alternate(set, 4 * set, 12);
    ours += HitRatio(RunPolicy("adaptive", keys, tiers_, keys.size() / 3)) / std::size(kSeeds);
    best += BestSimple(keys, keys.size() / 3) / std::size(kSeeds);
  }
  Report("hits", ours);
  Report("hits, best simple", best);
  EXPECT_GE(ours, best - 0.01);
}

// What is popular changes at once.
class AdaptiveShift : public AdaptiveProperty {
 protected:
  struct Shift {
    const char* name;
    bool all_new;  // else the cold turn hot
    double exponent;
  };
  static constexpr Shift kShifts[] = {{"all new", true, 0.9}, {"reversed", false, 0.9}, {"all new, flat", true, 0.6}};

  // Eight footprints of accesses, the shift, and four more.
  void Make(const Shift& shift) {
    std::printf("  %s\n", shift.name);
    const Zipf zipf(footprint_, shift.exponent);
    keys_.clear();
    for (uint64_t i = 0; i < 8 * footprint_; ++i) keys_.push_back(zipf(random_));
    for (uint64_t i = 0; i < 4 * footprint_; ++i)
      keys_.push_back(shift.all_new ? kFresh + zipf(random_) : footprint_ - 1 - zipf(random_));
  }
  // In the accesses from so many footprints on, as many footprints in all.
  double Hits(std::string_view policy, uint64_t from, uint64_t to) {
    return HitRatio(RunPolicy(policy, Until(keys_, to * footprint_), tiers_, from * footprint_));
  }
  const uint64_t footprint_ = 4 * tiers_.total();
  Keys keys_;
};

TEST_P(AdaptiveShift, RecoversWithinThreeFootprintsNeverBehindDramFirst) {
  for (const Shift& shift : kShifts) {
    Make(shift);
    const double before = Hits("adaptive", 6, 8);
    const double second = Hits("adaptive", 9, 10);
    const double fourth = Hits("adaptive", 11, 12);
    const double dram_first = Hits("dram_first", 9, 10);
    Report("hits before", before);
    Report("hits in the second footprint after", second);
    Report("hits in the fourth", fourth);
    Report("hits in the second, dram_first", dram_first);
    EXPECT_GE(fourth, before - 0.04) << shift.name;
    EXPECT_GE(second, dram_first - 0.01) << shift.name;
  }
}

// In the second footprint after the shift as many hits as from cold in its second, and nearly as many as in the steady
// state, or as what nobody can beat: a tier of the whole size that knows how often each block was asked for since the
// shift, and keeps those asked for most.
TEST_P(AdaptiveShift, RecoversWithinOneFootprint) {
  for (const Shift& shift : kShifts) {
    double before = 0, second = 0, second_from_cold = 0, most = 0;
    for (const uint64_t seed : kSeeds) {
      random_.seed(seed);
      Make(shift);
      before += Hits("adaptive", 6, 8) / std::size(kSeeds);
      second += Hits("adaptive", 9, 10) / std::size(kSeeds);
      keys_.erase(keys_.begin(), keys_.begin() + static_cast<std::ptrdiff_t>(8 * footprint_));
      second_from_cold += Hits("adaptive", 1, 2) / std::size(kSeeds);
      most += MostFrequentHits(Until(keys_, 2 * footprint_), tiers_.total(), footprint_) / std::size(kSeeds);
    }
    Report("hits before", before);
    Report("hits in the second footprint after", second);
    Report("hits in the second from cold", second_from_cold);
    Report("hits in the second of the blocks asked for most", most);
    EXPECT_GE(second, std::min(before - 0.03, most - 0.025)) << shift.name;
    EXPECT_GE(second, second_from_cold - 0.02) << shift.name << ": what lies there is worse than nothing";
  }
}

// Part of what is popular is asked for under new keys from some moment on, the old never again: once, or again and
// again, as each flush of RocksDB does to what was written since the one before. dram_first turns over by itself.
class AdaptiveRenewal : public AdaptiveProperty {
 protected:
  // Of each `of` blocks one is renewed every `accesses`.
  Keys Renew(double exponent, uint64_t of, uint64_t accesses, uint64_t times) {
    const uint64_t blocks = 4 * tiers_.total();
    const Zipf zipf(blocks, exponent);
    Keys keys;
    for (uint64_t i = 0; i < 6 * blocks; ++i) keys.push_back(zipf(random_));
    for (uint64_t time = 1; time <= times; ++time) {
      for (uint64_t i = 0; i < accesses; ++i) {
        const uint64_t block = zipf(random_);
        keys.push_back(block * 0x9e3779b97f4a7c15ull % of == 0 ? block + time * kFresh : block);
      }
    }
    return keys;
  }
  // Ours never behind dram_first; while the tiers turn over, two points at most behind a list by age.
  void Compare(uint64_t of, uint64_t footprints_each, uint64_t times) {
    for (const double exponent : {0.9, 0.6}) {
      double ours = 0, dram_first = 0, lru = 0;
      for (const uint64_t seed : kSeeds) {
        random_.seed(seed);
        const uint64_t blocks = 4 * tiers_.total();
        const Keys keys = Renew(exponent, of, footprints_each * blocks, times);
        // One renewal: its second footprint. Many: all of them.
        const size_t from = keys.size() - (times == 1 ? 1 : times * footprints_each) * blocks;
        ours += HitRatio(RunPolicy("adaptive", keys, tiers_, from)) / std::size(kSeeds);
        dram_first += HitRatio(RunPolicy("dram_first", keys, tiers_, from)) / std::size(kSeeds);
        lru += LruHitRatio(keys, tiers_, from) / std::size(kSeeds);
      }
      Report("skew", exponent);
      Report("hits", ours);
      Report("hits, dram_first", dram_first);
      Report("hits, one LRU list", lru);
      EXPECT_GE(ours, dram_first - 0.005) << exponent;
      EXPECT_GE(ours, lru - 0.02) << exponent;
    }
  }
};
TEST_P(AdaptiveRenewal, OfATenthIsFollowedWithinOneFootprint) { Compare(10, 2, 1); }
TEST_P(AdaptiveRenewal, OfAHalfIsFollowedWithinOneFootprint) { Compare(2, 2, 1); }
TEST_P(AdaptiveRenewal, OfAllIsFollowedWithinOneFootprint) { Compare(1, 2, 1); }
TEST_P(AdaptiveRenewal, ByEachFlushIsFollowed) { Compare(3, 1, 6); }

constexpr Tiers kSizes[] = {{DramCache::kLru, 400, 1600}, {DramCache::kHcc, 400, 1600}, {DramCache::kHcc, 2000, 8000}};
const auto NameOfTiers = [](const auto& test) {
  return std::string(test.param.dram_cache == DramCache::kLru ? "lru" : "hcc") + std::to_string(test.param.dram);
};
INSTANTIATE_TEST_SUITE_P(Tiers, AdaptiveProperty, ::testing::ValuesIn(kSizes), NameOfTiers);
INSTANTIATE_TEST_SUITE_P(Tiers, AdaptiveLoop, ::testing::ValuesIn(kSizes), NameOfTiers);
INSTANTIATE_TEST_SUITE_P(Tiers, AdaptiveTwice, ::testing::ValuesIn(kSizes), NameOfTiers);
INSTANTIATE_TEST_SUITE_P(Tiers, AdaptiveAlternating, ::testing::ValuesIn(kSizes), NameOfTiers);
INSTANTIATE_TEST_SUITE_P(Tiers, AdaptiveShift, ::testing::ValuesIn(kSizes), NameOfTiers);
INSTANTIATE_TEST_SUITE_P(Tiers, AdaptiveRenewal, ::testing::Values(kSizes[0], kSizes[1]), NameOfTiers);

// Writes down what a policy lets through to the medium, and when.
class WritesOf final : public Policy {
 public:
  struct Write {
    uint64_t at_ns;
    uint64_t bytes;
  };
  std::vector<Write> writes;

  WritesOf(Policy* policy, const SimClock* clock) : policy_(policy), clock_(clock) {}
  std::string_view name() const override { return "writes_of"; }
  bool may_divert_misses() const override { return policy_->may_divert_misses(); }
  unsigned young_percent() const override { return policy_->young_percent(); }
  unsigned requeue_percent() const override { return policy_->requeue_percent(); }
  Decision OnMiss(const BlockFacts& block) override { return Log(block, policy_->OnMiss(block)); }
  Decision OnDramEviction(const BlockFacts& block) override { return Log(block, policy_->OnDramEviction(block)); }
  Decision OnScmHit(const BlockFacts& block) override { return policy_->OnScmHit(block); }
  Decision OnReclaim(const BlockFacts& block) override { return Log(block, policy_->OnReclaim(block)); }
  void OnDramHits(uint64_t count) override { policy_->OnDramHits(count); }
  size_t dram_bytes() const override { return policy_->dram_bytes(); }

 private:
  Decision Log(const BlockFacts& block, Decision decision) {
    if (decision.action == Action::kToScm || decision.action == Action::kSpare)
      writes.push_back({clock_->now_ns, block.bytes});
    return decision;
  }
  Policy* const policy_;
  const SimClock* const clock_;
};

class AdaptiveBudget : public ::testing::TestWithParam<uint64_t> {};

TEST_P(AdaptiveBudget, HoldsOverEveryWindow) {
  const uint64_t rate = GetParam();
  std::mt19937_64 random(test::Seed());
  const LoadedTrace trace = LoadMixed(random, 60'000, 8000);
  TwoTierOptions options;
  options.dram = {.capacity = 200};
  options.scm = {.capacity = 800, .segment = 4};
  SimClock clock;
  PolicyOptions sizes;
  sizes.dram_bytes = 200 * kBlockBytes;
  sizes.scm_bytes = 800 * kBlockBytes;
  sizes.write_budget_bytes_per_second = rate;
  sizes.now_ns = [&clock] { return clock.now_ns; };
  std::unique_ptr<Policy> policy;
  ASSERT_TRUE(MakePolicy("adaptive", sizes, &policy).ok());
  WritesOf logged(policy.get(), &clock);
  const SimCounts counts = RunOn(trace, options, &logged, &clock);
  EXPECT_LE(counts.scm_writes(), logged.writes.size());
  const double burst = std::max<double>(kBlockBytes, static_cast<double>(rate) * WriteBudget::kBurstNs / 1e9);
  double worst = 0, all = 0;
  for (size_t first = 0; first < logged.writes.size(); ++first) {
    double bytes = 0;
    for (size_t last = first; last < logged.writes.size(); ++last) {
      bytes += static_cast<double>(logged.writes[last].bytes);
      const auto span_ns = static_cast<double>(logged.writes[last].at_ns - logged.writes[first].at_ns);
      worst = std::max(worst, bytes - static_cast<double>(rate) * span_ns / 1e9 - burst);
    }
    all += static_cast<double>(logged.writes[first].bytes);
  }
  EXPECT_LE(worst, 0.0) << "bytes above rate * span + burst";
  EXPECT_GE(all, 0.8 * static_cast<double>(rate) * static_cast<double>(clock.now_ns) / 1e9)
      << "the budget was no limit: a larger trace or a smaller rate";
}
// 60,000 accesses, 10 us apart: with a third of them writing, 130 MB/s.
INSTANTIATE_TEST_SUITE_P(BytesPerSecond, AdaptiveBudget, ::testing::Values(1'000'000, 10'000'000, 30'000'000));

// A cache opened with a fraction of the DRAM that it is given later (Cache::SetCapacity), whose policy is told, misses
// as a policy made for that size does, in the memory it had.
TEST(AdaptiveResize, FollowsADramTierThatGrowsSixteenfold) {
  std::mt19937_64 random(test::Seed());
  const LoadedTrace trace = LoadMixed(random, 400'000, 30'000);
  constexpr uint64_t kDram = 4000, kScm = 4000;
  const auto misses = [&](uint64_t made_for, bool told) {
    TwoTierOptions options;
    options.dram = {.capacity = kDram};
    options.scm = {.capacity = kScm, .segment = 16};
    options.warmup_accesses = 100'000;
    PolicyOptions sizes;
    sizes.dram_bytes = made_for * kBlockBytes;
    sizes.scm_bytes = kScm * kBlockBytes;
    std::unique_ptr<Policy> policy;
    EXPECT_TRUE(MakePolicy("adaptive", sizes, &policy).ok());
    const size_t bytes = policy->dram_bytes();
    if (told) policy->OnCapacity(kDram * kBlockBytes, sizes.scm_bytes);
    const SimCounts counts = RunOn(trace, options, policy.get());
    EXPECT_EQ(policy->dram_bytes(), bytes);
    return PerAccess(counts.misses, counts);
  };
  EXPECT_LE(misses(kDram / 16, /*told=*/true), misses(kDram, /*told=*/false) + 0.01);
}

// Misses, DRAM hits and SCM writes of `adaptive`. A change here is a change of behaviour: measure it on the public
// traces, say why in the commit, and copy the new numbers from the failure's message.
struct Golden {
  const char* trace;
  DramCache dram_cache;
  uint64_t misses, dram_hits, scm_writes;
};
constexpr Golden kGoldens[] = {
    {"mixed", DramCache::kLru, 33314, 18730, 5936},
    {"mixed", DramCache::kHcc, 33371, 18617, 6378},
    {"skewed_and_scans", DramCache::kLru, 42149, 8954, 2892},
    {"skewed_and_scans", DramCache::kHcc, 42680, 2303, 3985},
};

Keys GoldenTrace(std::string_view name) {
  std::mt19937_64 random(1);
  if (name == "mixed") {
    const std::vector<BlockId> blocks = MixedAccesses(random, 60'000, 4000);
    return {blocks.begin(), blocks.end()};
  }
  Keys keys;
  uint64_t fresh = kFresh;
  while (keys.size() < 60'000) {
    const double drawn = static_cast<double>(random() >> 11) * 0x1p-53;
    keys.push_back(static_cast<uint64_t>(5000 * drawn * drawn * drawn));
    if (keys.size() % 4000 != 0) continue;
    for (int i = 0; i < 1000; ++i) keys.push_back(fresh++);
  }
  return keys;
}

void PrintTo(const Golden& golden, std::ostream* out) { *out << golden.trace; }

class AdaptiveGoldens : public ::testing::TestWithParam<Golden> {};
TEST_P(AdaptiveGoldens, Hold) {
  const Golden& golden = GetParam();
  const SimCounts counts = RunPolicy("adaptive", GoldenTrace(golden.trace), {golden.dram_cache, 100, 400}, 0);
  const std::vector<uint64_t> got = {counts.misses, counts.dram_hits, counts.scm_writes()};
  EXPECT_THAT(got, ::testing::ElementsAre(golden.misses, golden.dram_hits, golden.scm_writes)) << golden.trace;
}
INSTANTIATE_TEST_SUITE_P(Adaptive, AdaptiveGoldens, ::testing::ValuesIn(kGoldens));

}  // namespace
}  // namespace mezz::sim
