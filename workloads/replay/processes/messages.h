// SPDX-License-Identifier: Apache-2.0
// What mezz_replay and its workers say to each other. The worker answers each command with one message, and may send
// progress before: {"progress": [done, total]}. An answer of {"error": text} ends the run.
//
//   {"do": "build", "ordinal": N}       -> what CacheFacts holds
//   {"do": "open", ...OpenCommand}      -> {}
//   {"do": "window", ...WindowCommand}  -> a WindowResult
//   {"do": "finish"}                    -> what CacheEnd holds; then the worker ends
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "workloads/replay/engine/window_result.h"
#include "workloads/replay/processes/pages.h"

namespace mezz {

// What a worker found when it built its cache.
struct CacheFacts {
  std::string unavailable;  // why it could not be built here; empty: it was
  std::string medium;
  bool emulated = false;
  bool has_second_tier = false;
  bool ours = false;
  unsigned dram_shards = 0, dram_shards_usual = 0;
  std::vector<std::string> files;  // of its SCM tier, to be removed if it cannot do so itself
};

struct OpenCommand {
  std::string path;  // the clone
  uint64_t mean_block_bytes = 4096;
  bool may_be_missing = false;
};

// The requests are in the shared window unless `seconds` > 0.
struct WindowCommand {
  bool cold = false;
  double seconds = 0;
  uint64_t requests = 0;
  uint64_t first_time_us = 0;
};

struct CacheEnd {
  std::vector<SeriesPoint> series;
  std::string counters;  // a cache of ours: its report; naive_scm: what its allocator counted
  uint64_t peak_rss_bytes = 0;
  uint64_t dram_tier_bytes = 0;    // capacity of the cache in DRAM: of RocksDB's with its table and entries
  uint64_t dram_beside_bytes = 0;  // what a cache of ours takes of DRAM beside it: DramUse
  PageCounts pages;                // after the last window
};

nlohmann::json ToJson(const CacheFacts& facts);
nlohmann::json ToJson(const OpenCommand& command);
nlohmann::json ToJson(const WindowCommand& command);
nlohmann::json ToJson(const WindowResult& result);
nlohmann::json ToJson(const CacheEnd& end);
// From what the matching ToJson made.
CacheFacts CacheFactsOf(const nlohmann::json& message);
OpenCommand OpenCommandOf(const nlohmann::json& message);
WindowCommand WindowCommandOf(const nlohmann::json& message);
WindowResult WindowResultOf(const nlohmann::json& message);
CacheEnd CacheEndOf(const nlohmann::json& message);

}  // namespace mezz
