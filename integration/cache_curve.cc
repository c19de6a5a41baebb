// SPDX-License-Identifier: Apache-2.0
#include "integration/cache_curve.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <iterator>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "admission/curves/curve_file.h"
#include "cache/base/text.h"
#include "cache/base/write_file.h"
#include "cache/layout.h"
#include "cache/log_rules.h"
#include "integration/dram_budget.h"
#include "integration/option_table.h"

namespace mezz {
namespace {

// Ratios are means of what each host saw: curves of all that pack merge.
constexpr std::string_view kObserved = "observed";

std::string HostName() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "live";
  return fmt::format("live {}", name.data());
}

std::string UtcNow() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text.data();
}

// What the codec made of a block, without the prefix that the record has of it.
double PackedRatio(const CounterSnapshot& counters, PackMode mode) {
  const uint64_t prefixes = counters[Event::kScmPackedPut] * sizeof(layout::PackedPrefix);
  const uint64_t stored = counters[Event::kScmPackedPutStored];
  if (stored <= prefixes) return sim::RatioOfSourceText(mode);
  const double ratio =
      static_cast<double>(counters[Event::kScmPackedPutBytes]) / static_cast<double>(stored - prefixes);
  return std::clamp(ratio, 1.0, sim::PackRatios::kRatioMax);
}

// The grid of a live curve is half, once, twice and four times each tier; no tier is 0.
double FactorOf(const std::vector<uint64_t>& grid, uint64_t bytes) {
  constexpr double kLargest = 4;
  return bytes == 0 ? 0 : kLargest / static_cast<double>(grid.back() / bytes);
}

}  // namespace

CacheCurve::CacheCurve(const HybridCacheOptions& options, Cache cache)
    : options_(options),
      cache_(std::move(cache)),
      live_({.rate_max = options.curve_rate,
             .block_bytes = options.scm.expected_block_bytes,
             .blocks_max = CurveBlocks(options),
             .takes_others = !kTellsRoles,
             .look_ups = [this] { return LookUps(); },
             .now_ns = cache_.now_ns}) {}

plan::LiveCurve::LookUps CacheCurve::LookUps() const {
  const CounterSnapshot counters = cache_.counters();
  plan::LiveCurve::LookUps sums{};
  for (size_t i = 0; i < kBlockRoles; ++i) {
    const auto role = static_cast<BlockRole>(i);
    if (role == BlockRole::kOther && kTellsRoles) continue;  // not told to the curve
    for (const Event event :
         {Event::kDramHit, Event::kServedInPlace, Event::kServedCopied, Event::kPromotion, Event::kMiss})
      sums[i] += counters.of(event, role);
  }
  return sums;
}

Status CacheCurve::Make(plan::Curve* curve) const {
  const Cache::Now now = cache_.now();
  plan::LiveCurve::Tiers tiers;
  tiers.name = HostName();
  tiers.dram_bytes = now.dram_bytes;
  tiers.scm_bytes = now.scm_bytes;
  plan::MiniatureOptions& miniature = tiers.miniature;
  miniature.policy = now.policy;
  miniature.writers = log_rules::WriterLanes(UINT32_MAX);  // of this machine
  miniature.dram_cache = options_.dram_cache == DramCacheKind::kLru ? sim::DramCache::kLru : sim::DramCache::kHcc;
  miniature.policy_maker = options_.policy_maker;
  miniature.fast_share = now.fast_share;
  tiers.pack = "off";
  if (now.codec) {
    miniature.pack = *now.codec == Codec::kLz4 ? PackMode::kLz4 : PackMode::kZstd;
    miniature.pack_ratios = sim::PackRatios(PackedRatio(cache_.counters(), miniature.pack));
    tiers.pack = ToString(miniature.pack);
    tiers.pack_ratios = kObserved;
  }
  return live_.Make(tiers, curve);
}

Status CacheCurve::Dump(const std::string& path) const {
  plan::Curve curve;
  MEZZ_RETURN_IF_ERROR(Make(&curve));
  return Write(curve, path);
}

Status CacheCurve::Write(const plan::Curve& curve, const std::string& path) const {
  HybridCacheOptions current = options_;
  current.policy = cache_.now().policy;
  return plan::WriteCurve(curve, {{"program", "mezzanine"}, {"time", UtcNow()}, {"options", current.ToUri()}}, path);
}

// Simulated anew only once an eighth more was sampled.
void CacheCurve::FollowLocked(uint64_t sampled) const {
  if (!latest_.text.empty() && sampled - latest_.sampled <= latest_.sampled / 8) return;
  latest_.sampled = sampled;
  plan::Curve curve;
  Status status = Make(&curve);
  if (status.ok() && !options_.curve_file.empty()) status = Write(curve, options_.curve_file);
  std::string& text = latest_.text;
  text = status.ok() ? "" : fmt::format("curve: {}\n", status.message());
  if (curve.points.empty()) return;
  fmt::format_to(std::back_inserter(text), "curve.look_ups: {}\ncurve.blocks: {}\ncurve.rate: {:.3g}\n",
                 curve.sums.requests, curve.sums.blocks, curve.rate_min * plan::LiveCurve::kSeeds);
  const bool ordered = curve.form.fast_share != 0;
  if (ordered) fmt::format_to(std::back_inserter(text), "curve.fast_share: {:.3g}\n", curve.form.fast_share);
  for (const plan::CurvePoint& point : curve.points) {
    const plan::HitShares shares = curve.Shares(point);
    const std::string of_fast =
        ordered ? fmt::format(", on fast media {:.2f}", 100 * (shares.scm.value - shares.scm_slow_hits)) : "";
    fmt::format_to(std::back_inserter(text),
                   "curve.hit_percent.dram={}.scm={}: {:.2f} +-{:.2f} (dram {:.2f}, scm {:.2f}{})\n",
                   SizeText(point.dram_bytes), SizeText(point.scm_bytes), 100 * shares.both.value,
                   100 * shares.both.band, 100 * shares.dram.value, 100 * shares.scm.value, of_fast);
  }
  latest_.curve = std::move(curve);
}

std::string CacheCurve::Text(Which which) const {
  std::unique_lock lock(latest_.mutex, std::defer_lock);
  if (which == Which::kRecent) {
    lock.lock();
  } else if (!lock.try_lock()) {
    return "";
  }
  const uint64_t sampled = live_.sampled();
  if (which == Which::kRecent) FollowLocked(sampled);
  return fmt::format("curve.sampled: {}\ncurve.dropped: {}\n{}", sampled, live_.dropped(), latest_.text);
}

CacheCurve::Figures CacheCurve::Read() const {
  const std::lock_guard lock(latest_.mutex);
  Figures figures{.sampled = live_.sampled(), .dropped = live_.dropped()};
  if (figures.sampled != 0) FollowLocked(figures.sampled);
  for (const plan::CurvePoint& point : latest_.curve.points) {
    const plan::HitShares shares = latest_.curve.Shares(point);
    figures.points.push_back({.dram = FactorOf(latest_.curve.form.dram, point.dram_bytes),
                              .scm = FactorOf(latest_.curve.form.scm, point.scm_bytes),
                              .dram_hits = shares.dram.value,
                              .scm_hits = shares.scm.value,
                              .error = shares.both.band});
  }
  return figures;
}

}  // namespace mezz
