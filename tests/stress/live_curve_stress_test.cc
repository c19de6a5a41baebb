// SPDX-License-Identifier: Apache-2.0
// Many threads look blocks up while curves are made. Meant for TSan.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "admission/block_hash.h"
#include "admission/curves/block_key.h"
#include "admission/curves/live_curve.h"
#include "tests/support/random.h"
#include "tests/support/seed.h"

namespace mezz::plan {
namespace {

TEST(LiveCurveStress, EachLookUpIsKeptOrCountedAsDropped) {
  constexpr unsigned kThreads = 4;
  constexpr uint64_t kLookUps = 60'000;  // of a thread
  std::atomic<uint64_t> look_ups{0};
  LiveCurve live({.rate_max = 1,
                  .blocks_max = 512,
                  .look_ups = [&] { return LiveCurve::LookUps{look_ups.load(std::memory_order_relaxed)}; },
                  .now_ns = [&] { return look_ups.load(std::memory_order_relaxed); }});
  std::atomic<unsigned> running{kThreads};
  const auto look_up = [&](unsigned thread) {
    test::Random random(test::Seed() + thread);
    for (uint64_t i = 0; i < kLookUps; ++i) {
      look_ups.fetch_add(1, std::memory_order_relaxed);
      const uint64_t hash = BlockHash(BlockKeyOf(random.Below(i % 16 == 0 ? 1 << 20 : 2000)));
      live.NoteLookUp(hash, BlockRole::kData, [] { return size_t{4096}; });
      live.NoteSize(hash, [] { return size_t{4096}; });
    }
  };
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      look_up(t);
      running.fetch_sub(1, std::memory_order_relaxed);
    });
  }
  do {
    Curve curve;
    (void)live.Make({.name = "live", .dram_bytes = 1 << 20, .scm_bytes = 4 << 20}, &curve);
    EXPECT_LE(live.dram_bytes(), LiveCurve::DramBytesMax(512));
  } while (running.load(std::memory_order_relaxed) != 0);
  for (std::thread& thread : threads) thread.join();
  // Alone: a thread that was interrupted with the samples in its hands may have made the others drop everything.
  look_up(kThreads);
  Curve curve;
  const Status status = live.Make({.name = "live", .dram_bytes = 1 << 20, .scm_bytes = 4 << 20}, &curve);
  EXPECT_TRUE(status.ok()) << status.message();
  // The threshold falls: then some are not looked at.
  EXPECT_LE(live.sampled() + live.dropped(), (kThreads + 1) * kLookUps);
  EXPECT_GT(live.sampled(), 0u);
}

}  // namespace
}  // namespace mezz::plan
