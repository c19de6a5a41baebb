// SPDX-License-Identifier: Apache-2.0
// What a request does, and its name in reports, curves and our own trace format.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace mezz {

// kMultiGet is one key of a batch, which ends with the request whose batch_left is 0. Writes may come in batches too.
enum class Operation : uint8_t { kGet, kMultiGet, kPut, kDelete, kMerge, kSeek };

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
