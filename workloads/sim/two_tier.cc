// SPDX-License-Identifier: Apache-2.0
#include "workloads/sim/two_tier.h"

#include <algorithm>

#include "workloads/block_key.h"

namespace mezz::sim {
namespace {

constexpr uint64_t kDramHitsPerReport = 64;
constexpr size_t kPrefetchDistance = 12;  // accesses
constexpr uint64_t kNsPerUs = 1000;

enum Question : uint8_t { kOnMiss, kOnDramEviction, kOnScmHit, kOnReclaim };

ScmModelOptions WithYoungPercent(ScmModelOptions options, unsigned percent) {
  options.young_percent = percent;
  return options;
}

template <typename Dram>
class TwoTier {
 public:
  TwoTier(const LoadedTrace& trace, const TwoTierOptions& options, Policy* policy, SimClock* clock)
      : trace_(trace),
        options_(options),
        policy_(policy),
        clock_(clock),
        charges_(options.dram_charges),
        dram_(trace.unique(), charges_, options.dram),
        scm_(trace.unique(), options.record_units, WithYoungPercent(options.scm, policy->young_percent())),
        diverts_misses_(policy->may_divert_misses()) {}

  SimCounts Run() {
    const std::vector<BlockId>& accesses = trace_.accesses();
    const size_t warmup = std::min<size_t>(options_.warmup_accesses, accesses.size());
    RunRange(0, warmup);
    counts_ = {};
    const ScmCounts before = scm_.counts();
    RunRange(warmup, accesses.size());
    policy_->OnDramHits(unreported_dram_hits_);
    const ScmCounts& after = scm_.counts();
    counts_.accesses = accesses.size() - warmup;
    counts_.second_chances = after.second_chances - before.second_chances;
    counts_.scm_written_units = after.written_units - before.written_units;
    counts_.scm_refused = after.refused - before.refused;
    counts_.spare_refused = after.spare_refused - before.spare_refused;
    for (const auto& actions : counts_.decisions) {
      for (const auto& reasons : actions) counts_.ghost_hits += reasons[static_cast<size_t>(Reason::kGhost)];
    }
    return counts_;
  }

  void Audit(std::vector<std::string>* violations) const {
    dram_.Audit(violations);
    scm_.Audit(violations);
  }

 private:
  void RunRange(size_t from, size_t to) {
    const std::vector<BlockId>& accesses = trace_.accesses();
    for (size_t at = from; at < to; ++at) {
      if (at + kPrefetchDistance < to) {
        dram_.Prefetch(accesses[at + kPrefetchDistance]);
        scm_.Prefetch(accesses[at + kPrefetchDistance]);
      }
      if (trace_.has_time()) {
        clock_->now_ns = std::max(clock_->now_ns, trace_.time_us()[at] * kNsPerUs);
      } else {
        clock_->now_ns += options_.access_ns;
      }
      Access(accesses[at]);
    }
  }

  void Access(BlockId block) {
    if (dram_.Hit(block)) {
      ++counts_.dram_hits;
      if (++unreported_dram_hits_ == kDramHitsPerReport) {
        policy_->OnDramHits(unreported_dram_hits_);
        unreported_dram_hits_ = 0;
      }
    } else if (scm_.Contains(block)) {
      ScmHit(block);
    } else {
      Miss(block);
    }
  }

  void ScmHit(BlockId block) {
    BlockFacts facts = FactsOf(block);
    facts.in_scm = true;
    facts.scm_heat = scm_.Warm(block);
    switch (Count(kOnScmHit, policy_->OnScmHit(facts))) {
      case Action::kMove:
        scm_.Erase(block);
        ++counts_.moves;
        ++counts_.promotions;
        return InsertToDram(block);
      case Action::kPromote:
        ++counts_.promotions;
        InsertToDram(block);
        scm_.SetDram(block, true);  // unless making room has just reclaimed it
        return;
      default:
        ++counts_.scm_in_place;
    }
  }

  void Miss(BlockId block) {
    ++counts_.misses;
    if (!diverts_misses_) return InsertToDram(block);
    switch (Count(kOnMiss, policy_->OnMiss(FactsOf(block)))) {
      case Action::kBypass:
        return;
      case Action::kToScm:
        if (Put(block, Generation::kYoung)) {
          ++counts_.inserts_to_scm;
          return;
        }
        [[fallthrough]];
      default:
        InsertToDram(block);
    }
  }

  void InsertToDram(BlockId block) {
    const BlockRole role = trace_.role(block);
    const bool high = role == BlockRole::kIndex || role == BlockRole::kFilter;
    dram_.Insert(block, high ? DramPriority::kHigh : DramPriority::kLow,
                 [this](BlockId leaving, bool was_hit) { DramEviction(leaving, was_hit); });
  }

  void DramEviction(BlockId block, bool was_hit) {
    BlockFacts facts = FactsOf(block);
    facts.was_hit_in_dram = was_hit;
    facts.in_scm = scm_.SetDram(block, false);
    const Decision decision = policy_->OnDramEviction(facts);
    if (Count(kOnDramEviction, decision) != Action::kToScm) return;
    if (Put(block, decision.proven ? Generation::kProven : Generation::kYoung)) ++counts_.demotions;
  }

  bool Put(BlockId block, Generation generation) {
    return scm_.Put(block, generation, [this](BlockId reached, Generation of_record) {
      BlockFacts facts = FactsOf(reached);
      facts.in_scm = true;
      facts.in_dram = scm_.dram(reached);
      facts.proven = of_record == Generation::kProven;
      facts.scm_heat = scm_.heat(reached);
      return Count(kOnReclaim, policy_->OnReclaim(facts)) == Action::kSpare;
    });
  }

  BlockFacts FactsOf(BlockId block) const {
    return {.key = BlockKeyOf(trace_.key(block)), .role = trace_.role(block), .bytes = trace_.bytes(block)};
  }

  Action Count(Question question, Decision decision) {
    ++counts_.decisions[question][static_cast<size_t>(decision.action)][static_cast<size_t>(decision.reason)];
    return decision.action;
  }

  const LoadedTrace& trace_;
  const TwoTierOptions& options_;
  Policy* const policy_;
  SimClock* const clock_;
  const Charges charges_;
  Dram dram_;
  ScmModel scm_;
  const bool diverts_misses_;
  uint64_t unreported_dram_hits_ = 0;
  SimCounts counts_;
};

template <typename Dram>
SimCounts Run(const LoadedTrace& trace, const TwoTierOptions& options, Policy* policy, SimClock* clock,
              std::vector<std::string>* violations) {
  TwoTier<Dram> tiers(trace, options, policy, clock);
  const SimCounts counts = tiers.Run();
  tiers.Audit(violations);
  if (counts.dram_hits + counts.scm_hits() + counts.misses != counts.accesses)
    violations->push_back("hits and misses are not the accesses");
  return counts;
}

}  // namespace

SimCounts RunTwoTier(const LoadedTrace& trace, const TwoTierOptions& options, Policy* policy, SimClock* clock,
                     std::vector<std::string>* violations) {
  return options.dram_cache == DramCache::kLru ? Run<LruModel>(trace, options, policy, clock, violations)
                                               : Run<HccModel>(trace, options, policy, clock, violations);
}

}  // namespace mezz::sim
