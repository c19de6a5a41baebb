// SPDX-License-Identifier: Apache-2.0
// Images in the tier: what a host handed over compressed comes back as it was, or not at all.
#include <gtest/gtest.h>

#include <cstring>

#include "cache/layout.h"
#include "cache/pack/packer.h"
#include "cache/scm_tier.h"
#include "tests/support/tier_fixture.h"

namespace mezz {
namespace {

using test::Key;
using test::Payload;

constexpr size_t kBytes = 4000;
constexpr uint8_t kType = 0x9a;

class ImageRecords : public testing::TestWithParam<PackMode> {
 protected:
  void SetUp() override {
    ScmOptions options = test::AnonymousOptions(16 * kSegmentBytesMin);
    options.pack = GetParam();
    options.faults_max = 0;  // a fault costs what it hit
    tier_ = test::OpenOrDie(options);
  }
  void TearDown() override { test::ExpectSound(*tier_); }

  // Bytes that the tier cannot pack, and knows nothing of.
  static std::vector<std::byte> ImageBytes(uint64_t n, size_t bytes = 1500) { return Payload(n, 7, bytes); }
  PutResult Put(uint64_t n, size_t bytes = kBytes, size_t image_bytes = 1500) {
    const auto image = ImageBytes(n, image_bytes);
    return tier_->PutImage(Key(n), BlockRole::kData, bytes, {.bytes = image, .type = kType});
  }
  uint64_t Count(Event event) { return tier_->counters().Snapshot()[event]; }

  std::unique_ptr<ScmTier> tier_;
};

TEST_P(ImageRecords, ComeBackAsTheyWereWithTypeAndSize) {
  for (uint64_t n = 1; n <= 100; ++n) ASSERT_EQ(Put(n, kBytes + n, 1000 + n), PutResult::kStored);
  for (uint64_t n = 1; n <= 100; ++n) {
    const PinnedBlock found = tier_->Find(Key(n));
    ASSERT_TRUE(found);
    EXPECT_EQ(found.form(), Form::kPacked);
    EXPECT_EQ(found.logical_bytes(), kBytes + n);
    ASSERT_TRUE(found.image());
    EXPECT_EQ(found.image()->type, kType);
    EXPECT_TRUE(test::Same(found.image()->bytes, ImageBytes(n, 1000 + n)));
  }
  EXPECT_EQ(Count(Event::kScmImagePut), 100u);
  EXPECT_EQ(Count(Event::kScmImageHit), 100u);
  EXPECT_EQ(Count(Event::kScmPackedHit), 100u);
  EXPECT_EQ(tier_->Audit().packed_blocks, 100u);
}

TEST_P(ImageRecords, AnyBitFlippedIsAMissAndForgotten) {
  const size_t stored_bytes = ScmTier::kImageOverheadBytes + 300;
  for (size_t bit = 0; bit < 8 * stored_bytes; ++bit) {
    ASSERT_EQ(Put(bit, kBytes, 300), PutResult::kStored);
    {
      const PinnedBlock found = tier_->Find(Key(bit));
      ASSERT_EQ(found.stored().size(), stored_bytes);
      const_cast<std::byte&>(found.stored()[bit / 8]) ^= std::byte{1} << bit % 8;
    }
    ASSERT_FALSE(tier_->Find(Key(bit))) << "bit " << bit;
    ASSERT_FALSE(tier_->Contains(Key(bit)));
  }
  EXPECT_EQ(Count(Event::kScmChecksumMismatch), 8 * stored_bytes);
}

TEST_P(ImageRecords, OneThatTheHostRejectsIsForgottenAndCounted) {
  ASSERT_EQ(Put(1), PutResult::kStored);
  tier_->Find(Key(1)).RejectImage();
  EXPECT_FALSE(tier_->Contains(Key(1)));
  EXPECT_EQ(Count(Event::kScmImageFailed), 1u);
}

TEST_P(ImageRecords, SurviveReclaimAsTheyAre) {
  ASSERT_EQ(Put(1), PutResult::kStored);
  const std::vector<std::byte> others(kBytes);
  for (uint64_t n = 1000; Count(Event::kScmSecondChance) == 0 && n < 100'000; ++n) {
    if (n % 100 == 0) tier_->Find(Key(1));
    tier_->Put(Key(n), BlockRole::kData, others);
  }
  const PinnedBlock found = tier_->Find(Key(1));
  ASSERT_TRUE(found && found.image());
  EXPECT_TRUE(test::Same(found.image()->bytes, ImageBytes(1)));
}

TEST_P(ImageRecords, AreNeverTheSameAsOtherBytes) {
  ASSERT_EQ(Put(1), PutResult::kStored);
  const auto block = Payload(1, 0, kBytes);
  EXPECT_EQ(tier_->Compare(Key(1), kBytes, SpanSource{block}), Held::kOther);
}

TEST_P(ImageRecords, TellWhatBlocksPackTo) {
  const uint32_t before = tier_->figures().PackedBytesExpected(4096);
  for (uint64_t n = 0; n < 2000; ++n) ASSERT_EQ(Put(n, kBytes, 900), PutResult::kStored);
  EXPECT_LT(tier_->figures().PackedBytesExpected(4096), before);
  EXPECT_NEAR(tier_->figures().PackedBytesExpected(4096), 4096 * 916 / 4000, 40);
}

TEST(ImagePays, WhereAnEighthOfTheRecordIsSaved) {
  const std::vector<std::byte> bytes(kBytes);
  const auto pays = [&](size_t image_bytes, BlockRole role = BlockRole::kData, size_t block_bytes = kBytes) {
    return ScmTier::ImagePays(role, block_bytes, {.bytes = std::span(bytes).first(image_bytes), .type = kType});
  };
  EXPECT_TRUE(pays(kBytes / 2));
  EXPECT_FALSE(pays(kBytes * 15 / 16));
  EXPECT_FALSE(pays(0));
  EXPECT_FALSE(pays(kBytes / 2, BlockRole::kIndex)) << "metadata is never packed";
  EXPECT_FALSE(pays(kBytes / 2, BlockRole::kData, Packer::kPackBytesMax + 1));
  EXPECT_FALSE(ScmTier::ImagePays(BlockRole::kData, kBytes, {.bytes = std::span(bytes).first(100), .type = 0}))
      << "not compressed";
}

INSTANTIATE_TEST_SUITE_P(Modes, ImageRecords, testing::Values(PackMode::kImage),
                         [](const auto& mode) { return std::string(ToString(mode.param)); });

}  // namespace
}  // namespace mezz
