// SPDX-License-Identifier: Apache-2.0
#include "admission/curves/scm_model.h"

#include <fmt/format.h>

#include <cassert>

namespace mezz::sim {
namespace {

ScmModelOptions FastOf(ScmModelOptions options) {
  if (options.fast_capacity != 0) options.capacity = options.fast_capacity;
  return options;
}

ScmModelOptions SlowOf(ScmModelOptions options) {
  assert(options.fast_capacity < options.capacity);
  options.capacity -= options.fast_capacity;
  return options;
}

}  // namespace

ScmModel::ScmModel(uint32_t blocks, const std::vector<uint32_t>& record_units, const ScmModelOptions& options,
                   PackModel* pack)
    : records_(blocks, record_units, pack),
      fast_(&records_, FastOf(options), Level::kFast,
            options.fast_capacity == 0 ? nullptr
                                       : &slow_.emplace(&records_, SlowOf(options), Level::kSlow, /*slower=*/nullptr)) {
}

ScmCounts ScmModel::counts() const {
  ScmCounts sum = fast_.counts();
  return sum += SlowCounts();
}

void ScmModel::Audit(std::vector<std::string>* violations) const {
  uint64_t live = fast_.Audit(violations);
  if (slow_) live += slow_->Audit(violations);
  uint64_t words = 0;
  for (BlockId block = 0; block < records_.blocks(); ++block) words += records_.Contains(block);
  const uint64_t resident = records_.resident();
  if (words != resident) violations->push_back(fmt::format("{} words, {} blocks counted", words, resident));
  if (live != resident) violations->push_back(fmt::format("{} live records, {} blocks counted", live, resident));
}

}  // namespace mezz::sim
