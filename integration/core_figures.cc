// SPDX-License-Identifier: Apache-2.0
// The figures of a hybrid cache for monitoring: what they are read from, and where they go.
#include "integration/core_figures.h"

#include <mutex>
#include <utility>

#include "admission/curves/live_curve.h"
#include "fmt/format.h"
#include "rocksdb/version.h"

namespace mezz {
namespace {

// The grid of a live curve is half, once, twice and four times each tier; no tier is 0.
double FactorOf(const std::vector<uint64_t>& grid, uint64_t bytes) {
  constexpr double kLargest = 4;
  return bytes == 0 ? 0 : kLargest / static_cast<double>(grid.back() / bytes);
}

}  // namespace

void HybridCore::ServeMetrics(std::function<DramTierUse()> dram_use) {
  dram_tier_use_ = std::move(dram_use);
  if (metrics_ != nullptr) metrics_->Serve([this](MetricsFormat format) { return MetricsText(Metrics(), format); });
}

void HybridCore::StopMetrics() {
  metrics_.reset();
  dram_tier_use_ = nullptr;
}

MetricFamilies HybridCore::Metrics() const { return ToMetrics(Figures()); }

CoreFigures HybridCore::Figures() const {
  const auto read = [](const std::atomic<uint64_t>& count) { return count.load(std::memory_order_relaxed); };
  const MediumInfo& medium = scm_->medium_info();
  CoreFigures figures;
  figures.counters = Snapshot();
  figures.decisions = Decisions();
  figures.dram = dram_use();
  figures.recovery = scm_->recovery();
  if (dram_tier_use_) figures.dram_tier = dram_tier_use_();
  if (metrics_ != nullptr) figures.deliveries = metrics_->deliveries();
  figures.medium = ToString(options_.scm.medium);
  if (options_.scm.medium == MediumKind::kNumaNode) figures.medium += fmt::format(":{}", options_.scm.numa_node);
  figures.description = medium.description;
  figures.granularity = ToString(medium.granularity);
  figures.model = ToString(options_.scm.model);
  figures.emulated = medium.emulated;
  figures.persistent = medium.persistent_memory;
  figures.capacity_bytes = scm_->capacity_bytes();
  figures.ready_bytes = scm_->ready_bytes();
  figures.used_bytes = scm_->usage_bytes();
  figures.pinned_bytes = scm_->pinned_bytes();
  figures.quarantined_bytes = scm_->quarantined_bytes();
  figures.resident_blocks = scm_->resident_blocks();
  figures.faults = scm_->faults();
  figures.bus_errors = scm_->bus_errors();
  figures.pin_pressure = scm_->PinPressure();
  figures.closed = scm_->is_closed();
  figures.policy = policy_name();
  figures.pack = ToString(options_.scm.pack);
  const std::optional<Codec> codec = flow_.codec();
  figures.codec = !codec ? "raw" : *codec == Codec::kLz4 ? "lz4" : "zstd";
  figures.rocksdb = fmt::format("{}.{}.{}", ROCKSDB_MAJOR, ROCKSDB_MINOR, ROCKSDB_PATCH);
  if (budget_.limited()) figures.dram_total_bytes = budget_.total();
  {
    const std::lock_guard lock(policies_mutex_);
    figures.dram_capacity_bytes = dram_tier_bytes_;
  }
  figures.dram_warmed_bytes = warm_.taken();
  if (measures_misses_) {
    figures.misses = miss_latency_.Read();
    figures.flash_read_ns = flow_.flash_read_ns();
    figures.zstd_percent = scm_->zstd_percent();
  }
  if (options_.scm.pack_stage_bytes != 0) {
    figures.staged_puts = scm_->staged_puts();
    figures.unstaged_puts = scm_->unstaged_puts();
  }
  figures.read_back = read_back_counts();
  figures.offered_by_flushes = read(offered_.by_flushes);
  figures.offered_by_compactions = read(offered_.by_compactions);
  figures.read_by_compactions = read(offered_.read_by_compactions);
  ReadCurve(&figures);
  return figures;
}

void HybridCore::ReadCurve(CoreFigures* figures) const {
  if (curve_ == nullptr) return;
  const std::lock_guard lock(latest_curve_->mutex);
  const uint64_t sampled = curve_->sampled();
  if (sampled != 0) FollowCurveLocked(sampled);
  const plan::Curve& latest = latest_curve_->curve;
  figures->curve_sampled = sampled;
  figures->curve_dropped = curve_->dropped();
  for (const plan::CurvePoint& point : latest.points) {
    const plan::HitShares shares = latest.Shares(point);
    figures->curve.push_back({.dram = FactorOf(latest.form.dram, point.dram_bytes),
                              .scm = FactorOf(latest.form.scm, point.scm_bytes),
                              .dram_hits = shares.dram.value,
                              .scm_hits = shares.scm.value,
                              .error = shares.both.band});
  }
}

}  // namespace mezz
