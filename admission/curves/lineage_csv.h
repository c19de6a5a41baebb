// SPDX-License-Identifier: Apache-2.0
// Our recording of the blocks of a database that is written to: a CSV file with this header. The live cache's recorder
// writes it (integration/lineage_recorder.h), and the readers of traces read it. It has one event a line, in the order
// in which the cache saw them:
//
//   event    read: a user looks the block up. compaction_read: a compaction does. flushed, compacted: the block was
//            written, and offered to the cache. deleted: the file was deleted
//   block    FILE.BLOCK: numbers in the order of first appearance; with deleted only FILE
//   role     data, index, filter, dictionary, blob, other
//   bytes    of the block, uncompressed
//   keys     in the block; empty: they cannot be read
//   time_us  since the recording began
//   parents  of compacted: where its keys stood among the blocks that the compaction had looked up, as
//            "30:1.5 7:1.5+2.9 2:": 30 keys in 1.5, 7 in 1.5 and, in another version, in 2.9; 2 in none
//
// A block appears once its bytes are known. A block that only compactions have read is in no line, and its keys count
// as being in no block.
#pragma once

#include <cstdint>
#include <string_view>

#include "admission/curves/block_event.h"

namespace mezz {

inline constexpr std::string_view kLineageCsvHeader = "event,block,role,bytes,keys,time_us,parents";
inline constexpr std::string_view kUserLookUpName = "read";
inline constexpr uint32_t kBlockKeysMax = 1 << 24;  // more keys in a block mean a damaged file

}  // namespace mezz
