// SPDX-License-Identifier: Apache-2.0
// Every policy from many threads at once: decisions stay legal, memory stays what it was. Meant for TSan.
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "admission/policy.h"
#include "tests/support/seed.h"

namespace mezz {
namespace {

constexpr int kThreads = 4;
constexpr int kCalls = 60'000;
constexpr uint64_t kKeys = 4000;

enum class Question : uint8_t { kMiss, kDramEviction, kScmHit, kReclaim, kCount };

bool IsLegal(Question question, const BlockFacts& block, const Decision& decision) {
  if (decision.reason >= Reason::kCount) return false;
  const Action action = decision.action;
  if (decision.proven && action != Action::kToScm) return false;
  switch (question) {
    case Question::kMiss:
      return action == Action::kToDram || action == Action::kToScm || action == Action::kBypass;
    case Question::kDramEviction:
      // What SCM holds already is kept; what it does not hold cannot be.
      return block.in_scm ? action == Action::kKeep : action == Action::kToScm || action == Action::kDrop;
    case Question::kScmHit:
      return action == Action::kInPlace || action == Action::kPromote || action == Action::kMove;
    case Question::kReclaim:
      return action == Action::kDrop || (action == Action::kSpare && !block.in_dram);
    case Question::kCount:
      break;
  }
  return false;
}

BlockFacts AnyFacts(std::mt19937_64& random) {
  const uint64_t bits = random();
  return {.key = {{7, std::min(random() % kKeys, random() % kKeys)}},
          .role = static_cast<BlockRole>((bits >> 32) % kBlockRoles),
          .bytes = bits % 16 == 0 ? static_cast<uint32_t>(random()) : 4096,
          .was_hit_in_dram = (bits & 0x10) != 0,
          .in_scm = (bits & 0x20) != 0,
          .in_dram = (bits & 0x40) != 0,
          .by_compaction = (bits & 0x380) == 0,
          .proven = (bits & 0x400) != 0,
          .scm_heat = static_cast<uint8_t>(bits >> 11 & 3)};
}

Decision Ask(Policy* policy, Question question, const BlockFacts& block) {
  switch (question) {
    case Question::kMiss:
      return policy->OnMiss(block);
    case Question::kDramEviction:
      return policy->OnDramEviction(block);
    case Question::kScmHit:
      return policy->OnScmHit(block);
    default:
      return policy->OnReclaim(block);
  }
}

class PolicyStress : public testing::TestWithParam<std::string_view> {};

TEST_P(PolicyStress, AnswersLegallyFromManyThreadsAndKeepsItsMemory) {
  const uint64_t seed = test::Seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::atomic<uint64_t> now_ns{1};
  PolicyOptions options;
  options.dram_bytes = 500 * 4096;
  options.scm_bytes = 2000 * 4096;
  options.write_budget_bytes_per_second = 200'000'000;
  options.now_ns = [&now_ns] { return now_ns.fetch_add(10'000, std::memory_order_relaxed); };
  options.seed = seed;
  std::unique_ptr<Policy> policy;
  ASSERT_TRUE(MakePolicy(GetParam(), options, &policy).ok());
  const size_t bytes = policy->dram_bytes();
  std::atomic<uint64_t> illegal{0}, diverted{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937_64 random(seed + static_cast<uint64_t>(t));
      uint64_t wrong = 0, away = 0;
      for (int i = 0; i < kCalls; ++i) {
        if (random() % 16 == 0) policy->OnDramHits(random() % 200);
        if (random() % 4096 == 0) policy->OnCapacity(random() % (8 * options.dram_bytes), random() % options.scm_bytes);
        const auto question = static_cast<Question>(random() % static_cast<uint64_t>(Question::kCount));
        const BlockFacts block = AnyFacts(random);
        const Decision decision = Ask(policy.get(), question, block);
        wrong += !IsLegal(question, block, decision);
        away += question == Question::kMiss && decision.action != Action::kToDram;
      }
      illegal.fetch_add(wrong, std::memory_order_relaxed);
      diverted.fetch_add(away, std::memory_order_relaxed);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(illegal.load(std::memory_order_relaxed), 0u);
  if (!policy->may_divert_misses()) {
    EXPECT_EQ(diverted.load(std::memory_order_relaxed), 0u);
  }
  EXPECT_EQ(policy->dram_bytes(), bytes);
  // And it is still of use: asked by one thread, it answers as before.
  std::mt19937_64 random(seed);
  for (int i = 0; i < 1000; ++i) {
    const auto question = static_cast<Question>(i % static_cast<int>(Question::kCount));
    const BlockFacts block = AnyFacts(random);
    ASSERT_TRUE(IsLegal(question, block, Ask(policy.get(), question, block)));
  }
}
INSTANTIATE_TEST_SUITE_P(All, PolicyStress, testing::ValuesIn(PolicyNames()),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace mezz
