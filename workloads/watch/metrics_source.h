// SPDX-License-Identifier: Apache-2.0
// Where the figures of a running cache are read: what metrics= in its URI says.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "cache/status.h"
#include "workloads/watch/metric_samples.h"

namespace mezz::watch {

// A running cache writes its file every ten seconds.
inline constexpr std::chrono::seconds kStaleAfter(30);

struct MetricsSource {
  enum class Kind : uint8_t { kFile, kUnix, kTcp };
  Kind kind = Kind::kFile;
  std::string text;     // as it was given, for messages
  std::string path;     // of kFile and kUnix
  std::string address;  // of kTcp: in digits
  uint16_t port = 0;
};

// "unix:PATH", "tcp:ADDRESS:PORT" (or tcp-any:) and "file:PATH", as in a URI; a path alone, whatever lies there; or the
// number of a process whose MEZZANINE_CACHE has metrics=. `proc` is where /proc is, for tests.
Status FindMetricsSource(std::string_view text, MetricsSource* source, const std::string& proc = "/proc");

// Reads the figures once. An error for a socket at which nobody listens, a server that does not answer in time, closes
// early or says no HTTP, and for text that MetricSamples refuses.
Status ReadMetrics(const MetricsSource& source, MetricSamples* samples,
                   std::chrono::milliseconds patience = std::chrono::seconds(5));

}  // namespace mezz::watch
