// SPDX-License-Identifier: Apache-2.0
#include "admission/dram_window.h"

#include <gtest/gtest.h>

#include "tests/support/random.h"

namespace mezz {
namespace {

using test::Mix;  // keys are numbered; what is told must be well mixed

constexpr uint64_t kDramBlocks = 200;

void Evict(DramWindow* window, uint64_t times, uint64_t one_hit_in = 0) {
  for (uint64_t i = 0; i < times; ++i) window->OnEviction(Mix(i), one_hit_in != 0 && i % one_hit_in == 0);
}

// 1: every key is sampled; 64: DRAM is so much larger.
class DramWindowTest : public ::testing::TestWithParam<uint64_t> {
 protected:
  void Close() {
    Evict(&window_, 5000 * scale_);
    ASSERT_TRUE(window_.closed());
  }
  // Asks for each of `keys` in turn, over and over.
  uint64_t AdmittedOfLoop(uint64_t keys, uint64_t accesses) {
    uint64_t admitted = 0;
    for (uint64_t i = 0; i < accesses; ++i) admitted += window_.Admits(Mix(i % keys));
    return admitted;
  }
  const uint64_t scale_ = GetParam();
  DramWindow window_{kDramBlocks * scale_};
};

TEST_P(DramWindowTest, IsOpenAtFirstAndWhileOneInTenIsHit) {
  EXPECT_TRUE(window_.Admits(Mix(1)));
  Evict(&window_, 20'000 * scale_, /*one_hit_in=*/10);
  EXPECT_FALSE(window_.closed());
}

TEST_P(DramWindowTest, ClosesWhereNewcomersAreNotHit) {
  Close();
  const uint64_t accesses = 300'000 * scale_;
  const auto probes = static_cast<double>(accesses) / DramWindow::kProbes;
  EXPECT_NEAR(static_cast<double>(AdmittedOfLoop(10 * kDramBlocks * scale_, accesses)), probes, probes / 2 + 20);
  EXPECT_TRUE(window_.closed()) << "what comes back later than DRAM would have kept it is no regret";
}

TEST_P(DramWindowTest, OpensWhereNewcomersWouldHaveBeenHit) {
  Close();
  AdmittedOfLoop(kDramBlocks * scale_ / 2, 5 * kDramBlocks * scale_);
  EXPECT_FALSE(window_.closed());
  Evict(&window_, 50 * scale_);
  EXPECT_FALSE(window_.closed()) << "it is trusted for a while";
}

TEST_P(DramWindowTest, FollowsTheSizeOfDram) {
  Close();
  const uint64_t loop = 4 * kDramBlocks * scale_;
  AdmittedOfLoop(loop, 10 * loop);
  ASSERT_TRUE(window_.closed());
  window_.SetCapacity(2 * loop);
  AdmittedOfLoop(loop, 10 * loop);
  EXPECT_FALSE(window_.closed());
}
INSTANTIATE_TEST_SUITE_P(Scale, DramWindowTest, ::testing::Values(1, 64));

TEST(DramWindow, WorksForOneBlockAndForNone) {
  for (const uint64_t blocks : {0, 1}) {
    DramWindow window(blocks);
    Evict(&window, 5000);
    EXPECT_TRUE(window.closed());
    for (int i = 0; i < 5000; ++i) window.Admits(Mix(7));
    EXPECT_FALSE(window.closed()) << "the same block again and again would stay in one place";
  }
}

}  // namespace
}  // namespace mezz
