// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "workloads/replay/caches/options.h"
#include "workloads/replay/runner.h"

namespace mezz {

// One row a cache, at most 120 columns wide.
std::string ReportTable(const ReplayOptions& options, const ReplayReport& report);
// What every result carries: versions, host, seed and options. ReportJson adds its own.
nlohmann::json RunManifest(const ReplayOptions& options);
// The same, plus versions, host, seed, every option and every repeat.
nlohmann::json ReportJson(const ReplayOptions& options, const ReplayReport& report);
// One line a window and cache.
std::string ReportCsv(const ReplayOptions& options, const ReplayReport& report);

}  // namespace mezz
