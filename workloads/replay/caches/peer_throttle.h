// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "workloads/replay/caches/block_counts.h"
#include "workloads/replay/caches/cache_factory.h"

namespace mezz {

// Charges a stock cache that stands on emulated SCM for what it did: the same model, by the same rules, as our tier. A
// second tier hands out copies; a cache that lies in SCM as a whole is searched where it is (its writes are charged by
// its allocator). Block sizes are taken as the mean, times what compression leaves: RocksDB's counts have no sizes.
class PeerThrottle {
 public:
  PeerThrottle(const BuiltCache& cache, uint64_t block_bytes)
      : throttle_(cache.throttle.get()),
        in_place_(cache.second_tier == SecondTier::kWholeCache),
        block_bytes_(block_bytes),
        lines_(BlockSearchLines(block_bytes)) {}

  // `now`: the calling thread's counts.
  void ChargeSinceLast(const BlockCounts& now) {
    if (throttle_ == nullptr) return;
    if (in_place_) {
      for (uint64_t i = last_.hits; i < now.hits; ++i) throttle_->ChargeLines(lines_);
    } else {
      const uint64_t bytes = now.StoredBytes(block_bytes_);
      for (uint64_t i = last_.second_hits; i < now.second_hits; ++i) throttle_->ChargeStreamRead(bytes);
      for (uint64_t i = last_.second_inserts; i < now.second_inserts; ++i) throttle_->ChargeWrite(bytes);
    }
    last_ = now;
  }

 private:
  Throttle* throttle_;
  bool in_place_;
  uint64_t block_bytes_;
  unsigned lines_;
  BlockCounts last_;
};

}  // namespace mezz
