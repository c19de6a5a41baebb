// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <new>

namespace mezz {

// Where nothing may be thrown: in RocksDB's callbacks, on our threads. False: there is no memory, and the step is left
// out, or what is left of it.
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
