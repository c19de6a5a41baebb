// SPDX-License-Identifier: Apache-2.0
// The simulator's SCM tier against the live one: the same calls must leave the same blocks resident.
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "admission/curves/block_key.h"
#include "admission/curves/scm_model.h"
#include "cache/layout.h"
#include "cache/scm_tier.h"
#include "tests/support/seed.h"
#include "tests/support/tier_fixture.h"

namespace mezz::sim {
namespace {

constexpr uint32_t kBlocks = 20'000;
constexpr uint64_t kSegmentBytes = 256 << 10;

// Blocks of `bytes_min` to `bytes_max` over `segments` segments. Of ordered media the fast one has `fast_segments`;
// 0: there is one medium.
struct Sizes {
  uint32_t bytes_min, bytes_max;
  uint64_t segments = 0, fast_segments = 0;
  bool keeps_all = false;  // a judge demotes what it can, and spares all else
};

class KeepAll : public SurvivorJudge {
 public:
  Fate Judge(const RecordFacts& record) override { return FateOf(record.demotable); }
  static Fate FateOf(bool demotable) { return demotable ? Fate::kDemote : Fate::kSpare; }
};

// The two tiers side by side. What returns a text names the first difference it met; an empty one is none.
class SideBySide {
 public:
  SideBySide(std::mt19937_64& random, const Sizes& sizes) {
    const auto requeue_percent = static_cast<unsigned>(random() % 3 * 35);
    for (BlockId block = 0; block < kBlocks; ++block) {
      bytes_.push_back(static_cast<uint32_t>(sizes.bytes_min + random() % (sizes.bytes_max - sizes.bytes_min + 1)));
      units_.push_back(static_cast<uint32_t>(layout::RecordBytes(bytes_.back())));
    }
    payload_.resize(sizes.bytes_max);
    keeps_all_ = sizes.keeps_all;
    ScmOptions options;
    options.capacity_bytes = sizes.segments * kSegmentBytes;
    if (sizes.fast_segments == 0) {
      options.medium = MediumKind::kAnonymous;
    } else {
      const uint64_t fast_bytes = sizes.fast_segments * kSegmentBytes;
      options.members = {
          {.medium = MediumKind::kAnonymous, .capacity_bytes = fast_bytes},
          {.path = slow_.path(), .capacity_bytes = options.capacity_bytes - fast_bytes, .level = Level::kSlow}};
    }
    options.segment_bytes = kSegmentBytes;
    options.prepare = Prepare::kBeforeOpen;              // the model knows no medium that grows
    options.pack = PackMode::kOff;                       // both are asked for raw records only
    options.expected_block_bytes = sizes.bytes_min / 2;  // words to spare: the model knows no displacement
    EXPECT_EQ(ScmTier::Open(options, &live_, keeps_all_ ? &keep_all_ : nullptr).message(), "");
    live_->SetRequeuePercent(requeue_percent);
    model_ = std::make_unique<ScmModel>(kBlocks, units_,
                                        ScmModelOptions{.capacity = sizes.segments * kSegmentBytes,
                                                        .fast_capacity = sizes.fast_segments * kSegmentBytes,
                                                        .segment = kSegmentBytes,
                                                        .exact_capacity = false,
                                                        .requeue_percent = requeue_percent});
  }

  std::string Step(std::mt19937_64& random) {
    const auto drawn = static_cast<double>(random() >> 11) * 0x1p-53;
    const auto block = static_cast<BlockId>(kBlocks * drawn * drawn * drawn);  // the low ones are asked for most
    const BlockKey key = BlockKeyOf(block);
    if (random() % 50 == 0) return Same("dram eviction", live_->NoteDramEviction(key), model_->NoteDramEviction(block));
    if (random() % 200 == 0) {
      const bool resident = model_->Contains(block);
      model_->Erase(block);
      return Same("erase", live_->Erase(key), resident);
    }
    return Access(random, block);
  }

  std::string AtTheEnd() const {
    std::string text = Same("resident blocks", live_->figures().resident_blocks(), model_->resident_blocks());
    for (BlockId block = 0; block < kBlocks && text.empty(); ++block)
      text = Same("residence", live_->Contains(BlockKeyOf(block)), model_->Contains(block));
    const CounterSnapshot counters = live_->counters().Snapshot();
    EXPECT_EQ(counters[Event::kScmDisplaced], 0u);
    EXPECT_GT(model_->counts().second_chances, 0u);
    if (text.empty()) text = Same("spared", counters[Event::kScmSecondChance], model_->counts().second_chances);
    if (text.empty())
      text = Same("queued again", counters[Event::kScmSegmentRequeued], model_->counts().requeued_segments);
    if (text.empty()) text = Same("demoted", counters[Event::kScmDemoted], model_->counts().demoted);
    if (text.empty()) text = Same("dropped", counters[Event::kScmDropped], model_->counts().dropped);
    std::vector<std::string> violations;
    model_->Audit(&violations);
    EXPECT_TRUE(violations.empty()) << violations.front();
    return text;
  }

 private:
  static std::string Same(const char* what, uint64_t live, uint64_t model) {
    return live == model ? ""
                         : std::string(what) + ": live " + std::to_string(live) + ", model " + std::to_string(model);
  }

  std::string Access(std::mt19937_64& random, BlockId block) {
    const BlockKey key = BlockKeyOf(block);
    if (const PinnedBlock found = live_->Find(key, BlockRole::kData)) {
      if (!model_->Contains(block)) return "the live tier alone holds " + std::to_string(block);
      std::string text = Same("heat", found.heat(), model_->Warm(block));
      if (random() % 4 == 0) {
        live_->NotePromoted(key);
        model_->SetDram(block, true);
      }
      return text;
    }
    if (model_->Contains(block)) return "the model alone holds " + std::to_string(block);
    const Generation generation = random() % 3 == 0 ? Generation::kProven : Generation::kYoung;
    const auto put =
        live_->Put(key, BlockRole::kData, std::as_bytes(std::span(payload_)).first(bytes_[block]), generation);
    const auto judge = [this](const ScmModel::Reached& reached) {
      if (keeps_all_) return KeepAll::FateOf(reached.demotable);
      return SecondChance(model_->heat(reached.block), reached.packable, reached.demotable);
    };
    return Same("put", put == PutResult::kStored, model_->Put(block, generation, Form::kRaw, judge));
  }

  const test::ScratchFile slow_;
  std::vector<uint32_t> bytes_, units_;
  std::vector<char> payload_;
  bool keeps_all_ = false;
  KeepAll keep_all_;
  std::unique_ptr<ScmTier> live_;
  std::unique_ptr<ScmModel> model_;
};

std::string FirstDifference(uint64_t seed, bool equal_sizes, bool ordered, bool keeps_all) {
  std::mt19937_64 random(seed);
  Sizes sizes{
      .bytes_min = equal_sizes ? 4096u : 1000u, .bytes_max = equal_sizes ? 4096u : 9000u, .keeps_all = keeps_all};
  if (ordered) {
    sizes.fast_segments = 8 * (1 + random() % 6);
    sizes.segments = sizes.fast_segments + 8 * (1 + random() % 12);
  } else {
    sizes.segments = 8 + random() % 150;
  }
  SideBySide tiers(random, sizes);
  for (int step = 0; step < 90'000; ++step) {
    const std::string difference = tiers.Step(random);
    if (!difference.empty()) return "step " + std::to_string(step) + ": " + difference;
  }
  return tiers.AtTheEnd();
}

class SimScm : public ::testing::TestWithParam<int> {};

// The live tier notes promotions and evictions by a tag of 25 bits (ScmTier::NotePromoted), so once in a hundred runs
// a stranger is noted. Its hash has another seed in each tier: what is no such chance comes again.
TEST_P(SimScm, HoldsTheBlocksThatTheLiveTierHolds) {
  const uint64_t seed = test::Seed();
  const uint64_t own_seed = seed + static_cast<uint64_t>(GetParam());
  const bool equal_sizes = GetParam() % 2 == 0;
  const bool ordered = GetParam() % 4 >= 2;
  const bool keeps_all = GetParam() >= 6;
  std::string difference = FirstDifference(own_seed, equal_sizes, ordered, keeps_all);
  if (!difference.empty()) difference = FirstDifference(own_seed, equal_sizes, ordered, keeps_all);
  EXPECT_EQ(difference, "");
}

INSTANTIATE_TEST_SUITE_P(Seeds, SimScm, ::testing::Range(0, 8));

}  // namespace
}  // namespace mezz::sim
