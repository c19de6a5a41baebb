// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "rocksdb/perf_context.h"
#include "rocksdb/perf_level.h"
#include "workloads/replay/engine/counts.h"

namespace mezz {

// The PerfContext counts that tell where a thread's blocks came from, since the thread reset it.
struct BlockCounts {
  uint64_t hits = 0;
  uint64_t second_hits = 0;
  uint64_t flash_reads = 0;
  uint64_t read_ahead = 0;  // see TierCounts; PerfContext does not tell it
  uint64_t flash_bytes = 0;
  uint64_t second_inserts = 0;
  uint64_t plain_bytes = 0;       // of what a compressing second tier took
  uint64_t compressed_bytes = 0;  // what it made of them

  // Starts counting on this thread, from zero.
  static const rocksdb::PerfContext* Start() {
    rocksdb::SetPerfLevel(rocksdb::PerfLevel::kEnableCount);
    rocksdb::get_perf_context()->Reset();
    return rocksdb::get_perf_context();
  }
  static BlockCounts Of(const rocksdb::PerfContext& perf) {
    return {perf.block_cache_hit_count,
            perf.secondary_cache_hit_count,
            perf.block_read_count,
            0,
            perf.block_read_byte,
            perf.compressed_sec_cache_insert_real_count,
            perf.compressed_sec_cache_uncompressed_bytes,
            perf.compressed_sec_cache_compressed_bytes};
  }
  // Bytes that a block of `block_bytes` takes in the second tier.
  uint64_t StoredBytes(uint64_t block_bytes) const {
    if (compressed_bytes == 0 || compressed_bytes >= plain_bytes) return block_bytes;
    return static_cast<uint64_t>(static_cast<double>(block_bytes) * static_cast<double>(compressed_bytes) /
                                 static_cast<double>(plain_bytes));
  }
};
template <>
inline constexpr std::array<CountOf<BlockCounts>, 8> kCountsOf<BlockCounts> = {
    {{"hits", &BlockCounts::hits},
     {"second_hits", &BlockCounts::second_hits},
     {"flash_reads", &BlockCounts::flash_reads},
     {"read_ahead", &BlockCounts::read_ahead},
     {"flash_bytes", &BlockCounts::flash_bytes},
     {"second_inserts", &BlockCounts::second_inserts},
     {"plain_bytes", &BlockCounts::plain_bytes},
     {"compressed_bytes", &BlockCounts::compressed_bytes}}};

// A thread's counts for others to look at while it works. The thread alone writes, word by word, with relaxed order: a
// reader sees counts that were true a moment ago, perhaps of two moments.
class PublishedCounts {
 public:
  void Publish(const BlockCounts& counts) {
    for (size_t i = 0; i < counts_.size(); ++i)
      counts_[i].store(counts.*kCountsOf<BlockCounts>[i].count, std::memory_order_relaxed);
  }
  BlockCounts Read() const {
    BlockCounts counts;
    for (size_t i = 0; i < counts_.size(); ++i)
      counts.*kCountsOf<BlockCounts>[i].count = counts_[i].load(std::memory_order_relaxed);
    return counts;
  }

 private:
  std::array<std::atomic<uint64_t>, kCountsOf<BlockCounts>.size()> counts_{};
};

}  // namespace mezz
