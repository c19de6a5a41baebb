// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <vector>

#include "admission/curves/block_key.h"

namespace mezz::plan {

// How many distinct keys came: HyperLogLog (Flajolet et al., 2007) in 256 KiB, read by Ertl's improved raw estimator
// (arXiv:1702.01284, algorithm 6), which has no bias at any number; the standard error is 0.2 %. The sample of a seed
// knows the number to 1 % only.
class DistinctCount {
 public:
  DistinctCount() : registers_(size_t{1} << kBits, 0) {}

  void Add(uint64_t key) {
    const uint64_t hash = MixWord(key ^ kSalt);
    uint8_t& rank = registers_[hash >> (64 - kBits)];
    rank = std::max(rank, static_cast<uint8_t>(1 + std::countl_zero(hash << kBits | uint64_t{1} << (kBits - 1))));
  }

  double Estimate() const {
    const auto registers = static_cast<double>(registers_.size());
    std::array<double, kRankMax + 1> of_rank{};
    for (const uint8_t rank : registers_) ++of_rank[rank];
    double sum = registers * Tau(1 - of_rank[kRankMax] / registers);
    for (size_t rank = kRankMax - 1; rank > 0; --rank) sum = 0.5 * (sum + of_rank[rank]);
    if (of_rank[0] == registers) return 0;
    sum += registers * Sigma(of_rank[0] / registers);
    return registers * registers / (2 * std::numbers::ln2 * sum);
  }

 private:
  // Of the registers that are empty, and of those that are full; below 1.
  static double Sigma(double share) {
    double weight = 1;
    double sum = share;
    for (double before = -1; sum != before; weight += weight) {
      before = sum;
      share *= share;
      sum += share * weight;
    }
    return sum;
  }
  static double Tau(double share) {
    if (share <= 0 || share >= 1) return 0;
    double weight = 1;
    double sum = 1 - share;
    for (double before = -1; sum != before;) {
      before = sum;
      share = std::sqrt(share);
      weight *= 0.5;
      sum -= (1 - share) * (1 - share) * weight;
    }
    return sum / 3;
  }

  static constexpr int kBits = 18;
  static constexpr size_t kRankMax = 64 - kBits + 1;
  static constexpr uint64_t kSalt = 0x64697374696e6374ull;
  std::vector<uint8_t> registers_;
};

}  // namespace mezz::plan
