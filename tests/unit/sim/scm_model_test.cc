// SPDX-License-Identifier: Apache-2.0
// With exact capacity. How the model follows the live tier: tests/model/sim_scm_test.cc.
#include "admission/curves/scm_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test_traces.h"

namespace mezz::sim {
namespace {

using ::testing::IsEmpty;
using Reached = ScmModel::Reached;

const std::vector<uint32_t> kUnits;

ScmModel Make(uint32_t blocks, uint64_t capacity, uint64_t segment) {
  return ScmModel(blocks, kUnits, {.capacity = capacity, .segment = segment});
}

std::vector<std::string> Audit(const ScmModel& model) {
  std::vector<std::string> violations;
  model.Audit(&violations);
  return violations;
}

TEST(ScmModel, HoldsExactlyItsCapacity) {
  std::mt19937_64 random(test::Seed());
  for (int round = 0; round < 60; ++round) {
    const uint64_t capacity = 1 + random() % 300;
    const uint64_t segment = 1 + random() % std::max<uint64_t>(1, capacity / (1 + random() % 8));
    ScmModel model = Make(1000, capacity, segment);
    for (const BlockId block : MixedAccesses(random, 5000, 1000)) {
      if (model.Contains(block)) {
        model.Warm(block);
        if (random() % 3 == 0) model.SetDram(block, true);
        if (random() % 20 == 0) model.Erase(block);
        continue;
      }
      ASSERT_TRUE(model.Put(block, Generation::kYoung, Form::kRaw, [&](const Reached& reached) {
        return model.heat(reached.block) > 0 ? Fate::kSpare : Fate::kDrop;
      }));
      ASSERT_TRUE(model.Contains(block)) << "capacity " << capacity << ", segment " << segment;
      ASSERT_LE(model.used_units(), capacity);
    }
    ASSERT_THAT(Audit(model), IsEmpty()) << "MEZZ_SEED=" << test::Seed() << ", round " << round;
  }
}

TEST(ScmModel, DropsTheOldestFirstWhereNothingIsSpared) {
  ScmModel model = Make(1000, 100, 1);
  for (BlockId block = 0; block < 1000; ++block) {
    model.Put(block, Generation::kYoung, Form::kRaw, [](const Reached&) { return Fate::kDrop; });
    ASSERT_EQ(model.resident_blocks(), std::min<uint64_t>(block + 1, 100));
    if (block >= 100) {
      ASSERT_FALSE(model.Contains(block - 100));
      ASSERT_TRUE(model.Contains(block - 99));
    }
  }
}

TEST(ScmModel, SparesWhatIsHitAndCostsItOneHeat) {
  ScmModel model = Make(1000, 100, 4);
  const auto spare = [&](const Reached& reached) { return model.heat(reached.block) > 0 ? Fate::kSpare : Fate::kDrop; };
  model.Put(0, Generation::kYoung, Form::kRaw, spare);
  for (int i = 0; i < 5; ++i) model.Warm(0);
  EXPECT_EQ(model.heat(0), 3);
  for (BlockId block = 1; block < 101; ++block) model.Put(block, Generation::kYoung, Form::kRaw, spare);
  EXPECT_TRUE(model.Contains(0));
  EXPECT_EQ(model.heat(0), 2);
  EXPECT_EQ(model.counts().second_chances, 1u);
  EXPECT_EQ(model.counts().writes, 102u);
}

TEST(ScmModel, NeverSparesWhatDramHolds) {
  ScmModel model = Make(1000, 100, 4);
  const auto spare = [](const Reached&) { return Fate::kSpare; };
  model.Put(0, Generation::kYoung, Form::kRaw, spare);
  model.Warm(0);
  EXPECT_TRUE(model.SetDram(0, true));
  for (BlockId block = 1; block < 101; ++block) model.Put(block, Generation::kYoung, Form::kRaw, spare);
  EXPECT_FALSE(model.Contains(0));
  EXPECT_FALSE(model.SetDram(0, false));
}

TEST(ScmModel, GetsSomewhereWhereEverythingIsSpared) {
  ScmModel model = Make(2000, 100, 10);
  for (BlockId block = 0; block < 2000; ++block)
    ASSERT_TRUE(model.Put(block, Generation::kYoung, Form::kRaw, [](const Reached&) { return Fate::kSpare; }));
  const ScmCounts& counts = model.counts();
  EXPECT_LE(counts.second_chances, (counts.second_chances + counts.dropped) * 15 / 16 + 80);
  EXPECT_GT(counts.spare_refused, 0u);
  EXPECT_THAT(Audit(model), IsEmpty());
}

// Segments of 4 of which 3 are dead go first, whatever their age.
TEST(ScmModel, EmptiesFirstWhatIsMostlyOfDeletedFiles) {
  ScmModel model = Make(100, 16, 4);
  const auto put = [&](BlockId block) {
    model.Put(block, Generation::kYoung, Form::kRaw, [](const Reached&) { return Fate::kDrop; });
  };
  for (BlockId block = 0; block < 16; ++block) put(block);
  model.EraseDead(9);
  model.EraseDead(10);
  EXPECT_FALSE(model.hollow());
  model.EraseDead(11);
  EXPECT_TRUE(model.hollow());
  EXPECT_THAT(Audit(model), IsEmpty());
  put(20);
  EXPECT_TRUE(model.Contains(0)) << "the oldest";
  for (BlockId block = 21; block < 24; ++block) put(block);
  EXPECT_FALSE(model.Contains(8)) << "it lay among the dead";
  EXPECT_TRUE(model.Contains(0));
  EXPECT_FALSE(model.hollow());
  EXPECT_THAT(Audit(model), IsEmpty());
}

TEST(ScmModel, PutReplacesAnOlderRecord) {
  ScmModel model = Make(10, 5, 1);
  const auto drop = [](const Reached&) { return Fate::kDrop; };
  for (int i = 0; i < 20; ++i) model.Put(3, Generation::kYoung, Form::kRaw, drop);
  EXPECT_EQ(model.resident_blocks(), 1u);
  EXPECT_THAT(Audit(model), IsEmpty());
}

}  // namespace
}  // namespace mezz::sim
