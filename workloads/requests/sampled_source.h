// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "workloads/requests/request.h"
#include "workloads/requests/spatial_sample.h"

namespace mezz {

// Gives the requests of `source` whose keys `sample` keeps. Batches stay batches of the keys that are kept.
std::unique_ptr<RequestSource> SampleKeys(std::unique_ptr<RequestSource> source, const SpatialSample& sample);

}  // namespace mezz
