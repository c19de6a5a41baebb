// SPDX-License-Identifier: Apache-2.0
// What a tier finds on a medium that an earlier one left, closed or killed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>

#include "cache/inspection.h"
#include "tests/support/tier_fixture.h"

namespace mezz {
namespace {

using test::BytesOf;
using test::Key;
using test::Payload;
using test::Same;
using ::testing::AllOf;
using ::testing::HasSubstr;
using Outcome = RecoveryReport::Outcome;

constexpr size_t kBytes = 4000;
constexpr uint32_t kSegments = 16;

class RecoveryTest : public ::testing::Test {
 protected:
  void Open(SurvivorJudge* judge = nullptr) {
    tier_.reset();
    tier_ = test::OpenOrDie(options_, judge);
    ASSERT_NE(tier_, nullptr);
    tier_->WaitUntilRecovered();
  }
  void OpenWithDictionaries() {
    options_.pack = PackMode::kZstd;
    options_.dictionaries = test::kTrainedSoon;
    options_.segment_bytes = 1 << 20;
    options_.capacity_bytes = 16 << 20;
    Open();
  }
  void Kill() { test::Kill(file_, &tier_); }
  void PutAll(uint64_t first, uint64_t last, uint64_t version = 0) {
    for (uint64_t n = first; n < last; ++n)
      ASSERT_EQ(tier_->Put(Key(n), BlockRole::kData, Payload(n, version, kBytes)), PutResult::kStored);
  }
  bool Serves(uint64_t key, uint64_t version = 0) {
    const PinnedBlock block = tier_->Find(Key(key));
    if (!block) return false;
    EXPECT_TRUE(Same(BytesOf(block), Payload(key, version, kBytes))) << key;
    return true;
  }
  uint64_t Count(Event event) { return tier_->counters().Snapshot()[event]; }

  std::string Contents() const { return test::Contents(file_.path()); }
  // Changes a bit of the file, while no tier has it open. `find` gets all of it.
  void Damage(const std::function<size_t(const std::string&)>& find, int times = 1) {
    const std::string all = Contents();
    for (; times > 0; --times) {
      const size_t at = find(all);
      ASSERT_LT(at, all.size());
      test::Overwrite(file_.path(), at, std::string(1, static_cast<char>(all[at] ^ 1)));
    }
  }
  // Of the record's header, which lies there once.
  static size_t HeaderIn(const std::string& all, uint64_t key) {
    const BlockKey wanted = Key(key);
    return all.find(std::string(wanted.bytes()));
  }

  const test::ScratchFile file_;
  ScmOptions options_ = test::WarmOptions(file_.path(), uint64_t{kSegments} * kSegmentBytesMin);
  std::unique_ptr<ScmTier> tier_;
};

TEST_F(RecoveryTest, ReopenedItHoldsWhatItHeld) {
  for (const bool killed : {false, true}) {
    Open();
    EXPECT_EQ(tier_->recovery().outcome, killed ? Outcome::kRecovered : Outcome::kNothingThere);
    PutAll(1, 500);
    PutAll(400, 600, 1);
    ASSERT_TRUE(tier_->Erase(Key(7)));
    PutAll(7, 8);
    if (killed) Kill();
    Open();
    EXPECT_EQ(tier_->recovery().outcome, Outcome::kRecovered);
    EXPECT_EQ(tier_->recovery().clean, !killed);
    EXPECT_EQ(tier_->recovery().records, 599u);
    EXPECT_GE(tier_->recovery().bytes, 599u);
    EXPECT_THAT(tier_->recovery().ToString(), HasSubstr("599 blocks"));
    test::ExpectSound(*tier_);
    for (uint64_t n = 1; n < 600; ++n) ASSERT_TRUE(Serves(n, n >= 400 ? 1 : 0)) << n;
    test::ExpectSound(*tier_);
  }
}

TEST_F(RecoveryTest, IsAskedFor) {
  Open();
  PutAll(1, 10);
  options_.recovery = Recovery::kDiscard;
  Open();
  EXPECT_EQ(tier_->figures().resident_blocks(), 0u);
  EXPECT_THAT(tier_->recovery().ToString(), HasSubstr("recovery=discard"));
  options_.recovery = Recovery::kWarm;
  Open();
  EXPECT_EQ(tier_->figures().resident_blocks(), 0u) << "what was discarded stays so";
}

TEST_F(RecoveryTest, OfAMediumThatRemembersNothingStartsCold) {
  options_.medium = MediumKind::kAnonymous;
  options_.path.clear();
  Open();
  EXPECT_THAT(tier_->recovery().ToString(), AllOf(HasSubstr("medium=dram"), HasSubstr("cold")));
  PutAll(1, 10);
  tier_->EraseAll();
  options_.recovery = Recovery::kRequire;
  EXPECT_EQ(options_.Validate().code(), Status::Code::kInvalidArgument);
}

TEST_F(RecoveryTest, IsAutomaticWhereTheMediumRemembers) {
  options_.recovery = Recovery::kAuto;
  Open();
  PutAll(1, 10);
  Open();
  EXPECT_EQ(tier_->figures().resident_blocks(), 9u);
  options_.medium = MediumKind::kAnonymous;
  options_.path.clear();
  Open();
  EXPECT_EQ(tier_->recovery().ToString(), "") << "nobody asked for what cannot be";
}

TEST_F(RecoveryTest, OfWhatOtherOptionsStoredDiscardsItOrRefuses) {
  const std::function<void(ScmOptions*)> changes[] = {
      [](ScmOptions* o) { o->segment_bytes *= 2; },
      [](ScmOptions* o) { o->key_scheme = 7; },
      [](ScmOptions* o) { o->host_version = 7; },
  };
  const ScmOptions first = options_;
  for (const auto& change : changes) {
    options_ = first;
    Open();
    PutAll(1, 10);
    tier_.reset();
    change(&options_);
    options_.recovery = Recovery::kRequire;
    std::unique_ptr<ScmTier> refused;
    EXPECT_EQ(ScmTier::Open(options_, &refused).code(), Status::Code::kNotSupported);
    options_.recovery = Recovery::kWarm;
    Open();
    EXPECT_EQ(tier_->recovery().outcome, Outcome::kDiscarded);
    EXPECT_FALSE(Serves(1));
  }
  options_.recovery = Recovery::kRequire;
  Open();
  EXPECT_EQ(tier_->recovery().outcome, Outcome::kRecovered) << "there is a medium, if without blocks";
}

// Every block is below its end, or is not: the segments are filled one after the other.
TEST_F(RecoveryTest, OfAnotherSizeKeepsWhatFits) {
  constexpr uint64_t kBlocks = 3 * kSegments / 4 * 60;  // of 62 a segment
  for (const bool killed : {false, true}) {
    for (const Prepare prepare : {Prepare::kBeforeOpen, Prepare::kBackground}) {
      options_.prepare = prepare;
      options_.recovery = Recovery::kDiscard;
      options_.capacity_bytes = kSegments * kSegmentBytesMin;
      Open();
      options_.recovery = Recovery::kRequire;
      Open();
      ASSERT_TRUE(tier_->preparer().Wait().ok());
      PutAll(1, kBlocks);
      std::map<uint64_t, const std::byte*> lies;
      for (uint64_t n = 1; n < kBlocks; ++n) lies[n] = tier_->Find(Key(n)).payload().data();
      const std::byte* const base = lies[1] - layout::kSuperblockSpace - kLineBytes - sizeof(layout::RecordHeader);
      if (killed) Kill();
      for (const uint32_t segments : {2 * kSegments, kSegments / 2, kSegments}) {
        SCOPED_TRACE(segments);
        options_.capacity_bytes = segments * kSegmentBytesMin;
        Open();
        EXPECT_EQ(tier_->recovery().outcome, Outcome::kRecovered);
        EXPECT_EQ(std::filesystem::file_size(file_.path()), options_.capacity_bytes);
        ASSERT_TRUE(tier_->preparer().Wait().ok());
        const uint64_t end = std::min(kSegments, segments == kSegments ? kSegments / 2 : segments) * kSegmentBytesMin;
        uint64_t lost = 0;
        for (uint64_t n = 1; n < kBlocks; ++n) {
          const bool fits = lies[n] + kBytes <= base + end;
          const bool served = Serves(n);
          EXPECT_TRUE(fits || !served) << n;
          lost += fits && !served ? 1 : 0;
        }
        EXPECT_LE(lost, 4 * 62u) << "a few segments are given up, to write to";
        test::ExpectSound(*tier_);
        if (killed) Kill();
      }
      Open();
      ASSERT_TRUE(tier_->preparer().Wait().ok());
      PutAll(kBlocks, 2 * kBlocks);
      EXPECT_TRUE(Serves(2 * kBlocks - 1));
    }
  }
}

// A resize that is cut off: the file has grown and nothing says so, or has not been cut though it should be.
TEST_F(RecoveryTest, AResizeThatIsCutOffLosesNothing) {
  Open();
  PutAll(1, 500);
  const auto reopens = [&](uint64_t with_blocks) {
    Open();
    EXPECT_EQ(tier_->recovery().outcome, Outcome::kRecovered);
    EXPECT_GE(tier_->figures().resident_blocks(), with_blocks);
    EXPECT_EQ(std::filesystem::file_size(file_.path()), options_.capacity_bytes);
    test::ExpectSound(*tier_);
  };
  tier_.reset();
  std::filesystem::resize_file(file_.path(), 2 * options_.capacity_bytes);
  reopens(499);
  options_.capacity_bytes /= 2;
  reopens(100);
  reopens(100);  // a segment less, in which the snapshot lay
  const uint64_t left = tier_->figures().resident_blocks();
  tier_.reset();
  std::filesystem::resize_file(file_.path(), 2 * options_.capacity_bytes);
  reopens(left);
  // And one that is refused leaves the file as it is.
  tier_.reset();
  const uint64_t before = options_.capacity_bytes;
  options_.capacity_bytes = kSegmentsMin * kSegmentBytesMin / 2;
  std::unique_ptr<ScmTier> refused;
  EXPECT_FALSE(ScmTier::Open(options_, &refused).ok());
  options_.capacity_bytes = before;
  options_.key_scheme = 7;
  options_.recovery = Recovery::kRequire;
  options_.capacity_bytes = kSegmentsMin * kSegmentBytesMin;
  EXPECT_FALSE(ScmTier::Open(options_, &refused).ok());
  EXPECT_EQ(std::filesystem::file_size(file_.path()), before);
}

TEST_F(RecoveryTest, WhatWasErasedWithAllStaysErased) {
  for (const bool killed : {false, true}) {
    Open();
    PutAll(1, 300);
    tier_->EraseAll();
    if (killed) Kill();
    Open();
    EXPECT_EQ(tier_->figures().resident_blocks(), 0u);
    PutAll(300, 310);
    tier_->EraseAll();
    PutAll(1, 5, 1);
    if (killed) Kill();
    Open();
    EXPECT_EQ(tier_->figures().resident_blocks(), 4u);
    EXPECT_TRUE(Serves(1, 1));
    tier_->EraseAll();  // before this life has opened a segment
    if (killed) Kill();
    Open();
    EXPECT_EQ(tier_->figures().resident_blocks(), 0u);
  }
}

TEST_F(RecoveryTest, AKeyOfNoFileIsNotBelieved) {
  Open();
  const BlockKey of_this_process{{0, 5}};
  ASSERT_EQ(tier_->Put(of_this_process, BlockRole::kOther, Payload(1, 0, 100)), PutResult::kStored);
  PutAll(1, 2);
  Open();
  EXPECT_FALSE(tier_->Find(of_this_process));
  EXPECT_TRUE(Serves(1));
  EXPECT_TRUE(tier_->recovery().from_snapshot) << "which forgot it";
  ASSERT_EQ(tier_->Put(of_this_process, BlockRole::kOther, Payload(1, 0, 100)), PutResult::kStored);
  Kill();
  Open();
  EXPECT_FALSE(tier_->Find(of_this_process));
  EXPECT_GE(tier_->recovery().dropped, 1u);
}

TEST_F(RecoveryTest, ADamagedPayloadIsAMissAtItsFirstUse) {
  Open();
  PutAll(1, 10);
  tier_.reset();
  Damage([](const std::string& all) { return HeaderIn(all, 5) + sizeof(layout::RecordHeader) + 1000; });
  Open();
  EXPECT_EQ(tier_->recovery().records, 9u) << "payloads are not read at open";
  EXPECT_FALSE(Serves(5)) << "verify=off is for what this process stored";
  EXPECT_EQ(Count(Event::kScmChecksumMismatch), 1u);
  EXPECT_EQ(tier_->figures().faults(), 0u) << "a cut of power may have left it so";
  EXPECT_FALSE(tier_->Contains(Key(5)));
  for (const uint64_t n : {1, 4, 6, 9}) EXPECT_TRUE(Serves(n)) << n;
  test::ExpectSound(*tier_);
}

TEST_F(RecoveryTest, WhatATierLeftThatClosedItselfIsFoundByTheNext) {
  options_.faults_max = 1;
  options_.verify = VerifyMode::kAlways;
  Open();
  PutAll(1, 10);
  const_cast<std::byte&>(tier_->Find(Key(5)).payload()[7]) ^= std::byte{1};
  EXPECT_FALSE(Serves(5));
  EXPECT_EQ(tier_->figures().faults(), 1u);
  EXPECT_TRUE(tier_->figures().is_closed());
  EXPECT_FALSE(Serves(4));
  tier_.reset();
  Open();
  EXPECT_FALSE(tier_->recovery().clean) << "nothing was written after it had closed itself";
  EXPECT_TRUE(Serves(4) && Serves(6));
  EXPECT_FALSE(Serves(5));
}

TEST_F(RecoveryTest, ADamagedHeaderCostsTheRestOfItsSegment) {
  Open();
  PutAll(1, 120);
  const uint64_t in_the_second = 100;
  Kill();
  Damage([](const std::string& all) { return HeaderIn(all, in_the_second) + offsetof(layout::RecordHeader, role); });
  Open();
  EXPECT_TRUE(Serves(in_the_second - 1));
  EXPECT_FALSE(Serves(in_the_second));
  EXPECT_FALSE(Serves(in_the_second + 1));
  EXPECT_LT(tier_->recovery().records, 119u);
  test::ExpectSound(*tier_);
}

// Takes all, so that a reclaim moves what no hit has seen.
struct SparesAll : SurvivorJudge {
  Fate Judge(const RecordFacts&) override { return Fate::kSpare; }
};

TEST_F(RecoveryTest, ReclaimDoesNotVouchForWhatNobodyChecked) {
  SparesAll judge;
  Open(&judge);
  PutAll(1, 60);
  tier_.reset();
  Damage([](const std::string& all) { return HeaderIn(all, 5) + sizeof(layout::RecordHeader) + 1000; });
  Open(&judge);
  for (uint64_t n = 1000; Count(Event::kScmSecondChance) == 0; ++n) PutAll(n, n + 1);
  PutAll(5000, 5200);
  EXPECT_EQ(Count(Event::kScmChecksumMismatch), 1u);
  EXPECT_FALSE(Serves(5));
  test::ExpectSound(*tier_);
}

// Its hit in this life vouches for it, and for where it lies: a segment that stays pays heat, but not the last of it.
TEST_F(RecoveryTest, WhatWasHitInThisLifeStaysSoWhereItsSegmentIsQueuedAgain) {
  constexpr uint64_t kHot = 4 * 62;
  Open();
  for (uint64_t n = 1; n <= kHot; ++n)
    ASSERT_EQ(tier_->Put(Key(n), BlockRole::kData, Payload(n, 0, kBytes), Generation::kProven), PutResult::kStored);
  ASSERT_TRUE(tier_->NotePromoted(Key(1)));
  struct ReachesProven : SurvivorJudge {
    Fate Judge(const RecordFacts& record) override {
      return SecondChance(record.heat, record.packable, record.demotable);
    }
    unsigned young_percent() const override { return 95; }
  } judge;
  Open(&judge);
  tier_->SetRequeuePercent(70);
  EXPECT_EQ(tier_->Find(Key(1)).carried(), Carried::kFromDram);  // its only hit
  ASSERT_TRUE(tier_->NotePromoted(Key(1)));
  for (int hit = 0; hit < 3; ++hit) {
    for (uint64_t n = 2; n <= kHot; ++n) ASSERT_TRUE(Serves(n)) << n;
  }
  for (uint64_t n = 10'000; Count(Event::kScmSegmentRequeued) == 0; ++n) {
    ASSERT_LT(n, 20'000u);
    PutAll(n, n + 1);
  }
  EXPECT_EQ(tier_->Find(Key(1)).carried(), Carried::kNo);
  test::ExpectSound(*tier_);
}

TEST_F(RecoveryTest, AFullMediumIsWritableAgainWhileItIsPrepared) {
  Open();
  PutAll(1, 3 * kSegments * 62);
  options_.prepare = Prepare::kBackground;
  for (const bool killed : {false, true}) {
    const uint64_t before = tier_->figures().resident_blocks();
    if (killed) Kill();
    Open();
    EXPECT_GE(tier_->figures().resident_blocks() * 10, before * 7) << "a few of 16 segments are given up";
    uint64_t stored = 0;
    for (uint64_t n = 10'000; n < 10'100; ++n)
      stored += tier_->Put(Key(n), BlockRole::kData, Payload(n, 0, kBytes)) == PutResult::kStored ? 1 : 0;
    EXPECT_EQ(stored, 100u);
    for (uint64_t n = 10'000; n < 10'100; ++n) EXPECT_TRUE(Serves(n)) << n;
    ASSERT_TRUE(tier_->preparer().Wait().ok());
    test::ExpectSound(*tier_);
  }
}

TEST_F(RecoveryTest, PackedRecordsComeBackWithTheirDictionariesAndNotWithout) {
  OpenWithDictionaries();
  constexpr uint64_t kBlocks = 600;
  const auto put = [&](uint64_t n) {
    tier_->Put(Key(n), BlockRole::kData, test::TextPayload(n, 0, kBytes), Generation::kYoung, Form::kPacked);
  };
  for (uint64_t n = 1; n <= kBlocks || Count(Event::kPackedWithDictionary) < 100; ++n) {
    put(n % 2000 + 1);
    if (n % 200 == 0) tier_->SettleDictionaries();
  }
  tier_->SettleDictionaries();
  const uint64_t before = tier_->figures().resident_blocks();
  const auto served = [&] {
    uint64_t count = 0;
    for (uint64_t n = 1; n <= 2001; ++n) {
      const PinnedBlock block = tier_->Find(Key(n));
      if (!block) continue;
      ++count;
      EXPECT_TRUE(Same(BytesOf(block), test::TextPayload(n, 0, kBytes))) << n;
    }
    return count;
  };
  Kill();
  Open();
  EXPECT_EQ(served(), before);
  EXPECT_EQ(Count(Event::kScmNoDictionary) + Count(Event::kScmUnpackFailed), 0u);
  test::ExpectSound(*tier_);
  // What is packed from now on may get a new dictionary, under a number that no record has.
  for (uint64_t n = 2; n <= kBlocks + 1; ++n)
    tier_->Put(Key(n), BlockRole::kData, test::TextPayload(n, 0, kBytes), Generation::kYoung, Form::kPacked);
  EXPECT_EQ(served(), before);
  tier_.reset();

  Damage([](const std::string& all) {  // every copy of it would have to go; there is one
    const uint64_t word = layout::kDictionaryKey;
    return all.find(std::string(reinterpret_cast<const char*>(&word), sizeof(word))) + 200;
  });
  Open();
  const uint64_t left = served();
  EXPECT_LT(left, before);
  EXPECT_GT(tier_->recovery().dropped, 0u);
  test::ExpectSound(*tier_);
}

// As where power is cut while it is written anew: the older copy is whole still.
TEST_F(RecoveryTest, OfADictionaryWhoseYoungestCopyIsDamagedAnOlderOneStandsIn) {
  OpenWithDictionaries();
  options_.dictionaries.rest = 1'000'000;  // no other comes
  Open();
  const auto put = [&](uint64_t n) {
    ASSERT_EQ(tier_->Put(Key(n), BlockRole::kData, test::TextPayload(n, 0, kBytes), Generation::kYoung, Form::kPacked),
              PutResult::kStored);
  };
  for (uint64_t n = 1; Count(Event::kDictionaryWritten) == 0; ++n) {
    ASSERT_LT(n, 5000u);
    put(n);
    if (n % 50 == 0) tier_->SettleDictionaries();
  }
  ASSERT_TRUE(tier_->SetCapacity(0).ok());
  tier_->SettleDictionaries();
  ASSERT_TRUE(tier_->SetCapacity(options_.capacity_bytes).ok());
  tier_->SettleDictionaries();
  ASSERT_EQ(Count(Event::kDictionaryWritten), 2u);
  for (uint64_t n = 6000; n < 6100; ++n) put(n);
  Kill();
  tier_.reset();
  Damage([this](const std::string& all) {
    const std::string key(reinterpret_cast<const char*>(&layout::kDictionaryKey), sizeof(layout::kDictionaryKey));
    size_t youngest = 0, copies = 0;
    uint64_t newest = 0;
    for (size_t at = all.find(key); at != std::string::npos; at = all.find(key, at + 1), ++copies) {
      const uint64_t segment = at / options_.segment_bytes * options_.segment_bytes;
      layout::SegmentHeader header;
      std::memcpy(&header, all.data() + (segment == 0 ? layout::kSuperblockSpace : segment), sizeof(header));
      if (header.sequence >= newest) youngest = at, newest = header.sequence;
    }
    EXPECT_EQ(copies, 2u);
    return youngest + 200;
  });
  Open();
  uint64_t served = 0;
  for (uint64_t n = 6000; n < 6100; ++n) {
    const PinnedBlock block = tier_->Find(Key(n));
    served += block && Same(BytesOf(block), test::TextPayload(n, 0, kBytes)) ? 1 : 0;
  }
  EXPECT_EQ(served, 100u);
  tier_->SettleDictionaries();
  EXPECT_EQ(Count(Event::kDictionaryWritten), 1u) << "and it is written anew once more";
  test::ExpectSound(*tier_);
}

// Nobody holds it until the first of its records is there.
TEST_F(RecoveryTest, RecordsOfADictionaryThatWasRetiredComeBackToo) {
  OpenWithDictionaries();
  uint64_t put = 0, second = 0;
  for (uint64_t language = 0; language < 2; ++language) {
    if (language == 1) second = put + 1;
    const uint64_t with_one = Count(Event::kPackedWithDictionary);
    while (Count(Event::kDictionaryTrained) <= language || Count(Event::kPackedWithDictionary) < with_one + 100) {
      ASSERT_LT(++put, 5000u);
      tier_->Put(Key(put), BlockRole::kData, test::TextPayload(put, 0, kBytes, language), Generation::kYoung,
                 Form::kPacked);
      if (put % 50 == 0) tier_->SettleDictionaries();
    }
  }
  ASSERT_EQ(Count(Event::kDictionaryCollected), 0u);
  ASSERT_EQ(tier_->figures().resident_blocks(), put);
  Kill();
  Open();
  for (uint64_t n = 1; n <= put; ++n) {
    const PinnedBlock block = tier_->Find(Key(n));
    ASSERT_TRUE(block) << n;
    EXPECT_TRUE(Same(BytesOf(block), test::TextPayload(n, 0, kBytes, n < second ? 0 : 1))) << n;
  }
  test::ExpectSound(*tier_);
}

TEST_F(RecoveryTest, OfAFormThatTheTierDoesNotReadIsDropped) {
  options_.pack = PackMode::kLz4;
  Open();
  for (uint64_t n = 1; n < 20; ++n)
    tier_->Put(Key(n), BlockRole::kData, test::PackablePayload(n, 0, kBytes), Generation::kYoung,
               n % 2 == 0 ? Form::kPacked : Form::kRaw);
  ASSERT_EQ(Count(Event::kScmPackedPut), 9u);
  options_.pack = PackMode::kOff;
  Open();
  EXPECT_EQ(tier_->recovery().records, 10u);
  EXPECT_EQ(tier_->recovery().dropped, 9u);
  test::ExpectSound(*tier_);
}

TEST_F(RecoveryTest, AnInspectionTellsWhatWillBeFoundAndWhatIsDamaged) {
  Open();
  PutAll(1, 200);
  ASSERT_EQ(tier_->Put(Key(500), BlockRole::kIndex, Payload(500, 0, 100), Generation::kProven), PutResult::kStored);
  tier_.reset();
  const auto inspect = [&](bool verify) {
    const std::string all = Contents();
    return Inspect(std::as_bytes(std::span(all)), verify);
  };
  const Inspection whole = inspect(true);
  EXPECT_EQ(whole.of_role[static_cast<size_t>(BlockRole::kData)].records, 199u);
  EXPECT_EQ(whole.of_role[static_cast<size_t>(BlockRole::kData)].bytes, 199 * kBytes);
  EXPECT_EQ(whole.of_role[static_cast<size_t>(BlockRole::kData)].damaged, 0u);
  EXPECT_EQ(whole.of_role[static_cast<size_t>(BlockRole::kIndex)].records, 1u);
  EXPECT_EQ(whole.young + whole.proven + whole.empty + whole.snapshot.segments, kSegments);
  EXPECT_EQ(whole.proven, 1u);
  EXPECT_NE(whole.superblock.superblock.flags & layout::kClosedCleanly, 0u);
  Damage([](const std::string& all) { return HeaderIn(all, 5) + sizeof(layout::RecordHeader) + 1000; });
  EXPECT_EQ(inspect(false).of_role[static_cast<size_t>(BlockRole::kData)].damaged, 0u);
  EXPECT_EQ(inspect(true).of_role[static_cast<size_t>(BlockRole::kData)].damaged, 1u);
  Damage([](const std::string& all) { return HeaderIn(all, 7); });
  EXPECT_LT(inspect(true).of_role[static_cast<size_t>(BlockRole::kData)].records, 199u);
}

TEST_F(RecoveryTest, AnInspectionTellsWhoWroteWhatAndHowOldItIs) {
  Open();
  const auto put = [&](uint64_t file, uint64_t session, uint64_t count, size_t bytes) {
    for (uint64_t n = 1; n <= count; ++n) {
      const BlockKey key{{file, session << 40 | n}};
      ASSERT_EQ(tier_->Put(key, BlockRole::kData, Payload(n, file, bytes)), PutResult::kStored);
    }
  };
  put(1, 0xabcdef, 70, 4000);
  put(2, 0xabcdef, 80, 4000);
  put(3, 0x000001, 100, 400);
  put(0, 0x000001, 1, 400);
  tier_.reset();
  const std::string all = Contents();
  const Inspection found = Inspect(std::as_bytes(std::span(all)), /*verify=*/false);
  ASSERT_EQ(found.sessions.size(), 2u);
  EXPECT_EQ(found.sessions[0].session, 0xabcdefu);
  EXPECT_EQ(found.sessions[0].files, 2u);
  EXPECT_EQ(found.sessions[0].blocks.records, 150u);
  EXPECT_EQ(found.sessions[0].blocks.bytes, 150 * 4000u);
  EXPECT_EQ(found.sessions[1].session, 1u);
  EXPECT_EQ(found.sessions[1].files, 1u);
  EXPECT_EQ(found.sessions[1].blocks.records, 100u);
  EXPECT_EQ(found.nameless.records, 1u);
  EXPECT_EQ(found.more_sessions, 0u);
  uint64_t segments = 0, records = 0;
  for (const Inspection::Age& age : found.of_age) segments += age.segments, records += age.blocks.records;
  EXPECT_EQ(segments, found.young + found.proven);
  EXPECT_EQ(records, 251u);
  const Inspection::Records &youngest = found.of_age.front().blocks, &oldest = found.of_age.back().blocks;
  EXPECT_EQ(oldest.bytes, oldest.records * 4000) << "what was put first";
  EXPECT_LT(youngest.bytes, youngest.records * 4000) << "what was put last is there";
}

TEST_F(RecoveryTest, AnInspectionAddsUpTheSessionsThatAreTooMany) {
  Open();
  for (uint64_t n = 1; n <= 100; ++n)
    ASSERT_EQ(tier_->Put({{n, n << 40}}, BlockRole::kData, Payload(n, 0, 100 + n)), PutResult::kStored);
  tier_.reset();
  const std::string all = Contents();
  const Inspection found = Inspect(std::as_bytes(std::span(all)), /*verify=*/false);
  ASSERT_EQ(found.sessions.size(), Inspection::kSessionsMax);
  EXPECT_EQ(found.sessions.front().session, 100u);
  EXPECT_EQ(found.more_sessions, 100 - Inspection::kSessionsMax);
  EXPECT_EQ(found.of_more_sessions.records, 100 - Inspection::kSessionsMax);
}

// Bytes of no block, and of no header of one.
size_t NotZeroBehindTheSuperblocks(const std::string& all) {
  return static_cast<size_t>(
      std::count_if(all.begin() + layout::kSuperblockSpace, all.end(), [](char c) { return c != 0; }));
}

TEST_F(RecoveryTest, ScrubbedWhenItIsClosedItHoldsNothing) {
  options_.scrub_on_close = true;
  options_.pack = PackMode::kZstd;
  options_.dictionaries = test::kTrainedSoon;
  for (const uint64_t blocks : {10u, 2000u, 3u}) {  // into one segment, around all of them, and after that
    for (const uint64_t stage : {uint64_t{0}, kUsualPackStageBytes}) {
      options_.pack_stage_bytes = stage;
      Open();
      EXPECT_EQ(tier_->recovery().records, 0u);
      for (uint64_t n = 1; n <= blocks; ++n)
        ASSERT_EQ(
            tier_->Put(Key(n), BlockRole::kData, test::TextPayload(n, 0, kBytes), Generation::kYoung, Form::kPacked),
            PutResult::kStored);
      tier_.reset();
      ASSERT_EQ(NotZeroBehindTheSuperblocks(Contents()), 0u) << blocks;
    }
  }
}

TEST_F(RecoveryTest, WhatAKilledProcessLeftIsScrubbedByTheNext) {
  for (const Recovery recovery : {Recovery::kWarm, Recovery::kDiscard}) {
    for (const bool asked_before : {false, true}) {
      options_.scrub_on_close = asked_before;
      options_.recovery = Recovery::kWarm;
      Open();
      PutAll(1, 500);
      Kill();
      EXPECT_GT(NotZeroBehindTheSuperblocks(Contents()), 500 * kBytes / 2);
      options_.recovery = recovery;
      options_.scrub_on_close = true;
      Open();
      EXPECT_EQ(tier_->figures().resident_blocks(), recovery == Recovery::kWarm ? 499u : 0u);
      Open();
      EXPECT_EQ(tier_->figures().resident_blocks(), 0u);
      tier_.reset();
      EXPECT_EQ(NotZeroBehindTheSuperblocks(Contents()), 0u);
    }
  }
}

TEST_F(RecoveryTest, WhatNobodyCanReadAnyMoreIsScrubbedToo) {
  Open();
  PutAll(1, 500);
  tier_.reset();
  for (const uint64_t at : {uint64_t{0}, layout::kSuperblockCopyAt})
    Damage([at](const std::string&) { return at + offsetof(layout::Superblock, generation); });
  options_.scrub_on_close = true;
  Open();
  EXPECT_EQ(tier_->figures().resident_blocks(), 0u);
  tier_.reset();
  EXPECT_EQ(NotZeroBehindTheSuperblocks(Contents()), 0u);
}

// A device, whose end a smaller tier leaves as it was: what lies there named dictionaries that it knew nothing of.
class Device final : public Medium {
 public:
  explicit Device(std::unique_ptr<Medium> medium) : medium_(std::move(medium)) {
    active_ = medium_.get();
    base_ = medium_->base();
    bytes_ = medium_->bytes();
    info_ = medium_->info();
    stream_ = [](void* to, const void* from, size_t bytes) {
      (void)active_->Stream(static_cast<std::byte*>(to), from, bytes);
    };
    drain_ = [] { active_->Drain(); };
  }
  uint64_t bytes_before() const override { return bytes_; }  // and GiveUpRest() cuts nothing

 private:
  static inline const Medium* active_ = nullptr;
  const std::unique_ptr<Medium> medium_;
};

TEST_F(RecoveryTest, OfADeviceThatWasSmallerMeanwhileTheRestIsForgottenAndWiped) {
  constexpr uint64_t kBlocks = (kSegments - 2) * 60;
  const auto open = [&](uint32_t segments) {
    tier_.reset();
    options_.capacity_bytes = segments * kSegmentBytesMin;
    const auto wrap = [](std::unique_ptr<Medium> medium) -> std::unique_ptr<Medium> {
      return std::make_unique<Device>(std::move(medium));
    };
    ASSERT_TRUE(ScmTier::Open(options_, &tier_, /*judge=*/nullptr, wrap).ok());
    tier_->WaitUntilRecovered();
  };
  open(kSegments);
  PutAll(1, kBlocks);
  std::set<uint64_t> beyond;
  const std::byte* const first = tier_->Find(Key(1)).payload().data();  // of all, in the first segment
  for (uint64_t n = 1; n < kBlocks; ++n) {
    if (tier_->Find(Key(n)).payload().data() - first > kSegments / 2 * int64_t{kSegmentBytesMin}) beyond.insert(n);
  }
  EXPECT_GT(beyond.size(), kBlocks / 4);
  open(kSegments / 2);
  open(kSegments);
  Kill();
  open(kSegments);
  EXPECT_EQ(tier_->recovery().outcome, Outcome::kRecovered);
  EXPECT_GT(tier_->figures().resident_blocks(), 100u);
  for (const uint64_t n : beyond) EXPECT_FALSE(Serves(n)) << n;
  PutAll(1, kBlocks, 1);
  test::ExpectSound(*tier_);
  options_.scrub_on_close = true;
  open(kSegments / 2);
  open(kSegments);
  tier_.reset();
  EXPECT_EQ(NotZeroBehindTheSuperblocks(Contents()), 0u);
}

// Nobody believes a part of what is half wiped: the superblock goes first.
TEST_F(RecoveryTest, AScrubThatIsCutOffLeavesNothingToBelieve) {
  options_.scrub_on_close = true;
  Open();
  PutAll(1, 500);
  Kill();
  const std::string before = Contents();
  Open();
  PutAll(600, 601);
  tier_.reset();
  // Its superblock behind the bytes that were there before.
  const std::string after = Contents();
  test::Overwrite(file_.path(), 0, after.substr(0, layout::kSuperblockSpace) + before.substr(layout::kSuperblockSpace));
  Open();
  EXPECT_EQ(tier_->figures().resident_blocks(), 0u);
}

}  // namespace
}  // namespace mezz
