// SPDX-License-Identifier: Apache-2.0
// Everything that the making of a curve can be told, and the only judge of it.
#pragma once

#include <cstdint>
#include <string>

#include "admission/curves/curve.h"
#include "admission/curves/point_model.h"
#include "cache/log_rules.h"
#include "cache/status.h"

namespace mezz::plan {

inline constexpr uint32_t kSeedsDefault = 5, kSeedsMax = 32;
inline constexpr size_t kGridMax = 64;             // sizes of a tier
inline constexpr uint32_t kSampleBlocksMin = 500;  // fewer say nothing

struct CurveOptions {
  std::string policy = "adaptive";
  std::string dram_cache = "hcc";
  uint32_t block_bytes = 4096;
  std::string pack = "off";
  std::string pack_ratio{};  // empty: what the codec makes of source text
  double warmup = 0;
  std::string dram{};  // "64M,256M"; empty: eight sizes, each twice the one before, the last the first power of
  std::string scm{};   // two that holds the footprint
  uint32_t seeds = 0;  // samples, 0: five; of an exact curve seeds of the policy from `seed` on, 0: one
  uint64_t seed = 1;
  bool exact = false;                             // every request
  double rate = 1;                                // at most this share of the blocks
  uint32_t blocks_max = 8192;                     // and at most so many, for each seed
  uint64_t memory_bytes = uint64_t{8} << 30;      // exact: a trace that needs more is refused
  uint32_t writers = log_rules::kWriterLanesMax;  // CPUs of the machine that will serve
  uint32_t log_max = 1 << 20;                     // sampled requests that are kept; more are read again. For tests

  // Judges all that can be judged without a trace.
  Status Validate() const;
};

// The same, parsed.
struct CurvePlan {
  CurveForm form;  // an axis that was not named is empty
  MiniatureOptions miniature;
};
Status MakeCurvePlan(const CurveOptions& options, CurvePlan* plan);

}  // namespace mezz::plan
