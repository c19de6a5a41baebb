// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace mezz {

// What RocksDB has offered to the cache after writing it, and what its compactions have looked up, for the report.
// Thread-safe. Relaxed order, because the counts are figures only.
class OfferedCounts {
 public:
  void NoteByFlush() { by_flushes_.fetch_add(1, std::memory_order_relaxed); }
  void NoteByCompaction() { by_compactions_.fetch_add(1, std::memory_order_relaxed); }
  // A data block that a compaction has looked up; on 7.8, which tells no roles, any block.
  void NoteReadByCompaction() { read_by_compactions_.fetch_add(1, std::memory_order_relaxed); }
  // The size of a memtable that was flushed. Monitoring compares the largest with the tiers.
  void NoteFlush(uint64_t bytes) {
    uint64_t largest = largest_flush_bytes();
    while (bytes > largest && !largest_flush_bytes_.compare_exchange_weak(largest, bytes, std::memory_order_relaxed,
                                                                          std::memory_order_relaxed)) {
    }
  }

  uint64_t by_flushes() const { return by_flushes_.load(std::memory_order_relaxed); }
  uint64_t by_compactions() const { return by_compactions_.load(std::memory_order_relaxed); }
  uint64_t read_by_compactions() const { return read_by_compactions_.load(std::memory_order_relaxed); }
  uint64_t largest_flush_bytes() const { return largest_flush_bytes_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> by_flushes_{0}, by_compactions_{0}, read_by_compactions_{0};
  std::atomic<uint64_t> largest_flush_bytes_{0};  // only grows, by CAS
};

}  // namespace mezz
