// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "rocksdb/perf_context.h"
#include "workloads/replay/window_result.h"

namespace mezz {

// The PerfContext counts that tell where a thread's blocks came from, since the thread reset it.
struct BlockCounts {
  uint64_t hits = 0;
  uint64_t second_hits = 0;
  uint64_t flash_reads = 0;
  uint64_t flash_bytes = 0;
  uint64_t second_inserts = 0;

  static BlockCounts Of(const rocksdb::PerfContext& perf) {
    return {perf.block_cache_hit_count, perf.secondary_cache_hit_count, perf.block_read_count, perf.block_read_byte,
            perf.compressed_sec_cache_insert_real_count};
  }
  BlockCounts& operator+=(const BlockCounts& other) {
    hits += other.hits;
    second_hits += other.second_hits;
    flash_reads += other.flash_reads;
    flash_bytes += other.flash_bytes;
    second_inserts += other.second_inserts;
    return *this;
  }
};

// A thread's counts for others to look at while it works. The thread alone writes, word by word, with relaxed order: a
// reader sees counts that were true a moment ago, perhaps of two moments.
class PublishedCounts {
 public:
  void Publish(const BlockCounts& counts) {
    hits_.store(counts.hits, std::memory_order_relaxed);
    second_hits_.store(counts.second_hits, std::memory_order_relaxed);
    flash_reads_.store(counts.flash_reads, std::memory_order_relaxed);
    flash_bytes_.store(counts.flash_bytes, std::memory_order_relaxed);
    second_inserts_.store(counts.second_inserts, std::memory_order_relaxed);
  }
  BlockCounts Read() const {
    return {hits_.load(std::memory_order_relaxed), second_hits_.load(std::memory_order_relaxed),
            flash_reads_.load(std::memory_order_relaxed), flash_bytes_.load(std::memory_order_relaxed),
            second_inserts_.load(std::memory_order_relaxed)};
  }

 private:
  std::atomic<uint64_t> hits_{0};
  std::atomic<uint64_t> second_hits_{0};
  std::atomic<uint64_t> flash_reads_{0};
  std::atomic<uint64_t> flash_bytes_{0};
  std::atomic<uint64_t> second_inserts_{0};
};

}  // namespace mezz
