// SPDX-License-Identifier: Apache-2.0
// The three policies that Kassa et al. (ATC'21) name; the steps are our reading of them.
//
//   policy          miss goes to    on DRAM eviction                   on SCM hit
//   dram_first      DRAM            keep if recorded, else demote      serve in place
//   scm_first       SCM             keep if recorded, else demote      promote
//   bidirectional   DRAM            keep if recorded, else demote      promote
//
// Reclaim spares records that were hit and whose blocks are not in DRAM. The paper's "demote always" is the same as
// "keep if recorded, else demote": blocks are immutable, so a recorded block need not be written again.
#pragma once

#include <span>
#include <string_view>

#include "admission/policy.h"

namespace mezz {

struct SimpleRules {
  std::string_view name;
  Action on_miss;
  Action on_scm_hit;
};

// All rules, in the order in which they are shown.
std::span<const SimpleRules> AllSimpleRules();

// A policy of fixed rules, without state.
class SimplePolicy final : public Policy {
 public:
  explicit SimplePolicy(const SimpleRules& rules) : rules_(rules) {}

  std::string_view name() const override { return rules_.name; }
  bool may_divert_misses() const override { return rules_.on_miss == Action::kToScm; }
  Decision OnMiss(const BlockFacts& block) override;
  Decision OnDramEviction(const BlockFacts& block) override;
  Decision OnScmHit(const BlockFacts& block) override;
  size_t dram_bytes() const override { return sizeof(*this); }

 private:
  const SimpleRules rules_;
};

}  // namespace mezz
