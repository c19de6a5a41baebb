// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace mezz {

// Writes "mezzanine: <sentence>" to stderr, the only channel that a preloaded library has. A sentence that is repeated
// immediately is written once, because tools retry.
void Tell(std::string_view sentence);

}  // namespace mezz
