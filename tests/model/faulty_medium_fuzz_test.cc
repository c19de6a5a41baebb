// SPDX-License-Identifier: Apache-2.0
// The SCM tier against a plain map, on a medium that drops, tears and flips what is stored, is slow now and then,
// decays, and has bad blocks: a hit returns the last bytes put, or is none; nothing crashes; in the end the tier closes
// itself, or goes on. With erase=durable no later life finds what was put before an erase of its key.
#include <gtest/gtest.h>

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "tests/support/faulty_medium.h"
#include "tests/support/tier_fixture.h"

namespace mezz {
namespace {

using test::FaultyMedium;
using test::Key;

struct FaultCase {
  const char* name;
  test::FaultRates rates;
  uint32_t decays_one_in = 0;  // steps
  uint32_t faults_max = 0;
  bool bad_blocks = false;
  PackMode pack = PackMode::kOff;
  uint64_t stage_bytes = 0;
  uint32_t loses_one_in = 0;       // steps: a page behind the first, which has the superblock
  uint32_t superblock_one_in = 0;  // steps: after which it takes no store, in one copy or both, or takes them again
  // Of FaultyLives: the tier lies on two media, ordered or not in each life, and loses one now and then, which comes
  // back as it was then.
  bool two_media = false;
};

class FaultyMediumFuzz : public testing::TestWithParam<FaultCase> {};

constexpr uint64_t kSegments = 16, kKeys = 1500;
constexpr int kSteps = 6000;

class FaultyRun {
 public:
  FaultyRun(ScmTier& tier, const FaultCase& setup, uint64_t seed) : tier_(tier), setup_(setup), random_(seed) {}

  void Steps() {
    for (int step = 0; step < kSteps && !testing::Test::HasFatalFailure(); ++step) {
      SCOPED_TRACE(testing::Message() << "MEZZ_SEED=" << test::Seed() << " step " << step);
      Step();
    }
  }

 private:
  void Step() {
    if (setup_.decays_one_in != 0 && random_() % setup_.decays_one_in == 0) {
      tier_.Drain();  // whose thread writes
      FaultyMedium::Active().FlipABit();
    }
    if (setup_.loses_one_in != 0 && random_() % setup_.loses_one_in == 0)
      FaultyMedium::Active().LosePage(test::kPageBytes + random_() % (kSegments * kSegmentBytesMin - test::kPageBytes));
    const bool was_closed = tier_.figures().is_closed();
    const uint64_t key = 1 + random_() % kKeys;
    switch (random_() % 16) {
      case 0:
        tier_.Erase(Key(key));
        model_.erase(key);
        break;
      case 1:
        tier_.Scrub(100'000);
        break;
      case 2:
        if (random_() % 100 == 0) {
          (void)tier_.SetCapacity(kSegmentBytesMin * (random_() % 4 == 0 ? 0 : 8 + random_() % 9));
        } else if (random_() % 100 == 0) {
          (void)tier_.SetMemberCapacity(random_() % 2, kSegmentBytesMin * (random_() % 9));
        }
        break;
      case 3:
      case 4:
      case 5:
      case 6:
      case 7:
      case 8:
        Put(key, was_closed);
        break;
      default:
        Find(key, was_closed);
    }
    if (was_closed) {
      ASSERT_TRUE(tier_.figures().is_closed()) << "for good";
    }
  }
  void Put(uint64_t key, bool was_closed) {
    const uint64_t version = ++version_;
    const size_t bytes = random_() % 9000;
    const auto generation = random_() % 3 == 0 ? Generation::kProven : Generation::kYoung;
    const auto result =
        tier_.Put(Key(key), BlockRole::kData, test::MixedPayload(key, version, bytes), generation, Form::kPacked);
    if (was_closed) {
      ASSERT_EQ(result, PutResult::kNoSpace);
    }
    if (result == PutResult::kStored) model_[key] = {version, bytes};
  }
  void Find(uint64_t key, bool was_closed) {
    const PinnedBlock block = tier_.Find(Key(key));
    if (!block) return;
    ASSERT_FALSE(was_closed) << "a hit of a closed tier";
    const auto want = model_.find(key);
    ASSERT_NE(want, model_.end()) << "a hit on what is not there";
    ASSERT_EQ(test::BytesOf(block), test::MixedPayload(key, want->second.first, want->second.second));
  }

  ScmTier& tier_;
  const FaultCase& setup_;
  std::mt19937_64 random_;
  uint64_t version_ = 0;
  std::unordered_map<uint64_t, std::pair<uint64_t, size_t>> model_;  // key -> version, bytes
};

// Of what the audit says all is to hold that is no damage of the medium's.
void ExpectSoundButForDamage(ScmTier& tier) {
  const ScmAudit audit = tier.Audit();
  for (const std::string& violation : audit.violations) {
    const auto says = [&](const char* what) { return violation.find(what) != std::string::npos; };
    if (!says("damaged header") && !says("does not match its checksum") && !says("does not unpack") &&
        !says("unpacks to other bytes") && !says("is packed"))
      ADD_FAILURE() << violation;
  }
  EXPECT_EQ(audit.live_pins, 0u);
}

TEST_P(FaultyMediumFuzz, NeverServesAWrongByte) {
  const FaultCase& setup = GetParam();
  if (setup.loses_one_in != 0 && !test::CanLosePages()) GTEST_SKIP() << "a device cannot lose single pages";
  uint64_t closed = 0, faults = 0, failed = 0, slow = 0, quarantined = 0, lost = 0;
  for (uint64_t round = 0; round < 4 && !HasFatalFailure(); ++round) {
    ScmOptions options = test::AnonymousOptions(kSegments * kSegmentBytesMin);
    options.verify = VerifyMode::kAlways;
    options.faults_max = setup.faults_max;
    options.pack = setup.pack;
    options.pack_stage_bytes = setup.stage_bytes;
    options.dictionaries = test::kTrainedSoon;
    options.bus_errors = BusErrorMode::kContain;
    int told = 0;
    options.on_trouble = [&](std::string_view) { ++told; };
    const uint64_t at = (1 + round) * kSegmentBytesMin + 8192;
    const std::vector<BadRange> bad =
        setup.bad_blocks ? std::vector<BadRange>{{at, at + 4096}, {9 * kSegmentBytesMin - 4096, 9 * kSegmentBytesMin}}
                         : std::vector<BadRange>();
    std::unique_ptr<ScmTier> tier;
    const Status status =
        ScmTier::Open(options, &tier, /*judge=*/nullptr, FaultyMedium::Wrap(setup.rates, test::Seed() + round, bad));
    ASSERT_TRUE(status.ok()) << status.message();
    FaultyRun(*tier, setup, test::Seed() + 100 * round).Steps();
    ExpectSoundButForDamage(*tier);
    const CounterSnapshot counters = tier->counters().Snapshot();
    closed += tier->figures().is_closed() ? 1 : 0;
    EXPECT_EQ(told, (tier->figures().is_closed() ? 1 : 0) + (bad.empty() ? 0 : 1));
    EXPECT_LE(tier->figures().faults(), counters[Event::kScmChecksumMismatch] + counters[Event::kScmDamagedHeader] +
                                            tier->figures().bus_errors());
    EXPECT_LE(tier->figures().bus_errors(), tier->figures().faults());
    if (setup.faults_max != 0 && tier->figures().faults() >= setup.faults_max) {
      EXPECT_TRUE(tier->figures().is_closed());
    }
    if (setup.faults_max == 0) {
      EXPECT_FALSE(tier->figures().is_closed());
    }
    faults += tier->figures().faults();
    quarantined += tier->figures().quarantined_bytes() / kSegmentBytesMin;
    failed += FaultyMedium::Active().failed_stores();
    slow += FaultyMedium::Active().slow_stores();
    lost += tier->figures().bus_errors();
  }
  const bool fails = setup.rates.dropped + setup.rates.torn + setup.rates.flipped != 0;
  EXPECT_EQ(failed > 0, fails);
  EXPECT_EQ(slow > 0, setup.rates.slow != 0);
  EXPECT_EQ(lost > 0, setup.loses_one_in != 0);
  EXPECT_EQ(faults > 0, fails || setup.decays_one_in != 0 || lost > 0);
  EXPECT_EQ(closed > 0, faults > 0 && setup.faults_max != 0 && setup.faults_max < 1000);
  if (setup.bad_blocks) {
    EXPECT_GE(quarantined, 8u);
  }
  if (setup.faults_max == 0) {
    EXPECT_EQ(quarantined, 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Faults, FaultyMediumFuzz,
    testing::Values(FaultCase{"dropped", {.dropped = 20}, 0, 16}, FaultCase{"torn", {.torn = 20}, 0, 16},
                    FaultCase{"flipped", {.flipped = 20}, 0, 16}, FaultCase{"without_limit", {20, 20, 20}, 20, 0},
                    FaultCase{"slow", {.slow = 50}, 0, 16}, FaultCase{"decays", {}, 5, 16},
                    FaultCase{"bad_blocks", {}, 0, 16, true}, FaultCase{"all", {50, 50, 50, 100}, 50, 40, true},
                    FaultCase{"packed", {50, 50, 50}, 50, 40, false, PackMode::kZstd},
                    FaultCase{"staged", {50, 50, 50, 100}, 50, 40, false, PackMode::kLz4, 1 << 20},
                    FaultCase{"lost", {}, 0, 40, false, PackMode::kOff, 0, 50},
                    FaultCase{"lost_without_limit", {}, 0, 0, false, PackMode::kOff, 0, 50},
                    FaultCase{"lost_packed", {}, 0, 40, false, PackMode::kZstd, 0, 50},
                    FaultCase{"lost_staged", {50, 50, 50}, 0, 40, true, PackMode::kLz4, 1 << 20, 10}),
    [](const auto& fault_case) { return fault_case.param.name; });

// Lives of one medium that end by a kill or a close. What a put replaced may come back in a later life, what was erased
// may not.
class FaultyLives : public testing::TestWithParam<FaultCase> {
 protected:
  void Live(uint64_t life) {
    const FaultCase& setup = GetParam();
    ScmOptions options = test::WarmOptions(files_[0].path(), kSegments * kSegmentBytesMin);
    options.erase = EraseMode::kDurable;
    options.verify = VerifyMode::kAlways;
    options.faults_max = setup.faults_max;
    options.pack = setup.pack;
    options.pack_stage_bytes = setup.stage_bytes;
    options.dictionaries = test::kTrainedSoon;
    options.bus_errors = BusErrorMode::kContain;
    // What neither a superblock nor an erased header can keep from the next life is told.
    if (std::exchange(may_lie_, false)) options.recovery = Recovery::kDiscard;
    options.on_trouble = [this](std::string_view what) {
      may_lie_ |= what.find("open it with recovery=discard") != std::string_view::npos;
    };
    if (setup.two_media) test::UseTwo(files_[1].path(), &options, random_() % 2 == 0 ? Level::kFast : Level::kSlow);
    const uint64_t at = (1 + life % 15) * kSegmentBytesMin + 8192;
    const std::vector<BadRange> bad =
        setup.bad_blocks ? std::vector<BadRange>{{at, at + 4096}} : std::vector<BadRange>();
    const Status status =
        ScmTier::Open(options, &tier_, /*judge=*/nullptr, FaultyMedium::Wrap(setup.rates, random_(), bad));
    ASSERT_TRUE(status.ok()) << status.message();
    recovered_ += tier_->recovery().outcome == RecoveryReport::Outcome::kRecovered ? 1 : 0;
    last_.clear();
    const bool loses = setup.two_media && life % 3 == 0;
    const size_t lost = random_() % 2;
    const uint64_t steps = 1 + random_() % 3000, lost_at = random_() % steps;
    std::string as_it_was;
    for (uint64_t step = 0; step < steps && !HasFatalFailure(); ++step) {
      Step();
      if (!loses || step != lost_at) continue;
      as_it_was = test::Contents(files_[lost].path());
      FaultyMedium::Active().LoseMember(lost);
      ++lost_;
    }
    tier_->WaitUntilRecovered();
    for (uint64_t key = 0; key < kKeys && !HasFatalFailure(); ++key) Find(key);
    closed_ += tier_->figures().is_closed() ? 1 : 0;
    faults_ += tier_->figures().faults();
    if (random_() % 2 == 0)
      test::Kill(std::span<const test::ScratchFile>(files_).first(setup.two_media ? 2 : 1), &tier_);
    tier_.reset();
    if (!as_it_was.empty()) test::Overwrite(files_[lost].path(), 0, as_it_was);
  }
  void Step() {
    const uint32_t one_in = GetParam().superblock_one_in;
    if (one_in != 0 && random_() % one_in == 0) {
      FaultyMedium::Active().FailSuperblock(
          {.first = random_() % 2 == 0, .second = random_() % 2 == 0, .torn = random_() % 2 == 0});
    }
    const uint64_t key = random_() % kKeys, kind = random_() % 1000;
    if (one_in != 0 && kind == 999) return EraseAll();
    StepOf(key, kind / 10);
  }
  void StepOf(uint64_t key, uint64_t kind) {
    if (kind < 50) return Put(key);
    if (kind < 75) return Erase(key);
    if (kind < 99 || random_() % 100 != 0) return Find(key);
    for (int i = 0; i < 5000; ++i) Erase(random_() % kKeys);  // so many that the oldest make way
  }
  void Put(uint64_t key) {
    const Version version{++versions_, random_() % 6000};
    const auto payload = test::MixedPayload(key, version.first, version.second);
    if (tier_->Put(Key(key), BlockRole::kData, payload, Generation::kYoung, Form::kPacked) != PutResult::kStored)
      return;
    may_come_[key].push_back(version);
    last_[key] = version;
  }
  void Erase(uint64_t key) {
    tier_->Erase(Key(key));
    may_come_.erase(key);
    last_.erase(key);
  }
  void EraseAll() {
    tier_->EraseAll();
    may_come_.clear();
    last_.clear();
  }
  void Find(uint64_t key) {
    const PinnedBlock block = tier_->Find(Key(key));
    if (!block) return;
    ++served_;
    const auto bytes = test::BytesOf(block);
    const auto is = [&](const Version& version) {
      return version.second == bytes.size() && bytes == test::MixedPayload(key, version.first, version.second);
    };
    ASSERT_TRUE(std::ranges::any_of(may_come_[key], is)) << "of " << key << " what was erased, or never put";
    const auto last = last_.find(key);
    ASSERT_TRUE(last == last_.end() || is(last->second)) << "stale bytes of " << key;
  }

  using Version = std::pair<uint64_t, size_t>;  // number, bytes
  test::ScratchFile files_[2];
  std::unique_ptr<ScmTier> tier_;
  uint64_t lost_ = 0;
  bool may_lie_ = false;
  std::mt19937_64 random_{test::Seed()};
  uint64_t versions_ = 0, served_ = 0, recovered_ = 0, closed_ = 0, faults_ = 0;
  std::unordered_map<uint64_t, std::vector<Version>> may_come_;  // of each key what was put since it was erased
  std::unordered_map<uint64_t, Version> last_;                   // put in this life, and not erased since
};

TEST_P(FaultyLives, ServeNothingThatWasErased) {
  for (uint64_t life = 0; life < 30 && !HasFatalFailure(); ++life) {
    SCOPED_TRACE(testing::Message() << "MEZZ_SEED=" << test::Seed() << " life " << life);
    Live(life);
  }
  EXPECT_GT(served_, 1000u);
  EXPECT_GT(recovered_, 5u);
  EXPECT_EQ(faults_ > 0, GetParam().rates.dropped != 0 || lost_ != 0);
  EXPECT_EQ(lost_ > 0, GetParam().two_media);
  if (GetParam().rates.dropped == 100 || GetParam().superblock_one_in != 0) {
    EXPECT_GT(closed_, 0u);
  }
}

// No decay: a last tombstone that decays where it lies cannot be told from one that was being written.
INSTANTIATE_TEST_SUITE_P(
    Faults, FaultyLives,
    testing::Values(FaultCase{"seldom", {500, 500, 500}, 0, 1000}, FaultCase{"often", {100, 100, 100}, 0, 16},
                    FaultCase{"without_limit", {50, 50, 50}, 0, 0}, FaultCase{"bad_blocks", {}, 0, 16, true},
                    FaultCase{"all", {500, 500, 500, 500}, 0, 16, true},
                    FaultCase{"superblock", {}, 0, 16, false, PackMode::kOff, 0, 0, 400},
                    FaultCase{"staged", {500, 500, 500}, 0, 16, true, PackMode::kZstd, 1 << 20},
                    FaultCase{.name = "two_media", .rates = {}, .faults_max = 4, .two_media = true},
                    FaultCase{.name = "two_media_packed",
                              .rates = {500, 500, 500},
                              .faults_max = 16,
                              .pack = PackMode::kZstd,
                              .two_media = true}),
    [](const auto& fault_case) { return fault_case.param.name; });

}  // namespace
}  // namespace mezz
