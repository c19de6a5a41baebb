// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "workloads/plan/demand.h"

namespace mezz::plan {

// Percentiles of the mixture over what an operation found where. Device latencies are drawn from the device's own
// curve, waits from the network; what the cores do varies as calibrated for an operation in DRAM, and what comes on top
// takes its time and no other.
class Latencies {
 public:
  Latencies(const Machine& machine, const Traffic& traffic, const Demand& demand, const NetworkLoad& network);

  double At(double share) const { return us_[static_cast<size_t>(share * static_cast<double>(us_.size() - 1))]; }

 private:
  std::vector<double> us_;  // ascending
};

}  // namespace mezz::plan
