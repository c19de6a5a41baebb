// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "admission/lineage.h"

namespace mezz {

// Tells which blocks a compaction's output comes from: its heirs are the blocks that it writes, their parents those
// that it reads. Both pass the cache, on the compaction's thread: with kFlushAndCompaction RocksDB looks each input
// block up and inserts each output block as it is written.
//
// An output's parents are found by its keys: the table of a thread holds the keys of the input blocks that it has found
// in the cache lately (ParentTable), and a key that is not among them was in a block that the cache had not. So it does
// not matter how long a block of Level 0 stays open over many outputs, where in an output an input's block ends, or
// what the thread compacted before.
//
// Where keys cannot be read (HashEntries), the best of what the thread has found since its last output, and just before
// that one, counts for all of them: in an output whose own cannot be read, and in kOutputsByOrder after an input.
//
// Where the output is inserted by another thread than the input was looked up by
// (CompressionOptions::parallel_threads), or much later (a compression dictionary is sampled first), all threads'
// tables are asked. An output of which nobody knows a key is Lineage::Kind::kUnknown if nobody has looked inputs up
// lately, or if so many were that a table has forgotten some before an output came: one of a dictionary's first file.
//
// A thread that finds inputs in the cache keeps a table of 64 KiB, for all caches, until it ends.
// Thread-safe; each call is about the calling thread's compaction. Allocates when a thread calls for the first time, or
// meets a block with more keys than before. Of a thread that has destroyed its own objects nothing is known.
class Heirs {
 public:
  static constexpr uint32_t kOutputsByOrder = 64;

  Heirs();
  // This thread reads a data block, found at `standing`. kNowhere: `block` may be empty.
  void NoteParent(std::span<const std::byte> block, Standing standing, uint8_t frequency) const;
  // This thread has written a data block. One call a block.
  Lineage LineageOf(std::span<const std::byte> block) const;

  // This thread begins another compaction: what it has read counts no more.
  static void ForgetParents();

  // Of all threads, for all caches. Cheap.
  static size_t dram_bytes();

 private:
  const uint64_t salt_;  // a cache's own: two may hold databases with the same keys
};

}  // namespace mezz
