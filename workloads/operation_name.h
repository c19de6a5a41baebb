// SPDX-License-Identifier: Apache-2.0
// What reports and our own trace format call operations.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "workloads/request.h"

namespace mezz {

inline constexpr std::array<std::string_view, 6> kOperationNames = {"get",    "multiget", "put",
                                                                    "delete", "merge",    "seek"};

constexpr std::string_view OperationName(Operation operation) {
  return kOperationNames[static_cast<size_t>(operation)];
}
constexpr std::optional<Operation> OperationOfName(std::string_view name) {
  const auto* found = std::ranges::find(kOperationNames, name);
  if (found == kOperationNames.end()) return std::nullopt;
  return static_cast<Operation>(found - kOperationNames.begin());
}

}  // namespace mezz
