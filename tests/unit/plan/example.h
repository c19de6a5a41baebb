// SPDX-License-Identifier: Apache-2.0
// A workload and price books for the tests of the planner.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include "workloads/plan/answer.h"

namespace mezz::plan {

// The hit ratio of C bytes is (C / footprint)^0.25, as of a skewed workload; DRAM has the hottest.
class SkewedSurface : public HitSurface {
 public:
  explicit SkewedSurface(double footprint_bytes) : footprint_bytes_(footprint_bytes) {}
  TierShares At(double dram_bytes, double scm_bytes) const override {
    const double dram = Hit(dram_bytes), both = Hit(dram_bytes + scm_bytes);
    return {.dram = dram, .scm = both - dram, .miss_band = 0.005, .scm_writes = scm_bytes > 0 ? 0.3 * (1 - dram) : 0};
  }

 private:
  double Hit(double bytes) const { return std::min(1.0, std::pow(bytes / footprint_bytes_, 0.25)); }
  double footprint_bytes_;
};

inline constexpr double kExampleFootprint = 600.0 * (uint64_t{1} << 30);

inline Traffic ExampleTraffic() {
  Traffic traffic;
  traffic.name = "example";
  traffic.footprint_bytes = kExampleFootprint;
  return traffic;
}

// The shipped book of that name.
#ifdef MEZZ_PRICE_BOOKS
inline std::string BookPath(std::string_view name) { return fmt::format("{}/{}", MEZZ_PRICE_BOOKS, name); }
#endif

}  // namespace mezz::plan
