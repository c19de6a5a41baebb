// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "admission/curves/curve.h"

namespace mezz::plan {

// For the terminal: what the curve is of, the hit ratio of both tiers at each point of its grid, the widest band, and
// its warnings.
std::string CurveTable(const Curve& curve);

}  // namespace mezz::plan
