// SPDX-License-Identifier: Apache-2.0
#include "admission/curves/dram_models.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "test_traces.h"

namespace mezz::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint32_t kBlocks = 300;
const Charges kUnits;

// LRUCache's list with its two pools, told plainly: one deque, oldest first; the newest `high` are the front pool.
class NaiveLruCache {
 public:
  NaiveLruCache(uint64_t capacity, double pool)
      : capacity_(capacity), high_max_(static_cast<uint64_t>(static_cast<double>(capacity) * pool)), pools_(pool > 0) {}

  bool Access(BlockId block, DramPriority priority, std::vector<std::pair<BlockId, bool>>* evicted) {
    const auto at = std::find_if(list_.begin(), list_.end(), [&](const Entry& e) { return e.block == block; });
    const bool hit = at != list_.end();
    if (hit) {
      if (at >= list_.end() - static_cast<std::ptrdiff_t>(high_)) --high_;
      list_.erase(at);
    } else if (list_.size() == capacity_) {
      evicted->emplace_back(list_.front().block, list_.front().hit);
      if (high_ == list_.size()) --high_;
      list_.pop_front();
    }
    const bool high = pools_ && (hit || priority == DramPriority::kHigh);
    list_.insert(high ? list_.end() : list_.end() - static_cast<std::ptrdiff_t>(high_), Entry{block, hit});
    if (high && ++high_ > high_max_) --high_;  // the pool's oldest is the newest of the rest by standing where it is
    return hit;
  }

 private:
  struct Entry {
    BlockId block;
    bool hit;
  };
  const uint64_t capacity_, high_max_;
  const bool pools_;
  std::deque<Entry> list_;
  uint64_t high_ = 0;
};

TEST(LruModel, HitsAndEvictsAsTheNaiveList) {
  std::mt19937_64 random(test::Seed());
  for (int round = 0; round < 40; ++round) {
    const uint64_t capacity = 1 + random() % 100;
    const double pool = round % 3 == 0 ? 0 : round % 3 == 1 ? 0.5 : 0.2;
    LruModel model(kBlocks, kUnits, {.capacity = capacity, .high_priority_pool = pool});
    NaiveLruCache naive(capacity, pool);
    for (const BlockId block : MixedAccesses(random, 3000, kBlocks)) {
      const auto priority = block % 10 == 0 ? DramPriority::kHigh : DramPriority::kLow;
      std::vector<std::pair<BlockId, bool>> want, got;
      const bool hit = naive.Access(block, priority, &want);
      ASSERT_EQ(model.Hit(block), hit) << "round " << round;
      if (!hit) model.Insert(block, priority, [&](BlockId left, bool was_hit) { got.emplace_back(left, was_hit); });
      ASSERT_EQ(got, want) << "round " << round;
    }
    ExpectSound(model);
  }
}

TEST(LruModel, MakesRoomInBytes) {
  const Charges charges({10, 20, 30, 35});
  LruModel model(4, charges, {.capacity = 60, .high_priority_pool = 0});
  std::vector<BlockId> left;
  const auto evicted = [&](BlockId block, bool) { left.push_back(block); };
  for (BlockId block = 0; block < 3; ++block) model.Insert(block, DramPriority::kLow, evicted);
  EXPECT_THAT(left, IsEmpty());
  EXPECT_TRUE(model.Hit(0));
  model.Insert(3, DramPriority::kLow, evicted);
  EXPECT_THAT(left, ElementsAre(1, 2));
  EXPECT_EQ(model.usage(), 45u);
}

TEST(LruModel, KeepsItsShardsApart) {
  std::mt19937_64 random(test::Seed());
  LruModel model(kBlocks, kUnits, {.capacity = 100, .shards = 8});
  for (const BlockId block : MixedAccesses(random, 5000, kBlocks)) {
    if (!model.Hit(block)) model.Insert(block, DramPriority::kLow, [](BlockId, bool) {});
  }
  EXPECT_LE(model.usage(), 8u * 13);  // each shard rounds up
  EXPECT_GT(model.usage(), 8u * 10);
  ExpectSound(model);
}

class HccModelTest : public ::testing::TestWithParam<uint32_t> {};

TEST_P(HccModelTest, HoldsWhatItSaysAndNoMoreThanItMay) {
  std::mt19937_64 random(test::Seed());
  for (int round = 0; round < 20; ++round) {
    const uint64_t capacity = 20 + random() % 250;
    HccModel model(kBlocks, kUnits, {.capacity = capacity, .shards = GetParam(), .seed = random()});
    std::vector<bool> resident(kBlocks), was_hit(kBlocks);
    for (const BlockId block : MixedAccesses(random, 5000, kBlocks)) {
      ASSERT_EQ(model.Hit(block), resident[block]);
      if (resident[block]) {
        was_hit[block] = true;
        continue;
      }
      model.Insert(block, DramPriority::kLow, [&](BlockId left, bool hit) {
        EXPECT_TRUE(resident[left]);
        EXPECT_EQ(hit, was_hit[left]);
        resident[left] = false;
      });
      resident[block] = true;
      was_hit[block] = false;
      ASSERT_EQ(model.usage(), static_cast<uint64_t>(std::count(resident.begin(), resident.end(), true)));
    }
    EXPECT_LE(model.usage(), capacity + GetParam());  // each shard rounds up
    ExpectSound(model);
  }
}

INSTANTIATE_TEST_SUITE_P(Shards, HccModelTest, ::testing::Values(1, 4));

TEST(HccModel, KeepsWhatIsHitOverWhatIsNot) {
  HccModel model(1000, kUnits, {.capacity = 100});
  const auto ignore = [](BlockId, bool) {};
  for (BlockId block = 0; block < 50; ++block) model.Insert(block, DramPriority::kLow, ignore);
  uint32_t held = 0;
  for (BlockId fresh = 50; fresh < 1000; ++fresh) {
    for (BlockId block = 0; block < 50; ++block) model.Hit(block);
    model.Insert(fresh, DramPriority::kLow, ignore);
  }
  for (BlockId block = 0; block < 50; ++block) held += model.resident(block);
  EXPECT_EQ(held, 50u);
}

TEST(HccModel, BlobsLeaveBeforeDataAndDataBeforeFilters) {
  HccModel model(1000, kUnits, {.capacity = 90});
  constexpr BlockRole kRoles[] = {BlockRole::kBlob, BlockRole::kData, BlockRole::kFilter};
  std::vector<int> left;  // by 30: blobs, data, filters
  const auto note = [&](BlockId block, bool) { left.push_back(static_cast<int>(block / 30)); };
  for (BlockId block = 0; block < 90; ++block) model.Insert(block, PriorityOf(kRoles[block / 30]), note);
  for (BlockId block = 90; left.size() < 55; ++block) model.Insert(block, DramPriority::kHigh, note);
  EXPECT_TRUE(std::ranges::is_sorted(left));
  EXPECT_EQ(std::ranges::count(left, 0), 30);
}

TEST(HccModel, ChargesItsTable) {
  // 64 slots of 10 from the start, and one more for each 0.6 blocks: 100 blocks of 10 fill 1000 + 10 * 166.
  const Charges tens(std::vector<uint32_t>(1000, 10));
  HccModel model(1000, tens, {.capacity = 2660, .slot_charge = 10});
  uint64_t left = 0;
  BlockId next = 0;
  while (left == 0) model.Insert(next++, DramPriority::kLow, [&](BlockId, bool) { ++left; });
  EXPECT_NEAR(next, 100, 2);
}

}  // namespace
}  // namespace mezz::sim
