// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "cache/status.h"
#include "integration/metrics_endpoint.h"
#include "integration/metrics_target.h"

namespace mezz {

// Answers GET /metrics over HTTP/1.1 at a TCP or Unix socket. A client that accepts OpenMetrics gets that, any other
// the older format. REQUIRES: target.kind is not kFile.
Status OpenMetricsServer(const MetricsTarget& target, std::unique_ptr<MetricsEndpoint>* endpoint);

}  // namespace mezz
