// SPDX-License-Identifier: Apache-2.0
#include "workloads/replay/engine/latency_histogram.h"

#include <algorithm>
#include <cmath>

namespace mezz {

LatencyHistogram::LatencyHistogram() : counts_(std::make_unique<std::atomic<uint64_t>[]>(kBuckets)) {}

LatencyHistogram& LatencyHistogram::operator=(const LatencyHistogram& other) {
  if (this == &other) return *this;
  LatencyHistogram copy(other);
  counts_.swap(copy.counts_);
  count_.store(copy.count(), std::memory_order_relaxed);
  max_.store(copy.max_ns(), std::memory_order_relaxed);
  return *this;
}

uint64_t LatencyHistogram::LargestIn(size_t bucket) {
  if (bucket < 2 * kHalf) return bucket;
  const size_t shift = bucket / kHalf - 1;
  const uint64_t leading = bucket - shift * kHalf;
  return ((leading + 1) << shift) - 1;
}

void LatencyHistogram::Add(const LatencyHistogram& other) {
  uint64_t added = 0;  // not other.count(): that may be ahead of the buckets while somebody records
  for (size_t i = 0; i < kBuckets; ++i) {
    const uint64_t count = other.counts_[i].load(std::memory_order_relaxed);
    if (count == 0) continue;
    Bump(&counts_[i], count);
    added += count;
  }
  Bump(&count_, added);
  SetMax(std::max(max_ns(), other.max_ns()));
}

LatencyHistogram LatencyHistogram::Since(const LatencyHistogram& earlier) const {
  LatencyHistogram since;
  uint64_t recorded = 0;
  for (size_t i = 0; i < kBuckets; ++i) {
    const uint64_t count =
        counts_[i].load(std::memory_order_relaxed) - earlier.counts_[i].load(std::memory_order_relaxed);
    since.counts_[i].store(count, std::memory_order_relaxed);
    recorded += count;
  }
  since.count_.store(recorded, std::memory_order_relaxed);
  since.SetMax(max_ns());
  return since;
}

uint64_t LatencyHistogram::ValueAt(double share) const {
  const uint64_t rank = std::max<uint64_t>(1, static_cast<uint64_t>(std::ceil(share * static_cast<double>(count()))));
  uint64_t seen = 0;
  for (size_t i = 0; i < kBuckets; ++i) {
    seen += counts_[i].load(std::memory_order_relaxed);
    if (seen >= rank) return std::min(LargestIn(i), max_ns());
  }
  return max_ns();
}

void LatencyHistogram::ForEach(const std::function<void(uint64_t, uint64_t)>& visit) const {
  for (size_t i = 0; i < kBuckets; ++i) {
    if (const uint64_t count = counts_[i].load(std::memory_order_relaxed); count > 0) visit(LargestIn(i), count);
  }
}

std::vector<LatencyHistogram::Point> LatencyHistogram::Cdf(size_t points_max) const {
  std::vector<Point> all;
  uint64_t seen = 0;
  const auto total = static_cast<double>(count());
  ForEach([&](uint64_t ns, uint64_t count) {
    seen += count;
    all.push_back({std::min(ns, max_ns()), static_cast<double>(seen) / total});
  });
  if (all.size() <= points_max) return all;
  // Half of the points divide the shares evenly, half divide the tail's decades: 0.9, 0.99, 0.999, ...
  std::vector<Point> kept;
  const size_t steps = points_max - 1;
  const double decades = std::log10(total);
  size_t at = 0;
  for (size_t i = 0; i < steps; ++i) {
    const size_t half = steps / 2;
    const double part = i < half ? static_cast<double>(i) / static_cast<double>(half)
                                 : static_cast<double>(i - half) / static_cast<double>(steps - half);
    const double share = i < half ? 0.9 * part : 1 - 0.1 * std::pow(10.0, -part * std::max(decades - 1, 0.0));
    while (all[at].share < share) ++at;
    if (kept.empty() || kept.back().ns != all[at].ns) kept.push_back(all[at]);
  }
  if (kept.back().ns != all.back().ns) kept.push_back(all.back());
  return kept;
}

}  // namespace mezz
