// SPDX-License-Identifier: Apache-2.0
#include "workloads/report/mann_whitney.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

namespace mezz {
namespace {

struct Ranks {
  std::vector<uint32_t> doubled;  // twice each value's rank, as equal values share the mean of theirs; a's come first
  double ties = 0;                // the sum of t^3 - t over groups of t equal values
};

Ranks RanksOf(std::span<const double> a, std::span<const double> b) {
  std::vector<double> values(a.begin(), a.end());
  values.insert(values.end(), b.begin(), b.end());
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](size_t i) { return values[i]; });
  Ranks ranks{.doubled = std::vector<uint32_t>(values.size())};
  for (size_t first = 0, end = 0; first < order.size(); first = end) {
    while (end < order.size() && values[order[end]] == values[order[first]]) ++end;
    for (size_t i = first; i < end; ++i) ranks.doubled[order[i]] = static_cast<uint32_t>(first + 1 + end);
    const auto group = static_cast<double>(end - first);
    ranks.ties += group * group * group - group;
  }
  return ranks;
}

// counts[s]: the subsets of `size` ranks whose doubled sum is s. Exact: there are below 2^53 of them.
std::vector<double> SubsetsBySum(const std::vector<uint32_t>& doubled, size_t size) {
  const size_t total = std::accumulate(doubled.begin(), doubled.end(), size_t{0});
  std::vector<std::vector<double>> counts(size + 1, std::vector<double>(total + 1));
  counts[0][0] = 1;
  for (const uint32_t rank : doubled) {
    for (size_t k = size; k > 0; --k) {
      for (size_t sum = total; sum >= rank; --sum) counts[k][sum] += counts[k - 1][sum - rank];
    }
  }
  return counts[size];
}

// `mean` and `sum` are of doubled ranks.
void CountEveryWay(const Ranks& ranks, size_t size, int64_t mean, int64_t sum, MannWhitney* test) {
  const std::vector<double> counts = SubsetsBySum(ranks.doubled, size);
  double all = 0;
  double as_far = 0;
  double farthest = 0;
  int64_t farthest_distance = -1;
  for (size_t s = 0; s < counts.size(); ++s) {
    if (counts[s] == 0) continue;
    const int64_t distance = std::abs(static_cast<int64_t>(s) - mean);
    all += counts[s];
    if (distance >= std::abs(sum - mean)) as_far += counts[s];
    if (distance > farthest_distance) farthest = 0;
    farthest_distance = std::max(farthest_distance, distance);
    if (distance == farthest_distance) farthest += counts[s];
  }
  test->p = as_far / all;
  test->p_min = farthest / all;
}

double TwoSidedNormal(double distance, double deviation) {
  constexpr double kContinuity = 0.5;
  return deviation == 0 ? 1 : std::erfc(std::max(0.0, distance - kContinuity) / deviation / std::sqrt(2.0));
}

}  // namespace

MannWhitney MannWhitneyTest(std::span<const double> a, std::span<const double> b) {
  MannWhitney test;
  if (a.empty() || b.empty()) return test;
  const Ranks ranks = RanksOf(a, b);
  const auto n = static_cast<double>(a.size());
  const auto m = static_cast<double>(b.size());
  const int64_t sum =
      std::accumulate(ranks.doubled.begin(), ranks.doubled.begin() + static_cast<ptrdiff_t>(a.size()), int64_t{0});
  test.u = static_cast<double>(sum) / 2 - n * (n + 1) / 2;
  test.exact = ranks.doubled.size() <= kExactValuesMax;
  if (test.exact) {
    CountEveryWay(ranks, a.size(), static_cast<int64_t>(a.size() * (ranks.doubled.size() + 1)), sum, &test);
    return test;
  }
  const double values = n + m;
  const double deviation = std::sqrt(n * m / 12 * (values + 1 - ranks.ties / (values * (values - 1))));
  test.p = TwoSidedNormal(std::abs(test.u - n * m / 2), deviation);
  test.p_min = TwoSidedNormal(n * m / 2, deviation);
  return test;
}

}  // namespace mezz
