// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "workloads/requests/request.h"

namespace mezz {

// Gives the requests of `source` without its damaged records, and counts these. A compressed stream that is damaged or
// cut short ends the trace there and counts as one. Files that cannot be read stay errors, and so do headers that do
// not say what the columns are.
std::unique_ptr<RequestSource> SkipBad(std::unique_ptr<RequestSource> source);

}  // namespace mezz
