// SPDX-License-Identifier: Apache-2.0
// A curve: what a workload gets from each pair of sizes of the two tiers. It has hit ratios over a grid, with
// confidence bands. mezz_plan makes it from a trace, the live cache from its look-ups (live_curve.h), and curve_file.h
// keeps it in files. The planner knows nothing else of a workload.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "admission/curves/operation.h"
#include "cache/status.h"
#include "cache/types.h"

namespace mezz::plan {

inline constexpr size_t kOperations = kWordsOf<Operation>.size();

// The part of a band, as a share of the requests, that all seeds have in common: the error of the counted footprint,
// and of tiers that hold few blocks. With it 97 of 100 points of the public traces lie in their bands, without it half
// of them (docs/explanation/planning.md).
inline constexpr double kCommonBand = 0.0015;

// Where the counted requests of a host find their blocks, at one point of the grid. Estimated for the whole trace, in
// whole requests, so that sums are exact in any order.
struct PointCounts {
  uint64_t dram_hits = 0;
  uint64_t scm_in_place = 0;       // hits served in place
  uint64_t scm_unpacked = 0;       // hits on packed records, served from a copy that is not kept
  uint64_t promotions = 0;         // hits copied to DRAM
  uint64_t packed_promotions = 0;  // of the promotions: from packed records
  uint64_t scm_slow_hits = 0;      // of the SCM hits: on the slow level, if the media are ordered
  uint64_t scm_writes = 0;         // records written, second chances included
  uint64_t second_chances = 0;     // of the writes
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

// What two curves must have in common to be added.
struct CurveForm {
  std::string policy{};          // of PolicyNames(), or of DramAloneNames() and ScmAloneNames() (point_model.h)
  std::string dram_cache{};      // hcc, lru
  uint32_t block_bytes = 0;      // extents are cut into these; blocks of traces without sizes have this one
  std::string pack{};            // off, lz4, zstd
  std::string pack_ratios{};     // how many times smaller blocks become: a number, or a digest of the distribution
  double warmup = 0;             // share of the requests that are not counted
  uint32_t seeds = 0;            // independent samples; for an exact curve, seeds of the policy
  double fast_share = 0;         // of ordered media: the fast level's part of each SCM size; 0: there is one level
  uint32_t writers = 0;          // CPUs of the machine that serves, at most as many as writers have lanes
  std::vector<uint64_t> dram{};  // the grid: bytes, ascending; 0: no such tier
  std::vector<uint64_t> scm{};
  bool operator==(const CurveForm&) const = default;
};

// What is added up. Each trace is a host.
struct CurveSums {
  uint64_t hosts = 0;
  uint64_t requests = 0;                              // in the traces
  uint64_t counted_requests = 0;                      // after the warm-up
  uint64_t counted_bytes = 0;                         // of the blocks that the counted requests asked for
  uint64_t blocks = 0;                                // distinct, estimated
  uint64_t footprint_bytes = 0;                       // of the distinct blocks
  uint64_t sampled_blocks = 0;                        // of all seeds
  uint64_t damaged_records = 0;                       // left out
  std::array<uint64_t, kOperations> operations{};     // by Operation
  std::array<uint64_t, kBlockRoles> role_requests{};  // counted requests, by role
  bool operator==(const CurveSums&) const = default;
};

// A number, and how far off the sample may be: the whole trace's number is within +-band in 95 of 100 cases. The band
// is that of Student's distribution over the seeds, and kCommonBand for what all of them share. For an exact curve the
// seeds are the policy's, the number is their mean, and with one seed the band is 0.
struct Estimate {
  double value = 0;
  double band = 0;
};

// The shares of the counted requests, at one pair of sizes.
struct HitShares {
  Estimate dram;
  Estimate scm;
  Estimate both;
  double scm_in_place = 0;
  double scm_unpacked = 0;
  double promotions = 0;
  double packed_promotions = 0;
  double scm_slow_hits = 0;
  double scm_writes = 0;
  double second_chances = 0;
  double packed_writes = 0;
  double scm_written_bytes = 0;
  double miss() const { return 1 - both.value; }
};

struct Curve {
  CurveForm form;
  CurveSums sums;
  double rate_min = 1;                  // the least share of a host's blocks that was sampled
  std::vector<std::string> traces{};    // sorted
  std::vector<std::string> warnings{};  // what is to be known before relying on it; sorted, each once
  std::vector<CurvePoint> points{};     // form.dram x form.scm, scm changing fastest

  bool exact() const { return rate_min >= 1; }
  double mean_block_bytes() const;  // of a counted request
  const CurvePoint& point(size_t dram, size_t scm) const { return points[dram * form.scm.size() + scm]; }

  // The shares at any pair of sizes. Between the grid's points they are linear in the logarithms of the sizes; from 0
  // to the first size they are linear in bytes. Above the largest size they are those of the largest, which is an
  // under-estimate. An error for sizes below the grid's smallest.
  Status At(uint64_t dram_bytes, uint64_t scm_bytes, HitShares* shares) const;
  HitShares Shares(const CurvePoint& point) const;

  bool operator==(const Curve&) const = default;
};

// Adds another host to a curve. Ratios become means weighted by requests; each host has tiers of the grid's sizes.
// Commutative and associative, to the last digit. For a curve of another form, the error names what differs.
Status Merge(const Curve& other, Curve* curve);

}  // namespace mezz::plan
