// SPDX-License-Identifier: Apache-2.0
// One operation stopped at each of its test points in turn, where another one runs from start to end: what two threads
// do once in a million turns, every time. Needs MEZZ_TEST_HOOKS (every developer's build but Release).
#include <gtest/gtest.h>

#include <functional>

#include "cache/reclaimer.h"
#include "tests/support/core_fixture.h"

namespace mezz {
namespace {

using test::Core;

constexpr uint64_t kKey = 5000;
constexpr size_t kOld = 14'000, kNew = 13'000;  // the payload's size tells the version

class World {
 public:
  // The key's record is the first that reclaim will meet, and hot: it will be moved.
  World() {
    EXPECT_TRUE(core.Put(kKey, kOld, /*heat=*/2));
    for (uint64_t key = 1; core.log.space().free_segments() > 2; ++key) EXPECT_TRUE(core.Put(key, kOld));
  }
  ~World() {
    core.ExpectSound();
    EXPECT_EQ(core.log.PinnedSegments(), 0u) << "a pin leaked";
    uint64_t words = 0;  // of the key
    for (uint64_t slot = 0; slot < core.index.slots(); ++slot) {
      const IndexWord word = core.index.At(slot).word;
      if (!word.empty() && core.reader.HeaderOf(word).key == test::Key(kKey)) ++words;
    }
    EXPECT_LE(words, 1u) << "two records of one key";
  }
  void Move() { reclaimer.Step(64); }
  void Touch() {
    const IndexWord word = core.Find(kKey);
    if (!word.empty()) core.index.Touch(core.index.FindLine(core.index.Hash(test::Key(kKey)), word.line()), 3);
  }
  void Erase() {
    const BlockKey key = test::Key(kKey);
    KeyReader reader(core.reader, key);
    core.index.Erase(core.index.Hash(key), reader, [](IndexWord) {});
  }
  // 0: a miss.
  size_t Find() {
    const IndexWord word = core.Find(kKey);
    return word.empty() ? 0 : core.reader.HeaderOf(word).payload_bytes;
  }

  Core core{8};
  Reclaimer reclaimer{{.medium = core.medium, .log = &core.log, .index = &core.index, .counters = &core.counters}};
};

struct Operation {
  const char* name;
  std::function<void(World&)> run;
};
const Operation kMove{"move", [](World& world) { world.Move(); }};
const Operation kTouch{"touch", [](World& world) { world.Touch(); }};
const Operation kErase{"erase", [](World& world) { world.Erase(); }};
const Operation kReplace{"put", [](World& world) { EXPECT_TRUE(world.core.Put(kKey, kNew)); }};

std::function<void()> g_intrusion;
int g_points_left = 0;

void Reached(const char*) {
  if (--g_points_left != 0) return;
  const auto intrusion = std::exchange(g_intrusion, nullptr);
  intrusion();
}

// Runs `operation` once for each test point it reaches, with `intrusion` there, and `expect` after it. Returns how
// many points there were.
int AtEachPoint(const Operation& operation, const Operation& intrusion, const std::function<void(World&)>& expect) {
  for (int point = 1;; ++point) {
    SCOPED_TRACE(std::string(intrusion.name) + " at test point " + std::to_string(point) + " of " + operation.name);
    World world;
    g_points_left = point;
    g_intrusion = [&] { intrusion.run(world); };
    g_test_point_hook.store(Reached, std::memory_order_release);
    operation.run(world);
    g_test_point_hook.store(nullptr, std::memory_order_release);
    if (g_intrusion != nullptr) return point - 1;
    expect(world);
  }
}

TEST(Forced, AFindSeesARecordThatMovesOrIsTouched) {  // number 1
  const Operation find{"find", [](World& world) { EXPECT_EQ(world.Find(), kOld); }};
  for (const Operation& intrusion : {kMove, kTouch}) {
    EXPECT_GT(AtEachPoint(find, intrusion, [](World& world) { EXPECT_EQ(world.Find(), kOld); }), 0);
  }
}

TEST(Forced, AnErasedRecordStaysErasedThoughItMovesOrIsTouched) {
  for (const Operation& intrusion : {kMove, kTouch}) {
    EXPECT_GT(AtEachPoint(kErase, intrusion, [](World& world) { EXPECT_EQ(world.Find(), 0u); }), 0);
  }
}

TEST(Forced, APutLeavesOneRecordThoughTheOldOneMovesOrIsTouchedOrErased) {  // number 7
  for (const Operation& intrusion : {kMove, kTouch}) {
    EXPECT_GT(AtEachPoint(kReplace, intrusion, [](World& world) { EXPECT_EQ(world.Find(), kNew); }), 1);
  }
  const auto new_or_none = [](World& world) { EXPECT_TRUE(world.Find() == kNew || world.Find() == 0); };
  EXPECT_GT(AtEachPoint(kReplace, kErase, new_or_none), 1);
  EXPECT_GT(AtEachPoint(kReplace, kReplace, new_or_none), 1);
}

TEST(Forced, AMoveBringsNothingBack) {
  EXPECT_GT(AtEachPoint(kMove, kErase, [](World& world) { EXPECT_EQ(world.Find(), 0u); }), 1);
  EXPECT_GT(AtEachPoint(kMove, kReplace, [](World& world) { EXPECT_EQ(world.Find(), kNew); }), 1);
  EXPECT_GT(AtEachPoint(kMove, kTouch, [](World& world) { EXPECT_EQ(world.Find(), kOld); }), 1);
}

// Both at once, as number 7 was forced: the word is touched before its replacement and moves before it is settled.
TEST(Forced, APutLeavesOneRecordThoughTheOldOneIsTouchedAndThenMoves) {
  int points = 2;
  for (int touch = 1; touch < points; ++touch) {
    for (int move = touch + 1;; ++move) {
      SCOPED_TRACE("touched at " + std::to_string(touch) + ", moved at " + std::to_string(move));
      World world;
      g_points_left = touch;
      g_intrusion = [&] {
        world.Touch();
        g_points_left = move - touch;
        g_intrusion = [&] { world.Move(); };
      };
      g_test_point_hook.store(Reached, std::memory_order_release);
      kReplace.run(world);
      g_test_point_hook.store(nullptr, std::memory_order_release);
      if (g_intrusion != nullptr) break;
      points = std::max(points, move);
      EXPECT_EQ(world.Find(), kNew);
    }
  }
  EXPECT_GT(points, 2);
}

// The last fault is met while a put goes on, at each of its test points.
TEST(ForcedInterleavings, WhatIsPutWhileTheTierClosesIsNotFound) {
  for (int point = 1;; ++point) {
    SCOPED_TRACE("test point " + std::to_string(point));
    ScmOptions options = test::AnonymousOptions(16 * kSegmentBytesMin);
    options.verify = VerifyMode::kAlways;
    options.faults_max = 1;
    const auto tier = test::OpenOrDie(options);
    ASSERT_EQ(tier->Put(test::Key(1), BlockRole::kData, test::Payload(1, 0, 4000)), PutResult::kStored);
    const_cast<std::byte&>(tier->Find(test::Key(1)).payload()[99]) ^= std::byte{1};
    g_intrusion = [&] { EXPECT_FALSE(tier->Find(test::Key(1))); };
    g_points_left = point;
    g_test_point_hook.store(Reached, std::memory_order_release);
    tier->Put(test::Key(2), BlockRole::kData, test::Payload(2, 0, 4000));
    g_test_point_hook.store(nullptr, std::memory_order_release);
    const bool reached = g_intrusion == nullptr;
    g_intrusion = nullptr;
    EXPECT_EQ(tier->is_closed(), reached);
    if (!reached) {
      EXPECT_GE(point, 3);
      return;
    }
    EXPECT_FALSE(tier->Find(test::Key(2)));
    EXPECT_EQ(tier->resident_blocks(), 0u);
    test::ExpectSound(*tier);
  }
}

TEST(ForcedInterleavings, WhatIsStagedWhileTheTierClosesIsNotFound) {
  for (const char* const point : {"staged block filled", "staged block written"}) {
    SCOPED_TRACE(point);
    ScmOptions options = test::AnonymousOptions(16 * kSegmentBytesMin);
    options.verify = VerifyMode::kAlways;
    options.faults_max = 1;
    options.pack = PackMode::kLz4;
    options.pack_stage_bytes = kPackStageBytesMin;
    const auto tier = test::OpenOrDie(options);
    ASSERT_EQ(tier->Put(test::Key(1), BlockRole::kData, test::Payload(1, 0, 4000)), PutResult::kStored);
    const_cast<std::byte&>(tier->Find(test::Key(1)).payload()[99]) ^= std::byte{1};
    static std::string_view where;
    where = point;
    g_intrusion = [&] { EXPECT_FALSE(tier->Find(test::Key(1))); };
    g_test_point_hook.store(
        [](const char* name) {
          if (name == where && g_intrusion) std::exchange(g_intrusion, nullptr)();
        },
        std::memory_order_release);
    tier->Put(test::Key(2), BlockRole::kData, test::PackablePayload(2, 0, 4000), Generation::kYoung, Form::kPacked);
    if (where == "staged block filled") {
      EXPECT_FALSE(tier->Find(test::Key(2)));
    }
    tier->Drain();
    g_test_point_hook.store(nullptr, std::memory_order_release);
    EXPECT_FALSE(g_intrusion) << "it was not reached";
    EXPECT_TRUE(tier->is_closed());
    EXPECT_FALSE(tier->Find(test::Key(2)));
    EXPECT_EQ(tier->resident_blocks(), 0u);
    test::ExpectSound(*tier);
  }
}

// As an erase of all, and nothing of it would be woken for, or reclaimed, later.
TEST(ForcedInterleavings, WhatIsStagedWhileTheTierIsSwitchedOffIsNotFound) {
  ScmOptions options = test::AnonymousOptions(16 * kSegmentBytesMin);
  options.pack = PackMode::kLz4;
  options.pack_stage_bytes = kPackStageBytesMin;
  const auto tier = test::OpenOrDie(options);
  g_intrusion = [&] { EXPECT_TRUE(tier->SetCapacity(0).ok()); };
  // Behind its own look at the capacity, before it has its place in the stage.
  g_test_point_hook.store(
      [](const char* name) {
        if (std::string_view(name) == "stage reserves" && g_intrusion) std::exchange(g_intrusion, nullptr)();
      },
      std::memory_order_release);
  tier->Put(test::Key(2), BlockRole::kData, test::PackablePayload(2, 0, 4000), Generation::kYoung, Form::kPacked);
  g_test_point_hook.store(nullptr, std::memory_order_release);
  EXPECT_FALSE(g_intrusion) << "it was not reached";
  EXPECT_FALSE(tier->Find(test::Key(2)));
  EXPECT_EQ(tier->resident_blocks(), 0u);
  test::ExpectSound(*tier);
}

}  // namespace
}  // namespace mezz
