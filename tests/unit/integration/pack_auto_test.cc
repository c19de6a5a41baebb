// SPDX-License-Identifier: Apache-2.0
// pack=auto: a hybrid cache that packs as flash is slow, on every RocksDB release.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "admission/codec_choice.h"
#include "tests/support/hybrid_fixture.h"
#include "tests/support/versioned_cache.h"

namespace mezz::test {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kUs = 1000;
constexpr size_t kBlockBytes = 4000;

class PackAuto : public HybridTest {
 protected:
  PackAuto() {
    HybridCacheOptions options = OptionsOf(1 << 20, 16 * kSegmentBytesMin);
    options.policy = "dram_first";
    options.scm.pack = PackMode::kAuto;
    options.now_ns = [this] { return now_ns_; };
    Make(options);
    blocks_ = std::make_unique<VersionedCache>(cache_.get());
  }

  // New blocks that zstd packs best, each read from flash in so long.
  void Miss(uint64_t blocks, uint64_t ns) {
    for (uint64_t i = 0; i < blocks; ++i) {
      id_ += 2;
      EXPECT_EQ(blocks_->Found(id_), 0u);
      now_ns_ += ns;
      ASSERT_TRUE(blocks_->Insert(id_, /*version=*/id_, kBlockBytes));
    }
  }
  // Writes and nothing else, until reclaim packs.
  void FillScm() { Miss(4 * 16 * kSegmentBytesMin / kBlockBytes, 30 * kUs); }
  uint64_t Formed(Action action, Reason reason) { return stats_->Decisions().of(DecisionPoint::kForm, action, reason); }

  uint64_t now_ns_ = 1;
  std::unique_ptr<VersionedCache> blocks_;
  uint64_t id_ = kLetters;
};

constexpr uint64_t kEnough = 8 * CodecChoice::kWindow;

TEST_F(PackAuto, PacksWithWhatThePriceOfAMissPaysFor) {
  FillScm();
  EXPECT_THAT(stats_->Report(), HasSubstr("pack=auto"));
  EXPECT_THAT(stats_->Report(), HasSubstr("pack.codec: lz4\n"));
  EXPECT_THAT(stats_->Report(), HasSubstr("flash.miss_ns: 30000\n"));
  EXPECT_GT(Formed(Action::kPack, Reason::kFlashMedium), 0u);

  Miss(kEnough, 90 * kUs);
  EXPECT_THAT(stats_->Report(), HasSubstr("pack.codec: zstd\n"));
  EXPECT_GT(Formed(Action::kPack, Reason::kFlashSlow), 0u);

  Miss(kEnough, 3 * kUs);
  EXPECT_THAT(stats_->Report(), HasSubstr("pack.codec: raw\n"));
  EXPECT_GT(Formed(Action::kRaw, Reason::kFlashFast), 0u);
  const uint64_t packed = Count(Event::kScmPackedPut) + Count(Event::kScmPackedAtReclaim);
  Miss(kEnough, 3 * kUs);
  EXPECT_EQ(Count(Event::kScmPackedPut) + Count(Event::kScmPackedAtReclaim), packed) << "nothing is packed any more";
  EXPECT_EQ(Count(Event::kPackCodecChanged), 3u) << "zstd; LZ4, raw";
}

TEST_F(PackAuto, ReadsWhatAnotherCodecPacked) {
  FillScm();
  const uint64_t lz4 = id_;
  Miss(200, 90 * kUs);
  const uint64_t hits = Count(Event::kScmPackedHit);
  Miss(kEnough / 16, 90 * kUs);
  ASSERT_THAT(stats_->Report(), HasSubstr("pack.codec: zstd\n"));
  unsigned found = 0;
  for (uint64_t id = lz4 - 1000; id <= id_; id += 2) found += blocks_->Found(id) == id ? 1 : 0;
  EXPECT_GT(found, 500u);
  EXPECT_GT(Count(Event::kScmPackedHit), hits + 200);
  EXPECT_EQ(Count(Event::kScmUnpackFailed), 0u);
}

// Warm-up by flush, and a look-up that inserts nothing.
TEST_F(PackAuto, MeasuresMissesThatTheirInsertFollowsOnly) {
  for (uint64_t id = 1; id <= 1000; ++id) {
    EXPECT_EQ(blocks_->Found(1'000'000 + id), 0u);
    now_ns_ += 90 * kUs;
    ASSERT_TRUE(blocks_->Insert(id, 1, kBlockBytes));
  }
  EXPECT_THAT(stats_->Report(), HasSubstr("flash.miss_ns: 0\n"));
  EXPECT_THAT(stats_->Report(), HasSubstr("pack.codec: lz4\n")) << "until something is known";
}

}  // namespace
}  // namespace mezz::test
