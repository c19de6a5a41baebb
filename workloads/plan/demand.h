// SPDX-License-Identifier: Apache-2.0
// What one operation asks of a machine.
#pragma once

#include <array>
#include <vector>

#include "workloads/plan/performance.h"
#include "workloads/plan/queueing.h"

namespace mezz::plan {

// Those of the slow medium are there if it is.
enum Place : size_t { kCpu, kScmRead, kScmWrite, kFlash, kFlashBandwidth, kSlowRead, kSlowWrite, kPlaces };
inline constexpr std::array<const char*, kPlaces> kPlaceNames = {
    "cpu", "scm_read", "scm_write", "flash", "flash_bandwidth", "slow_scm_read", "slow_scm_write"};
inline constexpr std::array<Place, kMediaMax> kReadPlaces = {kScmRead, kSlowRead};
inline constexpr std::array<Place, kMediaMax> kWritePlaces = {kScmWrite, kSlowWrite};

// Which end of what is not known is taken.
enum class End { kGood, kMiddle, kBad };

// What one operation asks of one medium of the SCM tier.
struct MediumDemand {
  double hits = 0;
  double hit_ns = 0;  // of a core, for a look-up found there; the medium's own time included
  double read_transfer_ns = 0, write_transfer_ns = 0;  // shared bandwidth
  double read_bytes = 0, written_bytes = 0;
};

// What one operation asks for, in ns of each kind.
struct Demand {
  double base_ns = 0;            // of a core, whatever is found where
  double flash_cpu_ns = 0;       // of a core, for a read from flash and all of its blocks
  double flash_ns = 0;           // on the device, for a read
  double write_ns = 0;           // of a core: the demotions' stores
  double flash_transfer_ns = 0;  // shared bandwidth
  double flash_reads = 0;        // for an operation
  std::array<MediumDemand, kMediaMax> media;
  std::vector<Station> stations;

  double scm_hits() const { return media[kFastMedium].hits + media[kSlowMedium].hits; }
};

Demand DemandOf(const Machine& machine, const Traffic& traffic, const TierShares& shares, End end);

// Of flash, in one read.
inline double BytesOfARead(const Traffic& traffic) { return traffic.flash_bytes / traffic.reads_per_miss; }

}  // namespace mezz::plan
