// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>

#include "cache/options.h"
#include "cache/types.h"

namespace mezz {

// Says once on stderr that a block is larger than any record of the SCM tier can be, with the segment size that would
// hold it. Thread-safe.
class TooLargeWarning {
 public:
  // `block_bytes_max`: of the tier.
  void Tell(const ScmOptions& scm, size_t block_bytes_max, BlockRole role, size_t bytes);

 private:
  // false --exchanged by the thread that tells--> true. Relaxed, because it publishes nothing.
  std::atomic<bool> told_{false};
};

}  // namespace mezz
