// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "workloads/requests/progress.h"
#include "workloads/requests/request.h"

namespace mezz {

// The same requests; each reading of them is a phase of *progress, which outlives the source. Null: `source` as it is.
std::unique_ptr<RequestSource> TrackProgress(std::unique_ptr<RequestSource> source, Progress* progress);

}  // namespace mezz
