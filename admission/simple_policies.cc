// SPDX-License-Identifier: Apache-2.0
#include "admission/simple_policies.h"

namespace mezz {
namespace {

constexpr SimpleRules kRules[] = {
    {.name = "dram_first", .on_miss = Action::kToDram, .on_scm_hit = Action::kInPlace},
    {.name = "scm_first", .on_miss = Action::kToScm, .on_scm_hit = Action::kPromote},
    {.name = "bidirectional", .on_miss = Action::kToDram, .on_scm_hit = Action::kPromote},
};

}  // namespace

std::span<const SimpleRules> AllSimpleRules() { return kRules; }

Decision SimplePolicy::OnMiss(const BlockFacts&) { return {rules_.on_miss, Reason::kPolicyDefault}; }

Decision SimplePolicy::OnDramEviction(const BlockFacts& block) {
  if (block.in_scm) return {Action::kKeep, Reason::kClean};
  return {Action::kToScm, Reason::kPolicyDefault};
}

Decision SimplePolicy::OnScmHit(const BlockFacts&) { return {rules_.on_scm_hit, Reason::kPolicyDefault}; }

}  // namespace mezz
