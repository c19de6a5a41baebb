// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "admission/curves/curve.h"
#include "cache/status.h"
#include "workloads/plan/curve_plan.h"
#include "workloads/requests/progress.h"
#include "workloads/requests/request.h"

namespace mezz::plan {

inline constexpr double kBandTarget = 0.02;     // a wider band is warned of
inline constexpr uint64_t kTierBlocksMin = 32;  // of the sample: with fewer in a tier a warning says so

// From a trace to its curve, in bounded memory whatever the trace's length (but for options.exact). `source` gives
// blocks (readers/cut_extents.h). It is read to its end, and again for each seed whose sample has more requests than
// are kept. Refuses a trace without reuse, and one of which the sample would be too small, naming the rate that would
// do; what else is to be known before the curve is relied on stands in curve->warnings.
// `progress` may be null; the reading is the source's own to tell of (tracked_source.h).
Status BuildCurve(RequestSource* source, const CurveOptions& options, Curve* curve, Progress* progress = nullptr);

}  // namespace mezz::plan
