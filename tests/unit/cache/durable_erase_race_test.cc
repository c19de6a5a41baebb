// SPDX-License-Identifier: Apache-2.0
// A durable Erase while the key's block is on its way to a place behind the position that its tombstone names, and an
// EraseAll while one is on its way behind all that it forgets.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <string_view>
#include <thread>
#include <utility>

#include "tests/support/tier_fixture.h"

namespace mezz {
namespace {

using test::Key;
using test::Payload;

constexpr size_t kBytes = 4000;

// Erases once, by another thread, and gives it time to return: it does so only if nothing holds it back.
class Eraser {
 public:
  ~Eraser() { Join(); }
  void Start(const std::function<void()>& erase) {
    if (started_.exchange(true)) return;
    thread_ = std::thread([this, erase] {
      erase();
      returned_.store(true);
    });
    for (int i = 0; i < 20'000 && !returned_.load(); ++i) std::this_thread::yield();
  }
  void Join() {
    if (thread_.joinable()) thread_.join();
  }
  bool started() const { return started_.load(); }

 private:
  std::atomic<bool> started_{false}, returned_{false};
  std::thread thread_;
};

// Reclaim has found the first key's record and is about to copy it.
class ErasingJudge final : public SurvivorJudge {
 public:
  explicit ErasingJudge(std::function<void()> erase) : erase_(std::move(erase)) {}
  Fate Judge(const RecordFacts& record) override {
    if (record.key != Key(1)) return Fate::kDrop;
    eraser_.Start(erase_);
    return Fate::kSpare;
  }
  bool started() const { return eraser_.started(); }
  void Join() { eraser_.Join(); }

 private:
  const std::function<void()> erase_;
  Eraser eraser_;
};

std::function<void(std::string_view)> g_at_point;

class DurableEraseRace : public ::testing::Test {
 protected:
  DurableEraseRace() { options_.erase = EraseMode::kDurable; }
  ~DurableEraseRace() override {
    g_test_point_hook.store(nullptr, std::memory_order_release);
    tier_.reset();
    g_at_point = nullptr;
  }
  void AtPoint(std::string_view point, const std::function<void()>& run) {
    g_at_point = [point, run](std::string_view name) {
      if (name == point) run();
    };
    g_test_point_hook.store([](const char* name) { g_at_point(name); }, std::memory_order_release);
  }
  void PutUntilItErases(ErasingJudge* judge) {
    tier_ = test::OpenOrDie(options_, judge);
    for (uint64_t n = 1; !judge->started(); ++n) {
      ASSERT_LT(n, 10'000u);
      ASSERT_EQ(tier_->Put(Key(n), BlockRole::kData, Payload(n, 0, kBytes)), PutResult::kStored);
    }
    judge->Join();
  }
  void ExpectOfAllToWaitForACopy() {
    ErasingJudge judge([this] { tier_->EraseAll(); });
    PutUntilItErases(&judge);
    ASSERT_EQ(tier_->Put(Key(2), BlockRole::kData, Payload(2, 0, kBytes)), PutResult::kStored);
    ExpectGoneAfterAKill(1);
  }
  void OpenWithAStage() {
    tier_.reset();
    options_.pack = PackMode::kLz4;
    options_.pack_stage_bytes = kPackStageBytesMin;
    tier_ = test::OpenOrDie(options_);
  }
  void PutPacked(uint64_t key) {
    const auto payload = test::PackablePayload(key, 0, kBytes);
    ASSERT_EQ(tier_->Put(Key(key), BlockRole::kData, payload, Generation::kYoung, Form::kPacked), PutResult::kStored);
    tier_->Drain();
  }
  void ExpectGoneAfterAKill(uint64_t key) {
    g_test_point_hook.store(nullptr, std::memory_order_release);
    EXPECT_FALSE(tier_->Contains(Key(key)));
    test::Kill(file_, &tier_);
    tier_ = test::OpenOrDie(options_);
    tier_->WaitUntilRecovered();
    EXPECT_EQ(tier_->recovery().outcome, RecoveryReport::Outcome::kRecovered);
    EXPECT_GT(tier_->figures().resident_blocks(), 0u);
    EXPECT_FALSE(tier_->Contains(Key(key))) << "it came back";
  }

  const test::ScratchFile file_;
  ScmOptions options_ = test::WarmOptions(file_.path(), 8 * kSegmentBytesMin);
  std::unique_ptr<ScmTier> tier_;
};

TEST_F(DurableEraseRace, WaitsForTheCopyThatReclaimMakes) {
  ErasingJudge judge([this] { tier_->Erase(Key(1)); });
  PutUntilItErases(&judge);
  ExpectGoneAfterAKill(1);
}

TEST_F(DurableEraseRace, OfAllWaitsForTheCopyThatReclaimMakes) { ExpectOfAllToWaitForACopy(); }

TEST_F(DurableEraseRace, OfAllWaitsWhereErasesAreVolatileToo) {
  options_.erase = EraseMode::kVolatile;
  ExpectOfAllToWaitForACopy();
}

TEST_F(DurableEraseRace, OfAllWaitsForTheBlockThatTheStageStores) {
  for (const EraseMode erase : {EraseMode::kDurable, EraseMode::kVolatile}) {
    options_.erase = erase;
    OpenWithAStage();
    Eraser eraser;
    AtPoint("staged block wanted", [&] { eraser.Start([this] { tier_->EraseAll(); }); });
    PutPacked(1);
    EXPECT_TRUE(eraser.started());
    eraser.Join();
    PutPacked(2);
    ExpectGoneAfterAKill(1);
  }
}

TEST_F(DurableEraseRace, WaitsForTheBlockThatTheStageStores) {
  OpenWithAStage();
  PutPacked(2);
  Eraser eraser;
  AtPoint("staged block wanted", [&] { eraser.Start([this] { tier_->Erase(Key(1)); }); });
  PutPacked(1);
  EXPECT_TRUE(eraser.started());
  eraser.Join();
  ExpectGoneAfterAKill(1);
}

TEST_F(DurableEraseRace, KeepsTheStageFromStoringWhatIsErased) {
  OpenWithAStage();
  PutPacked(2);
  std::atomic<int> erases{0};
  AtPoint("staged block packed", [&] {
    if (erases.fetch_add(1) == 0) tier_->Erase(Key(1));
  });
  PutPacked(1);
  EXPECT_EQ(erases.load(), 1);
  ExpectGoneAfterAKill(1);
}

}  // namespace
}  // namespace mezz
