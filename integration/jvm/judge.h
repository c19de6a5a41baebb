// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cache/status.h"
#include "integration/options.h"

namespace mezz {

// What the JVM cannot have. It has handlers for SIGBUS and SIGSEGV of its own, and must be the only one.
inline Status JudgeForTheJvm(const HybridCacheOptions& options) {
  if (options.scm.bus_errors == BusErrorMode::kFatal) return Status::Ok();
  return Status::InvalidArgument(
      "bus_errors=contain installs a handler for SIGBUS, which the JVM needs for itself: leave it out");
}

}  // namespace mezz
