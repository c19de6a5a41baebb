// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "admission/lineage.h"

namespace mezz {

// Finds the blocks that a compaction's output comes from. The blocks that a compaction writes are heirs, and the blocks
// that it reads are their parents. The cache sees both on the compaction's thread: with kFlushAndCompaction RocksDB
// looks up each input block, and inserts each output block when it is written.
//
// An output's parents are found by its keys. Each thread has a table (ParentTable) of the keys of the input blocks that
// it has found in the cache lately. A key that is not in the table was in a block that the cache did not hold. So it
// does not matter over how many outputs a block of Level 0 stays open, where in an output an input block ends, or what
// the thread compacted before.
//
// If keys cannot be read (HashEntries), the order of events decides: the best parent that the thread has found since
// its last output, or just before that one, counts for all keys. This holds for an output whose own keys cannot be
// read, and for kOutputsByOrder outputs after such an input.
//
// An output may be inserted by another thread than the one that looked up its inputs
// (CompressionOptions::parallel_threads), or much later (when a compression dictionary is sampled first). Then all
// threads' tables are asked. If no table knows a key of an output, it is Lineage::Kind::kUnknown in two cases: nobody
// has looked up inputs lately, or a table has forgotten some of them before the output came, as with a dictionary's
// first file.
//
// A thread that finds inputs in the cache keeps a table of 64 KiB, for all caches, until it ends. Thread-safe; each
// call is about the calling thread's compaction. Allocates when a thread calls for the first time, or meets a block
// with more keys than before. Nothing is known of a thread that has destroyed its thread-local objects.
class Heirs {
 public:
  static constexpr uint32_t kOutputsByOrder = 64;

  Heirs();
  // The calling thread reads a data block, which was found at `standing`. `block` may be empty if that is kNowhere.
  void NoteParent(std::span<const std::byte> block, Standing standing, uint8_t frequency) const;
  // The lineage of a data block that the calling thread has written. Call it once for each block.
  Lineage LineageOf(std::span<const std::byte> block) const;

  // The calling thread begins another compaction, so what it has read before counts no more.
  static void ForgetParents();

  // The bytes of all threads' tables, for all caches. Cheap.
  static size_t dram_bytes();

 private:
  const uint64_t salt_;  // each cache has its own, because two may hold databases with the same keys
};

}  // namespace mezz
