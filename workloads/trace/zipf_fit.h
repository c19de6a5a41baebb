// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace mezz {

// The exponent s for which key frequencies proportional to rank^-s explain `counts` best (maximum likelihood over all
// ranks), from 0 (all alike) to 8. REQUIRES: counts fall.
double FitZipf(const std::vector<uint32_t>& counts);

}  // namespace mezz
