// SPDX-License-Identifier: Apache-2.0
// A policy that answers what the test says, and keeps what it was told.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "admission/policy.h"
#include "integration/options.h"

namespace mezz::test {

// What the policy answers and what it was asked; shared with the test. Not for use while threads run.
struct Script {
  Decision on_miss{Action::kToDram, Reason::kPolicyDefault};
  Decision on_eviction{Action::kToScm, Reason::kPolicyDefault};
  Decision on_scm_hit{Action::kInPlace, Reason::kPolicyDefault};
  Decision on_reclaim{Action::kDrop, Reason::kNoEvidence};
  PolicyOptions made_with;
  size_t dram_bytes = sizeof(Policy);  // what it says it takes
  int made = 0;
  uint64_t dram_hits = 0;
  uint64_t told_dram_bytes = 0, told_scm_bytes = 0;  // OnCapacity
  int capacities_told = 0;
  std::vector<BlockFacts> misses, evictions, scm_hits, reclaims;
};

class ScriptedPolicy final : public Policy {
 public:
  ScriptedPolicy(std::string_view name, Script* script) : name_(name), script_(script) {}
  std::string_view name() const override { return name_; }
  bool may_divert_misses() const override { return true; }
  Decision OnMiss(const BlockFacts& block) override {
    script_->misses.push_back(block);
    return script_->on_miss;
  }
  Decision OnDramEviction(const BlockFacts& block) override {
    script_->evictions.push_back(block);
    return script_->on_eviction;
  }
  Decision OnScmHit(const BlockFacts& block) override {
    script_->scm_hits.push_back(block);
    return script_->on_scm_hit;
  }
  Decision OnReclaim(const BlockFacts& block) override {
    script_->reclaims.push_back(block);
    return script_->on_reclaim;
  }
  void OnDramHits(uint64_t count) override { script_->dram_hits += count; }
  void OnCapacity(uint64_t dram_bytes, uint64_t scm_bytes) override {
    script_->told_dram_bytes = dram_bytes;
    script_->told_scm_bytes = scm_bytes;
    ++script_->capacities_told;
  }
  size_t dram_bytes() const override { return script_->dram_bytes; }

 private:
  const std::string name_;
  Script* const script_;
};

// Names that start with "scripted" are the test's, the others the library's.
inline void UseScript(HybridCacheOptions* options, Script* script) {
  options->policy = "scripted";
  options->policy_maker = [script](std::string_view name, const PolicyOptions& made_with,
                                   std::unique_ptr<Policy>* policy) {
    if (!name.starts_with("scripted")) return MakePolicy(name, made_with, policy);
    ++script->made;
    script->made_with = made_with;
    *policy = std::make_unique<ScriptedPolicy>(name, script);
    return Status::Ok();
  };
}

}  // namespace mezz::test
