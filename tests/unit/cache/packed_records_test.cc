// SPDX-License-Identifier: Apache-2.0
// Packed records in the tier: what is served, what is refused, and that no damage of one is ever unpacked.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <map>
#include <stdexcept>

#include "cache/layout.h"
#include "cache/pack/packer.h"
#include "cache/record.h"
#include "cache/scm_tier.h"
#include "tests/support/record_medium.h"
#include "tests/support/tier_fixture.h"

namespace mezz {
namespace {

using test::Key;
using test::PackablePayload;
using test::Payload;
using test::RecordMedium;

constexpr size_t kBytes = 4000;

class PackedRecords : public testing::TestWithParam<PackMode> {
 protected:
  void SetUp() override { Open(test::AnonymousOptions(16 * kSegmentBytesMin)); }
  void TearDown() override {
    if (tier_ != nullptr) test::ExpectSound(*tier_);
  }
  void Open(ScmOptions options, SurvivorJudge* judge = nullptr) {
    options.pack = GetParam();
    tier_ = test::OpenOrDie(options, judge);
  }

  PutResult Put(uint64_t n, const std::vector<std::byte>& block, BlockRole role = BlockRole::kData) {
    return tier_->Put(Key(n), role, block, Generation::kYoung, Form::kPacked);
  }
  void PutPackable(uint64_t n, size_t bytes = kBytes) {
    ASSERT_EQ(Put(n, PackablePayload(n, 0, bytes)), PutResult::kStored);
  }
  bool ServesPacked(uint64_t n, const std::vector<std::byte>& block) {
    const PinnedBlock found = tier_->Find(Key(n));
    return found && found.form() == Form::kPacked && test::BytesOf(found) == block;
  }
  uint64_t Count(Event event) { return tier_->counters().Snapshot()[event]; }

  // Puts another payload, whole by its checksums, into the packed record of `n`.
  void Forge(uint64_t n, const std::vector<std::byte>& payload) {
    const PinnedBlock found = tier_->Find(Key(n));
    ASSERT_TRUE(found && found.form() == Form::kPacked);
    ASSERT_LE(layout::RecordBytes(payload.size()), layout::RecordBytes(found.stored().size()));
    std::byte* const at = const_cast<std::byte*>(found.stored().data()) - sizeof(record::Header);
    record::Header header;
    std::memcpy(&header, at, sizeof(header));
    ASSERT_TRUE(record::Write(RecordMedium(at), {0, header.sequence}, header.key, header.role, payload.size(),
                              SpanSource{payload}, header.flags));
  }
  std::vector<std::byte> StoredOf(uint64_t n) {
    const PinnedBlock found = tier_->Find(Key(n));
    return {found.stored().begin(), found.stored().end()};
  }
  // A packed record whose prefix or payload is not what the packer made.
  void PutChanged(uint64_t n, const std::function<void(layout::PackedPrefix&, std::vector<std::byte>&)>& edit) {
    PutPackable(n);
    auto payload = StoredOf(n);
    layout::PackedPrefix prefix;
    std::memcpy(&prefix, payload.data(), sizeof(prefix));
    edit(prefix, payload);
    std::memcpy(payload.data(), &prefix, sizeof(prefix));
    Forge(n, payload);
  }

  std::unique_ptr<ScmTier> tier_;
};

TEST_P(PackedRecords, ServeWhatWasPut) {
  for (uint64_t n = 0; n < 200; ++n) {
    const auto block = PackablePayload(n, 0, 600 + n * 100);
    ASSERT_EQ(Put(n, block), PutResult::kStored);
    ASSERT_TRUE(ServesPacked(n, block)) << n;
    const PinnedBlock found = tier_->Find(Key(n));
    EXPECT_EQ(found.logical_bytes(), block.size());
    EXPECT_LT(found.stored().size(), block.size() * 7 / 8);
  }
  EXPECT_EQ(Count(Event::kScmPackedHit), 400u);
  EXPECT_EQ(Count(Event::kScmPackedHitStored), 2 * Count(Event::kScmPackedPutStored));
  EXPECT_EQ(Count(Event::kScmPackedPut), 200u);
  const ScmAudit audit = tier_->Audit();
  EXPECT_EQ(audit.packed_blocks, 200u);
  EXPECT_EQ(audit.resident_payload_bytes, Count(Event::kScmPackedPutStored));
  EXPECT_EQ(audit.resident_logical_bytes, Count(Event::kScmPackedPutBytes));
}

TEST_P(PackedRecords, WhatIsNotToBePackedIsRaw) {
  const auto hard = Payload(1, 0, kBytes);
  const auto soft = PackablePayload(1, 0, kBytes);
  ASSERT_EQ(Put(1, hard), PutResult::kStored);
  ASSERT_EQ(Put(2, soft, BlockRole::kIndex), PutResult::kStored);
  ASSERT_EQ(tier_->Put(Key(3), BlockRole::kData, soft), PutResult::kStored);  // no wish
  ASSERT_EQ(Put(4, PackablePayload(4, 0, 100)), PutResult::kStored);
  for (uint64_t n = 1; n <= 4; ++n) EXPECT_EQ(tier_->Find(Key(n)).form(), Form::kRaw) << n;
  EXPECT_TRUE(test::Same(tier_->Find(Key(1)).payload(), hard));
  EXPECT_TRUE(test::Same(tier_->Find(Key(2)).payload(), soft));
  EXPECT_EQ(tier_->Audit().packed_blocks, 0u);
}

TEST_P(PackedRecords, HoldMoreThanTheMediumsSizeAndDisplaceNothing) {
  const uint64_t raw = tier_->options().capacity_bytes / layout::RecordBytes(kBytes);
  for (uint64_t n = 0; n < 2 * raw; ++n) PutPackable(n);
  EXPECT_GT(tier_->figures().resident_blocks(), raw * 14 / 10) << "some segments are empty or half full";
  EXPECT_LT(Count(Event::kScmDisplaced), raw / 20);
}

TEST_P(PackedRecords, TakeWhatIsStoredOfThemNotWhatTheyUnpackTo) {
  PutPackable(1);
  PutPackable(2);
  const FileId file = Key(1).file();
  const uint64_t taken = layout::RecordBytes(tier_->Find(Key(1)).stored().size());
  EXPECT_LT(taken, kBytes * 3 / 4);
  EXPECT_EQ(tier_->figures().RecordBytesOf([&](FileId of) { return of == file; }), taken);
  tier_->Erase(Key(1));
  EXPECT_EQ(tier_->figures().RecordBytesOf([&](FileId of) { return of == file; }), 0u);
}

TEST_P(PackedRecords, AreReplacedErasedAndComparedLikeOthers) {
  const auto first = PackablePayload(1, 1, kBytes), second = PackablePayload(1, 2, kBytes);
  const auto compare = [&](const std::vector<std::byte>& block) {
    return tier_->Compare(Key(1), block.size(), SpanSource{block});
  };
  EXPECT_EQ(compare(first), Held::kNothing);
  ASSERT_EQ(Put(1, first), PutResult::kStored);
  EXPECT_EQ(compare(first), Held::kSame);
  EXPECT_EQ(compare(second), Held::kOther);
  EXPECT_EQ(compare(StoredOf(1)), Held::kOther) << "the bytes stored are not the block";
  ASSERT_EQ(Put(1, second), PutResult::kStored);
  EXPECT_EQ(compare(second), Held::kSame);
  EXPECT_TRUE(ServesPacked(1, second));
  EXPECT_TRUE(tier_->Erase(Key(1)));
  EXPECT_FALSE(tier_->Find(Key(1)));
}

TEST_P(PackedRecords, SurviveAReclaim) {
  ScmOptions options = tier_->options();
  options.expected_block_bytes = kBytes / 4;  // words to spare: a growing index may displace any block
  Open(options);
  const auto block = PackablePayload(1, 0, kBytes);
  ASSERT_EQ(Put(1, block), PutResult::kStored);
  const uint64_t turns = 4 * tier_->options().capacity_bytes / layout::RecordBytes(kBytes);
  for (uint64_t n = 2; n < turns; ++n) {
    PutPackable(n);
    ASSERT_TRUE(ServesPacked(1, block)) << n;
  }
  EXPECT_GT(Count(Event::kScmSecondChance), 0u);
}

TEST_P(PackedRecords, ASourceThatFailsOrThrowsIsARefusedPutAndLeavesTheEarlierBlock) {
  const auto block = PackablePayload(1, 0, kBytes);
  ASSERT_EQ(Put(1, block), PutResult::kStored);
  const auto fails = [](size_t, size_t, std::byte*) { return false; };
  const auto throws = [](size_t, size_t, std::byte*) -> bool { throw std::runtime_error("no block here"); };
  EXPECT_EQ(tier_->Put(Key(1), BlockRole::kData, kBytes, fails, Generation::kYoung, Form::kPacked),
            PutResult::kFillFailed);
  EXPECT_EQ(tier_->Put(Key(1), BlockRole::kData, kBytes, throws, Generation::kYoung, Form::kPacked),
            PutResult::kFillFailed);
  EXPECT_EQ(Count(Event::kRefusedFillFailed), 2u);
  EXPECT_TRUE(ServesPacked(1, block));
}

// Every bit of the record, header, prefix and packed bytes, though hits are not verified otherwise.
TEST_P(PackedRecords, AFlippedBitIsACountedMissAndNeverUnpacked) {
  ScmOptions options = test::AnonymousOptions(16 * kSegmentBytesMin);
  options.verify = VerifyMode::kOff;
  options.faults_max = 0;  // a fault costs what it hit
  Open(options);
  const auto block = PackablePayload(1, 0, 700);
  uint64_t bits = 1;
  for (uint64_t bit = 0; bit < bits; ++bit) {
    ASSERT_EQ(Put(1, block), PutResult::kStored);
    {
      const PinnedBlock found = tier_->Find(Key(1));
      ASSERT_TRUE(found && found.form() == Form::kPacked);
      bits = 8 * (sizeof(record::Header) + found.stored().size());
      std::byte* const at = const_cast<std::byte*>(found.stored().data()) - sizeof(record::Header);
      at[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    }
    ASSERT_FALSE(tier_->Find(Key(1))) << "bit " << bit << " of " << bits;
    ASSERT_EQ(Count(Event::kScmMiss), bit + 1);
    ASSERT_EQ(Count(Event::kScmDamagedHeader) + Count(Event::kScmChecksumMismatch), bit + 1) << "bit " << bit;
    ASSERT_EQ(tier_->figures().resident_blocks(), 0u) << "the damaged record was kept";
  }
  EXPECT_GT(bits, 8u * 200);
}

TEST_P(PackedRecords, AWholeRecordWithAForeignPrefixIsACountedMiss) {
  PutChanged(1, [](auto& prefix, auto&) { prefix.codec = Codec{9}; });
  PutChanged(2, [](auto& prefix, auto&) { prefix.dictionary = 3; });
  PutChanged(3, [](auto& prefix, auto&) { prefix.logical_bytes = UINT32_MAX; });
  PutPackable(4);
  Forge(4, {});
  PutPackable(5);
  Forge(5, std::vector<std::byte>(sizeof(layout::PackedPrefix)));
  for (uint64_t n = 1; n <= 5; ++n) {
    EXPECT_FALSE(tier_->Find(Key(n))) << n;
    EXPECT_FALSE(tier_->Contains(Key(n))) << n;
    EXPECT_EQ(Count(Event::kScmUnpackFailed) + Count(Event::kScmNoDictionary), n);
  }
  EXPECT_EQ(Count(Event::kScmNoDictionary), GetParam() == PackMode::kZstd ? 1u : 0u) << "the other has none";
}

TEST_P(PackedRecords, WhatDoesNotUnpackToItsSizeIsForgotten) {
  const auto other_codec = GetParam() == PackMode::kLz4 ? Codec::kZstd : Codec::kLz4;
  PutChanged(1, [](auto& prefix, auto&) { --prefix.logical_bytes; });
  PutChanged(2, [](auto& prefix, auto&) { ++prefix.logical_bytes; });
  PutChanged(3, [](auto&, auto& payload) { payload.resize(payload.size() - 1); });
  PutChanged(4, [&](auto& prefix, auto&) { prefix.codec = other_codec; });
  for (uint64_t n = 1; n <= 4; ++n) {
    {
      const PinnedBlock found = tier_->Find(Key(n));
      ASSERT_TRUE(found) << n;
      std::vector<std::byte> to(found.logical_bytes());
      EXPECT_FALSE(found.Unpack(to.data())) << n;
    }
    EXPECT_FALSE(tier_->Contains(Key(n))) << n;
    EXPECT_EQ(Count(Event::kScmUnpackFailed), n);
  }
}

TEST_P(PackedRecords, VerifyAlwaysJudgesTheUnpackedBytesToo) {
  ScmOptions options = test::AnonymousOptions(16 * kSegmentBytesMin);
  options.verify = VerifyMode::kAlways;
  Open(options);
  PutPackable(1);
  auto payload = StoredOf(1);
  payload[offsetof(layout::PackedPrefix, logical_checksum)] ^= std::byte{1};
  Forge(1, payload);
  {
    const PinnedBlock found = tier_->Find(Key(1));
    ASSERT_TRUE(found);
    std::vector<std::byte> to(found.logical_bytes());
    EXPECT_FALSE(found.Unpack(to.data()));
  }
  EXPECT_FALSE(tier_->Contains(Key(1)));
}

TEST_P(PackedRecords, AScrubChecksThem) {
  for (uint64_t n = 0; n < 100; ++n) PutPackable(n);
  const_cast<std::byte&>(tier_->Find(Key(17)).stored().back()) ^= std::byte{1};
  EXPECT_EQ(tier_->Scrub(1 << 20), Count(Event::kScmPackedPutStored));
  EXPECT_EQ(Count(Event::kScmChecksumMismatch), 1u);
  EXPECT_FALSE(tier_->Contains(Key(17)));
}

TEST_P(PackedRecords, BytesStayWhileThePinIsHeld) {
  const auto block = PackablePayload(1, 0, kBytes);
  ASSERT_EQ(Put(1, block), PutResult::kStored);
  const PinnedBlock held = tier_->Find(Key(1));
  tier_->Erase(Key(1));
  const uint64_t turns = 4 * tier_->options().capacity_bytes / layout::RecordBytes(kBytes);
  for (uint64_t n = 2; n < turns; ++n) PutPackable(n);
  EXPECT_EQ(test::BytesOf(held), block);
}

// --- reclaim ---------------------------------------------------------------------------------------------------------

// Tells what it is asked, and decides by key.
class Recorder final : public SurvivorJudge {
 public:
  using Rule = std::function<Fate(const RecordFacts&)>;
  explicit Recorder(Rule rule) : rule_(std::move(rule)) {}
  Fate Judge(const RecordFacts& record) override {
    asked_[record.key.words[1]].push_back(record);
    return rule_(record);
  }
  const std::vector<RecordFacts>& asked(uint64_t n) { return asked_[n]; }

 private:
  const Rule rule_;
  std::map<uint64_t, std::vector<RecordFacts>> asked_;
};

class PackingReclaim : public PackedRecords {
 protected:
  static constexpr uint64_t kCapacity = 16 * kSegmentBytesMin;
  static constexpr uint64_t kRawBlocks = kCapacity / layout::RecordBytes(kBytes);

  void TearDown() override {
    PackedRecords::TearDown();
    tier_.reset();  // before its judge
  }
  PutResult PutRaw(uint64_t n, const std::vector<std::byte>& block) {
    return tier_->Put(Key(n), BlockRole::kData, block);
  }
  void PutRaw(uint64_t first, uint64_t end) {
    for (uint64_t n = first; n < end; ++n) ASSERT_EQ(PutRaw(n, PackablePayload(n, 0, kBytes)), PutResult::kStored);
  }
};

TEST_P(PackingReclaim, MakesRoomByPackingBeforeItDropsAnything) {
  PutRaw(0, kRawBlocks * 11 / 10);
  EXPECT_GT(Count(Event::kScmPackedAtReclaim), kRawBlocks / 5);
  EXPECT_EQ(Count(Event::kScmDropped), 0u);
  uint64_t missing = 0;
  for (uint64_t n = 0; n < kRawBlocks * 11 / 10; ++n) {
    const PinnedBlock found = tier_->Find(Key(n));
    missing += found ? 0 : 1;
    ASSERT_TRUE(!found || test::BytesOf(found) == PackablePayload(n, 0, kBytes)) << n;
  }
  EXPECT_EQ(missing, Count(Event::kScmDisplaced)) << "the index grows with what fits";
  EXPECT_LE(missing, kRawBlocks / 50);
}

TEST_P(PackingReclaim, PaysHeatForBeingSparedAndNoneForBeingPacked) {
  Recorder judge([](const RecordFacts& record) {
    if (!record.packable) return Fate::kDrop;
    return record.key.words[1] == 1 ? Fate::kSpare : Fate::kPack;
  });
  ScmOptions options = test::AnonymousOptions(kCapacity);
  options.expected_block_bytes = 512;  // so roomy an index displaces none of the three
  Open(options, &judge);
  PutRaw(1, 4);
  for (const uint64_t n : {1, 2}) {
    for (int hit = 0; hit < 2; ++hit) ASSERT_TRUE(tier_->Find(Key(n)));
  }
  PutRaw(4, kRawBlocks);
  ASSERT_EQ(judge.asked(1).size(), 1u);
  EXPECT_EQ(judge.asked(1)[0].heat, 2);
  EXPECT_FALSE(judge.asked(1)[0].packed);
  EXPECT_EQ(tier_->Find(Key(1), BlockRole::kData, Heat::kKeep).heat(), 1);
  EXPECT_EQ(tier_->Find(Key(2), BlockRole::kData, Heat::kKeep).heat(), 2);
  EXPECT_EQ(tier_->Find(Key(3), BlockRole::kData, Heat::kKeep).form(), Form::kPacked);
  PutRaw(kRawBlocks, 4 * kRawBlocks);
  ASSERT_GE(judge.asked(3).size(), 2u);
  EXPECT_TRUE(judge.asked(3)[1].packed);
  EXPECT_FALSE(judge.asked(3)[1].packable);
  EXPECT_EQ(judge.asked(3)[1].generation, Generation::kYoung) << "packed among its own";
  EXPECT_FALSE(tier_->Contains(Key(3))) << "a packed record is judged as any other";
}

TEST_P(PackingReclaim, JudgesAnewWhatDoesNotPack) {
  Recorder judge([](const RecordFacts& record) { return record.packable ? Fate::kPack : Fate::kDrop; });
  Open(test::AnonymousOptions(kCapacity), &judge);
  for (uint64_t n = 0; n < 2 * kRawBlocks; ++n) ASSERT_EQ(PutRaw(n, Payload(n, 0, kBytes)), PutResult::kStored);
  ASSERT_EQ(judge.asked(0).size(), 2u);
  EXPECT_TRUE(judge.asked(0)[0].packable);
  EXPECT_FALSE(judge.asked(0)[1].packable);
  EXPECT_EQ(Count(Event::kScmPackedAtReclaim), 0u);
  EXPECT_GT(Count(Event::kScmDropped), kRawBlocks / 2);
  EXPECT_GT(Count(Event::kPackSkipped), kRawBlocks / 2) << "the role does not pack, and that was noticed";
}

TEST_P(PackingReclaim, SparesRawWhatDoesNotPackAndRemembersIt) {
  Recorder judge([](const RecordFacts& record) {
    return record.key.words[1] == 0 ? Fate::kSpare : record.packable ? Fate::kPack : Fate::kDrop;
  });
  Open(test::AnonymousOptions(kCapacity), &judge);
  ASSERT_EQ(PutRaw(0, Payload(0, 0, kBytes)), PutResult::kStored);
  PutRaw(1, 2 * kRawBlocks);
  ASSERT_EQ(judge.asked(0).size(), 1u);
  EXPECT_TRUE(judge.asked(0)[0].packable);
  EXPECT_EQ(Count(Event::kPackRejected), 1u);
  const PinnedBlock spared = tier_->Find(Key(0));
  ASSERT_TRUE(spared);
  EXPECT_TRUE(test::Same(spared.payload(), Payload(0, 0, kBytes)));
  const auto& header = *(reinterpret_cast<const record::Header*>(spared.stored().data()) - 1);
  EXPECT_EQ(header.flags, layout::kRecordRejected);
}

TEST_P(PackingReclaim, DoesNotTryAgainWhatWasRejectedWhenItWasWritten) {
  Recorder judge([](const RecordFacts&) { return Fate::kDrop; });
  Open(test::AnonymousOptions(kCapacity), &judge);
  ASSERT_EQ(Put(1, Payload(1, 0, kBytes)), PutResult::kStored);
  ASSERT_EQ(Put(2, PackablePayload(2, 0, kBytes), BlockRole::kIndex), PutResult::kStored);
  PutRaw(3, 2 * kRawBlocks);
  for (const uint64_t n : {1, 2}) {
    ASSERT_EQ(judge.asked(n).size(), 1u);
    EXPECT_FALSE(judge.asked(n)[0].packable) << n;
  }
}

// Packed, it would get a checksum that says nothing of the block.
TEST_P(PackingReclaim, DoesNotPackDamagedBytes) {
  PutRaw(1, 3);
  const_cast<std::byte&>(tier_->Find(Key(1)).stored()[1234]) ^= std::byte{1};
  PutRaw(3, kRawBlocks);
  EXPECT_FALSE(tier_->Find(Key(1)));
  EXPECT_TRUE(tier_->Find(Key(2)));
  EXPECT_EQ(Count(Event::kScmChecksumMismatch), 1u);
}

TEST_P(PackingReclaim, SparesAPackedRecordOfWhatDramHoldsAndNoRawOne) {
  Recorder judge([](const RecordFacts&) { return Fate::kSpare; });
  Open(test::AnonymousOptions(kCapacity), &judge);
  constexpr uint64_t kLast = 32;  // odd ones pack
  for (uint64_t n = 1; n <= kLast; ++n) {
    ASSERT_EQ(Put(n, n % 2 == 1 ? PackablePayload(n, 0, kBytes) : Payload(n, 0, kBytes)), PutResult::kStored);
    tier_->NotePromoted(Key(n));
  }
  const auto reached = [&] {  // a growing index may have displaced some
    for (uint64_t n = 2; n <= kLast; n += 2) {
      if (tier_->Contains(Key(n))) return false;
    }
    return true;
  };
  for (uint64_t n = kLast + 1; !reached() && n < 4 * kRawBlocks; ++n) PutPackable(n);
  uint64_t missing = 0;
  for (uint64_t n = 1; n <= kLast; n += 2) {
    missing += tier_->Contains(Key(n)) ? 0 : 1;
    EXPECT_FALSE(tier_->Contains(Key(n + 1))) << n + 1;
  }
  EXPECT_LE(missing, Count(Event::kScmDisplaced)) << "the index grows with what fits";
  EXPECT_LT(missing, kLast / 4);
}

INSTANTIATE_TEST_SUITE_P(Modes, PackingReclaim, testing::Values(PackMode::kLz4, PackMode::kZstd),
                         [](const auto& mode) { return std::string(ToString(mode.param)); });
INSTANTIATE_TEST_SUITE_P(Modes, PackedRecords, testing::Values(PackMode::kLz4, PackMode::kZstd),
                         [](const auto& mode) { return std::string(ToString(mode.param)); });

TEST(PackOff, WritesRawWhateverIsWished) {
  auto tier = test::OpenOrDie(test::AnonymousOptions(16 * kSegmentBytesMin));
  const auto block = PackablePayload(1, 0, kBytes);
  ASSERT_EQ(tier->Put(Key(1), BlockRole::kData, block, Generation::kYoung, Form::kPacked), PutResult::kStored);
  EXPECT_EQ(tier->Find(Key(1)).form(), Form::kRaw);
  test::ExpectSound(*tier);
}

}  // namespace
}  // namespace mezz
