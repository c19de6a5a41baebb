// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "cache/status.h"
#include "workloads/watch/metrics_source.h"

namespace mezz::watch {

// Asks the socket of `source` for /metrics as OpenMetrics, and returns the body. An error says what went wrong, without
// the source's name. REQUIRES: source.kind is not kFile.
Status HttpGetMetrics(const MetricsSource& source, std::chrono::milliseconds patience, size_t bytes_max,
                      std::string* body);

}  // namespace mezz::watch
