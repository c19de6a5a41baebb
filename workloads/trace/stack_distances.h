// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "admission/curves/key_map.h"
#include "workloads/requests/spatial_sample.h"
#include "workloads/trace/log_histogram.h"

namespace mezz {

// How many distinct other keys came between two requests for the same key: a cache of more blocks, kept in LRU order,
// holds the key. Exact up to keys_max distinct keys; beyond, for a spatial sample of them that shrinks so that it never
// holds more (SHARDS of fixed size, see SpatialSample), scaled to all keys.
class StackDistances {
 public:
  explicit StackDistances(uint32_t keys_max = 1 << 18, uint64_t seed = 1);

  void Access(uint64_t key);

  const LogHistogram& distances() const { return distances_; }
  double rate() const { return 1.0 / static_cast<double>(scale_); }  // of the keys that are still looked at

 private:
  // Of the keys in use: a position each in the order of their last requests.
  void Place(uint32_t number);
  void Compact();
  void Shrink();
  void Count(uint32_t position, int32_t change);
  uint32_t CountUpTo(uint32_t position) const;

  const uint32_t keys_max_;
  SpatialSample sample_;
  uint64_t scale_ = 1;  // keys that a sampled key stands for
  KeyMap numbers_;
  std::vector<uint64_t> keys_;       // by number
  std::vector<uint32_t> positions_;  // by number
  std::vector<uint32_t> order_;      // position -> number; kNone: left
  std::vector<uint32_t> tree_;       // Fenwick tree over the positions: 1 where a key is
  uint32_t next_position_ = 0;
  LogHistogram distances_;
};

}  // namespace mezz
