// SPDX-License-Identifier: Apache-2.0
#include "admission/curves/curve.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <iterator>

namespace mezz::plan {
namespace {

// Student's t at 97.5 %, by degrees of freedom from 1 on; beyond the table the normal distribution's is too small by
// 4 % at most.
constexpr double kStudent[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201,
                               2.179,  2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074,
                               2.069,  2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042, 2.040};

template <typename Value>
Estimate EstimateOver(const CurvePoint& point, double requests, double common, Value&& value) {
  const auto seeds = static_cast<double>(point.seeds.size());
  double sum = 0;
  for (const PointCounts& counts : point.seeds) sum += static_cast<double>(value(counts)) / requests;
  Estimate estimate{.value = sum / seeds};
  if (point.seeds.size() < 2) return estimate;
  double squares = 0;
  for (const PointCounts& counts : point.seeds) {
    const double off = static_cast<double>(value(counts)) / requests - estimate.value;
    squares += off * off;
  }
  const size_t freedom = std::min(point.seeds.size() - 1, std::size(kStudent));
  estimate.band = kStudent[freedom - 1] * std::sqrt(squares / (seeds - 1) / seeds) + common;
  return estimate;
}

// The place of a size on an axis: `part` of the way from `low` to `high`.
struct Place {
  size_t low = 0;
  size_t high = 0;
  double part = 0;
};

Status Locate(std::string_view tier, const std::vector<uint64_t>& axis, uint64_t bytes, Place* place) {
  if (bytes < axis.front()) {
    return Status::InvalidArgument(
        fmt::format("{}={} is below the curve's smallest size, {}; make a curve with --{}={},...", tier, bytes,
                    axis.front(), tier, bytes));
  }
  const auto above = std::ranges::upper_bound(axis, bytes);
  place->low = static_cast<size_t>(above - axis.begin()) - 1;
  place->high = std::min(place->low + 1, axis.size() - 1);
  place->part = 0;
  if (place->low == place->high) return Status::Ok();
  const auto low = static_cast<double>(axis[place->low]);
  const auto high = static_cast<double>(axis[place->high]);
  const auto at = static_cast<double>(bytes);
  place->part = low == 0 ? at / high : std::log(at / low) / std::log(high / low);
  return Status::Ok();
}

void AddWeighted(const HitShares& shares, double weight, HitShares* sum) {
  const auto add = [weight](const Estimate& from, Estimate* to) {
    to->value += weight * from.value;
    to->band += weight * from.band;
  };
  add(shares.dram, &sum->dram);
  add(shares.scm, &sum->scm);
  add(shares.both, &sum->both);
  for (double HitShares::*field :
       {&HitShares::scm_in_place, &HitShares::scm_unpacked, &HitShares::promotions, &HitShares::packed_promotions,
        &HitShares::scm_slow_hits, &HitShares::scm_writes, &HitShares::second_chances, &HitShares::packed_writes,
        &HitShares::scm_written_bytes})
    sum->*field += weight * shares.*field;
}

template <typename T>
Status CheckAlike(std::string_view what, std::string_view flag, const T& mine, const T& other) {
  if (mine == other) return Status::Ok();
  return Status::InvalidArgument(fmt::format(
      "curves of different {} cannot be merged: {} and {}; make both with the same --{}", what, mine, other, flag));
}

}  // namespace

PointCounts& PointCounts::operator+=(const PointCounts& other) {
  dram_hits += other.dram_hits;
  scm_in_place += other.scm_in_place;
  scm_unpacked += other.scm_unpacked;
  promotions += other.promotions;
  packed_promotions += other.packed_promotions;
  scm_slow_hits += other.scm_slow_hits;
  scm_writes += other.scm_writes;
  second_chances += other.second_chances;
  packed_writes += other.packed_writes;
  scm_written_bytes += other.scm_written_bytes;
  return *this;
}

double Curve::mean_block_bytes() const {
  return static_cast<double>(sums.counted_bytes) / static_cast<double>(sums.counted_requests);
}

HitShares Curve::Shares(const CurvePoint& point) const {
  assert(!point.seeds.empty() && sums.counted_requests > 0);
  const auto requests = static_cast<double>(sums.counted_requests);
  const double common = exact() ? 0 : kCommonBand;
  const auto of = [&](auto value) { return EstimateOver(point, requests, common, value); };
  return {.dram = of([](const PointCounts& c) { return c.dram_hits; }),
          .scm = of([](const PointCounts& c) { return c.scm_hits(); }),
          .both = of([](const PointCounts& c) { return c.dram_hits + c.scm_hits(); }),
          .scm_in_place = of([](const PointCounts& c) { return c.scm_in_place; }).value,
          .scm_unpacked = of([](const PointCounts& c) { return c.scm_unpacked; }).value,
          .promotions = of([](const PointCounts& c) { return c.promotions; }).value,
          .packed_promotions = of([](const PointCounts& c) { return c.packed_promotions; }).value,
          .scm_slow_hits = of([](const PointCounts& c) { return c.scm_slow_hits; }).value,
          .scm_writes = of([](const PointCounts& c) { return c.scm_writes; }).value,
          .second_chances = of([](const PointCounts& c) { return c.second_chances; }).value,
          .packed_writes = of([](const PointCounts& c) { return c.packed_writes; }).value,
          .scm_written_bytes = of([](const PointCounts& c) { return c.scm_written_bytes; }).value};
}

Status Curve::At(uint64_t dram_bytes, uint64_t scm_bytes, HitShares* shares) const {
  Place dram;
  Place scm;
  MEZZ_RETURN_IF_ERROR(Locate("dram", form.dram, dram_bytes, &dram));
  MEZZ_RETURN_IF_ERROR(Locate("scm", form.scm, scm_bytes, &scm));
  *shares = {};
  AddWeighted(Shares(point(dram.low, scm.low)), (1 - dram.part) * (1 - scm.part), shares);
  AddWeighted(Shares(point(dram.low, scm.high)), (1 - dram.part) * scm.part, shares);
  AddWeighted(Shares(point(dram.high, scm.low)), dram.part * (1 - scm.part), shares);
  AddWeighted(Shares(point(dram.high, scm.high)), dram.part * scm.part, shares);
  return Status::Ok();
}

Status Merge(const Curve& other, Curve* curve) {
  const CurveForm& a = curve->form;
  const CurveForm& b = other.form;
  MEZZ_RETURN_IF_ERROR(CheckAlike("block sizes", "unit", a.block_bytes, b.block_bytes));
  MEZZ_RETURN_IF_ERROR(CheckAlike("policies", "policy", a.policy, b.policy));
  MEZZ_RETURN_IF_ERROR(CheckAlike("DRAM caches", "dram_cache", a.dram_cache, b.dram_cache));
  MEZZ_RETURN_IF_ERROR(CheckAlike("forms of records", "pack", a.pack, b.pack));
  MEZZ_RETURN_IF_ERROR(CheckAlike("ratios of packed records", "pack_ratio", a.pack_ratios, b.pack_ratios));
  MEZZ_RETURN_IF_ERROR(CheckAlike("shares of warm-up", "warmup", a.warmup, b.warmup));
  MEZZ_RETURN_IF_ERROR(CheckAlike("numbers of samples", "seeds", a.seeds, b.seeds));
  MEZZ_RETURN_IF_ERROR(CheckAlike("numbers of writers", "writers", a.writers, b.writers));
  if (a.fast_share != b.fast_share) {
    return Status::InvalidArgument(fmt::format(
        "curves of different ordered media cannot be merged: {:.4g} and {:.4g} of their SCM are fast; merge "
        "those of caches with the same media (0: not ordered)",
        a.fast_share, b.fast_share));
  }
  MEZZ_RETURN_IF_ERROR(CheckAlike("DRAM sizes", "dram", a.dram, b.dram));
  MEZZ_RETURN_IF_ERROR(CheckAlike("SCM sizes", "scm", a.scm, b.scm));

  CurveSums& sums = curve->sums;
  for (uint64_t CurveSums::*field :
       {&CurveSums::hosts, &CurveSums::requests, &CurveSums::counted_requests, &CurveSums::counted_bytes,
        &CurveSums::blocks, &CurveSums::footprint_bytes, &CurveSums::sampled_blocks, &CurveSums::damaged_records})
    sums.*field += other.sums.*field;
  for (size_t i = 0; i < kOperations; ++i) sums.operations[i] += other.sums.operations[i];
  for (size_t i = 0; i < kBlockRoles; ++i) sums.role_requests[i] += other.sums.role_requests[i];
  curve->rate_min = std::min(curve->rate_min, other.rate_min);

  const auto join = [](const std::vector<std::string>& from, std::vector<std::string>* to) {
    to->insert(to->end(), from.begin(), from.end());
    std::ranges::sort(*to);
  };
  join(other.traces, &curve->traces);
  join(other.warnings, &curve->warnings);
  const auto repeated = std::unique(curve->warnings.begin(), curve->warnings.end());
  curve->warnings.erase(repeated, curve->warnings.end());

  assert(curve->points.size() == other.points.size());
  for (size_t i = 0; i < curve->points.size(); ++i) {
    CurvePoint& to = curve->points[i];
    const CurvePoint& from = other.points[i];
    for (size_t seed = 0; seed < to.seeds.size(); ++seed) to.seeds[seed] += from.seeds[seed];
    for (size_t role = 0; role < kBlockRoles; ++role) {
      to.roles[role].dram_hits += from.roles[role].dram_hits;
      to.roles[role].scm_hits += from.roles[role].scm_hits;
    }
  }
  return Status::Ok();
}

}  // namespace mezz::plan
