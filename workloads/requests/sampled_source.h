// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "workloads/requests/request.h"

namespace mezz {

// Gives the requests of `source` whose keys a SpatialSample of `rate` and `seed` keeps. Batches stay batches of the
// keys that are kept. What happened to blocks beside requests is left out: their parents would be missing.
std::unique_ptr<RequestSource> SampleKeys(std::unique_ptr<RequestSource> source, double rate, uint64_t seed);

}  // namespace mezz
