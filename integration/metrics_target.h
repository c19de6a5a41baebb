// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cache/status.h"

namespace mezz {

// Where the metrics of a cache are to be had: what HybridCacheOptions::metrics says.
struct MetricsTarget {
  enum class Kind : uint8_t { kUnix, kTcp, kFile };
  Kind kind = Kind::kFile;
  std::string text;     // as it was given, for messages
  std::string path;     // of kUnix and kFile: absolute
  std::string address;  // of kTcp: an IP address in digits
  uint16_t port = 0;    // of kTcp
};

// "unix:PATH", "tcp:127.0.0.1:PORT", "tcp:[::1]:PORT", "tcp-any:ADDRESS:PORT" or "file:PATH". Refuses others, and what
// cannot work anywhere; touches nothing. A TCP address that is not a loopback one must be asked for as tcp-any: whoever
// reaches it reads the figures, without a password and in the clear.
Status ParseMetricsTarget(std::string_view text, MetricsTarget* target);

}  // namespace mezz
