// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "workloads/sim/options.h"
#include "workloads/sim/runner.h"

namespace mezz::sim {

// One line a row, at most 120 columns wide.
std::string ReportTable(const SimOptions& options, const SimReport& report);
// The same, plus the decisions by reason, host, seed and every option. tools/plot.py draws it.
nlohmann::json ReportJson(const SimOptions& options, const SimReport& report);
// One line a row.
std::string ReportCsv(const SimReport& report);

}  // namespace mezz::sim
