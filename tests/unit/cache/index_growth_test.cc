// SPDX-License-Identifier: Apache-2.0
// The index that grows with what comes, by itself; beside other threads: tests/check/index_growth_check_test.cc.
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cache/index.h"
#include "tests/support/fake_records.h"

namespace mezz {
namespace {

using test::FakeRecords;

// From its nominal load to four times that, ever at ten bytes a block at most.
TEST(GrowingIndex, GrowsWithWhatComesAtTenBytesABlock) {
  constexpr uint64_t kBlocks = 50'000;
  FakeRecords records(kBlocks, Index::Size::kGrows);
  ASSERT_TRUE(records.index.ok());
  const uint64_t at_first = records.index.bytes();
  EXPECT_LE(static_cast<double>(at_first) / kBlocks, 9.4);
  std::mt19937_64 random(test::Seed());
  std::vector<uint64_t> resident;
  uint64_t next = 1, displaced = 0, inserted = 0;
  const auto insert = [&] {
    displaced += records.Publish(next, next) == Index::Published::kDisplaced;
    ++inserted;
    displaced += records.Grow();
    resident.push_back(next++);
  };
  while (resident.size() < kBlocks) insert();
  EXPECT_EQ(records.index.bytes(), at_first) << "what fits raw needs no more";
  while (resident.size() < 39 * kBlocks / 10) {
    insert();
    if (inserted % 5000 == 0) {
      EXPECT_LE(static_cast<double>(records.index.bytes()) / static_cast<double>(records.index.blocks()), 10)
          << inserted;
    }
    if (random() % 2 == 0) {  // churn
      std::swap(resident[random() % resident.size()], resident.back());
      records.Erase(resident.back());
      resident.pop_back();
    }
  }
  EXPECT_LT(displaced, inserted / 75) << "of " << inserted;
  EXPECT_GT(records.index.bytes(), at_first * 7 / 2);
  EXPECT_LE(records.index.bytes(), 4 * at_first);
  uint64_t lost = 0;
  for (const uint64_t key : resident) lost += records.Find(key) != key;
  EXPECT_LE(lost, displaced) << "only what gave way is gone";
  for (const uint64_t key : resident) records.Erase(key);
  EXPECT_EQ(records.index.counted(), 0);
  EXPECT_EQ(records.pins, 0);
}

TEST(GrowingIndex, AgreesWithAMapWhileItGrows) {
  FakeRecords records(300, Index::Size::kGrows);
  std::mt19937_64 random(test::Seed());
  std::unordered_map<uint64_t, uint64_t> model;  // key -> line
  uint64_t displaced = 0;
  for (uint64_t line = 1; line <= 30'000; ++line) {
    const uint64_t key = random() % (200 + line / 30);
    switch (random() % 6) {
      case 0:
      case 1:
      case 2:
        displaced += records.Publish(key, line, random() % 4) == Index::Published::kDisplaced;
        model[key] = line;
        break;
      case 3:
        records.Erase(key);
        model.erase(key);
        break;
      case 4:
        if (records.index.WantsToGrow()) displaced += records.Split();
        break;
      default:
        if (random() % 5000 == 0) {
          records.index.Clear();
          model.clear();
        }
    }
    const auto known = model.find(key);
    const uint64_t found = records.Find(key);
    ASSERT_TRUE(found == 0 || (known != model.end() && known->second == found)) << "an old record, line " << line;
    ASSERT_TRUE(found != 0 || displaced != 0 || known == model.end()) << "line " << line;
  }
  EXPECT_GT(records.index.slots(), 2 * 300u);
  EXPECT_EQ(records.pins, 0);
}

TEST(GrowingIndex, WhatIsDamagedLeavesASplitGroup) {
  FakeRecords records(10, Index::Size::kGrows);
  uint64_t last = 0;
  for (; !records.index.WantsToGrow(); ++last) records.Publish(last + 1, last + 1);
  std::vector<bool> resident(last + 1);  // by key: a full bucket may have displaced one
  for (uint64_t key = 1; key <= last; ++key) resident[key] = records.Find(key) == key;
  const int64_t before = records.index.counted();
  records.damaged = 7;
  while (!resident[records.damaged]) ++records.damaged;
  EXPECT_EQ(records.Split(), 0u);
  EXPECT_EQ(records.index.counted(), before - 1);
  const uint64_t gone = std::exchange(records.damaged, 0);
  for (uint64_t key = 1; key <= last; ++key) {
    EXPECT_EQ(records.Find(key), resident[key] && key != gone ? key : 0) << key;
  }
  EXPECT_EQ(records.index.slots(), 5 * Index::kSlotsPerBucket);
}

TEST(BucketGroups, AKeyStaysOrGoesToTheNewMember) {
  constexpr uint64_t kKeys = uint64_t{1} << BucketGroups::kBits;
  for (unsigned members = BucketGroups::kMembersMin; members <= BucketGroups::kMembersMax; ++members) {
    std::vector<uint64_t> keys(members);
    for (uint64_t key = 0; key < kKeys; ++key) {
      const unsigned member = BucketGroups::MemberOf(key, members);
      ASSERT_LT(member, members);
      ++keys[member];
      if (members == BucketGroups::kMembersMin) continue;
      const unsigned before = BucketGroups::MemberOf(key, members - 1);
      EXPECT_TRUE(member == before || member == members - 1);
    }
    for (const uint64_t of_member : keys) EXPECT_NEAR(static_cast<double>(of_member), kKeys / members, 2) << members;
  }
}

// Whoever splits a group reads a record of every word in it: what is resident is found meanwhile, moved or not, but for
// what makes room for another. A split counts that, and it does not come back.
TEST(GrowingIndex, FindsEveryKeyAtEveryStepOfASplit) {
  FakeRecords records(100, Index::Size::kGrows);
  constexpr uint64_t kKeys = 90;
  for (uint64_t key = 1; key <= kKeys; ++key) ASSERT_EQ(records.Publish(key, key), Index::Published::kInserted);
  std::set<uint64_t> gone;
  const auto look = [&] {
    for (uint64_t key = 1; key <= kKeys; ++key) {
      const uint64_t found = records.Find(key);
      if (found == 0) gone.insert(key);
      ASSERT_EQ(found, gone.contains(key) ? 0 : key);
    }
  };
  uint64_t steps = 0;
  records.on_split_step = [&] {
    ++steps;
    look();
    ASSERT_EQ(records.Find(kKeys + steps), 0u);
  };
  uint64_t counted = 0;
  for (int split = 0; split < 8; ++split) {
    counted += records.Split();
    look();
    ASSERT_EQ(gone.size(), counted) << "after split " << split;
  }
  EXPECT_EQ(counted, 0u);
  EXPECT_GT(steps, kKeys);
  EXPECT_EQ(records.pins, 0);
}

// Of one group: both choices of a key are the bucket `from`, and the new one after a split.
uint64_t NextThatMoves(FakeRecords& records, uint64_t from, uint64_t key) {
  const auto is = [&](unsigned choice) {
    const uint64_t bits = records.Hash(key).choice[choice] >> IndexWord::kTagBits;
    return BucketGroups::MemberOf(bits, 4) == from && BucketGroups::MemberOf(bits, 5) == 4;
  };
  while (!is(0) || !is(1)) ++key;
  return key;
}

TEST(GrowingIndex, ASplitTakesNoPlaceOfWhatIsKept) {
  constexpr uint64_t kKept = 1'000'000;  // lines, and keys of the same number
  for (const uint64_t other_from : {0, 3}) {
    FakeRecords records(1, Index::Size::kGrows);
    records.kept_from = kKept;
    const uint64_t other = NextThatMoves(records, other_from, 1);
    records.Publish(other, other);
    std::vector<uint64_t> kept;
    for (uint64_t key = kKept; kept.size() < Index::kSlotsPerBucket; ++key) {
      kept.push_back(key = NextThatMoves(records, 1 + kept.size() % 2, key));
      records.Publish(key, key);
    }
    ASSERT_TRUE(records.index.StartRefill());
    EXPECT_EQ(records.Split(), 1u) << "the other makes place, or finds none";
    EXPECT_EQ(records.index.blocks(), Index::kSlotsPerBucket);
    for (const uint64_t key : kept) EXPECT_EQ(records.Find(key), key);
    ASSERT_TRUE(records.Erase(kept[0]));
    const KeyHash hash = records.Hash(other);
    EXPECT_EQ(records.index.PublishOldest(hash, IndexWord::Make(hash.tag, other + 1, false, 0)),
              Index::Refilled::kPassedOver)
        << "an older record of a key whose word is gone";
  }
}

TEST(GrowingIndex, ARecordIsRemovedWhereverASplitHasPutIt) {
  FakeRecords records(10, Index::Size::kGrows);
  constexpr uint64_t kKeys = 40;
  for (uint64_t key = 1; key <= kKeys; ++key) ASSERT_EQ(records.Publish(key, key), Index::Published::kInserted);
  std::vector<Index::Entry> seen;
  for (uint64_t key = 1; key <= kKeys; ++key) seen.push_back(records.EntryOf(key));
  ASSERT_EQ(records.Split(), 0u);
  uint64_t moved = 0;
  for (uint64_t key = 1; key <= kKeys; ++key) {
    moved += records.EntryOf(key).slot != seen[key - 1].slot;
    EXPECT_TRUE(records.index.RemoveLine(records.Hash(key), key)) << key;
    EXPECT_EQ(records.Find(key), 0u);
    EXPECT_FALSE(records.index.RemoveLine(records.Hash(key), key));
  }
  EXPECT_GT(moved, 0u) << "nothing moved: the test sees nothing";
  EXPECT_EQ(records.index.counted(), 0);
}

#ifdef MEZZ_TEST_HOOKS
std::function<void()> g_when_published;

// Its word stands where nobody looks for it when its group is split once more: a split that took it along would leave
// it in a third place, for ever.
TEST(GrowingIndex, APutThatIsOvertakenByTwoSplitsLeavesOneWord) {
  uint64_t late = 0;
  for (uint64_t key = 1; key <= 200; ++key) {
    FakeRecords records(1, Index::Size::kGrows);  // one group
    records.Publish(key, 1);
    const uint64_t before = records.EntryOf(key).slot;
    records.on_pin = [&](IndexWord) { records.Split(); };
    g_when_published = [&] {
      late += records.EntryOf(key).slot != before && records.index.counted() == 2;
      records.Split();
    };
    g_test_point_hook.store(
        [](const char* name) {
          if (g_when_published && std::string_view(name) == "index.published") std::exchange(g_when_published, {})();
        },
        std::memory_order_release);
    records.Publish(key, 2);
    g_test_point_hook.store(nullptr, std::memory_order_release);
    ASSERT_EQ(records.Find(key), 2u) << key;
    ASSERT_EQ(records.index.counted(), 1) << key;
    ASSERT_TRUE(records.Erase(key));
    ASSERT_EQ(records.index.counted(), 0) << key;
  }
  EXPECT_GT(late, 10u) << "no put was overtaken: the test sees nothing";
}
#endif

}  // namespace
}  // namespace mezz
