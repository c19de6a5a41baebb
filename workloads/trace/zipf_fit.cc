// SPDX-License-Identifier: Apache-2.0
#include "workloads/trace/zipf_fit.h"

#include <algorithm>
#include <cmath>

namespace mezz {
namespace {

constexpr double kExponentMax = 8;
constexpr size_t kExactRanks = 10'000;  // summed one by one; the rest as an integral

// Integrals of x^-s and of x^-s ln x from a to b.
double Power(double s, double a, double b) {
  const double e = 1 - s;
  return std::abs(e) < 1e-9 ? std::log(b / a) : (std::pow(b, e) - std::pow(a, e)) / e;
}
double PowerLog(double s, double a, double b) {
  const double e = 1 - s;
  if (std::abs(e) < 1e-6) return (std::log(b) * std::log(b) - std::log(a) * std::log(a)) / 2;
  const auto at = [e](double x) { return std::pow(x, e) * (std::log(x) - 1 / e) / e; };
  return at(b) - at(a);
}

// Mean ln(rank) under exponent s.
double MeanLogRank(double s, size_t ranks) {
  double sum = 0, log_sum = 0;
  const size_t exact = std::min(ranks, kExactRanks);
  for (size_t rank = 1; rank <= exact; ++rank) {
    const double log_rank = std::log(static_cast<double>(rank));
    const double weight = std::exp(-s * log_rank);
    sum += weight;
    log_sum += weight * log_rank;
  }
  if (ranks > exact) {
    const double from = static_cast<double>(exact) + 0.5, to = static_cast<double>(ranks) + 0.5;
    sum += Power(s, from, to);
    log_sum += PowerLog(s, from, to);
  }
  return log_sum / sum;
}

}  // namespace

double FitZipf(const std::vector<uint32_t>& counts) {
  double total = 0, log_total = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    total += counts[i];
    log_total += counts[i] * std::log(static_cast<double>(i + 1));
  }
  if (counts.size() < 2) return 0;
  // At the maximum of the likelihood the model's mean ln(rank), which falls as s grows, is that of the trace.
  const double wanted = log_total / total;
  double low = 0, high = kExponentMax;
  while (high - low > 1e-4) {
    const double middle = (low + high) / 2;
    (MeanLogRank(middle, counts.size()) > wanted ? low : high) = middle;
  }
  return low;
}

}  // namespace mezz
