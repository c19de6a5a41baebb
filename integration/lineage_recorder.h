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
  std::string path;  // of no file that exists
  // Where any of these is reached the recording ends. What it has is whole, and Finish() says so.
  uint64_t file_bytes_max = uint64_t{64} << 30;
  uint64_t memory_bytes_max = uint64_t{1} << 30;    // of what is known of blocks
  uint64_t waiting_bytes_max = uint64_t{64} << 20;  // lines that the disk has not taken yet
};

// Records what a block cache sees of databases that are written to, with each written block's parents, for mezz_sim and
// mezz_plan: the format is admission/curves/lineage_csv.h.
//
//   std::unique_ptr<mezz::LineageRecorder> recorder;
//   mezz::Status status = mezz::LineageRecorder::Open({.path = "blocks.csv"}, cache, &recorder);
//   table_options.block_cache = recorder->cache();  // which serves as `cache` does
//   table_options.prepopulate_block_cache = BlockBasedTableOptions::PrepopulateBlockCache::kFlushAndCompaction;
//   options.listeners.push_back(recorder->listener());
//   ...                                             // open, use and close the databases
//   status = recorder->Finish();
//
// Any cache will do: what it finds is not recorded. Without that setting (RocksDB 11.1 and later) blocks that flushes
// and compactions write come as new ones, when they are read.
//
// No look-up waits for the disk. Each takes a mutex for its line, and each block that is read from flash or written is
// copied and its keys are hashed: this is for a recording, not for service. Some 8 bytes are kept for each key of the
// blocks that were seen, of files that live.
//
// A block whose bytes the recorder has not seen, neither written nor read by a user, has no line until they are: no
// cache that began with the recording holds it. Of look-ups that miss it together one is recorded. Thread-safe.
class LineageRecorder {
 public:
  // kForeignFile: the file exists. kNotSupported before RocksDB 8.9.
  static Status Open(const LineageRecorderOptions& options, std::shared_ptr<rocksdb::Cache> cache,
                     std::unique_ptr<LineageRecorder>* recorder);
  virtual ~LineageRecorder() = default;

  virtual std::shared_ptr<rocksdb::Cache> cache() const = 0;
  virtual std::shared_ptr<rocksdb::EventListener> listener() const = 0;
  // What was recorded is in the file; nothing is recorded any more. kIoError: it could not be written. kNoSpace: the
  // recording had ended before, and why.
  virtual Status Finish() = 0;
};

}  // namespace mezz
