// SPDX-License-Identifier: Apache-2.0
#include "integration/look_up_observers.h"

#include <fmt/format.h>

#include <utility>

#include "cache/base/if_memory.h"
#include "integration/compaction_thread.h"
#include "integration/miss_timer.h"
#include "integration/tell.h"

namespace mezz {
namespace {

Status NoCurve() { return Status::NotSupported("curve=off: no look-ups are kept; open the cache with curve=on"); }

}  // namespace

void LookUpObservers::OpenCurve(CacheCurve::Cache cache) {
  curve_ = std::make_unique<CacheCurve>(options_, std::move(cache));
  notes_dram_hits_ = true;
}

Status LookUpObservers::MakeCurve(plan::Curve* curve) const {
  return curve_ == nullptr ? NoCurve() : curve_->Make(curve);
}

Status LookUpObservers::DumpCurve(const std::string& path) const {
  return curve_ == nullptr ? NoCurve() : curve_->Dump(path);
}

void LookUpObservers::WriteLastCurve() const {
  if (options_.curve_file.empty() || curve_ == nullptr) return;
  (void)IfThereIsMemory([this] {
    const Status status = curve_->Dump(options_.curve_file);
    if (!status.ok()) Tell(fmt::format("curve={}: {}", options_.curve_file, status.message()));
  });
}

void LookUpObservers::StartMissTimer(const BlockKey& key) {
  if (!OnCompactionThread()) MissTimer::OnMiss(this, key, options_.NowNs());
}

void LookUpObservers::StopMissTimer(const BlockKey& key) {
  if (const auto ns = MissTimer::OnInsert(this, key, [this] { return options_.NowNs(); })) {
    flow_.OnFlashRead(*ns);
    miss_latency_.Add(*ns);
  }
}

}  // namespace mezz
