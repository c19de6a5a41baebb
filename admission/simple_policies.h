// SPDX-License-Identifier: Apache-2.0
// The three policies that Kassa et al. (ATC'21) name; the steps are our reading of them.
//
//   policy          miss goes to    on DRAM eviction                   on SCM hit
//   dram_first      DRAM            keep if recorded, else demote      serve in place
//   scm_first       SCM             keep if recorded, else demote      promote
//   bidirectional   DRAM            keep if recorded, else demote      promote
//
// Reclaim spares what was hit and is not in DRAM. "Demote always" comes to the same: blocks are immutable, so a
// recorded block need not be written again.
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

// In the order they are shown.
std::span<const SimpleRules> AllSimpleRules();

// Fixed rules, no state.
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
