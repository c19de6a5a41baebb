// SPDX-License-Identifier: Apache-2.0
#include "cache/pack/mean_share.h"

#include <gtest/gtest.h>

namespace mezz {
namespace {

constexpr uint32_t kWhole = MeanShare::kWhole;

void Note(MeanShare* mean, int blocks, uint64_t stored_bytes) {
  for (int block = 0; block < blocks; ++block) mean->Note(stored_bytes, 4096);
}

// Ghosts, sketch and index grow by what is expected, and do not shrink.
TEST(MeanShare, PromisesNothingWhereNothingPacks) {
  MeanShare mean;
  EXPECT_EQ(mean.value(), kWhole);
  Note(&mean, 1000, 4096);
  EXPECT_EQ(mean.value(), kWhole);
}

TEST(MeanShare, BelievesNoFewBlocks) {
  MeanShare mean;
  Note(&mean, 4, 1024);
  EXPECT_GT(mean.value(), kWhole * 9 / 10);
  Note(&mean, 4, 4096);
  EXPECT_GT(mean.value(), kWhole * 9 / 10);
}

TEST(MeanShare, KnowsWhatPacksAfterAFewHundred) {
  MeanShare mean;
  Note(&mean, MeanShare::kWindow, 2048);
  EXPECT_NEAR(mean.value(), kWhole * (0.5 + 0.5 * MeanShare::kDoubted / MeanShare::kWindow), kWhole / 50);
  Note(&mean, 4 * MeanShare::kWindow, 2048);
  EXPECT_NEAR(mean.value(), kWhole / 2, kWhole / 200);
}

TEST(MeanShare, FollowsWhatPacksOfLate) {
  MeanShare mean;
  Note(&mean, 5000, 1024);
  EXPECT_NEAR(mean.value(), kWhole / 4, kWhole / 1000);
  Note(&mean, 5000, 3072);
  EXPECT_NEAR(mean.value(), kWhole * 3 / 4, kWhole / 1000);
  Note(&mean, 5000, 4096);
  EXPECT_NEAR(mean.value(), kWhole, kWhole / 1000);
}

TEST(MeanShare, IsOfHalfOfThemWhatTheHalvesAre) {
  MeanShare mean;
  for (int block = 0; block < 5000; ++block) mean.Note(block % 2 == 0 ? 1024 : 4096, 4096);
  EXPECT_NEAR(mean.value(), kWhole * 5 / 8, kWhole / 200);
}

}  // namespace
}  // namespace mezz
