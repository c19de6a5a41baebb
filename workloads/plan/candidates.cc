// SPDX-License-Identifier: Apache-2.0
#include "workloads/plan/candidates.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "workloads/plan/judge.h"
#include "workloads/plan/sensitivity.h"

namespace mezz::plan {
namespace {

Plan PlanOf(const Question& question, const Build& build, const Build& baseline) {
  // Another server or another kind of memory must be qualified; more of the same need not.
  const bool new_kind = build.server != baseline.server ||
                        (build.scm.module != nullptr && baseline.scm.module == nullptr) ||
                        (build.is_ordered() && !baseline.is_ordered());
  Plan plan{.build = build};
  plan.cost = CostOf(question.book, build, new_kind, question.hosts);
  return plan;
}

// Of two that do the same: no prices, no target of watts or of lifetime makes `a` the better one.
bool IsNoBetter(const Plan& a, const Plan& b) {
  const auto endurance = [](const Population& scm) {
    return scm.module == nullptr ? 0 : scm.module->endurance_bytes.value * scm.count;
  };
  return CostsNoLess(a, b) && a.build.watts() >= b.build.watts() && endurance(a.build.scm) <= endurance(b.build.scm) &&
         endurance(a.build.slow_scm) <= endurance(b.build.slow_scm);
}

// The least of each memory that holds all data.
class Enough {
 public:
  Enough(const Question& question, const std::vector<Build>& builds) : footprint_(DataBytes(question)) {
    for (const Build& build : builds) {
      uint64_t& dram = dram_.try_emplace(build.server, UINT64_MAX).first->second;
      if (DramCacheBytes(question, {.server = build.server, .dram = build.dram}) >= footprint_)
        dram = std::min(dram, build.dram.bytes());
      uint64_t& scm = ScmOf(build);
      if (Holds(build.scm_bytes())) scm = std::min(scm, build.scm_bytes());
    }
  }

  // A slow medium behind a fast one that holds all has nothing to hold.
  bool IsExceededBy(const Build& build) {
    if (footprint_ <= 0) return false;
    return build.dram.bytes() > dram_.at(build.server) || build.scm_bytes() > ScmOf(build) ||
           (build.is_ordered() && Holds(build.scm.bytes()));
  }

 private:
  bool Holds(uint64_t bytes) const { return static_cast<double>(bytes) >= footprint_; }
  // Of one medium, whatever it is; of ordered ones, with as much of the same fast one.
  uint64_t& ScmOf(const Build& build) {
    const auto [fast, count] =
        build.is_ordered() ? std::pair(build.scm.module, build.scm.count) : std::pair(nullptr, 0u);
    return scm_.try_emplace({build.server, fast, count}, UINT64_MAX).first->second;
  }

  const double footprint_;
  std::map<const Server*, uint64_t> dram_;
  std::map<std::tuple<const Server*, const Module*, unsigned>, uint64_t> scm_;
};

}  // namespace

PerformanceKey KeyOf(const Build& build) {
  const auto medium = [](const Population& scm) {
    return MediumKey(scm.bytes(), scm.module == nullptr ? "" : scm.module->device, scm.count);
  };
  return {build.server->name,     build.dram.bytes(),         medium(build.scm),
          medium(build.slow_scm), build.flash.module->device, build.flash.count};
}

std::vector<Plan> Worthwhile(const Question& question, const std::vector<Build>& builds, const Build& baseline) {
  Enough enough(question, builds);
  std::map<PerformanceKey, std::vector<Plan>> best;
  for (const Build& build : builds) {
    const bool is_baseline = build == baseline;
    if (!is_baseline && enough.IsExceededBy(build)) continue;
    if (DramCacheBytes(question, build) <= 0) continue;
    if (!is_baseline && build.is_ordered() && IsBeatenByFastAlone(question.book, build)) continue;
    Plan plan = PlanOf(question, build, baseline);
    std::vector<Plan>& those = best[KeyOf(build)];
    const auto is_beaten = [&](const Plan& kept) { return IsNoBetter(plan, kept); };
    if (!is_baseline && std::ranges::any_of(those, is_beaten)) continue;
    std::erase_if(those, [&](const Plan& kept) { return !(kept.build == baseline) && IsNoBetter(kept, plan); });
    those.push_back(std::move(plan));
  }
  std::vector<Plan> plans;
  for (auto& [same, those] : best) std::ranges::move(those, std::back_inserter(plans));
  return plans;
}

}  // namespace mezz::plan
