// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "workloads/generators/cachelib_model.h"
#include "workloads/generators/generators.h"

namespace mezz {

// Requests of `model`, whose keys are squeezed into `options.keys`: a share of the hottest keys keeps its share of the
// requests.
std::unique_ptr<RequestSource> MakeCachelib(const GeneratorOptions& options,
                                            std::shared_ptr<const CachelibModel> model);

}  // namespace mezz
