// SPDX-License-Identifier: Apache-2.0
// How blocks pack in the simulator: ratios as they were asked for, and the same blocks as Packer. What comes of it in
// the tiers: tests/model/sim_flow_test.cc.
#include "admission/curves/pack_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "test_traces.h"
#include "workloads/sim/access_time.h"
#include "workloads/sim/options.h"

namespace mezz::sim {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class RatioFile {
 public:
  explicit RatioFile(const std::string& text) : path_(::testing::TempDir() + "mezz_pack_ratios.csv") {
    std::ofstream(path_) << text;
  }
  ~RatioFile() { std::remove(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

std::string Refusal(const std::string& pack, const std::string& ratio) {
  SimOptions options;
  return ParsePacking(pack, ratio, &options).message();
}

TEST(PackRatios, AreOneForAllOrDrawnByWeight) {
  PackRatios ratios;
  ASSERT_TRUE(PackRatios::Parse("2.5", &ratios).ok());
  for (uint64_t key = 0; key < 100; ++key) EXPECT_EQ(ratios.Of(key, 1), 2.5);
  const RatioFile file("# ratio,weight\n1, 3\n\n4,1 # a quarter\r\n");
  ASSERT_EQ(PackRatios::Parse(file.path(), &ratios).message(), "");
  int packed = 0;
  int moved = 0;
  for (uint64_t key = 0; key < 10'000; ++key) {
    const double ratio = ratios.Of(key, 1);
    EXPECT_TRUE(ratio == 1 || ratio == 4) << ratio;
    EXPECT_EQ(ratios.Of(key, 1), ratio);
    packed += ratio == 4;
    moved += ratios.Of(key, 2) != ratio;
  }
  EXPECT_NEAR(packed, 2500, 150);
  EXPECT_NEAR(moved, 3750, 200) << "another seed draws anew";
}

TEST(PackRatios, ThatMeanNothingAreRefusedByName) {
  EXPECT_THAT(Refusal("lz5", ""), HasSubstr("--pack=lz5"));
  EXPECT_THAT(Refusal("off", "2"), AllOf(HasSubstr("--pack_ratio=2"), HasSubstr("--pack=lz4")));
  EXPECT_THAT(Refusal("lz4", "0.5"), HasSubstr("--pack_ratio=0.5 is out of range"));
  EXPECT_THAT(Refusal("zstd", "none.csv"), HasSubstr("--pack_ratio=none.csv is neither a ratio"));
  for (const char* line : {"2", "0.9,1", "2,0", "2,-1", "x,1", "2,1,3", "nan,1"}) {
    const RatioFile file(std::string("3,1\n") + line + "\n");
    EXPECT_THAT(Refusal("lz4", file.path()), AllOf(HasSubstr("--pack_ratio="), HasSubstr("line 2"))) << line;
  }
  const RatioFile empty("# nothing\n");
  EXPECT_THAT(Refusal("lz4", empty.path()), HasSubstr("holds no line"));
}

// Zeros after so many bytes that no codec makes smaller.
std::vector<std::byte> Content(std::mt19937_64& random, size_t bytes, size_t random_bytes) {
  std::vector<std::byte> content(bytes);
  for (size_t i = 0; i < random_bytes; ++i) content[i] = static_cast<std::byte>(random());
  return content;
}

// In either order of good and bad data, so that skipping begins and ends.
TEST(PackModel, PacksRejectsSkipsAndExpectsAsThePackerDoes) {
  std::mt19937_64 random(test::Seed());
  constexpr uint32_t kBlocks = 3000;
  std::vector<uint64_t> keys;
  for (uint64_t key = 0; key < kBlocks; ++key) keys.push_back(key);
  keys.push_back(0);  // a trace needs reuse
  const LoadedTrace trace = LoadKeys(keys);
  for (const Codec codec : {Codec::kLz4, Codec::kZstd}) {
    Counters counters;
    Packer packer(codec, &counters);
    std::vector<uint32_t> block_bytes(kBlocks);
    std::vector<uint32_t> codec_bytes(kBlocks);
    PackModel model(codec, trace, block_bytes, codec_bytes);
    uint64_t packed_blocks = 0, rejected = 0, skipped = 0;
    for (BlockId block = 0; block < kBlocks; ++block) {
      block_bytes[block] = static_cast<uint32_t>(100 + random() % 9000);
      const bool bad = block / 500 % 2 == 1 || random() % 8 == 0;
      const auto content =
          Content(random, block_bytes[block], bad ? block_bytes[block] : random() % block_bytes[block]);
      Packer fresh(codec, &counters);
      const PackedBlock alone = fresh.Pack(BlockRole::kData, content.size(), SpanSource{content});
      const bool small_enough = alone.outcome() == PackedBlock::Outcome::kPacked;
      codec_bytes[block] = small_enough ? static_cast<uint32_t>(alone.bytes().size() - sizeof(layout::PackedPrefix))
                                        : block_bytes[block];
      const auto outcome = packer.Pack(BlockRole::kData, content.size(), SpanSource{content}).outcome();
      const bool wanted = model.Wants(block);
      ASSERT_EQ(wanted, outcome != PackedBlock::Outcome::kLeft) << block;
      skipped += !wanted;
      if (wanted) {
        const bool packs = model.Pack(block);
        ASSERT_EQ(packs, outcome == PackedBlock::Outcome::kPacked) << block;
        ++(packs ? packed_blocks : rejected);
      }
      ASSERT_EQ(model.PackedBytes(Packer::kWhole), packer.mean_share()) << block;
    }
    EXPECT_GT(packed_blocks, 500u);
    EXPECT_GT(rejected, 100u);
    EXPECT_GT(skipped, 300u);
    EXPECT_EQ(model.tries(), packed_blocks + rejected);
    EXPECT_EQ(model.rejected(), rejected);
  }
}

TEST(PackModel, MeanAccessTimeChargesUnpackingAndPacking) {
  const MediumModel& cxl = GetMediumModel(MediumModelName::kCxl);
  AccessCosts costs = CostsOf(cxl, 4096, 80);
  AddPackedCosts(cxl, 4096, Codec::kLz4, 1920, &costs);
  EXPECT_NEAR(costs.unpack_ns, 1200 + cxl.random_read_ns + 1920 / cxl.thread_read_bytes_per_ns, 1);
  EXPECT_NEAR(costs.pack_ns, 7000, 1e-6);
  EXPECT_LE(costs.packed_write_ns, costs.scm_write_ns);
  const SimCounts counts{.accesses = 10,
                         .scm_unpacked = 3,
                         .promotions = 2,
                         .packed_promotions = 1,
                         .misses = 5,
                         .demotions = 4,
                         .second_chances = 2,
                         .packed_second_chances = 1,
                         .packed_at_reclaim = 1,
                         .packed_writes = 5,
                         .pack_tries = 6,
                         .pack_rejected = 2};
  // Three of the demotions were packed: five packed writes less the second chance and the one at reclaim.
  const double sum = 4 * costs.unpack_ns + costs.promotion_ns + 5 * costs.miss_ns + costs.scm_write_ns +
                     3 * costs.packed_write_ns + costs.spare_ns + costs.packed_spare_ns + costs.repack_ns +
                     4 * costs.pack_ns + 2 * costs.reject_ns;
  EXPECT_NEAR(MeanAccessNs(costs, counts), sum / 10, 1e-6);
}

}  // namespace
}  // namespace mezz::sim
