// SPDX-License-Identifier: Apache-2.0
// Two limits on what is written to SCM: one in proportion to the look-ups served, one in bytes a second.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace mezz {

// Tells when writing outgrows reading. On Optane each write slows the reads beside it, so a cache that is mostly
// rewritten is worse than a smaller one at rest ("Writes Hurt", Fedorova et al., SoCC'22; WiredTiger's NVRAM cache
// stops admitting when inserts and removals exceed a share of the look-ups). Here the window decays, and both sides are
// bytes.
// No look-ups at all count as overload: the worst case must not pass for the best (WT-8410).
//
// One atomic word: looked-up units << 32 | written units. A unit is a line; with KiB a packed record would count up to
// half as much again.
//   word --Add: CAS--> both sides added; both halved when their sum passes the window
// Relaxed: it publishes nothing.
//
// Thread-safe.
class WriteGovernor {
 public:
  // `window_bytes`: how much is looked up and written between two halvings, 128 GiB at most. A larger window reacts
  // later and errs less.
  explicit WriteGovernor(uint64_t window_bytes);
  void SetWindow(uint64_t window_bytes);

  void AddLookups(uint64_t bytes) { Add(bytes >> kUnitShift, 0); }
  void AddWrites(uint64_t bytes) { Add(0, (bytes + (1u << kUnitShift) - 1) >> kUnitShift); }

  // Written bytes in percent of looked-up bytes: 0 if nothing was written, kNoLookups if nothing was looked up.
  uint64_t WrittenPercent() const;
  // Whether at least `permille` bytes were written for a thousand looked up. False if nothing was looked up.
  bool HasWritten(uint64_t permille) const {
    const uint64_t seen = word_.load(std::memory_order_relaxed);
    const uint64_t looked_up = seen >> 32;
    return looked_up != 0 && (seen & kSideMax) * 1000 >= permille * looked_up;
  }

  static constexpr uint64_t kNoLookups = UINT64_MAX;

 private:
  static constexpr unsigned kUnitShift = 6;
  static constexpr uint64_t kSideMax = UINT32_MAX;
  void Add(uint64_t lookups, uint64_t writes);

  std::atomic<uint64_t> window_units_{0};  // relaxed: both words are hints, and either may be the older
  std::atomic<uint64_t> word_{0};
};

// A hard limit in bytes a second, for media that wear or saturate. Over any span of time it grants what the rate allows
// for it and kBurstNs' worth more, but at least one block of the size asked for last. It is the generic cell rate
// algorithm (ITU-T I.371): one atomic word holds the time at which all that was granted is paid for.
//   paid_until --Take: CAS, if it is at most now + burst--> max(paid_until, now) + bytes / rate
// Relaxed: it publishes nothing.
//
// Thread-safe.
class WriteBudget {
 public:
  // With 0 bytes a second there is no limit.
  WriteBudget(uint64_t bytes_per_second, std::function<uint64_t()> now_ns);

  // Takes `bytes` of the budget. True: they may be written now. False: nothing was taken.
  bool Take(uint64_t bytes);

  static constexpr uint64_t kBurstNs = 100'000'000;

 private:
  const double ns_per_byte_;  // 0: no limit
  const std::function<uint64_t()> now_ns_;
  std::atomic<uint64_t> paid_until_ns_{0};
};

}  // namespace mezz
