// SPDX-License-Identifier: Apache-2.0
// How fast a place is, measured in seconds. A scratch area is made there by the code that opens a tier, and is gone
// afterwards. One thread writes it in order, then reads 4 KiB at random places.
#pragma once

#include <chrono>
#include <string>

#include "cache/status.h"
#include "workloads/plan/devices/place.h"

namespace mezz::plan {

struct MeasureOptions {
  std::string root{};  // as of Surroundings
  std::chrono::milliseconds each{250};
  uint64_t scratch_bytes_max = 256 << 20;  // less where there is less: a quarter of what is available
};

// Fills in place->speed. An error says why it could not be measured; the place is as it was before.
//
// A device that holds data is read only. An unused one is written to with the zeros that it holds, so that it stays
// unused however this process ends. A file has no name once it is open, so it goes with the process.
Status MeasurePlace(const MeasureOptions& options, Place* place);

}  // namespace mezz::plan
