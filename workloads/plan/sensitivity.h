// SPDX-License-Identifier: Apache-2.0
// How far prices may move before another plan is the cheapest.
#pragma once

#include <cstddef>
#include <vector>

#include "workloads/plan/answer.h"

namespace mezz::plan {

// The cheapest of `plans` that is feasible (and without SCM, or with) at these prices; kNone.
enum class Among { kAll, kWithScm, kWithoutScm };
size_t CheapestAt(const std::vector<Plan>& plans, const CostFactors& factors, Among among = Among::kAll);

// A plan's cost is linear in each factor, so what is cheapest for some factor is so on an interval: its ends are found
// by bisection. REQUIRES: `chosen` is CheapestAt(plans, kAsListed).
Stays HowLongItStays(const PriceBook& book, const std::vector<Plan>& plans, size_t chosen, CostItem item);

// The factor of `item` at which the cheapest feasible plan with SCM costs what the cheapest without does; 0: none.
double BreakEven(const std::vector<Plan>& plans, CostItem item);

// Whether no prices make `a` cheaper than `b`: it costs as much or more in every part.
bool CostsNoLess(const Plan& a, const Plan& b);
// Whether some prices can make the plan the cheapest: no feasible one costs at most as much in every part.
std::vector<bool> CanBeCheapest(const std::vector<Plan>& plans);

}  // namespace mezz::plan
