// SPDX-License-Identifier: Apache-2.0
// What the figures of a hybrid cache are read from, and where they go.
#include "integration/core_figures.h"

#include <cinttypes>
#include <string>
#include <utility>

namespace mezz {
void HybridCore::ServeMetrics(std::function<DramTierUse()> dram_use) {
  dram_tier_use_ = std::move(dram_use);
  if (metrics_ != nullptr) metrics_->Serve([this](MetricsFormat format) { return MetricsText(Metrics(), format); });
}

void HybridCore::StopMetrics() {
  metrics_.reset();
  dram_tier_use_ = nullptr;
}

MetricFamilies HybridCore::Metrics() const {
  CoreFigures figures = Figures();
  if (dram_tier_use_) figures.dram_tier = dram_tier_use_();
  if (figures.dram_tier && !figures.databases.empty()) {
    figures.dram_tier.emplace();
    for (const DatabaseFigures& database : figures.databases) {
      figures.dram_tier->bytes += database.dram_bytes;
      figures.dram_tier->pinned_bytes += database.dram_pinned_bytes;
    }
  }
  if (observers_.curve() != nullptr) figures.curve = observers_.curve()->Read();
  return ToMetrics(figures);
}

CoreFigures HybridCore::Figures() const {
  CoreFigures figures;
  figures.options = options_;
  figures.options.policy = policy_name();
  figures.counters = Snapshot();
  figures.decisions = Decisions();
  figures.dram = dram_use();
  figures.recovery = scm_->recovery();
  if (metrics_ != nullptr) figures.deliveries = metrics_->deliveries();
  figures.medium = scm_->medium().info();
  figures.members = scm_->figures().MembersNow();
  figures.name_trouble = scm_->medium().NameTrouble();
  figures.capacity_bytes = scm_->figures().capacity_bytes();
  figures.ready_bytes = scm_->preparer().ready_bytes();
  figures.huge_page_bytes = scm_->preparer().huge_bytes();
  figures.used_bytes = scm_->figures().usage_bytes();
  figures.pinned_bytes = scm_->figures().pinned_bytes();
  figures.quarantined_bytes = scm_->figures().quarantined_bytes();
  figures.resident_blocks = scm_->figures().resident_blocks();
  figures.faults = scm_->figures().faults();
  figures.bus_errors = scm_->figures().bus_errors();
  figures.scm_dram_bytes = scm_->figures().dram().total();
  figures.pin_pressure = scm_->PinPressure();
  figures.closed = scm_->figures().is_closed();
  figures.policy_bytes = policy().dram_bytes();
  figures.codec = flow_.codec();
  if (dram_.budget().limited()) figures.dram_total_bytes = dram_.budget().total();
  figures.dram_capacity_bytes = policy_.dram_tier_bytes();
  figures.dram_warmed_bytes = warm_->taken();
  figures.misses = observers_.misses();
  if (figures.misses) {
    figures.flash_read_ns = flow_.flash_read_ns();
    figures.zstd_percent = scm_->figures().zstd_percent();
  }
  if (options_.scm.pack_stage_bytes != 0) {
    figures.staged_puts = scm_->figures().staged_puts();
    figures.unstaged_puts = scm_->figures().unstaged_puts();
  }
  figures.read_back = read_back_counters_.Read();
  figures.offered_by_flushes = offered_.by_flushes();
  figures.offered_by_compactions = offered_.by_compactions();
  figures.read_by_compactions = offered_.read_by_compactions();
  figures.largest_flush_bytes = offered_.largest_flush_bytes();
  figures.databases = databases_.Figures();
  return figures;
}

void HybridCore::LogProblems(const CounterSnapshot& counters, rocksdb::Logger* log) const {
  for (const Event event : {Event::kScmChecksumMismatch, Event::kScmDamagedHeader, Event::kScmUnpackFailed,
                            Event::kScmNoDictionary, Event::kAllocationFailed}) {
    if (counters[event] != 0)
      rocksdb::Warn(log, "mezzanine: %s: %" PRIu64, std::string(ToString(event)).c_str(), counters[event]);
  }
  if (scm_->PinPressure())
    rocksdb::Warn(log, "mezzanine: too many segments are pinned: SCM hits are copied until iterators are released");
}

std::string HybridCore::Report(UriKind uri, CacheCurve::Which curve) const {
  return ToReport(Figures(), uri) + (observers_.curve() == nullptr ? "" : observers_.curve()->Text(curve));
}

}  // namespace mezz
