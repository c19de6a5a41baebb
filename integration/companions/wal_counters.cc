// SPDX-License-Identifier: Apache-2.0
#include "integration/companions/wal_counters.h"

#include "fmt/format.h"

namespace mezz {

std::string_view ToString(WalEvent event) {
  switch (event) {
    case WalEvent::kLogCreated:
      return "wal.log_created";
    case WalEvent::kLogRecycled:
      return "wal.log_recycled";
    case WalEvent::kLogRemoved:
      return "wal.log_removed";
    case WalEvent::kLogLeftOver:
      return "wal.log_left_over";
    case WalEvent::kAppend:
      return "wal.append";
    case WalEvent::kAppendBytes:
      return "wal.append_bytes";
    case WalEvent::kSync:
      return "wal.sync";
    case WalEvent::kFallbackAbsent:
      return "wal.fallback.absent";
    case WalEvent::kFallbackFull:
      return "wal.fallback.full";
    case WalEvent::kFallbackTooSmall:
      return "wal.fallback.too_small";
    case WalEvent::kFallbackName:
      return "wal.fallback.name";
    case WalEvent::kFallbackVanished:
      return "wal.fallback.vanished";
    case WalEvent::kFallbackBroken:
      return "wal.fallback.broken";
    case WalEvent::kEvents:
      break;
  }
  return "unknown";
}

uint64_t WalCounters::Fallbacks() const {
  uint64_t sum = 0;
  for (auto event = static_cast<size_t>(WalEvent::kFallbackAbsent); event < counts_.size(); ++event)
    sum += Get(static_cast<WalEvent>(event));
  return sum;
}

std::string WalCounters::ToString() const {
  std::string text;
  for (size_t event = 0; event < counts_.size(); ++event)
    text += fmt::format("{}: {}\n", mezz::ToString(static_cast<WalEvent>(event)), Get(static_cast<WalEvent>(event)));
  return text;
}

}  // namespace mezz
