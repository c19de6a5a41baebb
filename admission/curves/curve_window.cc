// SPDX-License-Identifier: Apache-2.0
#include "admission/curves/curve_window.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "admission/curves/seed_run.h"

namespace mezz::plan {
namespace {

constexpr double kDroppedWarned = 0.01;

std::vector<uint64_t> Axis(uint64_t bytes) { return {bytes / 2, bytes, bytes * 2, bytes * 4}; }

uint64_t Counted(uint64_t whole) {
  return whole - static_cast<uint64_t>(static_cast<double>(whole) * CurveWindow::kWarmup);
}

// Describes the blocks of all samples together.
void DescribeBlocks(std::vector<Sampler>* samplers, Curve* curve) {
  CurveSums& sums = curve->sums;
  uint64_t requests = 0;
  uint64_t request_bytes = 0;
  uint64_t footprint = 0;
  double blocks = 0;
  for (Sampler& sampler : *samplers) {
    sums.sampled_blocks += sampler.blocks();
    requests += sampler.requests();
    request_bytes += sampler.request_bytes();
    footprint += sampler.footprint_bytes();
    blocks += static_cast<double>(sampler.blocks()) / sampler.rate() / CurveWindow::kSeeds;
    curve->rate_min = std::min(curve->rate_min, sampler.rate());
  }
  sums.blocks = static_cast<uint64_t>(std::llround(blocks));
  if (requests == 0) return;
  sums.footprint_bytes = static_cast<uint64_t>(
      std::llround(static_cast<double>(footprint) / static_cast<double>(sums.sampled_blocks) * blocks));
  sums.counted_bytes = static_cast<uint64_t>(std::llround(
      static_cast<double>(request_bytes) / static_cast<double>(requests) * static_cast<double>(sums.counted_requests)));
}

Status CheckSays(const CurveSums& sums, double rate_max) {
  if (sums.requests == 0) return Status::NotFound("no block was looked up yet; ask again later");
  if (sums.sampled_blocks >= CurveWindow::kBlocksMin) return Status::Ok();
  const double wanted =
      rate_max * CurveWindow::kBlocksMin / std::max<double>(1, static_cast<double>(sums.sampled_blocks));
  return Status::NotFound(fmt::format(
      "{} look-ups so far, and of a share of {} their sample has {} blocks; {} are the least: ask again later, "
      "or open the cache with curve={:.2g}",
      sums.requests, rate_max, sums.sampled_blocks, CurveWindow::kBlocksMin, std::min(1.0, wanted)));
}

}  // namespace

Status CurveOf(CurveWindow window, const LiveTiers& tiers, Curve* curve) {
  Curve made;
  made.form = {.policy = tiers.miniature.policy,
               .dram_cache = tiers.miniature.dram_cache == sim::DramCache::kLru ? "lru" : "hcc",
               .block_bytes = window.block_bytes,
               .pack = tiers.pack,
               .pack_ratios = tiers.pack_ratios,
               .warmup = CurveWindow::kWarmup,
               .seeds = CurveWindow::kSeeds,
               .fast_share = tiers.miniature.fast_share,
               .writers = tiers.miniature.writers,
               .dram = Axis(tiers.dram_bytes),
               .scm = tiers.scm_bytes == 0 ? std::vector<uint64_t>() : Axis(tiers.scm_bytes)};
  made.form.scm.insert(made.form.scm.begin(), 0);
  made.traces = {tiers.name};
  CurveSums& sums = made.sums;
  sums.hosts = 1;
  for (size_t role = 0; role < kBlockRoles; ++role) {
    sums.requests += window.passed.look_ups[role];
    sums.role_requests[role] = Counted(window.passed.look_ups[role]);
  }
  sums.counted_requests = Counted(sums.requests);
  sums.operations[static_cast<size_t>(Operation::kGet)] = sums.requests;
  DescribeBlocks(&window.samplers, &made);
  MEZZ_RETURN_IF_ERROR(CheckSays(sums, window.rate_max));
  for (const uint64_t dram : made.form.dram) {
    for (const uint64_t scm : made.form.scm) made.points.push_back({.dram_bytes = dram, .scm_bytes = scm});
  }
  const auto kept = static_cast<double>(std::max<uint64_t>(1, window.passed.kept));
  const double kept_share = kept / (kept + static_cast<double>(window.passed.dropped));
  for (Sampler& sampler : window.samplers) {
    SeedRunOptions run{.name = tiers.name, .miniature = tiers.miniature};
    const auto requests = static_cast<double>(sampler.requests());
    const auto front = static_cast<double>(sampler.kept_front());
    run.warmup = (front + CurveWindow::kWarmup * (requests - front)) / requests;
    run.miniature.access_ns = std::max<uint64_t>(1, window.passed.ns / sums.requests);
    run.miniature.rate = static_cast<double>(sampler.blocks()) / static_cast<double>(sums.blocks);
    std::vector<SampleCounts> counts;
    MEZZ_RETURN_IF_ERROR(RunSeed(made.points, run, &sampler, &counts));
    for (size_t i = 0; i < made.points.size(); ++i)
      AddSeed(sums, run.miniature.rate * kept_share, counts[i], &made.points[i]);
  }
  FinishSeeds(CurveWindow::kSeeds, &made);
  if (kept_share < 1 - kDroppedWarned) {
    made.warnings.push_back(fmt::format("{}: {:.1f} % of the sampled look-ups were dropped where threads met",
                                        tiers.name, 100 * (1 - kept_share)));
  }
  if (made.form.fast_share != 0) {
    made.warnings.push_back(
        fmt::format("{}: SCM is ordered media, {:.0f} % of each size the fast ones: one medium of "
                    "that size has other hits",
                    tiers.name, 100 * made.form.fast_share));
  }
  *curve = std::move(made);
  return Status::Ok();
}

}  // namespace mezz::plan
