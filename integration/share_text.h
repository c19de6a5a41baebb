// SPDX-License-Identifier: Apache-2.0
// How a URI spells a share of the cache: NAME, or NAME:reserve=10%,max=40%.
#pragma once

#include <string>
#include <string_view>

#include "cache/status.h"
#include "integration/options.h"

namespace mezz {

// Parses a value of the key `key`. Whether the limits fit those of others is judged where the share is added.
Status ParseShare(std::string_view key, std::string_view value, HybridCacheOptions* options);
// What ParseShare reads back to the same; empty: the options have no share.
std::string ShareText(const HybridCacheOptions& options);

}  // namespace mezz
