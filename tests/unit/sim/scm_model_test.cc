// SPDX-License-Identifier: Apache-2.0
// With exact capacity. How the model follows the live tier: tests/model/sim_scm_test.cc.
#include "admission/curves/scm_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

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
    // A third of them are ordered.
    const uint64_t fast = capacity > 1 && round % 3 == 0 ? 1 + random() % (capacity - 1) : 0;
    ScmModel model(1000, kUnits, {.capacity = capacity, .fast_capacity = fast, .segment = segment});
    for (const BlockId block : MixedAccesses(random, 5000, 1000)) {
      if (model.Contains(block)) {
        model.Warm(block);
        if (random() % 3 == 0) model.SetDram(block, true);
        if (random() % 20 == 0) model.Erase(block);
        continue;
      }
      ASSERT_TRUE(model.Put(block, Generation::kYoung, Form::kRaw, [&](const Reached& reached) {
        return SecondChance(model.heat(reached.block), reached.packable, reached.demotable);
      }));
      ASSERT_TRUE(model.Contains(block)) << "capacity " << capacity << ", segment " << segment;
      ASSERT_LE(model.used_units(), capacity);
    }
    ASSERT_THAT(Audit(model), IsEmpty()) << "round " << round;
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
  EXPECT_FALSE(model.sparse());
  model.EraseDead(11);
  EXPECT_TRUE(model.sparse());
  EXPECT_THAT(Audit(model), IsEmpty());
  put(20);
  EXPECT_TRUE(model.Contains(0)) << "the oldest";
  for (BlockId block = 21; block < 24; ++block) put(block);
  EXPECT_FALSE(model.Contains(8)) << "it lay among the dead";
  EXPECT_TRUE(model.Contains(0));
  EXPECT_FALSE(model.sparse());
  EXPECT_THAT(Audit(model), IsEmpty());
}

// A fast level of 20 blocks before a slow one of 80, in segments of 2.
class OrderedScmModel : public ::testing::Test {
 protected:
  void Put(BlockId block, Generation generation = Generation::kYoung) {
    ASSERT_TRUE(model_.Put(block, generation, Form::kRaw, [this](const Reached& reached) {
      EXPECT_EQ(reached.demotable, model_.level(reached.block) == Level::kFast);
      return fate_ ? *fate_ : SecondChance(model_.heat(reached.block), reached.packable, reached.demotable);
    }));
  }
  void PutAll(BlockId begin, BlockId end) {
    for (BlockId block = begin; block < end; ++block) Put(block);
  }
  void Warm(BlockId block, int hits) {
    for (int hit = 0; hit < hits; ++hit) model_.Warm(block);
  }

  ScmModel model_{1000, kUnits, {.capacity = 100, .fast_capacity = 20, .segment = 2}};
  std::optional<Fate> fate_;
};

TEST_F(OrderedScmModel, TheSlowLevelGetsWhatLeavesTheFastOne) {
  PutAll(0, 20);
  EXPECT_EQ(model_.counts(Level::kSlow).writes, 0u) << "the fast one still has room";
  PutAll(20, 100);
  EXPECT_EQ(model_.resident_blocks(), 100u) << "nothing is lost as long as the slow one has room";
  for (BlockId block = 0; block < 100; ++block)
    EXPECT_EQ(model_.level(block), block < 80 ? Level::kSlow : Level::kFast) << block;
  PutAll(100, 300);
  EXPECT_EQ(model_.resident_blocks(), 100u);
  EXPECT_FALSE(model_.Contains(199));
  EXPECT_TRUE(model_.Contains(200));
  const ScmCounts slow = model_.counts(Level::kSlow);
  EXPECT_EQ(slow.demoted, 280u);
  EXPECT_EQ(slow.demoted_units, 280u);
  EXPECT_EQ(model_.counts().writes, 300u + 280);
  EXPECT_EQ(model_.counts(Level::kFast).dropped, 0u);
  EXPECT_THAT(Audit(model_), IsEmpty());
}

TEST_F(OrderedScmModel, WhatIsHotIsSparedOnItsLevel) {
  Put(0);
  Warm(0, 3);
  PutAll(1, 21);
  EXPECT_EQ(model_.level(0), Level::kFast);
  EXPECT_EQ(model_.heat(0), 2u);
  EXPECT_EQ(model_.counts().second_chances, 1u);
  EXPECT_EQ(model_.counts(Level::kSlow).second_chances, 0u);
}

TEST_F(OrderedScmModel, WhatTheCreditDoesNotSpareIsDemoted) {
  fate_ = Fate::kSpare;
  PutAll(0, 80);
  EXPECT_GT(model_.counts().spare_refused, 0u);
  EXPECT_GT(model_.counts(Level::kSlow).demoted, 0u);
  EXPECT_EQ(model_.resident_blocks(), 80u);
}

TEST_F(OrderedScmModel, WhatIsDroppedOrInDramIsNotDemoted) {
  fate_ = Fate::kDrop;
  PutAll(0, 60);
  EXPECT_EQ(model_.resident_blocks(), 20u);
  fate_ = Fate::kDemote;
  for (BlockId block = 40; block < 60; ++block) model_.SetDram(block, true);
  PutAll(60, 80);
  EXPECT_EQ(model_.counts(Level::kSlow).demoted, 0u);
}

TEST_F(OrderedScmModel, ADemotedRecordIsWrittenToTheFastLevelOnceItIsHotThere) {
  Put(0);
  Warm(0, 3);
  fate_ = Fate::kDemote;
  PutAll(1, 30);
  fate_.reset();
  ASSERT_EQ(model_.level(0), Level::kSlow);
  EXPECT_EQ(model_.heat(0), 1u) << "what was hot on the fast level is not hot on the slow one";
  EXPECT_TRUE(model_.NoteDramEviction(0));
  Warm(0, 1);
  model_.SetDram(0, true);
  EXPECT_FALSE(model_.NoteDramEviction(0));
  EXPECT_FALSE(model_.dram(0));
  Put(0);
  EXPECT_EQ(model_.level(0), Level::kFast);
  Warm(0, 3);
  EXPECT_TRUE(model_.NoteDramEviction(0)) << "it lies on the fast level";
  EXPECT_FALSE(model_.NoteDramEviction(900)) << "there is no record";
  EXPECT_THAT(Audit(model_), IsEmpty());
}

// 0 is written anew where the slow level has its old record: to the first place of the first segment.
TEST_F(OrderedScmModel, ARecordIsOnOneLevelAtATime) {
  PutAll(0, 22);
  ASSERT_EQ(model_.level(0), Level::kSlow);
  Put(0);
  EXPECT_EQ(model_.level(0), Level::kFast);
  EXPECT_THAT(Audit(model_), IsEmpty());
}

TEST_F(OrderedScmModel, ADeletedFilesRecordsLeaveTheirLevel) {
  PutAll(0, 40);
  model_.EraseDead(0);
  model_.EraseDead(1);
  EXPECT_FALSE(model_.Contains(0));
  EXPECT_FALSE(model_.sparse()) << "of the fast level, where new records go";
  EXPECT_EQ(model_.counts(Level::kSlow).sparse_segments, 1u);
  EXPECT_THAT(Audit(model_), IsEmpty());
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
