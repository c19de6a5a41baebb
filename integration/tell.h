// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace mezz {

// "mezzanine: <sentence>" on stderr, the one channel that a preloaded library has. The same sentence twice in a row is
// said once: tools retry.
void Tell(std::string_view sentence);

}  // namespace mezz
