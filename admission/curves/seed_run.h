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

// Where a sample of more requests than are kept comes from: calls `each` with the key of every request, in order.
using ReadAgain = std::function<Status(const std::function<Status(uint64_t key)>& each)>;
// As MakePointModel, which it falls back on.
using PointMaker =
    std::function<Status(const BlockTrace& trace, const BlockSizes& sizes, const MiniatureOptions& options,
                         uint64_t dram_bytes, uint64_t scm_bytes, std::unique_ptr<PointModel>* model)>;

struct SeedRunOptions {
  std::string name;  // of the trace, for messages
  MiniatureOptions miniature;
  double warmup = 0;
  PointMaker make = MakePointModel;
  ReadAgain read_again{};            // needed where the sampler has no log
  std::function<void()> on_point{};  // a point is done
};

// Simulates `points` on what `sampler` has kept, behind the first `warmup` of its requests. Where it has kept only the
// blocks, they are read again and all points run side by side; else one after the other. Takes the sampler's log.
Status RunSeed(const std::vector<CurvePoint>& points, const SeedRunOptions& options, Sampler* sampler,
               std::vector<SampleCounts>* counts);
// The same on a whole trace, which may have events.
Status RunSeed(const std::vector<CurvePoint>& points, const SeedRunOptions& options, BlockTrace trace,
               std::vector<SampleCounts>* counts);

// What is estimated for all requests (`sums`) of counts on a sample of `rate` of the blocks, as one more seed of the
// point. A sample that happens to have too many or too few requests is corrected: SHARDS-adj.
void AddSeed(const CurveSums& sums, double rate, const SampleCounts& counts, CurvePoint* point);
// All seeds were added: so many were run, of form.seeds that are alike.
void FinishSeeds(size_t runs, Curve* curve);

}  // namespace mezz::plan
