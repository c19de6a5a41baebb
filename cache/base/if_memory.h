// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <new>

namespace mezz {

// Runs a step where nothing may be thrown: in RocksDB's callbacks, or on threads of ours. False: there was no memory,
// and the step, or the rest of it, was left out.
template <typename Step>
bool IfThereIsMemory(Step step) noexcept {
  try {
    step();
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

}  // namespace mezz
