// SPDX-License-Identifier: Apache-2.0
// What two results differ in besides their figures.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace mezz {

// "threads: 2 in A, 8 in B" for everything in the manifests that can move the figures: host, versions, device model,
// workload and every option. Not for times, command lines and paths.
std::vector<std::string> ManifestDifferences(const nlohmann::json& a, const nlohmann::json& b);

}  // namespace mezz
