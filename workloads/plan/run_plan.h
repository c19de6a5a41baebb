// SPDX-License-Identifier: Apache-2.0
// The default command of mezz_plan.
#pragma once

#include <cstdint>
#include <string>

#include "admission/curves/curve.h"
#include "cache/status.h"
#include "workloads/plan/answer.h"

namespace mezz::plan {

struct PlanOptions {
  std::string prices;
  std::string target;
  std::string baseline;
  std::string calibration;
  std::string flash;
  std::string without;  // modules and servers of the book that are not to be had, comma-separated
  uint64_t reserved_bytes = 0;
  uint32_t threads = 0;  // 0: as many as the baseline has cores
  double rate = 0;       // open loop; 0: closed
  double hosts = 1;
  double growth = 1;
  double lookups_per_operation = 0;  // 0: the calibration's, or 1
  std::string json_path;
  std::string csv_path;
  std::string html_path;
  std::string alternatives;  // paths of curves of the same trace under other policies, comma-separated
  std::string command_line;

  Status Validate() const;
};

// What --threads (0: not said), --ops_per_s (0: closed loop) and --lookups (0: not known) may be.
Status CheckLoad(uint32_t threads, double rate, double lookups);

// Makes the plan and writes its files; *text is for the terminal.
Status RunPlan(const PlanOptions& options, const Curve& curve, std::string* text);

}  // namespace mezz::plan
