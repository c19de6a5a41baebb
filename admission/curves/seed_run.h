// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "admission/curves/curve.h"
#include "admission/curves/point_model.h"
#include "admission/curves/sampler.h"
#include "cache/status.h"

namespace mezz::plan {

// Reads the requests of a trace again, for a sample that has more of them than it keeps: calls `each` with the key of
// every request, in order.
using ReadAgain = std::function<Status(const std::function<Status(uint64_t key)>& each)>;
// Makes the model of a point. Empty: MakePointModel.
using PointMaker =
    std::function<Status(const BlockTrace& trace, const BlockSizes& sizes, const MiniatureOptions& options,
                         uint64_t dram_bytes, uint64_t scm_bytes, std::unique_ptr<PointModel>* model)>;

struct SeedRunOptions {
  std::string name;  // of the trace, for messages
  MiniatureOptions miniature;
  double warmup = 0;
  PointMaker make = MakePointModel;
  ReadAgain read_again{};            // needed if the sampler has no log
  std::function<void()> on_point{};  // called when a point is done
};

// Simulates `points` on the requests that `sampler` has kept, and counts those after the share `warmup`. If it has kept
// only the blocks, the requests are read again, and all points run side by side; otherwise the points run one after the
// other. Takes the sampler's log.
Status RunSeed(const std::vector<CurvePoint>& points, const SeedRunOptions& options, Sampler* sampler,
               std::vector<SampleCounts>* counts);
// The same on a whole trace, which may have events.
Status RunSeed(const std::vector<CurvePoint>& points, const SeedRunOptions& options, BlockTrace trace,
               std::vector<SampleCounts>* counts);

// Adds one more seed to the point: the estimate for all requests (`sums`) from the counts on a sample of `rate` of the
// blocks. If the sample happens to have too many or too few requests, the estimate is corrected (SHARDS-adj).
void AddSeed(const CurveSums& sums, double rate, const SampleCounts& counts, CurvePoint* point);
// Ends a curve to which all seeds were added: `runs` were run, of form.seeds equal ones.
void FinishSeeds(size_t runs, Curve* curve);

}  // namespace mezz::plan
