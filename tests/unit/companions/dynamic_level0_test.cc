// SPDX-License-Identifier: Apache-2.0
#include "integration/companions/dynamic_level0.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/support/seed.h"

namespace mezz::test {
namespace {

using ::testing::HasSubstr;
using Cut = DynamicLevel0::Cut;

constexpr Level0Shape kOpened = {.write_buffer_size = 64 << 20,
                                 .max_write_buffer_number = 2,
                                 .arena_block_size = 1 << 20,
                                 .compaction_trigger = 4,
                                 .slowdown_trigger = 20,
                                 .stop_trigger = 36};
constexpr DynamicLevel0Options kPapers = {.few = 6, .many = 24};
constexpr uint64_t kSecond = 1'000'000'000;

// A database that does `rate` operations a second, of which a share are writes.
class Mix {
 public:
  explicit Mix(DynamicLevel0* level0) : level0_(*level0) {}
  std::optional<Level0Shape> Second(double write_share, int files = 0, uint64_t rate = 100'000) {
    now_ += kSecond;
    totals_.writes += static_cast<uint64_t>(static_cast<double>(rate) * write_share);
    totals_.reads += rate - static_cast<uint64_t>(static_cast<double>(rate) * write_share);
    return level0_.Decide(now_, totals_, files);
  }
  void Reset() { totals_ = {}; }

 private:
  DynamicLevel0& level0_;
  uint64_t now_ = kSecond;
  OperationTotals totals_;
};

TEST(DynamicLevel0, CutsTheSameBytesIntoFewFilesForReadsAndManyForWrites) {
  DynamicLevel0 level0(kPapers, kOpened);
  Mix mix(&level0);
  const auto few = mix.Second(0.1);
  ASSERT_TRUE(few.has_value());
  EXPECT_EQ(few->compaction_trigger, 6);
  std::optional<Level0Shape> many;
  for (int i = 0; i < 60 && !many; ++i) many = mix.Second(0.9);
  ASSERT_TRUE(many.has_value());
  EXPECT_EQ(many->compaction_trigger, 24);
  for (const Level0Shape& shape : {*few, *many}) {
    const auto bytes = [](const Level0Shape& s, int files) { return static_cast<double>(s.write_buffer_size) * files; };
    EXPECT_NEAR(bytes(shape, shape.compaction_trigger), bytes(kOpened, kOpened.compaction_trigger), 100);
  }
  EXPECT_EQ(mix.Second(0.9), std::nullopt) << "once";
}

// What made it lose: memtables a sixth as large, but two of them as before, and 120 files in Level 0 before a write
// waits.
TEST(DynamicLevel0, KeepsMemoryAndRoomOfWhatItCuts) {
  const uint64_t seed = Seed();
  std::mt19937_64 random(seed);
  const auto from = [&](int least, int most) { return std::uniform_int_distribution<>(least, most)(random); };
  for (int i = 0; i < 2000; ++i) {
    Level0Shape opened = {.write_buffer_size = static_cast<uint64_t>(from(1, 256)) << 20,
                          .max_write_buffer_number = from(2, 8),
                          .arena_block_size = 1 << 20,
                          .compaction_trigger = from(2, 12)};
    opened.slowdown_trigger = opened.compaction_trigger + from(0, 30);
    opened.stop_trigger = opened.slowdown_trigger + from(1, 30);
    const int few = from(0, 3), many = from(0, 2) == 0 ? 0 : from(4, 40);
    const DynamicLevel0Options options = {.few = few, .many = many};
    if (!DynamicLevel0::Validate(options, opened).ok()) continue;
    DynamicLevel0 level0(options, opened);
    Mix mix(&level0);
    Level0Shape shape = opened;
    for (int second = 0; second < 120; ++second) {
      if (const auto set = mix.Second(second / 60 == i % 2 ? 0.9 : 0.01)) shape = *set;
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", database " << i << ", second " << second);
      const auto memory = [](const Level0Shape& s) {
        return s.write_buffer_size * static_cast<uint64_t>(s.max_write_buffer_number);
      };
      ASSERT_GE(shape.max_write_buffer_number, 2);
      if (shape.max_write_buffer_number > 2) {
        ASSERT_LE(memory(shape), memory(opened));
      }
      if (shape.write_buffer_size < opened.write_buffer_size) {
        ASSERT_GT(memory(shape) + shape.write_buffer_size, memory(opened));
        ASSERT_LE(shape.arena_block_size, shape.write_buffer_size / 8 + 4096);
      }
      const int delay = shape.slowdown_trigger - shape.compaction_trigger;
      const int stop = shape.stop_trigger - shape.slowdown_trigger;
      const int opened_delay = opened.slowdown_trigger - opened.compaction_trigger;
      const int opened_stop = opened.stop_trigger - opened.slowdown_trigger;
      ASSERT_LE(delay, opened_delay) << "reads would look into more";
      ASSERT_GE(delay, std::min(opened_delay, 4)) << "writes would be slowed by what they never were";
      ASSERT_LE(stop, opened_stop);
      ASSERT_GE(stop, std::min(opened_stop, 4)) << "two files of each stage, for write_throttle";
    }
  }
}

TEST(DynamicLevel0, LeavesADatabaseThatIsWrittenToAsItWasOpened) {
  DynamicLevel0 level0({}, kOpened);
  Mix mix(&level0);
  for (int i = 0; i < 60; ++i) ASSERT_EQ(mix.Second(0.9), std::nullopt);
  std::optional<Level0Shape> few;
  for (int i = 0; i < 120 && !few; ++i) few = mix.Second(0.05);
  ASSERT_TRUE(few.has_value());
  EXPECT_EQ(few->compaction_trigger, 1) << "a quarter of the files, as the paper's 6 of 24";
  EXPECT_EQ(few->write_buffer_size, 4 * kOpened.write_buffer_size);
  std::optional<Level0Shape> back;
  for (int i = 0; i < 120 && !back; ++i) back = mix.Second(0.9);
  EXPECT_EQ(back, kOpened);
}

TEST(DynamicLevel0, DoesNotFlapAtTheBorder) {
  const uint64_t seed = Seed();
  std::mt19937_64 random(seed);
  DynamicLevel0 level0({}, kOpened);
  Mix mix(&level0);
  int changes = 0;
  for (int i = 0; i < 100'000; ++i) {
    changes += mix.Second(std::uniform_real_distribution<>(0.15, 0.35)(random)).has_value();
  }
  // Of thousands without a band. By chance the mean crosses it all the same: of 3,001 seeds 16 had four changes, one
  // six.
  EXPECT_LE(changes, 8) << "a mix of a quarter writes, noisy by the second; seed " << seed;
}

TEST(DynamicLevel0, FollowsAMixThatStays) {
  DynamicLevel0 level0({}, kOpened);
  Mix mix(&level0);
  const auto until = [&](double share, Cut cut) {
    int seconds = 0;
    for (; level0.cut() != cut && seconds < 1000; ++seconds) mix.Second(share);
    return seconds;
  };
  EXPECT_LE(until(0.05, Cut::kFew), 1);
  EXPECT_LE(until(0.5, Cut::kMany), 15);
  EXPECT_LE(until(0.1, Cut::kFew), 45);
  for (int i = 0; i < 60; ++i) mix.Second(0.22);
  EXPECT_EQ(level0.cut(), Cut::kFew) << "in the band nothing changes";
}

TEST(DynamicLevel0, IsNotMovedByAMomentOrByTooLittle) {
  DynamicLevel0 level0({}, kOpened);
  Mix mix(&level0);
  EXPECT_EQ(mix.Second(1.0, 0, 500), std::nullopt) << "too few operations to tell";
  EXPECT_EQ(level0.cut(), Cut::kAsOpened);
  for (int i = 0; i < 60; ++i) mix.Second(0.05);
  EXPECT_EQ(mix.Second(1.0), std::nullopt) << "a second of writes after a minute of reads";
  EXPECT_EQ(level0.cut(), Cut::kFew);
}

TEST(DynamicLevel0, CountersThatWereResetAreCountedAnew) {
  DynamicLevel0 level0({}, kOpened);
  Mix mix(&level0);
  for (int i = 0; i < 60; ++i) mix.Second(0.05);
  mix.Reset();
  mix.Second(0.05);
  EXPECT_NEAR(level0.write_share(), 0.05, 0.001);
}

TEST(DynamicLevel0, NeverSetsATriggerThatLevel0IsBeyond) {
  const uint64_t seed = Seed();
  std::mt19937_64 random(seed);
  for (int i = 0; i < 200; ++i) {
    DynamicLevel0 level0(kPapers, kOpened);
    Mix mix(&level0);
    Level0Shape now = kOpened;
    int files = 0;
    for (int second = 0; second < 200; ++second) {
      // Level 0 grows up to what is allowed, and is emptied by a compaction.
      files = random() % 10 == 0 ? 0 : std::min(files + static_cast<int>(random() % 5), now.slowdown_trigger - 1);
      const auto set = mix.Second(second / 40 % 2 == 0 ? 0.9 : 0.01, files);
      if (!set) continue;
      ASSERT_LT(files, set->slowdown_trigger) << "this change would slow writes; seed " << seed;
      ASSERT_LT(set->slowdown_trigger, set->stop_trigger);
      ASSERT_LE(set->compaction_trigger, set->slowdown_trigger);
      now = *set;
    }
    for (int second = 0; second < 60; ++second) {
      if (const auto set = mix.Second(0.01, 0)) now = *set;
    }
    ASSERT_EQ(now.slowdown_trigger, 22) << "what waited is set when Level 0 has been emptied";
  }
}

TEST(DynamicLevel0, RefusesWhatItCannotCut) {
  const auto refusal = [](DynamicLevel0Options options, Level0Shape opened = kOpened) {
    return DynamicLevel0::Validate(options, opened).message();
  };
  EXPECT_EQ(refusal({}), "");
  EXPECT_THAT(refusal({.few = 24, .many = 6}), HasSubstr("level0_few=24 and level0_many=6"));
  EXPECT_THAT(refusal({.few = -1}), HasSubstr("level0_few=-1"));
  EXPECT_THAT(refusal({.few = 6}), HasSubstr("level0_few=6 is no fewer than level0_many=4"));
  EXPECT_THAT(refusal({.write_percent = 100}), HasSubstr("level0_write_percent=100"));
  EXPECT_THAT(refusal({.write_percent = 5, .band_percent = 5}), HasSubstr("level0_band_percent=5"));
  EXPECT_THAT(refusal({.half_life_ms = 0}), HasSubstr("level0_half_life_ms=0"));
  EXPECT_THAT(refusal(kPapers, {1 << 20, 2, 1 << 17, 1, 20, 36}),
              HasSubstr("level0_many=24: 1048576 bytes of Level 0"));
  EXPECT_THAT(refusal({}, {64 << 20, 2, 1 << 20, 4, 20, 20}), HasSubstr("level0_stop_writes_trigger=20"));
  EXPECT_THAT(refusal({}, {64 << 20, 2, 1 << 20, 1, 20, 36}), HasSubstr("level0_many=1 with"));
}

}  // namespace
}  // namespace mezz::test
