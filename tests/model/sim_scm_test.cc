// SPDX-License-Identifier: Apache-2.0
// The simulator's SCM tier against the live one: the same calls must leave the same blocks resident.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <vector>

#include "cache/layout.h"
#include "cache/scm_tier.h"
#include "workloads/block_key.h"
#include "workloads/sim/scm_model.h"

namespace mezz::sim {
namespace {

constexpr uint32_t kBlocks = 20'000;
constexpr uint64_t kSegmentBytes = 256 << 10;

uint64_t Seed() {
  const char* named = std::getenv("MEZZ_SEED");
  return named != nullptr ? std::strtoull(named, nullptr, 0) : std::random_device()();
}

class SimScm : public ::testing::TestWithParam<int> {
 protected:
  // Blocks of `bytes_min` to `bytes_max` over `segments` segments.
  void Open(std::mt19937_64& random, uint32_t bytes_min, uint32_t bytes_max, uint64_t segments) {
    for (BlockId block = 0; block < kBlocks; ++block) {
      bytes_.push_back(static_cast<uint32_t>(bytes_min + random() % (bytes_max - bytes_min + 1)));
      units_.push_back(static_cast<uint32_t>(layout::RecordBytes(bytes_.back())));
    }
    payload_.resize(bytes_max);
    ScmOptions options;
    options.medium = MediumKind::kAnonymous;
    options.capacity_bytes = segments * kSegmentBytes;
    options.segment_bytes = kSegmentBytes;
    options.expected_block_bytes = bytes_min / 2;  // words to spare: the model knows no displacement
    const Status opened = ScmTier::Open(options, &live_);
    ASSERT_TRUE(opened.ok()) << opened.message();
    model_ = std::make_unique<ScmModel>(
        kBlocks, units_,
        ScmModelOptions{.capacity = segments * kSegmentBytes, .segment = kSegmentBytes, .exact_capacity = false});
  }

  void Access(std::mt19937_64& random, BlockId block) {
    const BlockKey key = BlockKeyOf(block);
    if (const PinnedBlock found = live_->Find(key, BlockRole::kData)) {
      ASSERT_TRUE(model_->Contains(block));
      ASSERT_EQ(model_->Warm(block), found.heat());
      if (random() % 4 == 0) {
        live_->NotePromoted(key);
        model_->SetDram(block, true);
      }
      return;
    }
    ASSERT_FALSE(model_->Contains(block));
    const Generation generation = random() % 3 == 0 ? Generation::kProven : Generation::kYoung;
    const auto put =
        live_->Put(key, BlockRole::kData, std::as_bytes(std::span(payload_)).first(bytes_[block]), generation);
    const auto spare = [this](BlockId reached, Generation) {
      return model_->heat(reached) > 0 && !model_->dram(reached);
    };
    ASSERT_EQ(model_->Put(block, generation, spare), put == PutResult::kStored);
  }

  void Step(std::mt19937_64& random) {
    const auto drawn = static_cast<double>(random() >> 11) * 0x1p-53;
    const auto block = static_cast<BlockId>(kBlocks * drawn * drawn * drawn);  // the low ones are asked for most
    if (random() % 50 == 0) {
      ASSERT_EQ(live_->NoteDramEviction(BlockKeyOf(block)), model_->SetDram(block, false));
    } else if (random() % 200 == 0) {
      ASSERT_EQ(live_->Erase(BlockKeyOf(block)), model_->Contains(block));
      model_->Erase(block);
    } else {
      Access(random, block);
    }
  }

  std::vector<uint32_t> bytes_, units_;
  std::vector<char> payload_;
  std::unique_ptr<ScmTier> live_;
  std::unique_ptr<ScmModel> model_;
};

TEST_P(SimScm, HoldsTheBlocksThatTheLiveTierHolds) {
  const uint64_t seed = Seed() + static_cast<uint64_t>(GetParam());
  SCOPED_TRACE("replay with MEZZ_SEED=" + std::to_string(seed - static_cast<uint64_t>(GetParam())));
  std::mt19937_64 random(seed);
  const bool equal_sizes = GetParam() % 2 == 0;
  ASSERT_NO_FATAL_FAILURE(Open(random, equal_sizes ? 4096 : 1000, equal_sizes ? 4096 : 9000, 8 + random() % 150));
  for (int step = 0; step < 90'000; ++step) ASSERT_NO_FATAL_FAILURE(Step(random)) << "step " << step;
  ASSERT_EQ(live_->resident_blocks(), model_->resident_blocks());
  for (BlockId block = 0; block < kBlocks; ++block)
    ASSERT_EQ(live_->Contains(BlockKeyOf(block)), model_->Contains(block)) << block;
  const CounterSnapshot counters = live_->counters().Snapshot();
  ASSERT_EQ(counters[Event::kScmDisplaced], 0u);
  EXPECT_EQ(counters[Event::kScmSecondChance], model_->counts().second_chances);
  EXPECT_EQ(counters[Event::kScmDropped], model_->counts().dropped);
  EXPECT_GT(model_->counts().second_chances, 0u);
  std::vector<std::string> violations;
  model_->Audit(&violations);
  EXPECT_TRUE(violations.empty()) << violations.front();
}

INSTANTIATE_TEST_SUITE_P(Seeds, SimScm, ::testing::Range(0, 8));

}  // namespace
}  // namespace mezz::sim
