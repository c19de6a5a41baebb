// SPDX-License-Identifier: Apache-2.0
// What a resident block costs in DRAM beside the DRAM tier, once the SCM tier is full: raw, packed to half, and of
// bytes that do not pack.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "integration/hybrid_core.h"
#include "tests/support/tier_fixture.h"

namespace mezz {
namespace {

constexpr size_t kBlockBytes = 4096;

struct Filling {
  const char* name;
  PackMode pack;
  bool packable;
};

class DramOfABlock : public ::testing::TestWithParam<Filling> {
 protected:
  // Fills SCM, and then tells the core of evictions, for what it says of that to its policies.
  void Fill(uint64_t dram_bytes, uint64_t scm_bytes) {
    HybridCacheOptions options;
    options.dram_bytes = dram_bytes;
    options.scm = test::AnonymousOptions(scm_bytes);
    options.scm.segment_bytes = 0;  // as nobody asked for
    options.scm.pack = GetParam().pack;
    const Status status = HybridCore::Open(options, &core_);
    ASSERT_TRUE(status.ok()) << status.message();
    core_->KeepHitBits(dram_bytes);
    constexpr uint64_t kPayloads = 16;
    std::vector<std::vector<std::byte>> payloads;
    for (uint64_t n = 0; n < kPayloads; ++n) {
      payloads.push_back(GetParam().packable ? test::PackablePayload(n, 0, kBlockBytes)
                                             : test::Payload(n, 0, kBlockBytes));
    }
    const auto put = [&](uint64_t n) {
      core_->scm().Put(test::Key(n), BlockRole::kData, payloads[n % kPayloads], Generation::kYoung, Form::kPacked);
    };
    uint64_t next = 0;
    // In steps, because a look at the counters costs more than a put.
    while (core_->Snapshot()[Event::kScmSegmentReclaimed] == 0) {
      for (int i = 0; i < 256; ++i) put(next++);
    }
    for (uint64_t n = 0; n < 2000; ++n) {
      core_->OnDramEviction(test::Key(next++), BlockRole::kData, kBlockBytes, /*was_hit=*/true,
                            SpanSource{payloads[n % kPayloads]});
    }
  }

  std::unique_ptr<HybridCore> core_;
};

TEST_P(DramOfABlock, IsTenBytesOfIndexAndSixteenInAll) {
  constexpr uint64_t kDramBytes = 64 << 20, kScmBytes = 256 << 20;
  Fill(kDramBytes, kScmBytes);
  const DramUse use = core_->dram_use();
  const auto in_scm = static_cast<double>(core_->scm().resident_blocks());
  const double in_both = in_scm + kDramBytes / kBlockBytes;
  const double index = static_cast<double>(use.index) / in_scm;
  // Without what packing takes however many blocks there are: workspaces, samples and dictionaries.
  const double of_both = static_cast<double>(use.total() - use.packing) / in_both;
  RecordProperty("index_bytes_of_scm_block", std::to_string(index));
  RecordProperty("bytes_of_block", std::to_string(of_both));
  EXPECT_GT(in_scm, (GetParam().packable ? 1.8 : 0.95) * kScmBytes / kBlockBytes);
  EXPECT_LE(index, 10);
  EXPECT_LE(of_both, 16);
}

INSTANTIATE_TEST_SUITE_P(Fillings, DramOfABlock,
                         ::testing::Values(Filling{"raw", PackMode::kOff, false}, Filling{"lz4", PackMode::kLz4, true},
                                           Filling{"zstd_in_vain", PackMode::kZstd, false},
                                           Filling{"auto_in_vain", PackMode::kAuto, false}),
                         [](const auto& filling) { return std::string(filling.param.name); });

}  // namespace
}  // namespace mezz
