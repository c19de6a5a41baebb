// SPDX-License-Identifier: Apache-2.0
// The policies that a curve can be made of: those of the live cache, and what a buyer has beside it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "admission/curves/point_model.h"

namespace mezz::plan {

bool IsIn(const std::vector<std::string_view>& names, std::string_view name);
// Of both tiers, as workloads/sim/alternatives.h says: memory_mode, inline_memory; and those whose second tier is DRAM,
// too: compressed, page_cache.
const std::vector<std::string_view>& OtherTwoTierNames();
// Whether what the curve calls SCM is DRAM.
bool IsOfDramTwice(std::string_view policy);
// All of these and PolicyNames(), as messages list them.
std::string KnownPolicies();
bool IsKnownPolicy(std::string_view name);

// As MakePointModel, of any of them.
Status MakeKnownPoint(const BlockTrace& trace, const BlockSizes& sizes, const MiniatureOptions& options,
                      uint64_t dram_bytes, uint64_t scm_bytes, std::unique_ptr<PointModel>* model);

}  // namespace mezz::plan
