// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <thread>

#include "admission/policy.h"

namespace mezz {

// Counts the look-ups that missed DRAM, each thread in a stripe, and hands them on in batches. Two threads of one
// stripe may lose a count; an atomic add would cost as much as the rest of a decision. Thread-safe; all words are
// relaxed, as they are estimates and publish nothing.
class LookUpMeter {
 public:
  static constexpr uint32_t kBatch = 64;

  // `block_bytes`: the mean size of a block, as it is expected.
  explicit LookUpMeter(uint32_t block_bytes) : mean_bytes_(std::max(1u, block_bytes)) {}

  // Counts one look-up. Returns the bytes of the kBatch look-ups that it completes; 0: it completes none.
  uint64_t Count(const BlockFacts& block) {
    static thread_local const size_t stripe = std::hash<std::thread::id>{}(std::this_thread::get_id()) % kStripes;
    auto& [lookups, bytes] = stripes_[stripe];
    const uint32_t counted = lookups.load(std::memory_order_relaxed) + 1;
    lookups.store(counted, std::memory_order_relaxed);
    // Of metadata, however large, a look-up reads a few lines.
    const uint64_t mean = mean_bytes();
    const uint64_t looked_up = IsMetadata(block.role) ? std::min<uint64_t>(block.bytes, mean) : block.bytes;
    const uint64_t sum = bytes.load(std::memory_order_relaxed) + looked_up;
    const bool completes = counted % kBatch == 0;
    bytes.store(completes ? 0 : sum, std::memory_order_relaxed);
    if (!completes) return 0;
    mean_bytes_.store(std::max<uint64_t>(1, Decayed(mean, sum / kBatch, kMeanBytesShift)), std::memory_order_relaxed);
    return std::max<uint64_t>(1, sum);
  }

  // The mean size of the last few thousand blocks that missed DRAM; at first the expected one.
  uint64_t mean_bytes() const { return mean_bytes_.load(std::memory_order_relaxed); }

 private:
  static constexpr size_t kStripes = 8;
  // Weight of one batch in the mean size of a block: 1 / 64.
  static constexpr unsigned kMeanBytesShift = 6;
  struct alignas(64) Stripe {
    std::atomic<uint32_t> lookups{0};
    std::atomic<uint64_t> bytes{0};  // looked up since the last batch
  };

  std::array<Stripe, kStripes> stripes_;
  std::atomic<uint64_t> mean_bytes_;
};

}  // namespace mezz
