// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "integration/hybrid_cache.h"
#include "integration/hybrid_core.h"

namespace mezz {

// Implements HybridStats for a class that has a HybridCore. Thread-safe.
class CoreStats : public HybridStats {
 public:
  CounterSnapshot Counters() const override { return stats_core().Snapshot(); }
  DecisionSnapshot Decisions() const override { return stats_core().Decisions(); }
  std::string Report() const override { return stats_core().Report(); }
  MetricFamilies Metrics() const override { return stats_core().Metrics(); }
  const ScmTier& scm() const override { return stats_core().scm(); }
  DramUse Dram() const override { return stats_core().dram_use(); }
  Status SetScmCapacity(uint64_t bytes) override { return stats_core().SetScmCapacity(bytes); }
  Status SetMediumCapacity(size_t number, uint64_t bytes) override {
    return stats_core().SetMediumCapacity(number, bytes);
  }
  std::string_view PolicyName() const override { return stats_core().policy_name(); }
  Status SetPolicy(std::string_view name) override { return stats_core().SetPolicy(name); }
  Status MakeCurve(plan::Curve* curve) const override { return stats_core().MakeCurve(curve); }
  Status DumpCurve(const std::string& path) const override { return stats_core().DumpCurve(path); }
  std::vector<DatabaseFigures> SharedBy() const override { return stats_core().databases().Figures(); }
  bool TakesHeirs() const override { return stats_core().options().heirs; }
  void NoteFlush(uint64_t bytes) override { stats_core().offered().NoteFlush(bytes); }
  void ForgetFile(FileId file) override { stats_core().scm().ForgetFile(file); }

 private:
  // REQUIRES: the cache has its SCM tier.
  virtual HybridCore& stats_core() const = 0;
};

}  // namespace mezz
