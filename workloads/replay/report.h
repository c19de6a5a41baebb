// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cache/status.h"
#include "workloads/replay/options.h"
#include "workloads/replay/runner.h"

namespace mezz {

// One row a cache, at most 120 columns wide.
std::string ReportTable(const ReplayOptions& options, const ReplayReport& report);
// The same, plus versions, host, seed, every option and every repeat.
nlohmann::json ReportJson(const ReplayOptions& options, const ReplayReport& report);
// One line a window and cache.
std::string ReportCsv(const ReplayReport& report);

// Replaces the file in one step: a reader sees the old content or the new.
Status WriteFileAtomically(const std::string& path, const std::string& content);

}  // namespace mezz
