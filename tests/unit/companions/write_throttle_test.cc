// SPDX-License-Identifier: Apache-2.0
// The two stages, decision by decision, and against a model of RocksDB's write path.
#include "integration/companions/write_throttle.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/support/seed.h"
#include "tests/support/write_model.h"

namespace mezz::test {
namespace {

using Stage = WriteThrottle::Stage;

constexpr uint64_t kAccepted = 16'000'000;

WriteState At(int files, uint64_t rate) {
  return {.level0_files = files, .slowdown_trigger = 20, .stop_trigger = 36, .rate = rate};
}

TEST(WriteThrottle, LeavesWritesAloneThatRocksDbDoesNotDelay) {
  WriteThrottle throttle(kAccepted);
  for (const int files : {0, 5, 19}) {
    EXPECT_EQ(throttle.Decide(At(files, 0)), std::nullopt);
    EXPECT_EQ(throttle.stage(), Stage::kFree);
  }
}

TEST(WriteThrottle, HoldsTheAcceptedRateToHalfWay) {
  WriteThrottle throttle(kAccepted);
  EXPECT_EQ(throttle.Decide(At(20, kAccepted)), std::nullopt) << "it is what it should be";
  for (int files = 20; files < 28; ++files) {
    EXPECT_EQ(throttle.Decide(At(files, kAccepted * 8 / 10)), kAccepted) << files;
    EXPECT_EQ(throttle.stage(), Stage::kHeld);
  }
  EXPECT_NEAR(static_cast<double>(throttle.own_rate()), kAccepted * std::pow(0.8, 8), 2) << "as RocksDB would be";
}

TEST(WriteThrottle, GivesTheRateBackByTheLastTwoFiles) {
  WriteThrottle throttle(kAccepted);
  throttle.Decide(At(20, kAccepted));
  for (int files = 20; files < 28; ++files) throttle.Decide(At(files, kAccepted * 8 / 10));
  uint64_t rate = kAccepted;
  for (int files = 28; files <= 33; ++files) {
    rate = rate * 8 / 10;
    const auto set = throttle.Decide(At(files, rate));
    EXPECT_EQ(throttle.stage(), Stage::kGivenBack);
    if (set) {
      EXPECT_LT(*set, rate) << "RocksDB's own control is not softened, at " << files;
      rate = *set;
    }
    EXPECT_GE(rate, throttle.own_rate());
  }
  const double last = kAccepted * std::pow(static_cast<double>(throttle.own_rate()) / kAccepted, 5.0 / 6);
  EXPECT_LE(static_cast<double>(rate), last * 1.05) << "five of six steps";
}

TEST(WriteThrottle, GoesBackToTheFirstStageBelowHalfWayAndNotAtIt) {
  WriteThrottle throttle(kAccepted);
  throttle.Decide(At(28, kAccepted / 2));
  EXPECT_EQ(throttle.stage(), Stage::kGivenBack);
  throttle.Decide(At(27, kAccepted / 2));
  EXPECT_EQ(throttle.stage(), Stage::kGivenBack);
  EXPECT_EQ(throttle.Decide(At(26, kAccepted / 2)), kAccepted);
  EXPECT_EQ(throttle.stage(), Stage::kHeld);
}

TEST(WriteThrottle, LeavesTheAcceptedRateForTheNextDelay) {
  WriteThrottle throttle(kAccepted);
  throttle.Decide(At(30, kAccepted / 100));
  EXPECT_EQ(throttle.Decide(At(3, 0)), kAccepted);
  EXPECT_EQ(throttle.Decide(At(3, 0)), std::nullopt) << "once";
}

TEST(WriteThrottle, RisesAsRocksDbWouldWhenItPaysItsDebt) {
  WriteThrottle throttle(kAccepted);
  throttle.Decide(At(20, kAccepted));
  for (int i = 0; i < 8; ++i) throttle.Decide(At(24, kAccepted * 8 / 10));
  const uint64_t sunk = *throttle.Decide(At(33, kAccepted * 8 / 10));
  const auto risen = throttle.Decide(At(32, sunk));  // at its highest: RocksDB's reward does not show
  ASSERT_TRUE(risen.has_value());
  EXPECT_NEAR(static_cast<double>(*risen), static_cast<double>(sunk) / 0.8, 2);
}

TEST(WriteThrottle, LetsNearlyNothingInBeforeAStop) {
  WriteThrottle throttle(kAccepted);
  throttle.Decide(At(20, kAccepted));
  EXPECT_EQ(throttle.Decide(At(34, kAccepted * 8 / 10)), 16u * 1024) << "RocksDB's lowest rate";
}

TEST(WriteThrottle, HoldsNothingWhereWritesAreLimitedElsewhere) {
  WriteThrottle throttle(kAccepted);
  WriteState state = At(22, kAccepted / 2);
  state.limited_elsewhere = true;
  EXPECT_EQ(throttle.Decide(state), std::nullopt);
  EXPECT_EQ(throttle.stage(), Stage::kGivenBack);
}

// --- against the model -----------------------------------------------------------------------------------------------

void Attach(WriteModel* model, WriteThrottle* throttle, double lag, bool* in_second) {
  model->lag = lag;
  model->on_event = [=] {
    if (const auto rate = throttle->Decide(model->State())) model->SetRate(*rate);
    *in_second |= throttle->stage() == Stage::kGivenBack;
  };
}

WriteModelOptions RandomOptions(std::mt19937_64& random) {
  const auto between = [&](double low, double high) {
    return std::exp(std::uniform_real_distribution<>(std::log(low), std::log(high))(random));
  };
  WriteModelOptions o;
  o.memtable_bytes = between(1e6, 64e6);
  o.demand = between(5e6, 500e6);
  o.flush_rate = between(100e6, 2000e6);
  o.compaction_rate = between(10e6, 500e6);
  o.level1_bytes = o.memtable_bytes * between(2, 30);
  o.deeper = between(0.1, 10);
  o.slowdown_trigger = 6 + static_cast<int>(random() % 20);
  o.stop_trigger = o.slowdown_trigger + 4 + static_cast<int>(random() % 24);
  o.accepted = between(1e6, 64e6);
  return o;
}

// Bursts of 25 s each minute, as in the paper.
void RunBursts(WriteModel* model, double demand, int minutes) {
  for (int i = 0; i < minutes; ++i) {
    model->SetDemand(demand);
    model->Run(25);
    model->SetDemand(demand / 20);
    model->Run(35);
  }
}

TEST(TwoStageThrottling, NeverComesToAStopThatRocksDbAloneWouldNotHaveComeTo) {
  std::mt19937_64 random(Seed());
  int given_back = 0, stops_alone = 0;
  for (int i = 0; i < 3000; ++i) {
    const WriteModelOptions options = RandomOptions(random);
    WriteModel alone(options), held(options);
    WriteThrottle throttle(static_cast<uint64_t>(options.accepted));
    bool in_second = false;
    Attach(&held, &throttle, i % 2 == 0 ? 0 : 0.02, &in_second);
    RunBursts(&alone, options.demand, 6);
    RunBursts(&held, options.demand, 6);
    given_back += in_second;
    stops_alone += alone.level0_stops > 0;
    if (alone.level0_stops > 0) continue;
    ASSERT_EQ(held.level0_stops, 0) << "case " << i << ": slowdown " << options.slowdown_trigger << ", stop "
                                    << options.stop_trigger << ", accepted " << options.accepted << ", memtable "
                                    << options.memtable_bytes << ", compaction " << options.compaction_rate;
  }
  EXPECT_GT(given_back, 300) << "rates that outrun compaction are what this is about";
  EXPECT_LT(stops_alone, 300);
}

TEST(TwoStageThrottling, ARateThatOutrunsCompactionEndsInTheSecondStage) {
  WriteModelOptions options;
  options.demand = 500e6;
  options.accepted = 200e6;  // compaction makes some 25 MB/s of it
  WriteModel held(options);
  WriteThrottle throttle(static_cast<uint64_t>(options.accepted));
  bool in_second = false;
  Attach(&held, &throttle, 0, &in_second);
  held.Run(1200);
  EXPECT_TRUE(in_second);
  EXPECT_EQ(held.level0_stops, 0);
}

TEST(TwoStageThrottling, DoesNotNearlyStopWhereRocksDbAloneDoes) {
  WriteModelOptions options;
  options.demand = 200e6;
  options.accepted = 16e6;
  options.memtable_bytes = 16e6;
  options.level1_bytes = 256e6;
  options.slowdown_trigger = 20;
  options.stop_trigger = 36;
  WriteModel alone(options), held(options);
  WriteThrottle throttle(static_cast<uint64_t>(options.accepted));
  bool in_second = false;
  Attach(&held, &throttle, 0, &in_second);
  RunBursts(&alone, options.demand, 10);
  RunBursts(&held, options.demand, 10);
  EXPECT_GT(alone.nearly_stopped, 5) << "seconds";
  EXPECT_EQ(held.nearly_stopped, 0);
  EXPECT_GE(held.written, alone.written);
}

}  // namespace
}  // namespace mezz::test
