// SPDX-License-Identifier: Apache-2.0
// The DRAM that plans set aside beside blocks is what the structures take.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <tuple>

#include "admission/policy.h"
#include "workloads/plan/judge.h"

namespace mezz::plan {
namespace {

constexpr uint64_t kMiB = 1 << 20;

TEST(OwnDram, IsWhatIndexAndPolicyTake) {
  for (const auto& [dram, scm, packs] : {std::tuple{16, 192, false},
                                         {24, 96, false},
                                         {48, 128, false},
                                         {64, 2048, false},
                                         {512, 1024, false},
                                         {16, 192, true},
                                         {24, 96, true},
                                         {48, 128, true}}) {
    SCOPED_TRACE(fmt::format("{} MiB + {} MiB, packs {}", dram, scm, packs));
    std::unique_ptr<Policy> policy;
    PolicyOptions options;
    options.dram_bytes = dram * kMiB;
    options.scm_bytes = scm * kMiB;
    options.packs = packs;
    ASSERT_TRUE(MakePolicy("adaptive", options, &policy).ok());
    // The grown index, hit bits, and what the objects take, as the live cache counts them (counters, dram.*_bytes).
    const double index = 9.4 * scm * kMiB / 4096, hit_bits = 4.5 * dram * kMiB / 4096, rest = 125'000;
    const double workspace = packs ? 11'992 : 0;
    const double taken =
        (packs ? 2.25 : 1) * index + workspace + hit_bits + rest + static_cast<double>(policy->dram_bytes());
    Traffic traffic;
    traffic.pack = packs ? "lz4" : "off";
    EXPECT_NEAR(OwnDramBytes(traffic, dram * kMiB, scm * kMiB, 1), taken, 0.15 * taken);
  }
}

// Inline memory lies below a hybrid cache; the others have no structures of ours.
TEST(OwnDram, WhatElseABuyerCouldHaveHasNone) {
  Traffic traffic;
  const double hybrid = OwnDramBytes(traffic, 64 * kMiB, 256 * kMiB, 2);
  for (const char* const policy : {"memory_mode", "compressed", "page_cache", "naive_scm", "inline_memory"}) {
    traffic.policy = policy;
    EXPECT_EQ(OwnDramBytes(traffic, 64 * kMiB, 256 * kMiB, 2), traffic.policy == "inline_memory" ? hybrid : 0)
        << policy;
  }
}

TEST(OwnDram, DramAloneHasNone) { EXPECT_EQ(OwnDramBytes(Traffic(), 1e9, 0, 2), 0); }

}  // namespace
}  // namespace mezz::plan
