// SPDX-License-Identifier: Apache-2.0
// Everything mezz_replay can be told, and the only judge of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cache/status.h"
#include "integration/options.h"
#include "workloads/generators/generators.h"
#include "workloads/replay/caches/cache_spec.h"
#include "workloads/replay/engine/flash_model.h"
#include "workloads/rocksdb/values.h"

namespace mezz {

// What the requests are put to.
enum class ReplayMode {
  kDatabase,  // a RocksDB over each cache: database_target.h
  kBlock,     // each cache alone, over a file of blocks: block_target.h
};

// How long the blocks are, in kBlock.
enum class BlockSizes {
  kTrace,  // as the trace says; where it says nothing, a unit
  kUnit,
};

struct ReplayOptions {
  ReplayMode mode = ReplayMode::kDatabase;
  std::string trace;      // a file, or gen:NAME
  std::string format;     // of the file; empty: by name and content
  bool skip_bad = false;  // damaged records are left out and counted
  std::vector<CacheSpec> caches;

  // The tiers. `hybrid` carries every setting of ours; its dram_bytes and capacity are those of the peers too.
  HybridCacheOptions hybrid;

  std::string db_dir;                 // the work folder of either mode
  const FlashModel* flash = nullptr;  // the device that its files are read from; null: the disk they lie on
  unsigned dbs = 1;                   // kDatabase: so many over each cache, each with a share of the keys
  uint32_t unit_bytes = 4096;         // kBlock: what extents are cut into, and blocks of unknown size have
  BlockSizes sizes = BlockSizes::kTrace;
  uint32_t value_bytes = 1000;       // 0: as the generator says
  std::string values;                // what values, and blocks, hold: cut from this file
  double value_ratio = 1;            // or, where it is empty, made so that codecs pack them to one part in so many
  uint32_t block_bytes = 4096;       // kDatabase
  std::string compression = "none";  // kDatabase, of the blocks on flash: none, lz4, zstd
  bool index_in_cache = false;
  // RocksDB's memtable: how much is put between two flushes. 0: as large beside these caches as RocksDB's 64 MiB are
  // beside a server's 4 GiB, a 64th of both tiers, from 1 to 64 MiB. A larger one would take all puts of a short run,
  // which then shows nothing of a database that is written to. The levels below stay RocksDB's own: the database was
  // loaded with them, and others would have it compacted anew within the first windows.
  uint64_t write_buffer_bytes = 0;

  unsigned threads = 2;
  double warmup = 0.3;         // share of the requests, before the clock
  uint64_t warmup_ops = 0;     // > 0: so many requests instead
  bool warmup_settle = false;  // until each cache's hit ratio settles instead
  unsigned cold_windows = 1;   // the warm-up is cut into these
  unsigned repeats = 5;        // and the rest into these
  double seconds = 0;          // > 0: windows of fixed time instead of fixed requests; generators only
  bool settle_within = true;   // flushes and compactions that a window brought about end within its time
  bool verify = false;         // check every byte of every value, or block
  double rate = 0;             // > 0: open loop, so many requests a second over all threads
  double timestamps = 0;       // > 0: open loop at the trace's own times, so many times as fast

  uint64_t keys = 0;     // generators; 0: the workload's own number
  uint64_t scale = 1;    // generators: divides the keys
  uint64_t ops = 0;      // 0: the whole trace; generators: 1,000,000
  double skew = -1;      // negative: the generator's own
  double put_share = 0;  // generators without puts of their own
  uint64_t seed = 1;

  std::string json_path;
  std::string csv_path;
  std::string block_trace;  // kDatabase, one cache: its look-ups of blocks from the first request on; no file of before
  // kDatabase, one cache: what it sees of its blocks, with the parents of those that are written. No file of before.
  std::string lineage_trace;
  std::string command_line;

  // Whether --dram and --scm are the sizes of any cache at all.
  bool has_common_sizes() const;
  bool is_generator() const { return trace.starts_with("gen:"); }
  std::string generator() const { return trace.substr(4); }
  // Of the generator, for one of `streams` threads.
  GeneratorOptions generator_options(unsigned stream, unsigned streams) const;
  ValueOptions value_options() const;
  // About how long a block will be.
  uint32_t expected_block_bytes() const { return mode == ReplayMode::kBlock ? unit_bytes : block_bytes; }
  uint64_t dram_bytes() const { return hybrid.dram_bytes; }
  uint64_t scm_bytes() const { return hybrid.scm.capacity_bytes; }

  // What write_buffer_bytes comes to.
  uint64_t memtable_bytes() const;
  // The same with the tiers of the cache's own sizes.
  ReplayOptions SizedFor(const CacheSpec& spec) const;
  // Of a cache of ours. --dram is all of its DRAM, as it is for RocksDB's caches, which charge what they take beside
  // the blocks to their capacity.
  HybridCacheOptions OursFor(const CacheSpec& spec) const;

  // Judges all that can be judged without reading the trace or touching DB and SCM.
  Status Validate() const;
};

}  // namespace mezz
