// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace mezz {

// What reading back has cost and gained since the cache was made.
struct ReadBackCounts {
  uint64_t reads = 0, bytes = 0;  // calls of the file system, and their bytes; includes those that open a table
  uint64_t files = 0;             // tables from which something was read
  uint64_t blocks = 0;            // blocks that were read, and on which the policy decided (decision.warm.*)
  uint64_t failed = 0;            // files that could not be read to the end
  uint64_t dropped = 0;  // files of which nothing was read: queue full, too old, deleted, or unknown comparator
  uint64_t skipped = 0;  // compactions, or parts of one, left out because too few such blocks are asked for
};

// Those counts as they are counted. Relaxed, because they are figures only. A file is `whole` or `failed`, once it is
// known which.
struct ReadBackCounters {
  std::atomic<uint64_t> reads{0}, bytes{0}, whole{0}, blocks{0}, failed{0}, dropped{0}, skipped{0};

  ReadBackCounts Read() const {
    const auto read = [](const std::atomic<uint64_t>& count) { return count.load(std::memory_order_relaxed); };
    const uint64_t failed_now = read(failed);
    return {.reads = read(reads),
            .bytes = read(bytes),
            .files = read(whole) + failed_now,
            .blocks = read(blocks),
            .failed = failed_now,
            .dropped = read(dropped),
            .skipped = read(skipped)};
  }
};

}  // namespace mezz
