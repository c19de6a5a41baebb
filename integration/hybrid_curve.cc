// SPDX-License-Identifier: Apache-2.0
// The live curve of a hybrid cache: what it is made of, and where it goes.
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
#include "admission/curves/live_curve.h"
#include "cache/base/if_memory.h"
#include "cache/base/write_file.h"
#include "cache/layout.h"
#include "cache/log_rules.h"
#include "integration/hybrid_core.h"
#include "integration/metrics_endpoint.h"
#include "integration/option_table.h"
#include "integration/tell.h"

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

}  // namespace

void HybridCore::OpenCurve() {
  if (!options_.curve) return;
  curve_ = std::make_unique<plan::LiveCurve>(plan::LiveCurve::Options{.rate_max = options_.curve_rate,
                                                                      .block_bytes = options_.scm.expected_block_bytes,
                                                                      .blocks_max = CurveBlocks(options_),
                                                                      .takes_others = !kTellsRoles,
                                                                      .look_ups = [this] { return LookUps(); },
                                                                      .now_ns = [this] { return NowNs(); }});
  latest_curve_ = std::make_unique<LatestCurve>();
  notes_dram_hits_ = true;
}

HybridCore::~HybridCore() {
  metrics_.reset();
  if (options_.curve_file.empty() || curve_ == nullptr || scm_->in_child()) return;
  (void)IfThereIsMemory([this] {
    const Status status = DumpCurve(options_.curve_file);
    if (!status.ok()) Tell(fmt::format("curve_file={}: {}", options_.curve_file, status.message()));
  });
}

plan::LiveCurve::LookUps HybridCore::LookUps() const {
  const CounterSnapshot counters = Snapshot();
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

Status HybridCore::MakeCurve(plan::Curve* curve) const {
  if (curve_ == nullptr) return Status::NotSupported("curve=off: no look-ups are kept; open the cache with curve=on");
  plan::LiveCurve::Tiers tiers;
  tiers.name = HostName();
  tiers.scm_bytes = scm_->capacity_bytes();
  plan::MiniatureOptions& miniature = tiers.miniature;
  miniature.policy = policy_name();
  miniature.writers = log_rules::WriterLanes(UINT32_MAX);  // of this machine
  miniature.dram_cache = options_.dram_cache == DramCacheKind::kLru ? sim::DramCache::kLru : sim::DramCache::kHcc;
  miniature.policy_maker = options_.policy_maker;
  tiers.pack = "off";
  if (const std::optional<Codec> codec = flow_.codec()) {
    miniature.pack = *codec == Codec::kLz4 ? PackMode::kLz4 : PackMode::kZstd;
    miniature.pack_ratios = sim::PackRatios(PackedRatio(Snapshot(), miniature.pack));
    tiers.pack = ToString(miniature.pack);
    tiers.pack_ratios = kObserved;
  }
  {
    const std::lock_guard lock(policies_mutex_);
    tiers.dram_bytes = policy_options_.dram_bytes;
  }
  // What the structures take moves the DRAM tier a little. Hosts of the same options shall have the same grid.
  if (options_.dram_bytes != 0 && budget_.limited() && budget_.total() == options_.dram_total_bytes)
    tiers.dram_bytes = options_.dram_bytes;
  return curve_->Make(tiers, curve);
}

Status HybridCore::DumpCurve(const std::string& path) const {
  plan::Curve curve;
  MEZZ_RETURN_IF_ERROR(MakeCurve(&curve));
  return WriteCurve(curve, path);
}

Status HybridCore::WriteCurve(const plan::Curve& curve, const std::string& path) const {
  HybridCacheOptions current = options_;
  current.policy = policy_name();
  return plan::WriteCurve(curve, {{"program", "mezzanine"}, {"time", UtcNow()}, {"options", current.ToUri()}}, path);
}

// Simulated anew only once an eighth more was sampled.
void HybridCore::FollowCurveLocked(uint64_t sampled) const {
  LatestCurve& latest = *latest_curve_;
  if (!latest.text.empty() && sampled - latest.sampled <= latest.sampled / 8) return;
  latest.sampled = sampled;
  plan::Curve curve;
  Status status = MakeCurve(&curve);
  if (status.ok() && !options_.curve_file.empty()) status = WriteCurve(curve, options_.curve_file);
  std::string& text = latest.text;
  text = status.ok() ? "" : fmt::format("curve: {}\n", status.message());
  if (curve.points.empty()) return;
  fmt::format_to(std::back_inserter(text), "curve.look_ups: {}\ncurve.blocks: {}\ncurve.rate: {:.3g}\n",
                 curve.sums.requests, curve.sums.blocks, curve.rate_min * plan::LiveCurve::kSeeds);
  for (const plan::CurvePoint& point : curve.points) {
    const plan::HitShares shares = curve.Shares(point);
    fmt::format_to(std::back_inserter(text),
                   "curve.hit_percent.dram={}.scm={}: {:.2f} +-{:.2f} (dram {:.2f}, scm {:.2f})\n",
                   SizeText(point.dram_bytes), SizeText(point.scm_bytes), 100 * shares.both.value,
                   100 * shares.both.band, 100 * shares.dram.value, 100 * shares.scm.value);
  }
  latest.curve = std::move(curve);
}

std::string HybridCore::CurveText(CurveIs curve_is) const {
  if (curve_ == nullptr) return "";
  std::unique_lock lock(latest_curve_->mutex, std::defer_lock);
  if (curve_is == CurveIs::kRecent) {
    lock.lock();
  } else if (!lock.try_lock()) {
    return "";
  }
  const uint64_t sampled = curve_->sampled();
  if (curve_is == CurveIs::kRecent) FollowCurveLocked(sampled);
  return fmt::format("curve.sampled: {}\ncurve.dropped: {}\n{}", sampled, curve_->dropped(), latest_curve_->text);
}

}  // namespace mezz
