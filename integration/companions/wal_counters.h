// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "cache/base/words.h"

namespace mezz {

enum class WalEvent {
  kLogCreated,   // on SCM
  kLogRecycled,  // of those, in place of one that RocksDB wanted to write over
  kLogRemoved,   // from SCM
  kLogLeftOver,  // likewise: of a directory that was removed without its logs
  kAppend,       // to a log on SCM
  kAppendBytes,
  kSync,
  // Logs that the base file system took, because the medium
  kFallbackAbsent,    // could not be opened
  kFallbackFull,      // was full: at the log's creation, or later, with all that it held by then
  kFallbackTooSmall,  // is smaller than one log file of this database
  kFallbackName,      // takes no path that long
  kFallbackVanished,  // is no longer what its path names
  kFallbackBroken,    // could not be written by the kernel
  kEvents,
};
inline constexpr size_t kWalEvents = static_cast<size_t>(WalEvent::kEvents);
template <>
inline constexpr Words<kWalEvents> kWordsOf<WalEvent> = {
    "wal.log_created",    "wal.log_recycled",       "wal.log_removed",   "wal.log_left_over",
    "wal.append",         "wal.append_bytes",       "wal.sync",          "wal.fallback.absent",
    "wal.fallback.full",  "wal.fallback.too_small", "wal.fallback.name", "wal.fallback.vanished",
    "wal.fallback.broken"};

// Thread-safe; relaxed, as counters publish nothing.
class WalCounters {
 public:
  void Count(WalEvent event, uint64_t by = 1) {
    counts_[static_cast<size_t>(event)].fetch_add(by, std::memory_order_relaxed);
  }
  uint64_t Get(WalEvent event) const { return counts_[static_cast<size_t>(event)].load(std::memory_order_relaxed); }
  uint64_t Fallbacks() const;
  std::string ToString() const;  // a line for each: "wal.sync: 12"

 private:
  std::array<std::atomic<uint64_t>, kWalEvents> counts_{};
};

}  // namespace mezz
