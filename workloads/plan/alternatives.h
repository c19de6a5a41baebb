// SPDX-License-Identifier: Apache-2.0
// What the same targets cost where the modules are used otherwise than by the hybrid cache: Memory Mode, all blocks in
// SCM, memory that compresses inline, a compressed tier or the page cache in DRAM.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "admission/curves/curve.h"
#include "cache/status.h"
#include "workloads/plan/answer.h"

namespace mezz::plan {

// Of the DRAM, the block cache's; the rest is the second tier.
inline constexpr double kBlockCacheShares[] = {0.125, 0.25, 0.5, 0.75, 0.875};

// The cheapest that meets the targets there, or, if nothing does, the nearest.
struct PricedAlternative {
  std::string policy;
  std::string server;
  double cost = 0;
  double throughput = 0;
  double p99_us = 0;
  double miss = 0;
  bool feasible = false;
  double block_cache_share = 0;  // of the DRAM, where the second tier is DRAM, too: the best split; else 0
};

// Of a curve of the same trace under another policy. Where that has a second tier of DRAM, servers without SCM are
// asked for, and their DRAM is split as serves the targets cheapest, of kBlockCacheShares. The bounds are those of
// `answer`: its baseline stays the measure. Where a block that the hardware fetched from SCM counts as a copy of the
// block, Memory Mode's stalls line by line are a little dearer than priced. Refuses a curve of another trace, or of
// other blocks, naming `path`.
Status PriceAlternative(const Question& question, const Answer& answer, const Curve& curve, const std::string& path,
                        PricedAlternative* priced);

// Lines for the terminal.
std::string AlternativesText(const Question& question, const Answer& answer,
                             const std::vector<PricedAlternative>& alternatives);
// docs/reference/plan.md, "The JSON".
nlohmann::json AlternativesJson(const std::vector<PricedAlternative>& alternatives);

}  // namespace mezz::plan
