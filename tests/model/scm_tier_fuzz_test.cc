// SPDX-License-Identifier: Apache-2.0
// The SCM tier against a plain map, over every medium: a hit must return the last bytes put, erased keys never return.
#include <gtest/gtest.h>

#include <deque>
#include <unordered_map>

#include "tests/support/tier_fixture.h"

namespace mezz {
namespace {

struct FuzzCase {
  const char* name;
  MediumKind medium;
  MediumModelName model;
  uint64_t segments;
  uint64_t segment_bytes;
  bool verify;
  PackMode pack = PackMode::kOff;
  uint64_t stage_bytes = 0;
  bool two_media = false;
};

constexpr uint64_t kKeysPerFile = 40;

BlockKey Key(uint64_t n) {
  BlockKey key;
  key.words[0] = (1 + n / kKeysPerFile) * 0x9e3779b97f4a7c15ull;
  key.words[1] = n;
  return key;
}

class ScmTierFuzz : public testing::TestWithParam<FuzzCase> {};

class ModelRun {
 public:
  ModelRun(ScmTier& tier, uint64_t seed) : tier_(tier), random_(seed) {
    for (unsigned& weight : weights_) weight = random_() % 3 == 0 ? 0 : 1 + random_() % 20;
    weights_[0] += 5;  // puts
    weights_[1] += 5;  // look-ups
    keys_ = 1 + random_() % 5000;
    size_max_ = 1 + (random_() % 4 == 0 ? tier.figures().max_block_bytes() + 100 : random_() % 20'000);
    shared_ = random_() % 2 == 0;
  }

  void Steps(int steps) {
    std::discrete_distribution<int> pick(std::begin(weights_), std::end(weights_));
    for (step_ = 0; step_ < steps && !testing::Test::HasFatalFailure(); ++step_) {
      Step(pick(random_));
      if (step_ % 500 == 0) tier_.SettleDictionaries();
    }
    for (const Held& held : held_) CheckHeld(held);
  }

 private:
  struct Held {
    PinnedBlock block;
    uint64_t key, version;
    size_t bytes;
  };

  void Step(int kind) {
    const uint64_t key = random_() % keys_;
    switch (kind) {
      case 0:
        return Put(key);
      case 1:
        return Find(key);
      case 2:
        tier_.Erase(Key(key));
        model_.erase(key);
        return;
      case 3:
        if (held_.size() < 40 && model_.contains(key)) Hold(key);
        return;
      case 4:
        if (held_.empty()) return;
        std::swap(held_[random_() % held_.size()], held_.back());
        CheckHeld(held_.back());
        held_.pop_back();
        return;
      case 5:
        static_cast<void>(tier_.NotePromoted(Key(key)));
        return;
      case 6:
        // Judged by 25 bits of the hash, whose seed no run repeats: it may be wrong once in a million
        // (docs/reference/limitations.md).
        if (tier_.NoteDramEviction(Key(key)) && !model_.contains(key)) {
          ASSERT_LE(++false_matches_, 2) << Where();
        }
        return;
      case 7:
        if (random_() % 50 != 0) return;
        if (const auto members = tier_.figures().MembersNow(); !members.empty() && random_() % 2 == 0) {
          // What leaves too little is refused, and changes nothing.
          (void)tier_.SetMemberCapacity(random_() % members.size(), random_() % (tier_.options().capacity_bytes / 2));
        } else {
          ASSERT_TRUE(tier_.SetCapacity(RandomCapacity()).ok()) << Where();
        }
        return;
      case 8:
        if (random_() % 200 != 0) return;
        tier_.EraseAll();
        model_.clear();
        return;
      case 9:
        if (random_() % 500 != 0) return;
        tier_.figures().ForEach(
            [&](const BlockKey& found, size_t, BlockRole) { ASSERT_TRUE(model_.contains(found.words[1])) << Where(); });
        return;
      case 10:
        if (random_() % 20 != 0) return;
        tier_.ForgetFile(Key(key).file());
        ASSERT_TRUE(tier_.IsForgotten(Key(key).file())) << Where();
        return;
      case 11:
        if (shared_ && random_() % 20 == 0) ChangeShares();
        return;
    }
  }

  // Four databases come, go and are given other limits; what is refused changes nothing.
  void ChangeShares() {
    constexpr const char* kNames[] = {"a", "b", "c", "d"};
    const size_t at = random_() % std::size(kNames);
    const ShareLimits limits{.reserved_percent = static_cast<unsigned>(random_() % 40),
                             .max_percent = static_cast<unsigned>(20 + random_() % 81),
                             .priority = static_cast<SharePriority>(random_() % 3)};
    ShareId& id = shares_[at];
    if (id == kNoShare) {
      (void)tier_.shares().Add(kNames[at], limits, &id);
    } else if (random_() % 2 == 0) {
      (void)tier_.shares().Change(id, limits);
    } else {
      tier_.shares().Remove(id);
      id = kNoShare;
    }
    // What those that went left is the rest's.
    uint64_t bytes = tier_.shares().UseOf(kNoShare).bytes;
    for (const ShareId share : shares_) bytes += share != kNoShare ? tier_.shares().UseOf(share).bytes : 0;
    ASSERT_LE(bytes, tier_.options().capacity_bytes) << Where();
  }

  uint64_t RandomCapacity() {
    const uint64_t segment = tier_.options().segment_bytes;
    const uint64_t segments = tier_.options().capacity_bytes / segment;
    if (random_() % 4 == 0) return 0;
    return segment * (kSegmentsMin + random_() % (segments - kSegmentsMin + 1));
  }

  void Put(uint64_t key) {
    const uint64_t version = ++version_;
    const size_t bytes = random_() % size_max_;
    const bool fail = random_() % 100 == 0;
    const std::vector<std::byte> payload = test::MixedPayload(key, version, bytes);
    const auto source = [&](size_t offset, size_t count, std::byte* to) {
      std::copy_n(payload.data() + offset, count, to);
      return !fail;
    };
    const auto generation = random_() % 2 == 0 ? Generation::kProven : Generation::kYoung;
    const auto role = static_cast<BlockRole>(key % kBlockRoles);
    const auto form = random_() % 4 == 0 ? Form::kRaw : Form::kPacked;
    const bool dead = tier_.IsForgotten(Key(key).file());
    const auto result = tier_.Put(Key(key), role, bytes, source, generation, form, PackedBy::kStage,
                                  shared_ ? shares_[random_() % std::size(shares_)] : kNoShare);
    // A refused put leaves the key's earlier block, if any, in place.
    if (result == PutResult::kStored) model_[key] = {version, bytes};
    if (dead) {
      ASSERT_NE(result, PutResult::kStored) << Where();
    }
    if (fail && bytes > 0) {
      ASSERT_NE(result, PutResult::kStored) << Where();
    }
  }

  void Find(uint64_t key) {
    const PinnedBlock block = tier_.Find(Key(key));
    if (!block) {  // a cache may forget
      ASSERT_FALSE(tier_.IsForgotten(Key(key).file())) << "a file that is asked for is not gone; " << Where();
      return;
    }
    const auto want = model_.find(key);
    ASSERT_NE(want, model_.end()) << "hit on an erased key; " << Where();
    ASSERT_EQ(test::BytesOf(block), test::MixedPayload(key, want->second.first, want->second.second))
        << "stale bytes; " << Where();
    ASSERT_EQ(block.role(), static_cast<BlockRole>(key % kBlockRoles)) << Where();
  }

  void Hold(uint64_t key) {
    PinnedBlock block = tier_.Find(Key(key));
    if (block) held_.push_back({std::move(block), key, model_[key].first, model_[key].second});
  }

  void CheckHeld(const Held& held) {
    ASSERT_EQ(test::BytesOf(held.block), test::MixedPayload(held.key, held.version, held.bytes))
        << "pinned bytes changed; " << Where();
  }

  std::string Where() const { return "MEZZ_SEED=" + std::to_string(test::Seed()) + " step " + std::to_string(step_); }

  ScmTier& tier_;
  std::mt19937_64 random_;
  unsigned weights_[12];
  bool shared_ = false;
  ShareId shares_[5] = {};  // the last is kNoShare
  uint64_t keys_;
  size_t size_max_;
  int step_ = 0;
  int false_matches_ = 0;
  uint64_t version_ = 0;
  std::unordered_map<uint64_t, std::pair<uint64_t, size_t>> model_;  // key -> version, bytes
  std::deque<Held> held_;
};

TEST_P(ScmTierFuzz, AgreesWithAPlainMap) {
  const FuzzCase& setup = GetParam();
  const test::ScratchFile file, second;
  uint64_t staged = 0, with_dictionary = 0;
  for (int round = 0; round < 8; ++round) {
    ScmOptions options = test::AnonymousOptions(setup.segments * setup.segment_bytes, setup.segment_bytes);
    if (setup.medium == MediumKind::kFile) {
      test::UseFile(file.path(), &options);
    } else if (setup.medium == MediumKind::kNumaNode) {
      test::UseNode(&options);
    }
    if (setup.two_media) test::UseTwo(second.path(), &options, round % 2 == 0 ? Level::kFast : Level::kSlow);
    options.model = setup.model;
    options.verify = setup.verify ? VerifyMode::kAlways : VerifyMode::kOff;
    options.pack = setup.pack;
    options.pack_stage_bytes = setup.stage_bytes;
    options.dictionaries = test::kTrainedSoon;
    options.expected_block_bytes = round % 2 == 0 ? 4096 : 32'768;  // the second starves the index
    std::unique_ptr<ScmTier> tier;
    const Status status = ScmTier::Open(options, &tier);
    if (!status.ok() && setup.medium == MediumKind::kNumaNode) GTEST_SKIP() << status.message();
    ASSERT_TRUE(status.ok()) << status.message();
    tier->SetRequeuePercent(round % 3 * 35);
    {
      ModelRun run(*tier, test::Seed() + round);
      run.Steps(setup.model == MediumModelName::kNone ? 15'000 : 3'000);
    }
    test::ExpectSound(*tier);
    if (HasFatalFailure()) return;
    const CounterSnapshot counters = tier->counters().Snapshot();
    EXPECT_EQ(counters[Event::kScmNoDictionary] + counters[Event::kScmUnpackFailed], 0u);
    staged += tier->figures().staged_puts();  // none in a round whose blocks are all too small to pack
    with_dictionary += counters[Event::kPackedWithDictionary];
  }
  EXPECT_EQ(staged > 0, setup.stage_bytes != 0);
  // A stage's thread may have stored all that was worth a dictionary before there was one: one run in a thousand.
  if (setup.stage_bytes == 0) {
    EXPECT_EQ(with_dictionary > 0, setup.pack == PackMode::kZstd);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Media, ScmTierFuzz,
    testing::Values(
        FuzzCase{"anonymous", MediumKind::kAnonymous, MediumModelName::kNone, 8, kSegmentBytesMin, false},
        FuzzCase{"anonymous_large", MediumKind::kAnonymous, MediumModelName::kNone, 100, kSegmentBytesMin, true},
        FuzzCase{"file", MediumKind::kFile, MediumModelName::kNone, 12, kSegmentBytesMin, false},
        FuzzCase{"numa", MediumKind::kNumaNode, MediumModelName::kNone, 12, kSegmentBytesMin, false},
        FuzzCase{"throttled", MediumKind::kAnonymous, MediumModelName::kOptane100, 9, kSegmentBytesMin, true},
        FuzzCase{"lz4", MediumKind::kAnonymous, MediumModelName::kNone, 8, kSegmentBytesMin, false, PackMode::kLz4},
        FuzzCase{"lz4_file", MediumKind::kFile, MediumModelName::kNone, 100, kSegmentBytesMin, true, PackMode::kLz4},
        FuzzCase{"zstd", MediumKind::kAnonymous, MediumModelName::kNone, 12, kSegmentBytesMin, true, PackMode::kZstd},
        FuzzCase{"lz4_staged", MediumKind::kAnonymous, MediumModelName::kNone, 8, kSegmentBytesMin, false,
                 PackMode::kLz4, 1 << 20},
        FuzzCase{"zstd_staged", MediumKind::kAnonymous, MediumModelName::kNone, 12, kSegmentBytesMin, true,
                 PackMode::kZstd, kPackStageBytesMin},
        FuzzCase{"two_media", MediumKind::kAnonymous, MediumModelName::kNone, 40, kSegmentBytesMin, true,
                 PackMode::kZstd, kPackStageBytesMin, /*two_media=*/true}),
    [](const auto& fuzz_case) { return fuzz_case.param.name; });

}  // namespace
}  // namespace mezz
