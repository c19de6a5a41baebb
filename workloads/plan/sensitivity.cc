// SPDX-License-Identifier: Apache-2.0
#include "workloads/plan/sensitivity.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <limits>

namespace mezz::plan {
namespace {

constexpr double kLeastFactor = 1e-3;
constexpr double kGreatestFactor = 1e3;
constexpr int kSteps = 60;  // halvings of the interval of logarithms: to the last digit shown and beyond

CostFactors Turned(CostItem item, double factor) {
  CostFactors factors = kAsListed;
  factors[static_cast<size_t>(item)] = factor;
  return factors;
}

// Where between `inside` and `outside` the answer of `holds` turns. REQUIRES: holds(inside), not holds(outside).
double Boundary(double inside, double outside, const auto& holds) {
  for (int i = 0; i < kSteps; ++i) {
    const double middle = std::sqrt(inside * outside);
    (holds(middle) ? inside : outside) = middle;
  }
  return inside;
}

// Of a plan's bill, by what turns it. SCM that moves with DRAM is a part of its own.
std::array<double, kCostItems + 1> PartsOf(const Plan& plan) {
  std::array<double, kCostItems + 1> parts{};
  for (const CostStep& step : plan.cost.steps)
    parts[step.with_dram ? kCostItems : static_cast<size_t>(step.item)] += step.amount;
  return parts;
}

}  // namespace

size_t CheapestAt(const std::vector<Plan>& plans, const CostFactors& factors, Among among) {
  size_t best = kNone;
  double least = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < plans.size(); ++i) {
    const bool has_scm = plans[i].build.scm.module != nullptr;
    if (!plans[i].feasible || (among == Among::kWithScm && !has_scm) || (among == Among::kWithoutScm && has_scm))
      continue;
    const double cost = plans[i].cost.At(factors);
    if (cost < least) {
      least = cost;
      best = i;
    }
  }
  return best;
}

Stays HowLongItStays(const PriceBook& book, const std::vector<Plan>& plans, size_t chosen, CostItem item) {
  assert(chosen == CheapestAt(plans, kAsListed));
  Stays stays{.item = item, .high = std::numeric_limits<double>::infinity(), .range = RangeOf(book, item)};
  const auto holds = [&](double factor) { return CheapestAt(plans, Turned(item, factor)) == chosen; };
  if (!holds(kLeastFactor)) {
    stays.low = Boundary(1, kLeastFactor, holds);
    stays.below = CheapestAt(plans, Turned(item, stays.low * (1 - 1e-6)));
  }
  if (!holds(kGreatestFactor)) {
    stays.high = Boundary(1, kGreatestFactor, holds);
    stays.above = CheapestAt(plans, Turned(item, stays.high * (1 + 1e-6)));
  }
  stays.at_low = CheapestAt(plans, Turned(item, std::max(kLeastFactor, stays.range.low)));
  stays.at_high = CheapestAt(plans, Turned(item, stays.range.high));
  return stays;
}

double BreakEven(const std::vector<Plan>& plans, CostItem item) {
  const auto scm_wins = [&](double factor) {
    const CostFactors factors = Turned(item, factor);
    const size_t with = CheapestAt(plans, factors, Among::kWithScm);
    const size_t without = CheapestAt(plans, factors, Among::kWithoutScm);
    return plans[with].cost.At(factors) <= plans[without].cost.At(factors);
  };
  if (CheapestAt(plans, kAsListed, Among::kWithScm) == kNone ||
      CheapestAt(plans, kAsListed, Among::kWithoutScm) == kNone)
    return 0;
  const bool at_least = scm_wins(kLeastFactor), at_greatest = scm_wins(kGreatestFactor);
  if (at_least == at_greatest) return 0;
  return Boundary(kLeastFactor, kGreatestFactor, [&](double factor) { return scm_wins(factor) == at_least; });
}

bool CostsNoLess(const Plan& a, const Plan& b) {
  const auto own = PartsOf(a), other = PartsOf(b);
  return std::equal(own.begin(), own.end(), other.begin(), [](double of_a, double of_b) { return of_a >= of_b; });
}

std::vector<bool> CanBeCheapest(const std::vector<Plan>& plans) {
  std::vector<bool> can(plans.size());
  for (size_t i = 0; i < plans.size(); ++i) {
    if (!plans[i].feasible) continue;
    const auto own = PartsOf(plans[i]);
    bool beaten = false;
    for (size_t j = 0; j < plans.size() && !beaten; ++j) {
      if (!plans[j].feasible || j == i) continue;
      const auto other = PartsOf(plans[j]);
      const auto no_more = [](double a, double b) { return a <= b; };
      beaten = std::equal(other.begin(), other.end(), own.begin(), no_more) && (other != own || j < i);
    }
    can[i] = !beaten;
  }
  return can;
}

}  // namespace mezz::plan
