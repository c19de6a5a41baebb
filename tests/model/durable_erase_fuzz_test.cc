// SPDX-License-Identifier: Apache-2.0
// erase=durable against a plain map, over many lives of one medium that end by a kill or a close, beside recoveries,
// reclaims, resizes and the stage's thread: no life serves a version that was put before an Erase of its key.
#include <gtest/gtest.h>

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include "tests/support/tier_fixture.h"

namespace mezz {
namespace {

struct FuzzCase {
  const char* name;
  uint64_t segments;
  PackMode pack = PackMode::kOff;
  uint64_t stage_bytes = 0;
};

BlockKey Key(uint64_t n) {
  BlockKey key;
  key.words[0] = (1 + n / 40) * 0x9e3779b97f4a7c15ull;
  key.words[1] = n;
  return key;
}

// Runs what it is given, one at a time, so that it is done by another thread, in its lane of the log.
class OtherThread {
 public:
  OtherThread() : thread_([this] { Run(); }) {}
  ~OtherThread() {
    Do(nullptr);
    thread_.join();
  }
  void Do(std::function<void()> work) {
    std::unique_lock lock(mutex_);
    work_ = std::move(work);
    busy_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !busy_; });
  }

 private:
  void Run() {
    for (bool ends = false; !ends;) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return busy_; });
      ends = work_ == nullptr;
      if (!ends) work_();
      busy_ = false;
      changed_.notify_all();
    }
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> work_;
  bool busy_ = false;
  std::thread thread_;
};

class DurableEraseFuzz : public ::testing::TestWithParam<FuzzCase> {
 protected:
  struct Version {
    uint64_t number;
    size_t bytes;
    bool operator<(const Version& other) const { return number < other.number; }
  };

  void Live(uint64_t round) {
    const FuzzCase& setup = GetParam();
    ScmOptions options = test::WarmOptions(file_.path(), setup.segments * kSegmentBytesMin);
    options.pack = setup.pack;
    options.pack_stage_bytes = setup.stage_bytes;
    options.dictionaries = test::kTrainedSoon;
    options.expected_block_bytes = round % 4 == 3 ? 32'768 : 4096;  // which starves the index
    durable_ = random_() % 8 != 0;
    options.erase = durable_ ? EraseMode::kDurable : EraseMode::kVolatile;
    options.prepare = random_() % 2 == 0 ? Prepare::kBeforeOpen : Prepare::kBackground;
    tier_ = test::OpenOrDie(options);
    ASSERT_NE(tier_, nullptr);
    ASSERT_NE(tier_->recovery().outcome, RecoveryReport::Outcome::kDiscarded) << tier_->recovery().ToString();
    tier_->SetRequeuePercent(round % 3 * 35);
    last_.clear();
    erased_.clear();
    const uint64_t steps = random_() % 6000;
    for (uint64_t i = 0; i < steps && !HasFatalFailure(); ++i) Step();
    tier_->WaitUntilRecovered();
    for (uint64_t key = 0; key < kKeys && !HasFatalFailure(); ++key) Find(key);
    if (random_() % 4 == 0) test::ExpectSound(*tier_);
    if (random_() % 2 == 0) return test::Kill(file_, &tier_);
    tier_.reset();
  }

  void Step() {
    const uint64_t key = random_() % kKeys;
    const auto do_it = [this](std::function<void()> work) {
      if (random_() % 2 == 0) return work();
      other_.Do(std::move(work));
    };
    const uint64_t kind = random_() % 100;
    if (kind < 45) return do_it([&] { Put(key); });
    if (kind < 70) return do_it([&] { Erase(key); });
    if (kind < 98) return Find(key);
    if (kind == 98 && random_() % 60 == 0) {
      tier_->EraseAll();
      may_come_.clear();
      last_.clear();
      for (uint64_t n = 0; n < kKeys; ++n) erased_.insert(n);
    } else if (kind == 99 && random_() % 30 == 0) {
      const uint64_t segments = random_() % 4 == 0 ? 0 : 8 + random_() % (GetParam().segments - 7);
      ASSERT_TRUE(tier_->SetCapacity(segments * kSegmentBytesMin).ok());
      if (segments != 0) return;
      ASSERT_TRUE(tier_->SetCapacity(GetParam().segments * kSegmentBytesMin).ok());
    } else if (kind == 99 && random_() % 2 == 0) {
      // Many tombstones, so that the oldest make way.
      for (uint64_t n = 0; durable_ && n < 500; ++n) Erase(random_() % kKeys);
    }
  }

  void Put(uint64_t key) {
    const Version version{++versions_, random_() % 20 == 0 ? random_() % 60'000 : random_() % 6000};
    const auto payload = test::MixedPayload(key, version.number, version.bytes);
    const auto form = random_() % 4 == 0 ? Form::kRaw : Form::kPacked;
    const auto generation = random_() % 3 == 0 ? Generation::kProven : Generation::kYoung;
    if (tier_->Put(Key(key), BlockRole::kData, payload, generation, form) != PutResult::kStored) return;
    may_come_[key].insert(version);
    last_[key] = version;
    erased_.erase(key);
  }

  void Erase(uint64_t key) {
    tier_->Erase(Key(key));
    if (durable_) may_come_.erase(key);
    last_.erase(key);
    erased_.insert(key);
  }

  void Find(uint64_t key) {
    const PinnedBlock block = tier_->Find(Key(key));
    if (!block) return;
    ++served_;
    ASSERT_FALSE(erased_.contains(key)) << "hit on an erased key " << key << Where();
    const auto bytes = test::BytesOf(block);
    const auto is = [&](const Version& version) {
      return version.bytes == bytes.size() && bytes == test::MixedPayload(key, version.number, version.bytes);
    };
    if (const auto last = last_.find(key); last != last_.end()) {
      ASSERT_TRUE(is(last->second)) << "stale bytes of " << key << Where();
      return;
    }
    ASSERT_TRUE(may_come_.contains(key)) << "an erased key came back: " << key << Where();
    ASSERT_TRUE(std::ranges::any_of(may_come_[key], is)) << "an erased version came back: " << key << Where();
  }

  static std::string Where() { return " MEZZ_SEED=" + std::to_string(test::Seed()); }

  static constexpr uint64_t kKeys = 1500;
  const test::ScratchFile file_;
  std::unique_ptr<ScmTier> tier_;
  OtherThread other_;
  std::mt19937_64 random_{test::Seed()};
  bool durable_ = true;  // this life's erases
  uint64_t versions_ = 0, served_ = 0;
  std::map<uint64_t, std::set<Version>> may_come_;  // of each key what was put since it was erased durably
  std::map<uint64_t, Version> last_;                // put in this life, and not erased since
  std::set<uint64_t> erased_;                       // in this life, and not put since
};

TEST_P(DurableEraseFuzz, NoLifeServesWhatWasErased) {
  SCOPED_TRACE("seed " + std::to_string(test::Seed()));
  for (uint64_t round = 0; round < 30 && !HasFatalFailure(); ++round) Live(round);
  EXPECT_GT(served_, 1000u);
}

INSTANTIATE_TEST_SUITE_P(Tiers, DurableEraseFuzz,
                         ::testing::Values(FuzzCase{"small", 8}, FuzzCase{"of_two_lanes", 128},
                                           FuzzCase{"lz4_staged", 12, PackMode::kLz4, kPackStageBytesMin * 4},
                                           FuzzCase{"zstd", 16, PackMode::kZstd},
                                           FuzzCase{"zstd_staged", 128, PackMode::kZstd, kPackStageBytesMin}),
                         [](const auto& fuzz_case) { return fuzz_case.param.name; });

}  // namespace
}  // namespace mezz
