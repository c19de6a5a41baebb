// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "workloads/trace/info.h"

namespace mezz {

// For people: what the trace does not say is left out.
std::string InfoTable(const TraceInfo& info);
// For programs: everything.
nlohmann::json InfoJson(const TraceInfo& info);

}  // namespace mezz
