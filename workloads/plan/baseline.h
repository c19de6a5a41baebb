// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "workloads/plan/answer.h"

namespace mezz::plan {

// The cheapest of `builds` that question.baseline describes. If there is none, the error names those that are near.
Status FindBaseline(const Question& question, const std::vector<Build>& builds, Build* found);

}  // namespace mezz::plan
