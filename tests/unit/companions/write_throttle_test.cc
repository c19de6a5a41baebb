// SPDX-License-Identifier: Apache-2.0
// The two stages, decision by decision, and against a model of RocksDB's write path.
#include "integration/companions/write_throttle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>

#include "tests/support/seed.h"

namespace mezz::test {
namespace {

using Stage = WriteThrottle::Stage;

// RocksDB's write path as far as stalls go, in simulated time: one column family, one flush and one compaction at a
// time. The control of the delayed rate is that of RocksDB 11.8.1: db/column_family.cc, SetupDelay and
// RecalculateWriteStallConditions; the rest is as coarse as it may be.
struct WriteModelOptions {
  double demand = 50e6;  // what writers would write, bytes a second
  double memtable_bytes = 4e6;
  double flush_rate = 400e6;
  double compaction_rate = 100e6;  // bytes in
  double level1_bytes = 32e6;      // rewritten with every compaction of Level 0
  double deeper = 2;               // what each byte out of Level 0 costs further down, before the next one may start
  int compaction_trigger = 4;
  int slowdown_trigger = 12;
  int stop_trigger = 24;
  double accepted = 16e6;  // delayed_write_rate
};

class WriteModel {
 public:
  explicit WriteModel(const WriteModelOptions& options) : o_(options), highest_(o_.accepted), rate_(o_.accepted) {}

  // Called so long after a flush or a compaction, once for those that came meanwhile: a companion has its own thread.
  std::function<void()> on_event;
  double lag = 0;

  // SetDBOptions({"delayed_write_rate", ...}).
  void SetRate(uint64_t rate) { highest_ = rate_ = static_cast<double>(rate); }
  WriteState State() const {
    return {.level0_files = files_,
            .slowdown_trigger = o_.slowdown_trigger,
            .stop_trigger = o_.stop_trigger,
            .rate = delayed_ ? static_cast<uint64_t>(rate_) : 0};
  }

  // Until `seconds` have passed, or a day if nothing can.
  void Run(double seconds) {
    const double end = now_ + seconds;
    while (now_ < end) Step(end);
  }
  void SetDemand(double bytes_per_second) { o_.demand = bytes_per_second; }

  double written = 0;
  double slowest = std::numeric_limits<double>::infinity();  // rate that writers who wanted more were held to
  double nearly_stopped = 0;  // seconds below a tenth of the accepted rate, or stopped by Level 0
  int level0_stops = 0;

 private:
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  double WriteRate() const {
    if (stopped_ || (flushing_until_ != kNever && filled_ >= o_.memtable_bytes)) return 0;
    return delayed_ ? std::min(o_.demand, rate_) : o_.demand;
  }

  void Step(double end) {
    const double rate = WriteRate();
    const double full_at = rate > 0 ? now_ + std::max(0.0, o_.memtable_bytes - filled_) / rate : kNever;
    const double next = std::min({end, full_at, flushing_until_, compacting_until_, look_at_});
    if (delayed_ && !stopped_ && o_.demand > rate_ && next > now_) slowest = std::min(slowest, rate_);
    if (stopped_ || (delayed_ && rate_ < o_.accepted / 10)) nearly_stopped += next - now_;
    filled_ += rate * (next - now_);
    written += rate * (next - now_);
    now_ = next;
    if (now_ == flushing_until_) {
      flushing_until_ = kNever;
      ++files_;
      Recalculate();
      look_at_ = std::min(look_at_, now_ + lag);
    } else if (now_ == compacting_until_) {
      compacting_until_ = kNever;
      deeper_bytes_ = taken_ > 0 ? taken_ * o_.memtable_bytes * o_.deeper : 0;
      files_ -= taken_;
      taken_ = 0;
      Recalculate();
      look_at_ = std::min(look_at_, now_ + lag);
    } else if (now_ == full_at) {
      filled_ = o_.memtable_bytes;
    }
    if (now_ == look_at_) {
      look_at_ = kNever;
      if (on_event) on_event();
    }
    if (filled_ >= o_.memtable_bytes * (1 - 1e-9) && flushing_until_ == kNever) {
      filled_ = 0;
      flushing_until_ = now_ + o_.memtable_bytes / o_.flush_rate;
      Recalculate();  // a memtable is switched
    }
    Compact();
  }

  void Compact() {
    if (compacting_until_ != kNever) return;
    if (deeper_bytes_ > 0) {
      compacting_until_ = now_ + deeper_bytes_ / o_.compaction_rate;
    } else if (files_ >= o_.compaction_trigger) {
      taken_ = files_;
      compacting_until_ = now_ + (files_ * o_.memtable_bytes + o_.level1_bytes) / o_.compaction_rate;
    }
  }

  double Debt() const {
    return deeper_bytes_ + (files_ >= o_.compaction_trigger ? files_ * o_.memtable_bytes + o_.level1_bytes : 0);
  }

  void Recalculate() {
    constexpr double kLowest = 16 * 1024;
    const double debt = Debt();
    const bool was_stopped = stopped_;
    stopped_ = files_ >= o_.stop_trigger;
    if (stopped_) {
      level0_stops += !was_stopped;
      delayed_ = false;
    } else if (files_ >= o_.slowdown_trigger) {
      if (delayed_ && highest_ > kLowest) {
        if (was_stopped || files_ >= o_.stop_trigger - 2) {
          rate_ = std::max(kLowest, rate_ * 0.6);
        } else if (debt_before_ > 0 && debt_before_ <= debt) {
          rate_ = std::max(kLowest, rate_ * 0.8);
        } else if (debt_before_ > debt) {
          rate_ = std::min(highest_, rate_ / 0.8);
        }
      }
      delayed_ = true;
    } else {
      if (delayed_) rate_ = std::min(highest_, rate_ * 1.4);
      delayed_ = false;
    }
    debt_before_ = debt;
  }

  WriteModelOptions o_;
  double now_ = 0, filled_ = 0, flushing_until_ = kNever, compacting_until_ = kNever, look_at_ = kNever;
  double highest_, rate_, debt_before_ = 0, deeper_bytes_ = 0;
  int files_ = 0, taken_ = 0;
  bool delayed_ = false, stopped_ = false;
};

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
