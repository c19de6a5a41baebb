// SPDX-License-Identifier: Apache-2.0
// A curve, as the planner reads it.
#pragma once

#include "admission/curves/curve.h"
#include "workloads/plan/hit_surface.h"

namespace mezz::plan {

// Below the grid's smallest size hits shrink as the size; a grid with an SCM size of 0 knows what DRAM alone does.
class CurveSurface : public HitSurface {
 public:
  explicit CurveSurface(const Curve& curve) : curve_(curve) {}
  TierShares At(double dram_bytes, double scm_bytes) const override;

 private:
  const Curve& curve_;
};

// An operation is one request of the trace; `lookups_per_operation` of them make one of RocksDB's.
Traffic TrafficOf(const Curve& curve, double lookups_per_operation, double reads_per_miss);

}  // namespace mezz::plan
