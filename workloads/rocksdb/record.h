// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "cache/status.h"
#include "workloads/requests/progress.h"
#include "workloads/rocksdb/block_packing.h"

namespace mezz {

struct RecordOptions {
  std::string db;           // folder of an existing RocksDB database
  std::string workload;     // gen:NAME, or a trace file
  std::string format;       // of the trace file; empty: by content and name
  uint64_t ops = 100'000;   // requests
  uint64_t seed = 1;        // generators
  std::string query_trace;  // files to write; any may be empty, none may exist
  std::string block_trace;
  std::string lineage_trace;  // blocks, with the parents of those that are written (admission/curves/lineage_csv.h)
  std::string pack_ratios;    // how the data blocks pack: files of this name with .lz4 and .zstd; empty, or new too
  uint64_t cache_bytes = 64 << 20;  // block cache of the recorded database, cold at the start
  uint64_t keys_max = 1'000'000;    // of the database's keys, so many, evenly spread, are asked for
  bool writes = false;              // do the workload's puts and deletes, and merges as puts; else leave them out

  Status Validate() const;
};

struct RecordReport {
  uint64_t keys = 0;  // of the database, that were asked for
  uint64_t reads = 0;
  uint64_t seeks = 0;
  uint64_t writes = 0;
  uint64_t writes_left_out = 0;
  uint64_t not_found = 0;
  BlockPacking packing;   // of a thousand of its data blocks at most, evenly spread, before the recording
  bool complete = false;  // false: *stop was set
};

// Records what RocksDB does under a workload: the requests as a query trace, its block look-ups as a block-cache trace,
// or with what becomes of blocks that are written. The cache is then warmed with those.
// A request's key stands for one of the default column family's keys: number k for the k-th of those sampled, in their
// order, so neighbours stay neighbours. The database is read through once to sample them.
//
// Without options.writes the database is opened read-only: nothing in its folder changes, and another process may have
// it open meanwhile (what that writes later is not seen). With it, the database must be no one else's.
Status RecordTraces(const RecordOptions& options, const std::atomic<bool>& stop, RecordReport* report,
                    Progress* progress = nullptr);

}  // namespace mezz
