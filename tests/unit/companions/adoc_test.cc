// SPDX-License-Identifier: Apache-2.0
// The rules of ADOC, one by one, and their bounds over random flows.
#include "integration/companions/adoc.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/support/seed.h"

namespace mezz::test {
namespace {

constexpr AdocSetting kOpened = {.max_background_jobs = 8,
                                 .write_buffer_size = 64 << 20,
                                 .target_file_size_base = 64 << 20,
                                 .max_bytes_for_level_base = 256 << 20};
constexpr int kCpus = 16;
constexpr double kFast = 400e6;

class AdocTest : public ::testing::Test {
 protected:
  // A second later, with one flush of this speed.
  AdocSetting After(Dataflow flow, double speed = kFast) {
    flow.flushes = 1;
    flow.flush_speed_sum = speed;
    now_ += Adoc::kGapNs;
    if (const auto set = adoc_.Decide(now_, flow)) setting_ = *set;
    return setting_;
  }

  Adoc adoc_{{}, kOpened, kCpus};
  AdocSetting setting_ = kOpened;
  uint64_t now_ = 1;
};

TEST_F(AdocTest, LeavesAFlowAloneThatOverflowsNowhere) {
  for (int i = 0; i < 10; ++i) EXPECT_EQ(After({.level0 = 0.9, .debt = 0.9}), kOpened);
}

TEST_F(AdocTest, DoesNothingWhereNothingIsFlushed) {
  now_ += Adoc::kGapNs;
  EXPECT_EQ(adoc_.Decide(now_, {.immutable_memtables = 3, .level0 = 2, .debt = 2}), std::nullopt);
}

TEST_F(AdocTest, AFullLevelZeroTakesThreadsUpToTheCpus) {
  for (const int jobs : {10, 12, 14, 16, 16}) EXPECT_EQ(After({.level0 = 1}).max_background_jobs, jobs);
  EXPECT_EQ(setting_.write_buffer_size, kOpened.write_buffer_size);
}

TEST_F(AdocTest, DebtTakesThreadsAndSmallerBatches) {
  const AdocSetting set = After({.debt = 1});
  EXPECT_EQ(set.max_background_jobs, 10);
  EXPECT_EQ(set.write_buffer_size, 32u << 20);
  EXPECT_EQ(set.target_file_size_base, 32u << 20);
  EXPECT_EQ(set.max_bytes_for_level_base, 128u << 20) << "in proportion";
  After({.debt = 1});
  EXPECT_EQ(After({.debt = 1}).write_buffer_size, 16u << 20) << "a quarter, no less";
}

TEST_F(AdocTest, SlowFlushesGiveThreadsBackAndTakeLargerBatches) {
  After({});
  const AdocSetting set = After({.immutable_memtables = 1}, kFast * 0.4);
  EXPECT_EQ(set.max_background_jobs, 4) << "slow flushes before memtables that wait";
  EXPECT_EQ(set.write_buffer_size, 128u << 20);
  After({}, kFast * 0.4);
  EXPECT_EQ(After({}, kFast * 0.4).max_background_jobs, 2) << "no fewer";
  EXPECT_EQ(setting_.write_buffer_size, 256u << 20) << "four times, no more";
  EXPECT_EQ(After({.level0 = 1}, kFast * 0.4).max_background_jobs, 4) << "Level 0 before slow flushes";
}

TEST_F(AdocTest, MemtablesThatWaitTakeThreadsAndTwoOfThemLargerBatches) {
  EXPECT_EQ(After({.immutable_memtables = 1}).max_background_jobs, 10);
  EXPECT_EQ(setting_.write_buffer_size, kOpened.write_buffer_size);
  EXPECT_EQ(After({.immutable_memtables = 2}).write_buffer_size, 128u << 20);
}

TEST_F(AdocTest, DecidesOnceASecondByAllFlushesSince) {
  After({});
  EXPECT_EQ(adoc_.Decide(now_ + Adoc::kGapNs / 2, {.level0 = 1, .flushes = 1, .flush_speed_sum = kFast / 10}),
            std::nullopt);
  const auto set = adoc_.Decide(now_ + Adoc::kGapNs, {.flushes = 1, .flush_speed_sum = kFast / 5});
  ASSERT_TRUE(set.has_value());
  EXPECT_EQ(set->max_background_jobs, 4) << "their mean is slow";
}

TEST_F(AdocTest, OneFastFlushDoesNotMakeAllOthersSlowForEver) {
  After({}, kFast * 100);
  EXPECT_EQ(After({}).max_background_jobs, 4);
  for (int i = 0; i < 500; ++i) After({});
  EXPECT_EQ(After({.level0 = 1}).max_background_jobs, 4);
  EXPECT_EQ(After({}).max_background_jobs, 4) << "no longer slow";
}

TEST_F(AdocTest, StaysWithinItsBoundsWhateverFlows) {
  std::mt19937_64 random(Seed());
  const auto part = [&] { return static_cast<double>(random() % 300) / 100; };
  for (int round = 0; round < 200; ++round) {
    const AdocSetting opened = {.max_background_jobs = 1 + static_cast<int>(random() % 20),
                                .write_buffer_size = (64 << 10) + random() % (256 << 20),
                                .target_file_size_base = 1 + random() % (128 << 20),
                                .max_bytes_for_level_base = 1 + random() % (1 << 30)};
    Adoc adoc({}, opened, kCpus);
    uint64_t now = 1;
    AdocSetting last = opened;
    for (int i = 0; i < 50; ++i) {
      now += random() % (2 * Adoc::kGapNs);
      const auto set = adoc.Decide(now, {.immutable_memtables = static_cast<int>(random() % 3),
                                         .level0 = part(),
                                         .debt = part(),
                                         .flushes = random() % 3,
                                         .flush_speed_sum = part() * kFast});
      if (!set) continue;
      EXPECT_FALSE(*set == last) << "what is set already is not set again";
      last = *set;
      EXPECT_GE(set->max_background_jobs, std::min(2, opened.max_background_jobs));
      EXPECT_LE(set->max_background_jobs, std::max(kCpus, opened.max_background_jobs));
      EXPECT_GE(set->write_buffer_size, std::min<uint64_t>(opened.write_buffer_size, 64 << 10));
      EXPECT_GE(set->write_buffer_size, opened.write_buffer_size / 4);
      EXPECT_LE(set->write_buffer_size, opened.write_buffer_size * 4);
      EXPECT_GE(set->target_file_size_base, 1u);
    }
  }
}

TEST(AdocBounds, AreJudgedByName) {
  EXPECT_TRUE(Adoc::Validate({.jobs_max = 8, .write_buffer_max = 64 << 20}, kOpened).ok());
  EXPECT_EQ(Adoc::Validate({.jobs_max = 7}, kOpened).message(),
            "adoc_jobs_max=7: give max_background_jobs=8 at least, and 2, or 0 for the machine's CPUs");
  EXPECT_FALSE(Adoc::Validate({.jobs_max = -1}, kOpened).ok());
  EXPECT_FALSE(Adoc::Validate({.write_buffer_max = 1 << 20}, kOpened).ok());
}

}  // namespace
}  // namespace mezz::test
