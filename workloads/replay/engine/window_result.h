// SPDX-License-Identifier: Apache-2.0
// What was counted while a cache ran. Plain values; sums over windows are made with Add. What is reported of them:
// fields.h.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "workloads/replay/engine/counts.h"
#include "workloads/replay/engine/flash.h"
#include "workloads/replay/engine/latency_histogram.h"

namespace mezz {

// Block look-ups by where they ended, and the bytes that moved.
struct TierCounts {
  uint64_t hits = 0;  // in any tier
  uint64_t second_hits = 0;
  uint64_t flash_reads = 0;  // blocks that were read by themselves
  uint64_t read_ahead = 0;   // blocks that no tier had, but what a scan had read ahead in larger reads
  uint64_t flash_bytes = 0;
  uint64_t scm_bytes_read = 0;
  uint64_t scm_bytes_written = 0;

  uint64_t misses() const { return flash_reads + read_ahead; }
  uint64_t lookups() const { return hits + misses(); }
  uint64_t dram_hits() const { return hits - (second_hits < hits ? second_hits : hits); }
  // Shares of the look-ups.
  double dram_hit() const { return Share(dram_hits()); }
  double scm_hit() const { return Share(second_hits); }
  double miss() const { return Share(misses()); }

 private:
  double Share(uint64_t count) const {
    return static_cast<double>(count) / static_cast<double>(lookups() == 0 ? 1 : lookups());
  }
};
template <>
inline constexpr std::array<CountOf<TierCounts>, 7> kCountsOf<TierCounts> = {
    {{"hits", &TierCounts::hits},
     {"second_hits", &TierCounts::second_hits},
     {"flash_reads", &TierCounts::flash_reads},
     {"read_ahead", &TierCounts::read_ahead},
     {"flash_bytes", &TierCounts::flash_bytes},
     {"scm_bytes_read", &TierCounts::scm_bytes_read},
     {"scm_bytes_written", &TierCounts::scm_bytes_written}}};

// What a cache of ours packed, and what its hits had to unpack.
struct PackedCounts {
  uint64_t hits = 0;    // of the SCM hits
  uint64_t writes = 0;  // of the blocks written to SCM from DRAM or flash
  uint64_t bytes = 0;   // of these blocks, and as they were stored
  uint64_t stored = 0;

  double ratio() const { return stored == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(stored); }
};
template <>
inline constexpr std::array<CountOf<PackedCounts>, 4> kCountsOf<PackedCounts> = {{{"hits", &PackedCounts::hits},
                                                                                  {"writes", &PackedCounts::writes},
                                                                                  {"bytes", &PackedCounts::bytes},
                                                                                  {"stored", &PackedCounts::stored}}};

// Look-ups of the blocks of one role.
struct RoleCounts {
  uint64_t hits = 0;
  uint64_t second_hits = 0;  // only where the cache tells: WindowResult::second_hits_by_role
  uint64_t flash_reads = 0;
  uint64_t read_ahead = 0;

  uint64_t misses() const { return flash_reads + read_ahead; }
  uint64_t lookups() const { return hits + misses(); }
  uint64_t dram_hits() const { return hits - (second_hits < hits ? second_hits : hits); }
};
template <>
inline constexpr std::array<CountOf<RoleCounts>, 4> kCountsOf<RoleCounts> = {{{"hits", &RoleCounts::hits},
                                                                              {"second_hits", &RoleCounts::second_hits},
                                                                              {"flash_reads", &RoleCounts::flash_reads},
                                                                              {"read_ahead", &RoleCounts::read_ahead}}};
enum class RoleSlot : uint8_t { kData, kIndex, kFilter, kCount };
inline constexpr size_t kRoleSlots = static_cast<size_t>(RoleSlot::kCount);
inline constexpr std::array<const char*, kRoleSlots> kRoleNames = {"data", "index", "filter"};

// One stretch of about a second of a cache's measured time.
struct SeriesPoint {
  double t_s = 0;      // its end, in the cache's own measured time
  double seconds = 0;  // its length
  uint64_t ops = 0;
  TierCounts tiers;
  double p99_us = 0;

  double per_s(uint64_t count) const { return seconds > 0 ? static_cast<double>(count) / seconds : 0; }
};

// What the databases did beside their requests.
struct BackgroundCounts {
  uint64_t flushes = 0;
  uint64_t compactions = 0;
  uint64_t flushed_bytes = 0;
  uint64_t compacted_read_bytes = 0;  // of their inputs
  uint64_t compacted_bytes = 0;       // written
  uint64_t compaction_ms = 0;         // that compactions took, each by itself
};
template <>
inline constexpr std::array<CountOf<BackgroundCounts>, 6> kCountsOf<BackgroundCounts> = {
    {{"flushes", &BackgroundCounts::flushes},
     {"compactions", &BackgroundCounts::compactions},
     {"flushed_bytes", &BackgroundCounts::flushed_bytes},
     {"compacted_read_bytes", &BackgroundCounts::compacted_read_bytes},
     {"compacted_bytes", &BackgroundCounts::compacted_bytes},
     {"compaction_ms", &BackgroundCounts::compaction_ms}}};

inline constexpr double kUnknownShare = -1;

// Of one window on one cache, or several together.
struct WindowCounts {
  uint64_t ops = 0;  // each key of a batch is one
  double seconds = 0;
  // That flushes and compactions went on for after the last request. With --settle=within a part of `seconds`.
  double settle_seconds = 0;
  BackgroundCounts background;  // until then
  double cpu_seconds = 0;       // of the process until then, without what open loop spends waiting
  uint64_t context_switches = 0;
  TierCounts tiers;
  FlashCounts flash;  // under --flash; compactions' reads included
  uint64_t demotions = 0;
  uint64_t promotions = 0;
  uint64_t scm_writes = 0;  // blocks written to the second tier, second chances included
  uint64_t clean_evictions = 0;
  PackedCounts packed;
  std::map<std::string, uint64_t> refusals;    // reason -> blocks; caches of ours
  std::map<std::string, uint64_t> operations;  // get, multiget (batches), put, ... -> requests
  uint64_t not_found = 0;
  // What blocks of deleted files take of the SCM tier at the end, as stored, if it is of ours.
  double scm_dead_share = kUnknownShare;

  double ops_per_s() const { return per_s(ops); }
  double per_s(uint64_t count) const { return seconds > 0 ? static_cast<double>(count) / seconds : 0; }
  double per_op(uint64_t count) const { return per_op(static_cast<double>(count)); }
  uint64_t writes() const;  // of the operations: what changes a key
  // Whether the databases were written to, and neither flushed nor compacted: the window says nothing of a server's.
  bool only_fills_memtables() const { return writes() > 0 && background.flushes + background.compactions == 0; }
  double per_op(double sum) const { return sum / static_cast<double>(ops == 0 ? 1 : ops); }
};

struct WindowResult : WindowCounts {
  LatencyHistogram latencies;
  std::array<RoleCounts, kRoleSlots> roles;
  bool second_hits_by_role = false;
  uint64_t other_bytes = 0;  // the process's anonymous memory beside the block cache, at the end: memtables, for one
  uint64_t touched = 0;      // a sum over the values' lines: keeps the reads from being optimised away

  void Add(const WindowResult& other);
};

}  // namespace mezz
