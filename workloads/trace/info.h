// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "admission/curves/operation.h"
#include "cache/status.h"
#include "workloads/requests/progress.h"
#include "workloads/requests/request.h"
#include "workloads/trace/log_histogram.h"

namespace mezz {

struct InfoOptions {
  std::string path = "";
  std::string format = "auto";  // empty or auto: found
  bool skip_bad = false;
  uint32_t unit_bytes = 4096;                     // extents are cut into blocks of so many bytes
  uint64_t memory_bytes_max = uint64_t{8} << 30;  // refuse traces whose keys need more
};

// How often the most asked for keys are asked for.
struct Skew {
  double zipf_exponent = 0;  // of the frequencies by rank, all ranks
  double top_1_percent = 0;  // share of the accesses that goes to these keys
  double top_10_percent = 0;
  double top_25_percent = 0;
  uint64_t one_hit_keys = 0;  // asked for once
};

// What a trace holds. A request is what the file says once; an access is a key or block: extents are several.
struct TraceInfo {
  std::string path;
  std::string format;
  uint64_t damaged_records = 0;  // left out
  std::vector<std::string> remarks;
  uint64_t requests = 0;
  uint64_t extents = 0;   // of the requests
  uint64_t accesses = 0;  // after extents are cut
  uint64_t distinct_keys = 0;
  // Sum over the keys of the first size that is not 0; of those that have one.
  uint64_t footprint_bytes = 0;
  uint64_t keys_without_size = 0;
  uint64_t keys_of_changing_size = 0;
  std::array<uint64_t, kWordsOf<Operation>.size()> operations{};  // of requests, by Operation
  LogHistogram key_bytes, value_bytes, extent_bytes;              // by request, where it says them
  LogHistogram scan_lengths;                                      // by seek
  Skew skew;
  LogHistogram reuse_distance;  // distinct other keys between two accesses of a key
  double reuse_sample = 1;      // of the keys, for these
  LogHistogram reuse_us;        // time between them, where the trace says it
  std::array<uint64_t, kBlockRoles> roles{};
  std::map<int, uint64_t> levels;  // requests by level, where the trace says it
  uint64_t recorded_hits = 0, recorded_misses = 0;
  uint64_t no_inserts = 0;
  uint64_t clients = 0;          // distinct
  uint64_t column_families = 0;  // distinct
  bool has_time = false;
  uint64_t first_us = 0, last_us = 0;  // the least and the greatest time
};

// Reads a trace to its end. Refuses what OpenTrace() refuses, traces without requests, and what does not fit.
Status InspectTrace(const InfoOptions& options, TraceInfo* info, Progress* progress = nullptr);

}  // namespace mezz
