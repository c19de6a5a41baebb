// SPDX-License-Identifier: Apache-2.0
#include "workloads/plan/alternatives.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "cache/base/text.h"
#include "workloads/plan/answer_text.h"
#include "workloads/plan/curve_surface.h"
#include "workloads/plan/known_policies.h"

namespace mezz::plan {
namespace {

// Samples of one trace know its footprint to about 1 %.
constexpr double kFootprintsDiffer = 0.1;

// Both tiers are of the DRAM. SCM lies idle: a server that has some costs more than the same without.
class SplitSurface final : public HitSurface {
 public:
  SplitSurface(const HitSurface* both, double share) : both_(*both), share_(share) {}
  TierShares At(double dram_bytes, double) const override {
    return both_.At(share_ * dram_bytes, (1 - share_) * dram_bytes);
  }

 private:
  const HitSurface& both_;
  const double share_;
};

Status PriceOn(const HitSurface& surface, Question question, PricedAlternative* priced) {
  question.surface = &surface;
  Answer found;
  MEZZ_RETURN_IF_ERROR(MakeAnswer(question, &found));
  const Plan& plan = found.plans[found.cheapest == kNone ? found.nearest : found.cheapest];
  const Prediction& prediction = plan.figures.prediction;
  *priced = {.policy = question.traffic.policy,
             .server = plan.build.Name(),
             .cost = plan.cost.total(),
             .throughput = prediction.throughput.value,
             .p99_us = prediction.p99_us.value,
             .miss = prediction.shares.miss(),
             .feasible = plan.feasible};
  return Status::Ok();
}

// Feasible before cheap before fast; of what misses, the faster.
bool IsBetter(const PricedAlternative& a, const PricedAlternative& b) {
  if (a.feasible != b.feasible) return a.feasible;
  if (a.feasible && a.cost != b.cost) return a.cost < b.cost;
  return a.throughput > b.throughput;
}

}  // namespace

Status PriceAlternative(const Question& question, const Answer& answer, const Curve& curve, const std::string& path,
                        PricedAlternative* priced) {
  const Traffic traffic = TrafficOf(curve, question.traffic.lookups_per_operation, question.traffic.reads_per_miss);
  const auto differ = [](double a, double b) { return std::abs(a - b) > kFootprintsDiffer * std::max(a, b); };
  if (differ(traffic.block_bytes, question.traffic.block_bytes) ||
      differ(traffic.footprint_bytes, question.traffic.footprint_bytes)) {
    return Status::InvalidArgument(fmt::format(
        "--alternatives={}: a curve of {}, {:.0f} bytes in blocks of {:.0f}, cannot stand beside one of {}, {:.0f} "
        "bytes in blocks of {:.0f}; make both of one trace",
        path, traffic.name, traffic.footprint_bytes, traffic.block_bytes, question.traffic.name,
        question.traffic.footprint_bytes, question.traffic.block_bytes));
  }
  Question other = question;
  const CurveSurface surface(curve);
  other.traffic = traffic;
  other.load = answer.load;
  // Other uses know one medium, so the baseline is asked for without its slow one; the bounds are of what it is.
  if (const Build& baseline = answer.plans[answer.baseline].build; baseline.is_ordered()) {
    other.baseline = fmt::format("{}/dram:{}+scm:{}", baseline.server->name, SizeText(baseline.dram.bytes()),
                                 SizeText(baseline.scm.bytes()));
  }
  for (size_t i = 0; i < other.targets.size(); ++i) {
    other.targets[i].of_baseline = false;
    other.targets[i].bound = answer.bounds.value[i];
  }
  if (!IsOfDramTwice(traffic.policy)) return PriceOn(surface, std::move(other), priced);
  for (const double share : kBlockCacheShares) {
    PricedAlternative one;
    MEZZ_RETURN_IF_ERROR(PriceOn(SplitSurface(&surface, share), other, &one));
    one.block_cache_share = share;
    if (share == kBlockCacheShares[0] || IsBetter(one, *priced)) *priced = one;
  }
  return Status::Ok();
}

std::string AlternativesText(const Question& question, const Answer& answer,
                             const std::vector<PricedAlternative>& alternatives) {
  std::string text;
  for (const PricedAlternative& one : alternatives) {
    const std::string compared =
        answer.cheapest == kNone
            ? ""
            : fmt::format(" ({:+.1f} %)", 100 * (one.cost / answer.plans[answer.cheapest].cost.total() - 1));
    const std::string split = one.block_cache_share == 0 ? ""
                                                         : fmt::format(", {:.3g} % of its DRAM for the block cache",
                                                                       100 * one.block_cache_share);
    text +=
        fmt::format("with {} {}: {}{}, {}{}\n", one.policy, one.feasible ? "the cheapest is" : "nothing does; nearest",
                    one.server, split, Money(question.book, one.cost), compared);
  }
  return text.empty() ? text : fmt::format("\nother uses of the same modules, for the same targets:\n{}", text);
}

nlohmann::json AlternativesJson(const std::vector<PricedAlternative>& alternatives) {
  nlohmann::json all = nlohmann::json::array();
  for (const PricedAlternative& one : alternatives) {
    all.push_back({{"policy", one.policy},
                   {"server", one.server},
                   {"cost", one.cost},
                   {"throughput", one.throughput},
                   {"p99_us", one.p99_us},
                   {"miss", one.miss},
                   {"block_cache_share", one.block_cache_share},
                   {"feasible", one.feasible}});
  }
  return all;
}

}  // namespace mezz::plan
