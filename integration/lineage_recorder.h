// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "cache/status.h"
#include "rocksdb/cache.h"
#include "rocksdb/listener.h"

namespace mezz {

struct LineageRecorderOptions {
  std::string path;  // no file of this path may exist
  // The recording ends when it reaches one of these limits. The file is then whole up to there, and Finish() tells the
  // limit.
  uint64_t file_bytes_max = uint64_t{64} << 30;
  uint64_t memory_bytes_max = uint64_t{1} << 30;    // for what is known of blocks
  uint64_t waiting_bytes_max = uint64_t{64} << 20;  // for lines that the disk has not taken yet
};

// Records the look-ups and insertions that a block cache sees, with the parents of each written block, for mezz_sim and
// mezz_plan. For databases that are written to. admission/curves/lineage_csv.h describes the format.
//
//   std::unique_ptr<mezz::LineageRecorder> recorder;
//   mezz::Status status = mezz::LineageRecorder::Open({.path = "blocks.csv"}, cache, &recorder);
//   table_options.block_cache = recorder->cache();  // which serves as `cache` does
//   table_options.prepopulate_block_cache = BlockBasedTableOptions::PrepopulateBlockCache::kFlushAndCompaction;
//   options.listeners.push_back(recorder->listener());
//   ...                                             // open, use and close the databases
//   status = recorder->Finish();
//
// Any cache will do, because its hits and misses are not recorded. Without kFlushAndCompaction (RocksDB 11.1 and
// later), the blocks that flushes and compactions write appear as new ones when they are read.
//
// No look-up waits for the disk. But each takes a mutex for its line, and each block that is read from flash or written
// is copied and its keys are hashed. So use it for a recording, not in service. It keeps some 8 bytes for each key of
// the blocks that were seen, as long as their files live.
//
// A block gets no line until the recorder has seen its bytes, written or read by a user: no cache that begins with the
// recording could hold it before. If several look-ups miss it at the same time, one of them is recorded. Thread-safe.
class LineageRecorder {
 public:
  // kForeignFile if the file exists. kNotSupported before RocksDB 8.9.
  static Status Open(const LineageRecorderOptions& options, std::shared_ptr<rocksdb::Cache> cache,
                     std::unique_ptr<LineageRecorder>* recorder);
  virtual ~LineageRecorder() = default;

  virtual std::shared_ptr<rocksdb::Cache> cache() const = 0;
  virtual std::shared_ptr<rocksdb::EventListener> listener() const = 0;
  // Ends the recording, after which the file holds all of it. kIoError if the file could not be written. kNoSpace if
  // the recording had ended before, with the reason.
  virtual Status Finish() = 0;
};

}  // namespace mezz
