// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "admission/curves/block_key.h"

namespace mezz {

// Spatial sampling (SHARDS: Waldspurger, Park, Garthwaite and Ahmad, FAST'15): the keys whose hash lies below a
// threshold, with all their requests. The miss ratio of a cache over the sample, at the same share of the footprint, is
// that of the whole trace, with an error that grows as the sample shrinks. The same seed keeps the same keys.
//
// Of keys that are a sample already, of `source_rate`, other hashes decide: by the same ones a smaller rate would keep
// what was kept, and a larger one all.
class SpatialSample {
 public:
  // REQUIRES: 0 < rate.
  SpatialSample(double rate, uint64_t seed, double source_rate = 1)
      : threshold_(rate >= 1.0 ? UINT64_MAX : static_cast<uint64_t>(std::ldexp(rate, 64))),
        salt_(MixWord(seed ^ 0x73616d706c65ull ^ (source_rate < 1 ? std::bit_cast<uint64_t>(source_rate) : 0))) {}

  bool Keeps(uint64_t key) const { return threshold_ == UINT64_MAX || MixWord(key ^ salt_) < threshold_; }
  // Of the kept keys, keeps those that it would keep at half the rate.
  void Halve() { threshold_ /= 2; }

 private:
  uint64_t threshold_;
  uint64_t salt_;
};

}  // namespace mezz
