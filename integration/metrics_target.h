// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cache/status.h"

namespace mezz {

// Where a cache's metrics are served, parsed from HybridCacheOptions::metrics.
struct MetricsTarget {
  enum class Kind : uint8_t { kUnix, kTcp, kFile };
  Kind kind = Kind::kFile;
  std::string text;     // as the user gave it, for messages
  std::string path;     // of kUnix and kFile: absolute
  std::string address;  // of kTcp: an IP address in digits
  uint16_t port = 0;    // of kTcp
};

// "unix:PATH", "tcp:127.0.0.1:PORT", "tcp:[::1]:PORT", "tcp-any:ADDRESS:PORT" or "file:PATH". Refuses other forms, and
// what cannot work on any machine. Opens nothing. A TCP address beyond the loopback must be asked for as tcp-any,
// because whoever reaches it reads the figures, without a password and unencrypted.
Status ParseMetricsTarget(std::string_view text, MetricsTarget* target);

}  // namespace mezz
