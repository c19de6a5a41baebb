// SPDX-License-Identifier: Apache-2.0
#include "cache/index.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <random>
#include <unordered_map>
#include <vector>

#include "tests/support/fake_records.h"
#include "tests/support/tier_fixture.h"

namespace mezz {
namespace {

using test::FakeRecords;

TEST(IndexWord, KeepsWhatItPacks) {
  std::mt19937_64 random(test::Seed());
  for (int i = 0; i < 10000; ++i) {
    const uint32_t tag = random() & ((1u << IndexWord::kTagBits) - 1);
    const uint64_t line = random() & ((uint64_t{1} << 36) - 1);
    const bool dram = random() & 1;
    const unsigned heat = random() & 3;
    const IndexWord word = IndexWord::Make(tag, line, dram, heat);
    ASSERT_EQ(word.tag(), tag);
    ASSERT_EQ(word.line(), line);
    ASSERT_EQ(word.dram(), dram);
    ASSERT_EQ(word.heat(), heat);
    ASSERT_TRUE(word.SameRecord(word.with(!dram, 3 - heat)));
    ASSERT_FALSE(word.SameRecord(IndexWord::Make(tag, line ^ 1, dram, heat)));
    ASSERT_FALSE(word.SameRecord(IndexWord::Make(tag ^ 1, line, dram, heat)));
  }
}

// The promise behind ten bytes of DRAM a block: filled to its nominal number of blocks and then churned at random, the
// index displaces under 1 % of what is inserted.
TEST(Index, DisplacesUnderOnePercentAtItsNominalLoad) {
  constexpr uint64_t kBlocks = 200'000;
  FakeRecords records(kBlocks);
  ASSERT_TRUE(records.index.ok());
  std::mt19937_64 random(test::Seed());
  std::vector<uint64_t> resident;
  uint64_t displaced = 0;
  uint64_t next = 1;
  const auto insert = [&] {
    displaced += records.Publish(next, next) == Index::Published::kDisplaced;
    resident.push_back(next++);
  };
  while (resident.size() < kBlocks) insert();
  EXPECT_LT(displaced, kBlocks / 100);
  displaced = 0;
  for (uint64_t i = 0; i < 2 * kBlocks; ++i) {
    std::swap(resident[random() % resident.size()], resident.back());
    records.Erase(resident.back());
    resident.pop_back();
    insert();
  }
  EXPECT_LT(displaced, 2 * kBlocks / 100);
  EXPECT_LE(static_cast<double>(records.index.bytes()) / kBlocks, 9.4);
  EXPECT_EQ(records.pins, 0);
}

TEST(Index, DisplacesTheColdestThenTheOldest) {
  FakeRecords records(1);  // one bucket
  ASSERT_EQ(records.index.slots(), Index::kSlotsPerBucket);
  for (uint64_t line = 1; line <= Index::kSlotsPerBucket; ++line)
    ASSERT_EQ(records.Publish(line, line, line <= 4 ? 2 : 1), Index::Published::kInserted);
  EXPECT_EQ(records.Publish(90, 90, 3), Index::Published::kDisplaced);
  EXPECT_EQ(records.Find(5), 0u);
  EXPECT_EQ(records.Publish(91, 91, 3), Index::Published::kDisplaced);
  EXPECT_EQ(records.Find(6), 0u);
  EXPECT_EQ(records.index.blocks(), Index::kSlotsPerBucket);
}

TEST(Index, AgreesWithAMap) {
  FakeRecords records(1000);
  std::mt19937_64 random(test::Seed());
  std::unordered_map<uint64_t, uint64_t> model;  // key -> line
  uint64_t displaced = 0;
  for (uint64_t line = 1; line <= 30'000; ++line) {
    const uint64_t key = random() % 600;
    switch (random() % 6) {
      case 0:
      case 1:
        displaced += records.Publish(key, line) == Index::Published::kDisplaced;
        model[key] = line;
        break;
      case 2:
        ASSERT_EQ(records.Erase(key), model.erase(key) == 1) << "line " << line;
        break;
      case 3:
        if (!model.contains(key)) break;
        ASSERT_EQ(records.index.Move(records.EntryOf(key), line), Index::Outcome::kDone);
        records.key_at[line] = key;
        model[key] = line;
        break;
      case 4:
        if (model.contains(key)) records.index.Touch(records.EntryOf(key), random() % 4);
        break;
      case 5:
        ASSERT_EQ(records.Find(key), model.contains(key) ? model[key] : 0) << "line " << line;
        break;
    }
  }
  ASSERT_EQ(displaced, 0u) << "the model does not know which";
  EXPECT_EQ(records.index.blocks(), model.size());
  EXPECT_EQ(records.pins, 0);
  records.index.Clear();
  EXPECT_EQ(records.index.blocks(), 0u);
}

TEST(Index, FindsAndErasesARecordThatMovesUnderIt) {
  for (const bool erase : {false, true}) {
    FakeRecords records(100);
    records.Publish(7, 10);
    const Index::Entry before = records.EntryOf(7);
    records.key_at[20] = 7;
    records.on_pin = [&](IndexWord) { EXPECT_EQ(records.index.Move(before, 20), Index::Outcome::kDone); };
    if (erase) {
      EXPECT_TRUE(records.Erase(7)) << "a record in motion was taken for none";
    } else {
      EXPECT_EQ(records.Find(7), 20u) << "a record in motion was taken for none";
    }
    EXPECT_EQ(records.Find(7), erase ? 0u : 20u);
    EXPECT_EQ(records.pins, 0);
  }
}

TEST(Index, PublishReplacesARecordThatIsTouchedOrMovesUnderIt) {
  for (const bool move : {false, true}) {
    FakeRecords records(100);
    records.Publish(7, 10);
    const Index::Entry before = records.EntryOf(7);
    records.key_at[20] = 7;
    records.on_pin = [&](IndexWord) {
      if (move) {
        EXPECT_EQ(records.index.Move(before, 20), Index::Outcome::kDone);
      } else {
        records.index.Touch(before, 3);
      }
    };
    EXPECT_EQ(records.Publish(7, 30), Index::Published::kReplaced);
    EXPECT_EQ(records.Find(7), 30u);
    EXPECT_EQ(records.index.blocks(), 1u) << "two words of one key";
  }
}

TEST(Index, ReclaimLearnsThatARecordChanged) {
  FakeRecords records(100);
  records.Publish(7, 10);
  const Index::Entry before = records.EntryOf(7);
  records.index.Touch(before, 2);
  EXPECT_EQ(records.index.Drop(before), Index::Outcome::kChanged) << "it was hit: it must be judged again";
  EXPECT_EQ(records.Find(7), 10u);
  records.key_at[20] = 7;
  EXPECT_EQ(records.index.Move(before, 20), Index::Outcome::kDone) << "a hit is no reason not to move it";
  EXPECT_EQ(records.EntryOf(7).word.heat(), 1u) << "the hit was lost in the move";
  records.Publish(7, 30);
  EXPECT_EQ(records.index.Move(before, 40), Index::Outcome::kChanged) << "the copy is of older bytes";
  EXPECT_EQ(records.index.RemoveRecord(before), Index::Outcome::kChanged);
  EXPECT_EQ(records.Find(7), 30u);
}

TEST(Index, TakesOutWhatItsReaderFindsDamaged) {
  FakeRecords records(100);
  records.Publish(7, 10);
  records.damaged = 10;
  EXPECT_EQ(records.Find(7), 0u);
  EXPECT_EQ(records.index.blocks(), 0u);
  EXPECT_EQ(records.pins, 0);
}

TEST(Index, AWordThatARestoreLeftBehindIsDropped) {
  FakeRecords records(100);
  records.Publish(7, 10);
  const Index::Entry entry = records.EntryOf(7);
  ASSERT_TRUE(records.Erase(7));
  ASSERT_TRUE(records.index.StartRefill());
  ASSERT_TRUE(records.index.TakeShape(records.index.shape()));
  ASSERT_EQ(records.index.RestoreAt(entry.slot, entry.word), Index::Refilled::kPublished);
  records.gone = 10;
  EXPECT_EQ(records.Find(7), 0u);
  EXPECT_EQ(records.index.blocks(), 0u);
  EXPECT_EQ(records.pins, 0);
  records.Publish(7, 20);
  EXPECT_EQ(records.Find(7), 20u);
}

// A bucket of a snapshot, restored beside what is put into it meanwhile.
TEST(Index, WordsOfASnapshotGoWhereThereIsRoomAndNothingWasPut) {
  FakeRecords records(1);  // one bucket
  std::vector<Index::Entry> snapshot;
  for (uint64_t n = 1; n <= Index::kSlotsPerBucket; ++n) {
    records.Publish(n, n);
    snapshot.push_back(records.EntryOf(n));
  }
  for (uint64_t n = 1; n <= Index::kSlotsPerBucket; ++n) ASSERT_TRUE(records.Erase(n));
  ASSERT_TRUE(records.index.StartRefill());
  ASSERT_TRUE(records.index.TakeShape(records.index.shape()));
  records.Publish(3, 30);
  records.Publish(90, 90);  // takes a slot that a word of the snapshot had
  std::map<Index::Refilled, int> counts;
  for (const Index::Entry& entry : snapshot) ++counts[records.index.RestoreAt(entry.slot, entry.word)];
  EXPECT_EQ(counts[Index::Refilled::kPassedOver], 1) << "a younger record of the key was put";
  EXPECT_EQ(counts[Index::Refilled::kFull], 1);
  EXPECT_EQ(counts[Index::Refilled::kPublished], static_cast<int>(Index::kSlotsPerBucket) - 2);
  EXPECT_EQ(records.Find(3), 30u);
  EXPECT_EQ(records.Find(90), 90u);
  EXPECT_EQ(records.index.blocks(), Index::kSlotsPerBucket);
  records.index.EndRefill();
  EXPECT_EQ(records.index.RestoreAt(snapshot[0].slot, snapshot[0].word), Index::Refilled::kOver);
}

TEST(Index, ARefillMakesRoomForWhatIsKeptAndTakesNoneOfIt) {
  constexpr uint64_t kKept = 1000;
  for (const bool restores : {false, true}) {
    FakeRecords records(1);  // one bucket
    records.kept_from = kKept;
    const auto age = [&](IndexWord word) { return records.AgeOf(word); };
    ASSERT_TRUE(records.index.StartRefill());
    for (uint64_t n = 1; n <= Index::kSlotsPerBucket; ++n) records.Publish(n, n, IndexWord::kHeatMax);
    for (uint64_t n = kKept; n <= kKept + Index::kSlotsPerBucket; ++n) {
      records.key_at[n] = n;
      const KeyHash hash = records.Hash(n);
      const IndexWord word = IndexWord::Make(hash.tag, n, false, 0);
      uint64_t displaced = 0;
      const Index::Refilled refilled = restores ? records.index.Restore(3, word, age, &displaced)
                                                : records.index.Recover(hash, word, age, &displaced);
      const bool has_room = n != kKept + Index::kSlotsPerBucket;
      ASSERT_EQ(refilled, has_room ? Index::Refilled::kPublished : Index::Refilled::kFull);
      ASSERT_EQ(displaced, has_room ? 1u : 0u);
      ASSERT_EQ(records.index.blocks(), Index::kSlotsPerBucket);
    }
    for (uint64_t n = kKept; n < kKept + Index::kSlotsPerBucket; ++n) EXPECT_EQ(records.Find(n), n);
  }
}

TEST(Index, ARefillTakesASlotThatComesFreeBeforeItDisplaces) {
  constexpr uint64_t kKept = 1000;
  FakeRecords records(1);  // one bucket
  for (uint64_t n = 1; n <= Index::kSlotsPerBucket; ++n) records.Publish(n, n);
  ASSERT_TRUE(records.index.StartRefill());
  records.kept_from = records.key_at[kKept] = kKept;
  const auto age = [&](IndexWord word) {  // another thread erases, just then
    if (word.line() != kKept) records.Erase(Index::kSlotsPerBucket);
    return records.AgeOf(word);
  };
  const KeyHash hash = records.Hash(kKept);
  uint64_t displaced = 0;
  EXPECT_EQ(records.index.Recover(hash, IndexWord::Make(hash.tag, kKept, false, 0), age, &displaced),
            Index::Refilled::kPublished);
  EXPECT_EQ(displaced, 0u);
  EXPECT_EQ(records.index.blocks(), Index::kSlotsPerBucket);
}

TEST(Index, KeepsItsShapeUntilItIsRestored) {
  FakeRecords records(100, Index::Size::kGrows);
  ASSERT_TRUE(records.index.StartRefill());
  ASSERT_TRUE(records.index.TakeShape(records.index.shape()));
  for (uint64_t n = 1; n <= records.index.slots(); ++n) records.Publish(n, n);
  EXPECT_FALSE(records.index.WantsToGrow());
  records.index.EndRefill();
  EXPECT_TRUE(records.index.WantsToGrow());
}

TEST(Index, KeepsTheDramBitThroughAMoveAndLosesItToAHit) {
  FakeRecords records(100);
  records.Publish(7, 10);
  EXPECT_FALSE(records.index.SetDram(records.Hash(7), true).empty());
  records.index.Move(records.EntryOf(7), 20);
  records.key_at[20] = 7;
  EXPECT_TRUE(records.EntryOf(7).word.dram());
  records.index.Touch(records.EntryOf(7), 1);
  EXPECT_FALSE(records.EntryOf(7).word.dram());
  EXPECT_TRUE(records.index.SetDram(records.Hash(8), true).empty());
}

}  // namespace
}  // namespace mezz
