// SPDX-License-Identifier: Apache-2.0
// What a request does, and its name in reports, curves and our own trace format.
#pragma once

#include <cstdint>

#include "cache/base/words.h"

namespace mezz {

// kMultiGet is one key of a batch, which ends with the request whose batch_left is 0. Writes may come in batches too.
enum class Operation : uint8_t { kGet, kMultiGet, kPut, kDelete, kMerge, kSeek };
template <>
inline constexpr Words<6> kWordsOf<Operation> = {"get", "multiget", "put", "delete", "merge", "seek"};

}  // namespace mezz
