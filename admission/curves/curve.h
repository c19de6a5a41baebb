// SPDX-License-Identifier: Apache-2.0
// What a workload gets from each pair of sizes of the two tiers: hit ratios over a grid, with confidence bands. Made of
// a trace by mezz_plan, and by the live cache (live_curve.h); kept in files by curve_file.h; the planner knows nothing
// else of a workload.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "admission/curves/operation.h"
#include "cache/status.h"
#include "cache/types.h"

namespace mezz::plan {

inline constexpr size_t kOperations = kOperationNames.size();

// Of a share of the requests: the error of the counted footprint, and of tiers that hold few blocks. With it 97 of 100
// points of the public traces lie in their bands, without it half of them (docs/explanation/planning.md).
inline constexpr double kCommonBand = 0.0015;

// What a host asks for and where it is found, at one point of the grid; of the requests that are counted. Estimated for
// the whole trace, in whole requests, so that adding is exact in any order.
struct PointCounts {
  uint64_t dram_hits = 0;
  uint64_t scm_in_place = 0;       // served where they lay
  uint64_t scm_unpacked = 0;       // packed, served from a copy that goes at once
  uint64_t promotions = 0;         // copied to DRAM
  uint64_t packed_promotions = 0;  // of those, from packed records
  uint64_t scm_writes = 0;         // records written, second chances included
  uint64_t second_chances = 0;     // of those
  uint64_t packed_writes = 0;      // of the writes
  uint64_t scm_written_bytes = 0;

  uint64_t scm_hits() const { return scm_in_place + scm_unpacked + promotions; }
  PointCounts& operator+=(const PointCounts& other);
  bool operator==(const PointCounts&) const = default;
};

struct RoleCounts {
  uint64_t dram_hits = 0;
  uint64_t scm_hits = 0;
  bool operator==(const RoleCounts&) const = default;
};

struct CurvePoint {
  uint64_t dram_bytes = 0;
  uint64_t scm_bytes = 0;
  std::vector<PointCounts> seeds{};             // one estimate for each seed
  std::array<RoleCounts, kBlockRoles> roles{};  // means over the seeds
  bool operator==(const CurvePoint&) const = default;
};

// What curves must have in common to be added.
struct CurveForm {
  std::string policy{};          // of PolicyNames(), or of DramAloneNames() and ScmAloneNames() (point_model.h)
  std::string dram_cache{};      // hcc, lru
  uint32_t block_bytes = 0;      // extents are cut so; blocks of traces without sizes have it
  std::string pack{};            // off, lz4, zstd
  std::string pack_ratios{};     // how many times smaller blocks become: a number, or a digest of the distribution
  double warmup = 0;             // share of the requests that are not counted
  uint32_t seeds = 0;            // independent samples; of an exact curve, seeds of the policy
  uint32_t writers = 0;          // CPUs of the machine that serves, those beyond the most lanes of writers left out
  std::vector<uint64_t> dram{};  // the grid: bytes, ascending; 0: no such tier
  std::vector<uint64_t> scm{};
  bool operator==(const CurveForm&) const = default;
};

// What is added. A host is a trace.
struct CurveSums {
  uint64_t hosts = 0;
  uint64_t requests = 0;                              // in the traces
  uint64_t counted_requests = 0;                      // behind the warm-up
  uint64_t counted_bytes = 0;                         // of the blocks that these asked for
  uint64_t blocks = 0;                                // distinct, estimated
  uint64_t footprint_bytes = 0;                       // of these
  uint64_t sampled_blocks = 0;                        // of all seeds
  uint64_t damaged_records = 0;                       // left out
  std::array<uint64_t, kOperations> operations{};     // by Operation
  std::array<uint64_t, kBlockRoles> role_requests{};  // of the counted, by role
  bool operator==(const CurveSums&) const = default;
};

// A number and how far off the sample may have it: the whole trace's is within +-band in 95 of 100 cases. By Student's
// distribution over the seeds, and kCommonBand for what all of them share. Of an exact curve the seeds are the
// policy's, and the whole is their mean; with one of them 0.
struct Estimate {
  double value = 0;
  double band = 0;
};

// Of each counted request, at one pair of sizes.
struct HitShares {
  Estimate dram;
  Estimate scm;
  Estimate both;
  double scm_in_place = 0;
  double scm_unpacked = 0;
  double promotions = 0;
  double packed_promotions = 0;
  double scm_writes = 0;
  double second_chances = 0;
  double packed_writes = 0;
  double scm_written_bytes = 0;
  double miss() const { return 1 - both.value; }
};

struct Curve {
  CurveForm form;
  CurveSums sums;
  double rate_min = 1;                  // the least share of a host's blocks that was looked at
  std::vector<std::string> traces{};    // sorted
  std::vector<std::string> warnings{};  // what is to be known before relying on it; sorted, each once
  std::vector<CurvePoint> points{};     // form.dram x form.scm, scm changing fastest

  bool exact() const { return rate_min >= 1; }
  double mean_block_bytes() const;  // of a counted request
  const CurvePoint& point(size_t dram, size_t scm) const { return points[dram * form.scm.size() + scm]; }

  // Between the grid's points linear in the logarithms of the sizes (from 0 to the first size linear in bytes); above
  // the largest size, that of the largest: an under-estimate. Refuses sizes below the grid's smallest.
  Status At(uint64_t dram_bytes, uint64_t scm_bytes, HitShares* shares) const;
  HitShares Shares(const CurvePoint& point) const;

  bool operator==(const Curve&) const = default;
};

// Adds what another host does: ratios become means weighted by requests, each host having the sizes of the grid.
// Commutative and associative, to the last digit. Refuses curves of another form, naming what differs.
Status Merge(const Curve& other, Curve* curve);

}  // namespace mezz::plan
