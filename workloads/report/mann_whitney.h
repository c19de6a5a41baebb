// SPDX-License-Identifier: Apache-2.0
// Whether two samples differ: the U test of Mann and Whitney, "On a test of whether one of two random variables is
// stochastically larger than the other", Annals of Mathematical Statistics 18(1), 1947, pages 50-60.
#pragma once

#include <cstddef>
#include <span>

namespace mezz {

struct MannWhitney {
  double u = 0;      // pairs in which a's value is the larger; equal ones count half
  double p = 1;      // two-sided: how likely U is at least so far from its mean if nothing but chance tells a from b
  double p_min = 1;  // the smallest p that samples of these sizes, with these ties, can give
  bool exact = true;
};

// Values taken together up to which p is exact: every way to share them out is counted, ties and all. Above, p is the
// normal approximation with the corrections for ties and continuity.
inline constexpr size_t kExactValuesMax = 50;

// Two empty samples, or one, give p = 1. No value may be NaN.
MannWhitney MannWhitneyTest(std::span<const double> a, std::span<const double> b);

}  // namespace mezz
