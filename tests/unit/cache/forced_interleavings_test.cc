// SPDX-License-Identifier: Apache-2.0
// A put stopped at each of its test points in turn, where the tier closes or is switched off: what two threads do once
// in a million turns, every time. Of what befalls one record meanwhile index_test.cc has the single steps, and
// check/scm_tier_check_test.cc all orders. Needs MEZZ_TEST_HOOKS (every developer's build but Release).
#include <gtest/gtest.h>

#include <functional>
#include <string_view>
#include <utility>

#include "tests/support/tier_fixture.h"

namespace mezz {
namespace {

std::function<void()> g_intrusion;
int g_points_left = 0;

void Reached(const char*) {
  if (--g_points_left != 0) return;
  const auto intrusion = std::exchange(g_intrusion, nullptr);
  intrusion();
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
    EXPECT_EQ(tier->figures().is_closed(), reached);
    if (!reached) {
      EXPECT_GE(point, 3);
      return;
    }
    EXPECT_FALSE(tier->Find(test::Key(2)));
    EXPECT_EQ(tier->figures().resident_blocks(), 0u);
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
    EXPECT_TRUE(tier->figures().is_closed());
    EXPECT_FALSE(tier->Find(test::Key(2)));
    EXPECT_EQ(tier->figures().resident_blocks(), 0u);
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
  EXPECT_EQ(tier->figures().resident_blocks(), 0u);
  test::ExpectSound(*tier);
}

}  // namespace
}  // namespace mezz
