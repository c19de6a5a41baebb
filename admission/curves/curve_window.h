// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "admission/curves/curve.h"
#include "admission/curves/point_model.h"
#include "admission/curves/sampler.h"
#include "cache/status.h"
#include "cache/types.h"

namespace mezz::plan {

// The cache of which the curve is made. The grid is half, once, twice and four times the size of each tier, and no
// SCM.
struct LiveTiers {
  std::string name{};  // of the host
  MiniatureOptions miniature{};
  std::string pack{};         // CurveForm::pack
  std::string pack_ratios{};  // CurveForm::pack_ratios
  uint64_t dram_bytes = 0;
  uint64_t scm_bytes = 0;
};

// The latest requests of a cache at work, in disjoint samples (LiveCurve).
struct CurveWindow {
  static constexpr uint32_t kSeeds = 5;
  // The share of the window that only warms the models, and is not counted.
  static constexpr double kWarmup = 0.5;
  static constexpr uint32_t kBlocksMin = 500;  // with fewer in all samples there is no curve
  using LookUps = std::array<uint64_t, kBlockRoles>;
  struct Passed {
    LookUps look_ups{};  // all of them
    uint64_t ns = 0;
    uint64_t kept = 0;
    uint64_t dropped = 0;
  };

  std::vector<Sampler> samplers;  // kSeeds
  Passed passed;                  // since the window began
  double rate_max = 0;
  uint32_t block_bytes = 0;  // of blocks whose size is not known
};

// Makes the curve of the window. If the window has too little for one, the error says what to do.
Status CurveOf(CurveWindow window, const LiveTiers& tiers, Curve* curve);

}  // namespace mezz::plan
