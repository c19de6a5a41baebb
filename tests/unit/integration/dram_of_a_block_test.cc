// SPDX-License-Identifier: Apache-2.0
// What a resident block of either tier costs in DRAM beside the DRAM tier, all of it: index, segment table, policy, hit
// bits, packing, counters. Of an SCM tier that was filled and then reclaimed once over, so that nothing is left of how
// it began: raw, packed to half, and of bytes that do not pack.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "integration/hybrid_core.h"
#include "tests/support/tier_fixture.h"

namespace mezz {
namespace {

constexpr size_t kBlockBytes = 4096;
constexpr uint64_t kMiB = 1 << 20;

struct Sizes {
  const char* name;
  uint64_t dram_bytes, scm_bytes;
};
struct Filling {
  const char* name;
  PackMode pack;
  bool packable;
  uint64_t miss_ns = 0;      // that a miss takes
  uint64_t fixed_bytes = 0;  // beside those of the blocks
};

class DramOfABlock : public ::testing::TestWithParam<std::tuple<Sizes, Filling>> {
 protected:
  void Open() {
    HybridCacheOptions options;
    options.dram_bytes = sizes_.dram_bytes;
    options.scm = test::AnonymousOptions(sizes_.scm_bytes);
    options.scm.segment_bytes = 0;  // as nobody asked for
    options.scm.pack = filling_.pack;
    options.now_ns = [this] { return now_ns_; };
    ASSERT_EQ(HybridCore::Open(options, &core_).message(), "");
    core_->observers().KeepHitBits(sizes_.dram_bytes);
  }
  // Blocks that are read from flash, hit in DRAM, and evicted from there.
  void Fill() {
    constexpr uint64_t kPayloads = 512;  // more than a dictionary knows by heart
    std::vector<std::vector<std::byte>> payloads;
    for (uint64_t n = 0; n < kPayloads; ++n) {
      payloads.push_back(filling_.packable ? test::PackablePayload(n, 0, kBlockBytes)
                                           : test::Payload(n, 0, kBlockBytes));
    }
    const uint64_t segments = sizes_.scm_bytes / core_->scm().options().EffectiveSegmentBytes();
    uint64_t next = 0;
    // In steps, because a look at the counters costs more than a put.
    while (core_->Snapshot()[Event::kScmSegmentReclaimed] < segments + segments / 4) {
      ASSERT_LT(next, 16 * sizes_.scm_bytes / kBlockBytes) << "the policy writes nothing";
      for (int i = 0; i < 1024; ++i, ++next) {
        const SpanSource block{payloads[next % kPayloads]};
        core_->observers().NoteMiss(test::Key(next), BlockRole::kData);
        now_ns_ += filling_.miss_ns;
        if (filling_.miss_ns != 0) core_->observers().NoteInsert(test::Key(next));
        core_->OnMiss(test::Key(next), BlockRole::kData, kBlockBytes, block);
        core_->OnDramEviction(test::Key(next), BlockRole::kData, kBlockBytes, /*was_hit=*/true, block);
      }
    }
    core_->scm().SettleDictionaries();
  }

  const Sizes sizes_ = std::get<0>(GetParam());
  const Filling filling_ = std::get<1>(GetParam());
  uint64_t now_ns_ = 1;
  std::unique_ptr<HybridCore> core_;
};

TEST_P(DramOfABlock, IsTenBytesOfIndexAndSixteenInAll) {
  Open();
  const uint64_t policies_at_first = core_->dram_use().policies;
  Fill();
  const DramUse use = core_->dram_use();
  const uint64_t in_scm = core_->scm().figures().resident_blocks();
  const uint64_t in_both = in_scm + sizes_.dram_bytes / kBlockBytes;
  RecordProperty("bytes_of_block", std::to_string(static_cast<double>(use.total()) / static_cast<double>(in_both)));
  EXPECT_GT(in_scm, (filling_.packable ? 18 : 9) * sizes_.scm_bytes / kBlockBytes / 10);
  EXPECT_LE(use.index, 10 * in_scm);
  EXPECT_LE(use.total(), 16 * in_both + filling_.fixed_bytes) << use.ToString();
  if (!filling_.packable) {
    EXPECT_EQ(use.policies, policies_at_first) << "no more blocks came to fit";
  }
}

// zstd's: a dictionary, and the state of one thread that packs; unpacking takes as much again as the latter, and each
// further thread as much as the first.
constexpr uint64_t kZstdBytes = kMiB;
constexpr uint64_t kMedium = 30'000, kSlow = 88'000;  // of flash: LZ4 pays, and zstd does

constexpr Filling kRaw{"raw", PackMode::kOff, false}, kLz4{"lz4", PackMode::kLz4, true},
    kLz4InVain{"lz4_in_vain", PackMode::kLz4, false}, kAuto{"auto", PackMode::kAuto, true, kMedium},
    kAutoInVain{"auto_in_vain", PackMode::kAuto, false, kMedium},
    kAutoInVainWithZstdTried{"auto_in_vain_with_zstd_tried", PackMode::kAuto, false, kSlow},
    kAutoWithZstd{"auto_with_zstd", PackMode::kAuto, true, kSlow, kZstdBytes};

std::string NameOf(const testing::TestParamInfo<std::tuple<Sizes, Filling>>& of) {
  return std::string(std::get<0>(of.param).name) + "_" + std::get<1>(of.param).name;
}

INSTANTIATE_TEST_SUITE_P(Fillings, DramOfABlock,
                         testing::Combine(testing::Values(Sizes{"64M_256M", 64 * kMiB, 256 * kMiB}),
                                          testing::Values(kRaw, kLz4, kLz4InVain, kAuto, kAutoInVain,
                                                          kAutoInVainWithZstdTried, kAutoWithZstd)),
                         NameOf);
// What a filling adds to a block does not depend on how many there are, and larger tiers take as many seconds as they
// are larger.
INSTANTIATE_TEST_SUITE_P(LargerTiers, DramOfABlock,
                         testing::Combine(testing::Values(Sizes{"256M_1G", 256 * kMiB, 1024 * kMiB}),
                                          testing::Values(kRaw)),
                         NameOf);

}  // namespace
}  // namespace mezz
