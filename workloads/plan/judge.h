// SPDX-License-Identifier: Apache-2.0
// What one server would do with the workload, as it is or changed.
#pragma once

#include <vector>

#include "workloads/plan/answer.h"

namespace mezz::plan {

// How the workload may change.
struct Change {
  double growth = 1;  // times the data, used alike: a tier of C bytes then finds what one of C / growth does today
  double flat = 0;    // share of the look-ups that goes evenly to all blocks instead
};

// DRAM that the cache itself takes beside blocks, if it has an SCM tier: index, policy, and what `threads` pack with.
double OwnDramBytes(const Traffic& traffic, double dram_bytes, double scm_bytes, unsigned threads);

// What ordered media find and are written. Both together find what one tier of their bytes does; the fast one finds of
// that what it would find alone, but no more. A record moves down once and gets its second chances there, so the slow
// one is written what one tier of their bytes is, and the fast one what it would be alone
// (docs/explanation/planning.md). slow_bytes 0: those of one medium.
TierShares SharesOfMedia(const HitSurface& surface, double dram_bytes, double fast_bytes, double slow_bytes);

// DRAM that the cache gets of a build: without what is reserved and without the index of the SCM tier.
double DramCacheBytes(const Question& question, const Build& build);

// Under `load`, whose threads are filled in, instead of the question's.
// "SIZE", or of ordered media "FAST>SLOW"; *slow stays without. `flag` is named in errors.
Status ParseScmSizes(std::string_view flag, std::string_view text, uint64_t* fast, uint64_t* slow);

Prediction Perform(const Question& question, const Load& load, const Build& build, const Change& change);
// What a build that performs so has of each metric.
Figures FiguresOf(const Build& build, const Cost& cost, const Prediction& prediction);
// Both.
Figures Judge(const Question& question, const Load& load, const Build& build, const Cost& cost, const Change& change);

struct Verdict {
  std::vector<double> slack;
  bool feasible = true;
  bool sure = true;
};
Verdict Meets(const Question& question, const Bounds& bounds, const Figures& figures);

}  // namespace mezz::plan
