// SPDX-License-Identifier: Apache-2.0
#include "admission/rocksdb_policies.h"

#include <gtest/gtest.h>

namespace mezz {
namespace {

PolicyOptions Sizes() {
  PolicyOptions options;
  options.dram_bytes = 1000 * 4096;
  options.scm_bytes = 4000 * 4096;
  return options;
}

BlockFacts Block(uint64_t n, bool in_scm = false) {
  return {.key = {.words = {77, n}}, .role = BlockRole::kData, .bytes = 4096, .in_scm = in_scm};
}

void ExpectDecision(const Decision& got, Action action, Reason reason) {
  EXPECT_EQ(ToString(got.action), ToString(action));
  EXPECT_EQ(ToString(got.reason), ToString(reason));
}

TEST(Placeholder, StoresAtTheSecondEviction) {
  PlaceholderPolicy policy(Sizes());
  ExpectDecision(policy.OnMiss(Block(1)), Action::kToDram, Reason::kPolicyDefault);
  ExpectDecision(policy.OnDramEviction(Block(1)), Action::kDrop, Reason::kNoEvidence);
  ExpectDecision(policy.OnDramEviction(Block(1)), Action::kToScm, Reason::kGhost);
  ExpectDecision(policy.OnDramEviction(Block(1)), Action::kDrop, Reason::kNoEvidence);  // stored over the dummy
  ExpectDecision(policy.OnDramEviction(Block(1, /*in_scm=*/true)), Action::kKeep, Reason::kClean);
}

TEST(Placeholder, AHitInThePrimaryForcesNothing) {
  PlaceholderPolicy policy(Sizes());
  BlockFacts hit = Block(1);
  hit.was_hit_in_dram = true;
  ExpectDecision(policy.OnDramEviction(hit), Action::kDrop, Reason::kNoEvidence);
}

TEST(Placeholder, MovesUpAtTheSecondHitAndComesBackAtOnce) {
  PlaceholderPolicy policy(Sizes());
  ExpectDecision(policy.OnScmHit(Block(1, true)), Action::kInPlace, Reason::kNoEvidence);
  ExpectDecision(policy.OnScmHit(Block(1, true)), Action::kMove, Reason::kGhost);
  ExpectDecision(policy.OnDramEviction(Block(1)), Action::kToScm, Reason::kGhost);
  ExpectDecision(policy.OnScmHit(Block(1, true)), Action::kInPlace, Reason::kNoEvidence);  // the dummy was used up
}

TEST(Placeholder, ABlockReadFromFlashReplacesItsDummyInThePrimary) {
  PlaceholderPolicy policy(Sizes());
  ASSERT_TRUE(policy.may_divert_misses()) << "or it is not told of misses";
  ExpectDecision(policy.OnScmHit(Block(1, true)), Action::kInPlace, Reason::kNoEvidence);
  ExpectDecision(policy.OnMiss(Block(1)), Action::kToDram, Reason::kPolicyDefault);
  ExpectDecision(policy.OnScmHit(Block(1, true)), Action::kInPlace, Reason::kNoEvidence);
}

TEST(Placeholder, DummiesLastAsLongAsTheTiersTurnOver) {
  PlaceholderPolicy policy(Sizes());
  policy.OnDramEviction(Block(1));
  for (uint64_t n = 100; n < 100 + 1900; ++n) policy.OnDramEviction(Block(n));
  ExpectDecision(policy.OnDramEviction(Block(1)), Action::kToScm, Reason::kGhost);
  policy.OnDramEviction(Block(2));
  for (uint64_t n = 10'000; n < 10'000 + 10'000; ++n) policy.OnDramEviction(Block(n));
  ExpectDecision(policy.OnDramEviction(Block(2)), Action::kDrop, Reason::kNoEvidence);
}

TEST(ThreeQueue, AdmitsEverythingOnceAndNeverWhatWasPromoted) {
  ThreeQueuePolicy policy(Sizes());
  ExpectDecision(policy.OnMiss(Block(1)), Action::kToDram, Reason::kPolicyDefault);
  ExpectDecision(policy.OnDramEviction(Block(1)), Action::kToScm, Reason::kPolicyDefault);
  ExpectDecision(policy.OnScmHit(Block(1, true)), Action::kInPlace, Reason::kNoEvidence);
  ExpectDecision(policy.OnScmHit(Block(1, true)), Action::kPromote, Reason::kGhost);
  ExpectDecision(policy.OnDramEviction(Block(1)), Action::kDrop, Reason::kPolicyDefault);  // its record was reclaimed
  policy.OnMiss(Block(1));
  ExpectDecision(policy.OnDramEviction(Block(1)), Action::kToScm, Reason::kPolicyDefault);
  policy.OnScmHit(Block(1, true));
  policy.OnScmHit(Block(1, true));
  ExpectDecision(policy.OnDramEviction(Block(1, true)), Action::kKeep, Reason::kClean);
}

template <typename Made>
class RocksDbPolicy : public testing::Test {};
using Both = testing::Types<PlaceholderPolicy, ThreeQueuePolicy>;
TYPED_TEST_SUITE(RocksDbPolicy, Both);

TYPED_TEST(RocksDbPolicy, SparesWhatWasHitAndIsNotInDram) {
  TypeParam policy(Sizes());
  BlockFacts block = Block(1, true);
  ExpectDecision(policy.OnReclaim(block), Action::kDrop, Reason::kNoHit);
  block.scm_heat = 1;
  ExpectDecision(policy.OnReclaim(block), Action::kSpare, Reason::kHit);
  block.in_dram = true;
  ExpectDecision(policy.OnReclaim(block), Action::kDrop, Reason::kInDram);
}

TYPED_TEST(RocksDbPolicy, TakesFewBytesABlock) {
  PolicyOptions options = Sizes();
  options.dram_bytes *= 100;
  options.scm_bytes *= 100;
  const TypeParam policy(options);
  const auto blocks = static_cast<double>((options.dram_bytes + options.scm_bytes) / options.block_bytes);
  EXPECT_LE(static_cast<double>(policy.dram_bytes()), 2.2 * blocks);
}

TYPED_TEST(RocksDbPolicy, WorksWithoutKnowingAnySize) {
  PolicyOptions options;
  options.block_bytes = 0;
  TypeParam policy(options);
  for (uint64_t n = 0; n < 1000; ++n) {
    policy.OnDramEviction(Block(n));
    policy.OnScmHit(Block(n, true));
  }
}

}  // namespace
}  // namespace mezz
