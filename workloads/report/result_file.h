// SPDX-License-Identifier: Apache-2.0
// The JSON that mezz_replay wrote, read again.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cache/status.h"

namespace mezz {

// Reads the file that --`flag` names. Refuses what is not a result of mezz_replay, in the schema that this one writes.
// What it accepts has an array "rows" of objects, each with the string "cache".
Status ReadResult(const std::string& flag, const std::string& path, nlohmann::json* result);

}  // namespace mezz
