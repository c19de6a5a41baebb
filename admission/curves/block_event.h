// SPDX-License-Identifier: Apache-2.0
// The events of a recording beside users' look-ups: what flushes and compactions do to the blocks of a database that is
// written to.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "cache/base/words.h"
#include "cache/types.h"

namespace mezz {

enum class BlockEventKind : uint8_t {
  kCompactionLookUp,  // a compaction looks the block up: no user wants it, and it is not kept after a miss
  kFlushed,           // a flush has written the block, and offers it to the cache
  kCompacted,         // a compaction has written the block, and offers it to the cache
  kFileDeleted,       // nobody will ask for the file's blocks again
};
template <>
inline constexpr Words<4> kWordsOf<BlockEventKind> = {"compaction_read", "flushed", "compacted", "deleted"};

// A share of a block that a compaction has written: `keys` of its keys stood in `parent`, a block that the compaction
// looked up before. If `keys` is 0, the keys of the share before stood in `parent` too, in another version.
template <typename Id>
struct ParentShare {
  uint32_t keys = 0;
  Id parent = kNoParent;

  static constexpr Id kNoParent = static_cast<Id>(-1);  // the keys stood in no block that was looked up
  bool operator==(const ParentShare&) const = default;
};

struct BlockEvent {
  BlockEventKind kind = BlockEventKind::kFileDeleted;
  BlockRole role = BlockRole::kData;
  uint64_t key = 0;      // of the block; kFileDeleted: any of the file's (FileOfKey)
  uint32_t bytes = 0;    // 0: not known
  uint32_t keys = 0;     // in the block; 0: not known
  uint64_t time_us = 0;  // on the trace's own clock; 0: not known
  std::vector<ParentShare<uint64_t>> parents{};
};

// In a recording of events a block's key is the number of its file and its own number among the file's blocks. Blocks
// are numbered 0, 1 and so on, in the order of first appearance.
constexpr uint64_t KeyInFile(uint32_t file, uint32_t block) { return uint64_t{file} << 32 | block; }
constexpr uint32_t FileOfKey(uint64_t key) { return static_cast<uint32_t>(key >> 32); }

}  // namespace mezz
