// SPDX-License-Identifier: Apache-2.0
// Blocks that wait to be packed: seen like stored ones, and never stored once they were erased or put anew.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>

#include "cache/pack/staged_blocks.h"
#include "tests/support/tier_fixture.h"

namespace mezz {
namespace {

using test::Key;
using test::PackablePayload;

constexpr size_t kBytes = 4000;
constexpr uint64_t kKey = 1;

// The thread is woken for 16 of 64 units: a few blocks stay staged until Drain.
class PackStageTest : public testing::Test {
 protected:
  void SetUp() override { Open(kUsualPackStageBytes); }
  void TearDown() override {
    if (tier_ != nullptr) test::ExpectSound(*tier_);
  }
  void Open(uint64_t stage_bytes) { Open(test::AnonymousOptions(16 * kSegmentBytesMin), stage_bytes); }
  void Open(ScmOptions options, uint64_t stage_bytes) {
    options.pack = PackMode::kLz4;
    options.pack_stage_bytes = stage_bytes;
    tier_ = test::OpenOrDie(options);
  }
  PutResult Put(uint64_t n, uint64_t version = 0, Form form = Form::kPacked, size_t bytes = kBytes) {
    return tier_->Put(Key(n), BlockRole::kData, PackablePayload(n, version, bytes), Generation::kYoung, form);
  }
  bool Serves(uint64_t n, uint64_t version = 0, size_t bytes = kBytes) {
    const PinnedBlock found = tier_->Find(Key(n));
    return found && test::BytesOf(found) == PackablePayload(n, version, bytes);
  }
  uint64_t Count(Event event) { return tier_->counters().Snapshot()[event]; }
  Held Compare(uint64_t version, size_t bytes = kBytes) {
    return tier_->Compare(Key(kKey), bytes, SpanSource{PackablePayload(kKey, version, bytes)});
  }

  std::unique_ptr<ScmTier> tier_;
};

TEST_F(PackStageTest, AStagedBlockIsSeenAndThenStored) {
  ASSERT_EQ(Put(kKey), PutResult::kStored);
  EXPECT_EQ(tier_->figures().resident_blocks(), 0u);
  EXPECT_EQ(Count(Event::kScmPut), 0u);
  {
    const PinnedBlock found = tier_->Find(Key(kKey));
    ASSERT_TRUE(found && found.staged());
    EXPECT_TRUE(test::Same(found.payload(), PackablePayload(kKey, 0, kBytes)));
    EXPECT_EQ(found.heat(), 1);
  }
  EXPECT_TRUE(tier_->Contains(Key(kKey)));
  EXPECT_FALSE(tier_->Contains(Key(kKey + 1)));
  EXPECT_EQ(Compare(0), Held::kSame);
  EXPECT_EQ(Compare(1), Held::kOther);
  EXPECT_EQ(Compare(0, kBytes - 1), Held::kOther);
  EXPECT_TRUE(tier_->NoteDramEviction(Key(kKey)));
  int visited = 0;
  tier_->figures().ForEach(
      [&](const BlockKey& key, size_t bytes, BlockRole) { visited += key == Key(kKey) && bytes == kBytes ? 1 : 2; });
  EXPECT_EQ(visited, 1);

  tier_->Drain();
  const PinnedBlock found = tier_->Find(Key(kKey));
  ASSERT_TRUE(found && !found.staged());
  EXPECT_EQ(found.form(), Form::kPacked);
  EXPECT_EQ(found.heat(), 2) << "hits in the stage count";
  EXPECT_TRUE(Serves(kKey));
  EXPECT_EQ(Count(Event::kScmPackedPut), 1u);
  EXPECT_EQ(tier_->figures().staged_puts(), 1u);
}

TEST_F(PackStageTest, AnErasedBlockIsNeverStored) {
  Put(kKey);
  EXPECT_TRUE(tier_->Erase(Key(kKey)));
  EXPECT_FALSE(tier_->Erase(Key(kKey)));
  Put(kKey + 1);
  tier_->EraseAll();
  Put(kKey + 2);
  ASSERT_TRUE(tier_->SetCapacity(0).ok());
  for (int drained = 0; drained < 2; ++drained, tier_->Drain()) {
    for (uint64_t n = kKey; n < kKey + 3; ++n) EXPECT_FALSE(tier_->Find(Key(n))) << n;
  }
  EXPECT_EQ(tier_->figures().resident_blocks(), 0u);
  EXPECT_EQ(Count(Event::kScmPut), 0u);
  EXPECT_EQ(tier_->figures().staged_puts(), 3u);
}

TEST_F(PackStageTest, OfSeveralPutsTheLastIsFoundAndStored) {
  uint64_t version = 0;
  for (const bool stored : {false, true}) {
    for (const Form older : {Form::kRaw, Form::kPacked}) {
      for (const Form newer : {Form::kRaw, Form::kPacked}) {
        ASSERT_EQ(Put(kKey, ++version, older), PutResult::kStored);
        if (stored) tier_->Drain();
        ASSERT_EQ(Put(kKey, ++version, newer), PutResult::kStored);
        EXPECT_TRUE(Serves(kKey, version));
        tier_->Drain();
        EXPECT_TRUE(Serves(kKey, version));
      }
    }
  }
  tier_->Erase(Key(kKey));
  EXPECT_FALSE(tier_->Find(Key(kKey)));
}

TEST_F(PackStageTest, APinnedBlockStaysWhatEverBecomesOfIt) {
  Put(kKey);
  const PinnedBlock erased = tier_->Find(Key(kKey));
  tier_->Erase(Key(kKey));
  Put(kKey, 1);
  const PinnedBlock stored = tier_->Find(Key(kKey));
  ASSERT_TRUE(erased.staged() && stored.staged());
  for (uint64_t n = 100; n < 1000; ++n) Put(n);  // goes round in all the units
  tier_->Drain();
  EXPECT_TRUE(test::Same(erased.payload(), PackablePayload(kKey, 0, kBytes)));
  EXPECT_TRUE(test::Same(stored.payload(), PackablePayload(kKey, 1, kBytes)));
  EXPECT_EQ(tier_->Audit().live_pins, 2u);
}

TEST_F(PackStageTest, ABlockOfAForgottenFileIsNotStored) {
  Put(kKey);
  tier_->ForgetFile(Key(kKey).file());
  tier_->Drain();
  EXPECT_EQ(Count(Event::kRefusedDeadFile), 1u);
  EXPECT_FALSE(tier_->Find(Key(kKey)));
  Put(kKey);  // revived by the miss
  tier_->Drain();
  EXPECT_TRUE(Serves(kKey));
}

TEST_F(PackStageTest, WhatIsInDramIsStoredSo) {
  Put(kKey);
  tier_->NotePromoted(Key(kKey));
  tier_->Drain();
  EXPECT_TRUE(tier_->NoteDramEviction(Key(kKey)));
}

TEST_F(PackStageTest, ASourceThatFailsStagesNothing) {
  const auto fails = [](size_t, size_t, std::byte*) { return false; };
  EXPECT_EQ(tier_->Put(Key(kKey), BlockRole::kData, kBytes, fails, Generation::kYoung, Form::kPacked),
            PutResult::kFillFailed);
  EXPECT_FALSE(tier_->Find(Key(kKey)));
  tier_->Drain();
  EXPECT_EQ(Count(Event::kScmPut), 0u);
}

TEST_F(PackStageTest, BlocksThatAreTooLargeOrDoNotPackGoTheOldWay) {
  EXPECT_EQ(Put(kKey, 0, Form::kPacked, 200'000), PutResult::kStored);
  EXPECT_EQ(tier_->figures().unstaged_puts(), 1u);
  EXPECT_TRUE(Serves(kKey, 0, 200'000));
  EXPECT_EQ(tier_->Put(Key(2), BlockRole::kIndex, PackablePayload(2, 0, kBytes), Generation::kYoung, Form::kPacked),
            PutResult::kStored);
  EXPECT_EQ(tier_->figures().staged_puts(), 0u);
  const auto random = test::Payload(3, 0, kBytes);
  EXPECT_EQ(tier_->Put(Key(3), BlockRole::kData, random, Generation::kYoung, Form::kPacked), PutResult::kStored);
  tier_->Drain();
  EXPECT_EQ(test::BytesOf(tier_->Find(Key(3))), random);
  EXPECT_EQ(Count(Event::kPackRejected), 1u);
}

TEST_F(PackStageTest, IsPartOfTheDramThatIsReported) {
  const uint64_t with = tier_->figures().dram().packing, needed = ScmTier::DramNeeded(tier_->options()).packing;
  Open(0);
  EXPECT_GE(with, tier_->figures().dram().packing + kUsualPackStageBytes);
  EXPECT_GE(needed, ScmTier::DramNeeded(tier_->options()).packing + kUsualPackStageBytes);
  Put(kKey);
  EXPECT_EQ(tier_->figures().resident_blocks(), 1u) << "no stage: each put packs";
}

TEST_F(PackStageTest, RefusesASizeThatNoStageHas) {
  ScmOptions options = tier_->options();
  for (const uint64_t bytes : {kPackStageBytesMin - 1, kPackStageBytesMax + 1}) {
    options.pack_stage_bytes = bytes;
    EXPECT_NE(options.Validate().message().find("pack_stage_bytes="), std::string::npos);
  }
}

TEST_F(PackStageTest, AForkedChildStagesNothingAndWaitsForNobody) {
  Put(kKey);
  const PinnedBlock pinned = tier_->Find(Key(kKey));
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    int wrong = Put(2) != PutResult::kNoSpace || tier_->Find(Key(kKey)) || tier_->Erase(Key(kKey)) ? 1 : 0;
    tier_->EraseAll();
    tier_->Drain();
    tier_->figures().ForEach([&](const BlockKey&, size_t, BlockRole) { wrong = 1; });
    tier_.release();  // the pin is older than the child
    _exit(wrong);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
  tier_->Drain();
  EXPECT_TRUE(Serves(kKey));
}

#ifdef MEZZ_TEST_HOOKS
// What runs where a block of that name's test point is.
std::atomic<const char*> g_point{nullptr};
std::function<void()> g_intrusion;

void Reached(const char* name) {
  const char* point = g_point.load(std::memory_order_acquire);
  if (point == nullptr || std::string_view(name) != point) return;
  g_point.store(nullptr, std::memory_order_relaxed);
  g_intrusion();
}

class Intrusion {
 public:
  Intrusion(const char* point, std::function<void()> intrusion) {
    g_intrusion = std::move(intrusion);
    g_point.store(point, std::memory_order_release);
    g_test_point_hook.store(Reached, std::memory_order_release);
  }
  ~Intrusion() { g_test_point_hook.store(nullptr, std::memory_order_release); }
  bool ran() const { return g_point.load(std::memory_order_relaxed) == nullptr; }
};

constexpr const char* kFilled = "staged block filled";     // by the put, not staged yet
constexpr const char* kWritten = "staged block written";   // by the thread, not published yet
constexpr const char* kAtOnce = "unstaged block written";  // by a put that does not stage, not published yet

TEST_F(PackStageTest, AnEraseWhileItIsFilledOrPackedIsFinal) {
  for (const char* point : {kFilled, kWritten}) {
    const Intrusion intrusion(point, [&] { EXPECT_TRUE(tier_->Erase(Key(kKey))); });
    Put(kKey);
    tier_->Drain();
    EXPECT_TRUE(intrusion.ran());
    EXPECT_FALSE(tier_->Find(Key(kKey))) << point;
    EXPECT_EQ(tier_->figures().resident_blocks(), 0u) << point;
  }
}

TEST_F(PackStageTest, APutWhileTheOlderOneIsPackedWins) {
  for (const Form form : {Form::kRaw, Form::kPacked}) {
    const Intrusion intrusion(kWritten, [&] { EXPECT_EQ(Put(kKey, 1, form), PutResult::kStored); });
    Put(kKey);
    tier_->Drain();
    EXPECT_TRUE(intrusion.ran());
    EXPECT_TRUE(Serves(kKey, 1));
    tier_->Drain();
    EXPECT_TRUE(Serves(kKey, 1));
    tier_->Erase(Key(kKey));
  }
}

// Two puts at once: one of them stays, and only one.
TEST_F(PackStageTest, OfTwoPutsAtOnceOneStays) {
  struct Case {
    const char* point;
    Form first, second;
  };
  constexpr Case kCases[] = {{kFilled, Form::kPacked, Form::kRaw},
                             {kFilled, Form::kPacked, Form::kPacked},
                             {kAtOnce, Form::kRaw, Form::kPacked}};
  for (const auto& [point, first, second] : kCases) {
    const Intrusion intrusion(point, [&, form = second] { Put(kKey, 1, form); });
    Put(kKey, 0, first);
    EXPECT_TRUE(intrusion.ran());
    const PinnedBlock before = tier_->Find(Key(kKey));
    const auto found = before ? test::BytesOf(before) : std::vector<std::byte>();
    tier_->Drain();
    const PinnedBlock after = tier_->Find(Key(kKey));
    EXPECT_EQ(after ? test::BytesOf(after) : std::vector<std::byte>(), found);
    tier_->Erase(Key(kKey));
    EXPECT_FALSE(tier_->Find(Key(kKey)));
  }
}

// On a medium that remembers it must not get into a segment of this life; who erases does not wait for what is staged.
TEST_F(PackStageTest, WhatIsPackedWhileAllIsErasedStaysAway) {
  const test::ScratchFile file;
  for (const EraseMode erase : {EraseMode::kVolatile, EraseMode::kDurable}) {
    ScmOptions options = test::WarmOptions(file.path(), 16 * kSegmentBytesMin);
    options.erase = erase;
    Open(options, kUsualPackStageBytes);
    const Intrusion intrusion("staged block packed", [&] { tier_->EraseAll(); });
    for (uint64_t n = 0; n < 8; ++n) Put(n);
    tier_->Drain();
    EXPECT_TRUE(intrusion.ran());
    EXPECT_EQ(Count(Event::kScmWrittenBytes), 0u);
    for (uint64_t n = 0; n < 8; ++n) EXPECT_FALSE(tier_->Contains(Key(n))) << n;
    test::ExpectSound(*tier_);
    tier_.reset();
  }
}

TEST_F(PackStageTest, AHitWhileItIsPackedIsServed) {
  PinnedBlock found;
  const Intrusion intrusion(kWritten, [&] { found = tier_->Find(Key(kKey)); });
  Put(kKey);
  tier_->Drain();
  ASSERT_TRUE(found && found.staged());
  EXPECT_TRUE(test::Same(found.payload(), PackablePayload(kKey, 0, kBytes)));
  found.Release();
}

// The thread is held, and puts go on.
TEST_F(PackStageTest, NobodyWaitsForTheThread) {
  std::atomic<bool> go{false};
  const Intrusion intrusion(kWritten, [&] { go.wait(false, std::memory_order_acquire); });
  for (uint64_t n = 0; n < 300; ++n) ASSERT_EQ(Put(n), PutResult::kStored);
  EXPECT_EQ(tier_->figures().staged_puts(), uint64_t{StagedBlocks::kUnits});
  EXPECT_EQ(tier_->figures().unstaged_puts(), 300u - StagedBlocks::kUnits);
  for (uint64_t n = 0; n < 300; ++n) ASSERT_TRUE(Serves(n)) << n;
  go.store(true, std::memory_order_release);
  go.notify_one();
  tier_->Drain();
  for (uint64_t n = 0; n < 300; ++n) ASSERT_TRUE(Serves(n)) << n;
  EXPECT_EQ(Count(Event::kScmPut), 300u);
}
#endif

}  // namespace
}  // namespace mezz
