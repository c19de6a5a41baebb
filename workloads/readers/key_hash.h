// SPDX-License-Identifier: Apache-2.0
// Keys that are text, as numbers: XXH3's 64 bits. Of a hundred million keys, two collide in one trace of
// four thousand.
#pragma once

#include <cstdint>
#include <string_view>

namespace mezz {

uint64_t HashKey(std::string_view key);

}  // namespace mezz
