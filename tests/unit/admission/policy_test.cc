// SPDX-License-Identifier: Apache-2.0
#include "admission/policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <set>
#include <string>

#include "tests/support/seed.h"

namespace mezz {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;

struct Row {
  std::string_view name;
  Action on_miss;
  Action on_scm_hit;
};

class SimplePolicyTable : public testing::TestWithParam<Row> {};

TEST_P(SimplePolicyTable, HoldsForEveryBlock) {
  std::unique_ptr<Policy> policy;
  ASSERT_TRUE(MakePolicy(GetParam().name, {}, &policy).ok());
  EXPECT_EQ(policy->name(), GetParam().name);
  std::mt19937_64 random(test::Seed());
  for (int i = 0; i < 10'000; ++i) {
    const BlockFacts block = {.key = {{random(), random()}},
                              .role = static_cast<BlockRole>(random() % kBlockRoles),
                              .bytes = static_cast<uint32_t>(random()),
                              .was_hit_in_dram = random() % 2 == 0,
                              .in_scm = random() % 2 == 0,
                              .scm_heat = static_cast<uint8_t>(random() % 4)};
    ASSERT_EQ(policy->OnMiss(block).action, GetParam().on_miss);
    ASSERT_EQ(policy->OnScmHit(block).action, GetParam().on_scm_hit);
    const Decision evicted = policy->OnDramEviction(block);
    ASSERT_EQ(evicted.action, block.in_scm ? Action::kKeep : Action::kToScm);
    ASSERT_EQ(evicted.reason, block.in_scm ? Reason::kClean : Reason::kPolicyDefault);
  }
}

INSTANTIATE_TEST_SUITE_P(Design, SimplePolicyTable,
                         testing::Values(Row{"dram_first", Action::kToDram, Action::kInPlace},
                                         Row{"scm_first", Action::kToScm, Action::kPromote},
                                         Row{"bidirectional", Action::kToDram, Action::kPromote}),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(PolicyNames, AreThoseThatCanBeMade) {
  EXPECT_THAT(PolicyNames(),
              IsSupersetOf({"dram_first", "scm_first", "bidirectional", "adaptive", "placeholder", "three_queue"}));
  EXPECT_THAT(PolicyNames(), Contains(kDefaultPolicyName));
  for (const std::string_view name : PolicyNames()) {
    std::unique_ptr<Policy> policy;
    EXPECT_TRUE(MakePolicy(name, {}, &policy).ok());
    EXPECT_EQ(policy->name(), name);
  }
}

TEST(MakePolicy, RefusesUnknownNamesWithTheKnown) {
  for (const char* name : {"", "lru", "dram_first ", "DRAM_FIRST"}) {
    std::unique_ptr<Policy> policy;
    const Status status = MakePolicy(name, {}, &policy);
    EXPECT_EQ(status.code(), Status::Code::kInvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr(std::string("policy=") + name));
    EXPECT_THAT(status.message(), HasSubstr("dram_first, scm_first, bidirectional"));
    EXPECT_EQ(policy, nullptr);
  }
}

TEST(Texts, EachActionAndReasonHasItsOwn) {
  std::set<std::string_view> texts;
  for (size_t action = 0; action < kActions; ++action) texts.insert(ToString(static_cast<Action>(action)));
  EXPECT_EQ(texts.size(), kActions);
  texts.clear();
  for (size_t reason = 0; reason < static_cast<size_t>(Reason::kCount); ++reason) {
    texts.insert(ToString(static_cast<Reason>(reason)));
  }
  EXPECT_EQ(texts.size(), static_cast<size_t>(Reason::kCount));
}

}  // namespace
}  // namespace mezz
