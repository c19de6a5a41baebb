// SPDX-License-Identifier: Apache-2.0
#include "admission/curves/block_trace.h"

#include <cassert>

namespace mezz {

BlockTrace::BlockTrace(std::string name, uint32_t unit_bytes, TraceBlocks blocks)
    : name_(std::move(name)), unit_bytes_(unit_bytes), blocks_(std::move(blocks)) {
  assert(blocks_.bytes.empty() || blocks_.bytes.size() == blocks_.keys.size());
  assert(blocks_.roles.empty() || blocks_.roles.size() == blocks_.keys.size());
  for (BlockId block = 0; block < unique(); ++block) footprint_bytes_ += bytes(block);
}

}  // namespace mezz
