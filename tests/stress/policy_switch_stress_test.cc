// SPDX-License-Identifier: Apache-2.0
// Policies are replaced while threads look up, evict and reclaim: nothing is lost that is not a cache's to lose. Meant
// for TSan too: it needs nothing of RocksDB's library at run time but its version.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "integration/hybrid_core.h"
#include "tests/support/tier_fixture.h"

namespace mezz {
namespace {

constexpr int kThreads = 3;
constexpr int kSteps = 30'000;
constexpr uint64_t kKeys = 3000;

size_t BytesOf(uint64_t key) { return 1000 + key % 3000; }

class User {
 public:
  User(HybridCore* core, uint64_t seed) : core_(core), random_(seed) {}

  void Run() {
    for (int i = 0; i < kSteps; ++i) Step(random_() % kKeys);
  }
  uint64_t wrong() const { return wrong_; }
  uint64_t decisions() const { return decisions_; }

 private:
  void Step(uint64_t n) {
    const BlockKey key = test::Key(n);
    if (PinnedBlock block = core_->Find(key, BlockRole::kData)) {
      wrong_ += !test::Same(block.payload(), test::Payload(n, 0, BytesOf(n)));
      const HybridCore::Serve serve = core_->OnScmHit(key, block);
      ++decisions_;
      block.Release();
      if (serve == HybridCore::Serve::kPromote || serve == HybridCore::Serve::kMove)
        core_->OnPromoted(key, BlockRole::kData, serve);
      return;
    }
    const auto payload = test::Payload(n, 0, BytesOf(n));
    const SpanSource source{payload};
    const bool asks = random_() % 2 == 0 && core_->wants_misses();
    if (asks) {
      core_->OnMiss(key, BlockRole::kData, payload.size(), source);
    } else {
      core_->OnDramEviction(key, BlockRole::kData, payload.size(), n % 3 == 0, source);
    }
    ++decisions_;
    core_->dram_hits().Add(BlockRole::kData);
  }

  HybridCore* const core_;
  std::mt19937_64 random_;
  uint64_t wrong_ = 0;
  uint64_t decisions_ = 0;
};

TEST(PolicySwitchStress, EveryPolicyTakesOverWithoutANoise) {
  const uint64_t seed = test::Seed();
  HybridCacheOptions options;
  options.dram_bytes = 1 << 20;
  options.scm = test::AnonymousOptions(16 * kSegmentBytesMin);
  std::unique_ptr<HybridCore> core;
  ASSERT_EQ(HybridCore::Open(options, &core).message(), "");

  std::vector<User> users;
  for (int i = 0; i < kThreads; ++i) users.emplace_back(core.get(), seed + i);
  std::atomic<int> running{kThreads};
  std::vector<std::thread> threads;
  for (User& user : users) {
    threads.emplace_back([&user, &running] {
      user.Run();
      running.fetch_sub(1);
    });
  }
  uint64_t switches = 0;
  while (running.load() != 0) {
    const auto& names = PolicyNames();
    const std::string_view name = names[++switches % names.size()];
    ASSERT_TRUE(core->SetPolicy(name).ok());
    ASSERT_EQ(core->policy_name(), name);
    if (switches % 64 == 0) {
      ASSERT_FALSE(core->Report().empty());
    }
    std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();

  uint64_t decisions = 0;
  for (const User& user : users) {
    EXPECT_EQ(user.wrong(), 0u);
    decisions += user.decisions();
  }
  EXPECT_GE(switches, PolicyNames().size());
  const DecisionSnapshot counted = core->Decisions();
  uint64_t sum = 0;
  for (const auto& reasons : counted.counts) {
    for (const auto& roles : reasons) {
      for (const uint64_t count : roles) sum += count;
    }
  }
  const uint64_t reclaims =
      counted.of(DecisionPoint::kReclaim, Action::kSpare) + counted.of(DecisionPoint::kReclaim, Action::kDrop);
  EXPECT_EQ(sum - reclaims, decisions);
  EXPECT_EQ(counted.invalid(), 0u);
  EXPECT_GT(reclaims, 0u);
  test::ExpectSound(core->scm());
}

}  // namespace
}  // namespace mezz
