// SPDX-License-Identifier: Apache-2.0
#include "admission/codec_choice.h"

#include <gtest/gtest.h>

#include "tests/support/in_threads.h"

namespace mezz {
namespace {

constexpr uint64_t kUs = 1000;

void Measure(CodecChoice* choice, uint64_t misses, uint64_t ns) {
  for (uint64_t i = 0; i < misses; ++i) choice->OnMiss(ns);
}
// Long enough for the mean to be what it is fed.
void Settle(CodecChoice* choice, uint64_t ns) { Measure(choice, 16 * CodecChoice::kWindow, ns); }

TEST(CodecChoice, IsLz4UntilEnoughMissesWereMeasured) {
  CodecChoice choice;
  EXPECT_EQ(choice.mean_ns(), 0u);
  Measure(&choice, CodecChoice::kSamplesMin - 1, 100 * kUs);
  EXPECT_EQ(choice.codec(), Codec::kLz4);
  EXPECT_EQ(choice.OnPut().reason, Reason::kFull);
  EXPECT_TRUE(choice.OnMiss(100 * kUs));
  EXPECT_EQ(choice.codec(), Codec::kZstd);
  EXPECT_EQ(choice.mean_ns(), 100 * kUs);
}

TEST(CodecChoice, FollowsWhatAMissCosts) {
  for (const auto& [ns, codec, action, reason] : {
           std::tuple{5 * kUs, std::optional<Codec>(), Action::kRaw, Reason::kFlashFast},
           std::tuple{25 * kUs, std::optional(Codec::kLz4), Action::kPack, Reason::kFlashMedium},
           std::tuple{80 * kUs, std::optional(Codec::kZstd), Action::kPack, Reason::kFlashSlow},
       }) {
    CodecChoice choice;
    Settle(&choice, ns);
    EXPECT_EQ(choice.codec(), codec);
    EXPECT_EQ(choice.OnPut().action, action);
    EXPECT_EQ(choice.OnPut().reason, reason);
  }
}

TEST(CodecChoice, ChangesAtOneBorderUpwardsAndAtAnotherDownwards) {
  CodecChoice choice;
  const auto settled = [&](uint64_t ns) {
    Settle(&choice, ns);
    return choice.codec();
  };
  EXPECT_EQ(settled(5 * kUs), std::nullopt);
  EXPECT_EQ(settled(CodecChoice::kRawMaxNs - kUs), std::nullopt);
  EXPECT_EQ(settled(CodecChoice::kRawMaxNs + kUs), Codec::kLz4);
  EXPECT_EQ(settled(CodecChoice::kLz4MinNs + kUs), Codec::kLz4);
  EXPECT_EQ(settled(CodecChoice::kLz4MaxNs - kUs), Codec::kLz4);
  EXPECT_EQ(settled(CodecChoice::kLz4MaxNs + kUs), Codec::kZstd);
  EXPECT_EQ(settled(CodecChoice::kZstdMinNs + kUs), Codec::kZstd);
  EXPECT_EQ(settled(CodecChoice::kZstdMinNs - kUs), Codec::kLz4);
  EXPECT_EQ(settled(CodecChoice::kLz4MinNs - kUs), std::nullopt);
  EXPECT_EQ(settled(CodecChoice::kLz4MaxNs + kUs), Codec::kZstd) << "in one step";
  EXPECT_EQ(settled(kUs), std::nullopt) << "and back";
}

TEST(CodecChoice, IsZstdOnlyWhereThatPacksBetter) {
  CodecChoice choice;
  const auto chosen = [&](unsigned zstd_percent) {
    choice.OnMiss(90 * kUs, zstd_percent);
    return choice.codec();
  };
  Settle(&choice, 90 * kUs);
  EXPECT_EQ(chosen(CodecChoice::kZstdPercentKept), Codec::kZstd);
  EXPECT_EQ(chosen(CodecChoice::kZstdPercentKept + 1), Codec::kLz4);
  EXPECT_EQ(choice.OnPut().reason, Reason::kFlashMedium);
  EXPECT_EQ(chosen(CodecChoice::kZstdPercentMax + 1), Codec::kLz4);
  EXPECT_EQ(chosen(CodecChoice::kZstdPercentMax), Codec::kZstd);
}

TEST(CodecChoice, SaysEachChangeOnce) {
  CodecChoice choice;
  unsigned changes = 0;
  for (const uint64_t ns : {5 * kUs, 80 * kUs, 5 * kUs}) {
    for (uint64_t i = 0; i < 16 * CodecChoice::kWindow; ++i) changes += choice.OnMiss(ns) ? 1 : 0;
  }
  EXPECT_EQ(changes, 5u) << "raw; LZ4, zstd; LZ4, raw";
}

// A stall of a second, and what reading ahead gives: one slow miss and many that cost nothing.
TEST(CodecChoice, AStallCountsLittleAndAReadaheadAsWhatItsMissesCost) {
  CodecChoice choice;
  Settle(&choice, 20 * kUs);
  choice.OnMiss(1'000'000 * kUs);
  EXPECT_LE(choice.mean_ns(), 21 * kUs);
  EXPECT_EQ(choice.codec(), Codec::kLz4);
  for (int i = 0; i < 1000; ++i) {
    choice.OnMiss(200 * kUs);
    Measure(&choice, 49, 2 * kUs);
  }
  EXPECT_NEAR(static_cast<double>(choice.mean_ns()), 6000, 500);
  EXPECT_EQ(choice.codec(), std::nullopt);
}

TEST(CodecChoice, TakesMissesFromManyThreads) {
  CodecChoice choice;
  test::InThreads(4, [&](int) { Settle(&choice, 80 * kUs); });
  EXPECT_EQ(choice.codec(), Codec::kZstd);
  EXPECT_EQ(choice.mean_ns(), 80 * kUs);
}

}  // namespace
}  // namespace mezz
