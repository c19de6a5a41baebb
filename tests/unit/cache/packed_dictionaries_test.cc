// SPDX-License-Identifier: Apache-2.0
// Dictionaries in the tier: trained from what is packed, kept while a record carries them, found again on the medium.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <functional>

#include "cache/layout.h"
#include "cache/pack/dictionaries.h"
#include "cache/pack/packer.h"
#include "cache/record.h"
#include "cache/scm_tier.h"
#include "tests/support/record_medium.h"
#include "tests/support/tier_fixture.h"

namespace mezz {
namespace {

using test::Key;
using test::RecordMedium;
using test::TextPayload;

constexpr size_t kBytes = 4000;

class PackedDictionaries : public testing::Test {
 protected:
  static constexpr uint64_t kCapacity = 16 * kSegmentBytesMin;

  void SetUp() override { Open(test::AnonymousOptions(kCapacity)); }
  void TearDown() override {
    if (tier_ != nullptr) test::ExpectSound(*tier_);
  }
  void Open(ScmOptions options, DictionaryRules rules = test::kTrainedSoon) {
    options.pack = PackMode::kZstd;
    options.dictionaries = rules;
    options.faults_max = 0;  // a fault costs what it hit
    tier_ = test::OpenOrDie(options);
  }

  // Of both generations, so that reclaim reaches all segments.
  PutResult Put(uint64_t n, uint64_t language = 0, BlockRole role = BlockRole::kData) {
    const auto generation = n % 3 == 0 ? Generation::kProven : Generation::kYoung;
    return tier_->Put(Key(n), role, TextPayload(n, 0, kBytes, language), generation, Form::kPacked);
  }
  // New keys in that language, until the next dictionary is live.
  void TrainAnew(uint64_t language, BlockRole role = BlockRole::kData) {
    const uint64_t before = Count(Event::kDictionaryTrained);
    for (uint64_t i = 0; Count(Event::kDictionaryTrained) == before; ++i) {
      ASSERT_LT(i, 20'000u) << "no dictionary, and " << Count(Event::kDictionaryUseless) << " useless ones";
      ASSERT_EQ(Put(next_++, language, role), PutResult::kStored);
      if (i % 50 == 0) tier_->SettleDictionaries();
    }
  }
  // New keys, until all dictionaries but so many are gone.
  void PutUntilCollected(uint64_t left, uint64_t language) {
    for (uint64_t i = 0; Count(Event::kDictionaryTrained) - Count(Event::kDictionaryCollected) != left; ++i) {
      ASSERT_LT(i, 50'000u) << Count(Event::kDictionaryCollected) << " collected";
      ASSERT_EQ(Put(next_++, language), PutResult::kStored);
      if (i % 50 == 0) tier_->SettleDictionaries();
    }
  }
  bool Serves(uint64_t n, uint64_t language = 0) {
    const PinnedBlock found = tier_->Find(Key(n));
    return found && test::BytesOf(found) == TextPayload(n, 0, kBytes, language);
  }
  layout::PackedPrefix PrefixOf(const PinnedBlock& block) {
    layout::PackedPrefix prefix{};
    if (block && block.form() == Form::kPacked) std::memcpy(&prefix, block.stored().data(), sizeof(prefix));
    return prefix;
  }
  uint16_t DictionaryOf(uint64_t n) { return PrefixOf(tier_->Find(Key(n))).dictionary; }
  uint64_t Count(Event event) { return tier_->counters().Snapshot()[event]; }

  // Puts another payload, whole by its checksums, into the packed record of `n`.
  void Forge(uint64_t n, const std::function<void(layout::PackedPrefix&)>& edit) {
    const PinnedBlock found = tier_->Find(Key(n));
    ASSERT_TRUE(found && found.form() == Form::kPacked);
    std::vector<std::byte> payload(found.stored().begin(), found.stored().end());
    layout::PackedPrefix prefix = PrefixOf(found);
    edit(prefix);
    std::memcpy(payload.data(), &prefix, sizeof(prefix));
    std::byte* const at = const_cast<std::byte*>(found.stored().data()) - sizeof(record::Header);
    record::Header header;
    std::memcpy(&header, at, sizeof(header));
    ASSERT_TRUE(record::Write(RecordMedium(at), {0, header.sequence}, header.key, header.role, payload.size(),
                              SpanSource{payload}, header.flags));
  }

  std::unique_ptr<ScmTier> tier_;
  uint64_t next_ = 1000;
};

TEST_F(PackedDictionaries, AreTrainedAndMakeBlocksSmaller) {
  ASSERT_EQ(Put(1), PutResult::kStored);
  TrainAnew(0);
  ASSERT_EQ(Put(2), PutResult::kStored);
  EXPECT_EQ(DictionaryOf(1), 0);
  EXPECT_EQ(DictionaryOf(2), 1);
  EXPECT_LT(tier_->Find(Key(2)).stored().size() * 10, tier_->Find(Key(1)).stored().size() * 9);
  EXPECT_TRUE(Serves(1));
  EXPECT_TRUE(Serves(2));
  EXPECT_GT(Count(Event::kPackedWithDictionary), 0u);
  EXPECT_EQ(Count(Event::kScmNoDictionary) + Count(Event::kScmUnpackFailed), 0u);
}

TEST_F(PackedDictionaries, AreNotUsedWhereTheyGainTooLittle) {
  for (uint64_t n = 0; Count(Event::kDictionaryUseless) == 0; ++n) {
    ASSERT_LT(n, 20'000u);
    const auto block = test::PackablePayload(n, 0, kBytes);
    ASSERT_EQ(tier_->Put(Key(n), BlockRole::kData, block, Generation::kYoung, Form::kPacked), PutResult::kStored);
    if (n % 50 == 0) tier_->SettleDictionaries();
  }
  EXPECT_EQ(Count(Event::kDictionaryTrained), 0u);
  ASSERT_EQ(Put(1), PutResult::kStored);
  EXPECT_EQ(DictionaryOf(1), 0);
}

// --- a dictionary that is missing, or another one -------------------------------------------------------------------

TEST_F(PackedDictionaries, ARecordThatNamesAnotherIsACountedMiss) {
  ASSERT_EQ(Put(1), PutResult::kStored);  // with none
  TrainAnew(0);
  for (const uint64_t n : {2, 3, 4}) ASSERT_EQ(Put(n), PutResult::kStored);
  ASSERT_EQ(DictionaryOf(2), 1);
  TrainAnew(1);
  ASSERT_EQ(Put(5, 1), PutResult::kStored);
  const uint16_t second = DictionaryOf(5);
  ASSERT_EQ(second, 2);
  Forge(1, [](auto& prefix) { prefix.dictionary = 1; });
  Forge(2, [](auto& prefix) { prefix.dictionary = 0; });
  Forge(3, [](auto& prefix) { prefix.dictionary = 1 + Dictionaries::kSlots; });
  Forge(4, [](auto& prefix) { prefix.dictionary = 2; });
  Forge(5, [](auto& prefix) { prefix.dictionary = 4711; });
  for (uint64_t n = 1; n <= 5; ++n) {
    const bool of_no_segment = n == 3 || n == 5;
    EXPECT_FALSE(of_no_segment && tier_->Find(Key(n))) << "known before it is unpacked: " << n;
    EXPECT_FALSE(Serves(n)) << n;
    EXPECT_FALSE(tier_->Contains(Key(n))) << n;
    EXPECT_EQ(Count(Event::kScmNoDictionary), n);
  }
  EXPECT_EQ(Count(Event::kScmUnpackFailed), 0u);
}

// Another dictionary of that number, with which whole bytes unpack, to others than were packed.
TEST_F(PackedDictionaries, ARecordThatUnpacksToOtherBytesIsACountedMiss) {
  TrainAnew(0);
  ASSERT_EQ(Put(1), PutResult::kStored);
  ASSERT_EQ(DictionaryOf(1), 1);
  Forge(1, [](auto& prefix) { prefix.logical_checksum ^= 1; });
  EXPECT_TRUE(test::BytesOf(tier_->Find(Key(1))).empty());
  EXPECT_FALSE(tier_->Contains(Key(1)));
  EXPECT_EQ(Count(Event::kScmUnpackFailed), 1u);
}

TEST_F(PackedDictionaries, AFlippedBitOfARecordThatHasOneIsACountedMiss) {
  DictionaryRules once = test::kTrainedSoon;
  once.rest = 1'000'000;
  Open(test::AnonymousOptions(kCapacity), once);
  TrainAnew(0);
  const auto block = TextPayload(1, 0, 700);
  uint64_t bits = 1;
  const uint64_t misses = Count(Event::kScmMiss);
  for (uint64_t bit = 0; bit < bits; ++bit) {
    ASSERT_EQ(tier_->Put(Key(1), BlockRole::kData, block, Generation::kYoung, Form::kPacked), PutResult::kStored);
    {
      const PinnedBlock found = tier_->Find(Key(1));
      ASSERT_NE(PrefixOf(found).dictionary, 0);
      bits = 8 * (sizeof(record::Header) + found.stored().size());
      std::byte* const at = const_cast<std::byte*>(found.stored().data()) - sizeof(record::Header);
      at[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    }
    ASSERT_FALSE(tier_->Find(Key(1))) << "bit " << bit << " of " << bits;
    ASSERT_EQ(Count(Event::kScmMiss) - misses, bit + 1);
  }
  EXPECT_GT(bits, 8u * 100);
}

// --- one after another ----------------------------------------------------------------------------------------------

TEST_F(PackedDictionaries, FollowTheDataAndStayUntilTheirLastRecordIsGone) {
  TrainAnew(0);
  ASSERT_EQ(Put(1), PutResult::kStored);
  PinnedBlock held = tier_->Find(Key(1));
  ASSERT_EQ(PrefixOf(held).dictionary, 1);
  for (uint64_t language = 1; language <= 3; ++language) {
    TrainAnew(language);
    ASSERT_EQ(Put(1 + language, language), PutResult::kStored);
    EXPECT_NE(DictionaryOf(1 + language), 1);
    EXPECT_TRUE(Serves(1 + language, language));
  }
  tier_->Erase(Key(1));
  PutUntilCollected(2, 3);
  EXPECT_EQ(test::BytesOf(held), TextPayload(1, 0, kBytes)) << "a pinned record needs its dictionary";
  held.Release();
  PutUntilCollected(1, 3);
}

TEST_F(PackedDictionaries, GoWithTheirRecordsWhereReclaimCopiesThem) {
  ScmOptions options = tier_->options();
  options.expected_block_bytes = kBytes / 4;  // words to spare: a growing index may displace any block
  Open(options);
  TrainAnew(0);
  ASSERT_EQ(Put(1), PutResult::kStored);
  ASSERT_EQ(DictionaryOf(1), 1);
  const uint64_t reclaimed = Count(Event::kScmSegmentReclaimed) + 3 * kCapacity / kSegmentBytesMin;
  while (Count(Event::kScmSegmentReclaimed) < reclaimed) {
    ASSERT_EQ(Put(next_++, 1), PutResult::kStored);
    ASSERT_TRUE(Serves(1));
  }
  EXPECT_EQ(DictionaryOf(1), 1);
  EXPECT_GT(Count(Event::kDictionaryTrained), 1u) << "the first one is retired, and kept for one hot block";
  EXPECT_EQ(Count(Event::kScmNoDictionary), 0u);
}

TEST_F(PackedDictionaries, AreFewHoweverManyAreHeld) {
  std::vector<PinnedBlock> held;
  for (uint64_t language = 0; language < Dictionaries::kSlots; ++language) {
    TrainAnew(language);
    ASSERT_EQ(Put(1 + language, language), PutResult::kStored);
    held.push_back(tier_->Find(Key(1 + language)));
    ASSERT_NE(PrefixOf(held.back()).dictionary, 0);
  }
  const uint64_t full = tier_->figures().dram().total();
  EXPECT_LT(full, Dictionaries::kSlots * (600u << 10) + (3u << 20));
  const uint64_t trained = Count(Event::kDictionaryTrained);
  for (uint64_t i = 0; i < 2000; ++i) ASSERT_EQ(Put(next_++, 100), PutResult::kStored);
  tier_->SettleDictionaries();
  EXPECT_EQ(Count(Event::kDictionaryTrained), trained) << "all slots are in use";
  EXPECT_LE(tier_->figures().dram().total(), full + (1u << 20));
  for (uint64_t language = 0; language < Dictionaries::kSlots; ++language)
    EXPECT_EQ(test::BytesOf(held[language]), TextPayload(1 + language, 0, kBytes, language));
  held.clear();
  PutUntilCollected(1, 101);
  EXPECT_LT(tier_->figures().dram().total(), full);
}

TEST_F(PackedDictionaries, EachRoleHasItsOwn) {
  TrainAnew(0, BlockRole::kData);
  TrainAnew(1, BlockRole::kBlob);
  ASSERT_EQ(Put(1, 0, BlockRole::kData), PutResult::kStored);
  ASSERT_EQ(Put(2, 1, BlockRole::kBlob), PutResult::kStored);
  EXPECT_EQ(DictionaryOf(1), 1);
  EXPECT_EQ(DictionaryOf(2), 2);
  EXPECT_TRUE(Serves(1, 0));
  EXPECT_TRUE(Serves(2, 1));
}

// --- on the medium --------------------------------------------------------------------------------------------------

class DictionariesOnAFile : public PackedDictionaries {
 protected:
  void SetUp() override {
    test::UseFile(file_.path(), &options_);
    Open(options_);
  }
  void TrainOneAndStoreIt() {
    TrainAnew(0);
    tier_->SettleDictionaries();
    ASSERT_EQ(Count(Event::kDictionaryWritten), 1u);
  }
  // How many blocks a restart finds: nearly all, and it can unpack each.
  uint64_t FoundAfterARestart() {
    tier_->SettleDictionaries();
    const uint64_t before = tier_->figures().resident_blocks();
    tier_.reset();
    options_.recovery = Recovery::kWarm;
    Open(options_);
    tier_->WaitUntilRecovered();
    uint64_t found = 0;
    for (uint64_t n = 1; n < next_; ++n) {
      if (!tier_->Contains(Key(n))) continue;
      EXPECT_TRUE(Serves(n)) << n;
      ++found;
    }
    EXPECT_GE(found, before * 9 / 10) << "the others lack their dictionary";
    return found;
  }

  const test::ScratchFile file_;
  ScmOptions options_ = test::AnonymousOptions(kCapacity);
};

TEST_F(DictionariesOnAFile, AreWrittenAgainWhenReclaimReachesThem) {
  TrainOneAndStoreIt();
  ASSERT_TRUE(tier_->SetCapacity(kCapacity).ok());  // wakes the trainer
  tier_->SettleDictionaries();
  ASSERT_EQ(Count(Event::kDictionaryWritten), 1u) << "it lies there already";
  // Blocks that DRAM holds are never spared: every segment is reclaimed, the proven too.
  const uint64_t turns = 12 * kCapacity / layout::RecordBytes(kBytes);
  for (uint64_t i = 0; i < turns; ++i) {
    ASSERT_EQ(Put(next_), PutResult::kStored);
    tier_->NotePromoted(Key(next_++));
  }
  EXPECT_GT(Count(Event::kDictionaryWritten), 1u);
  EXPECT_GT(FoundAfterARestart(), 100u);
}

TEST_F(DictionariesOnAFile, AreWrittenAgainWhenATierThatWasSwitchedOffComesBack) {
  TrainOneAndStoreIt();
  ASSERT_TRUE(tier_->SetCapacity(0).ok());
  tier_->SettleDictionaries();
  EXPECT_EQ(tier_->figures().usage_bytes(), 0u);
  ASSERT_TRUE(tier_->SetCapacity(kCapacity).ok());
  tier_->SettleDictionaries();
  EXPECT_EQ(Count(Event::kDictionaryWritten), 2u);
  for (uint64_t n = 1; n <= 100; ++n) ASSERT_EQ(Put(n), PutResult::kStored);
  ASSERT_EQ(DictionaryOf(1), 1);
  EXPECT_GE(FoundAfterARestart(), 100u);
}

// --- fork -----------------------------------------------------------------------------------------------------------

TEST_F(PackedDictionaries, AChildUnpacksWhatItHoldsTrainsNothingAndLeaves) {
  TrainAnew(0);
  ASSERT_EQ(Put(1), PutResult::kStored);
  PinnedBlock held = tier_->Find(Key(1));
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);  // a hang ends as a signal
    const bool same = test::BytesOf(held) == TextPayload(1, 0, kBytes);
    const bool refused = Put(2) == PutResult::kNoSpace;
    tier_->SettleDictionaries();
    held.Release();
    tier_.reset();
    _exit(same && refused ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  held.Release();
  TrainAnew(1);
  ASSERT_EQ(Put(3, 1), PutResult::kStored);
  EXPECT_EQ(DictionaryOf(3), 2);
}

}  // namespace
}  // namespace mezz
