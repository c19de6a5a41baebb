// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "admission/dram_sample.h"

namespace mezz {

// How often a packed block must be asked for before its place in DRAM pays.
//
// In DRAM its hits need not be unpacked. But there is a block less of what SCM does not hold, and some of that would
// have come back in time: that costs flash reads, each worth some nine (zstd) to thirty (LZ4) such hits. So it is
// watched what DRAM would still have had if it were larger:
//
//   returns = of a look-up, how often it misses a block that DRAM dropped not longer ago than DRAM has blocks, counted
//             in evictions: with twice the room it would still have been there
//   a block that is asked for `rate` times a look-up pays in DRAM from rate * gain >= returns / DRAM's blocks on
//
// where `gain` is what one of its hits spares in DRAM, in flash reads. More promotions leave newcomers less room, so
// that more of them return, and the next block must be asked for more often: unlike a share of promoted blocks that
// were hit (PromotionFeedback), it cannot run away.
//
// The marginal utility of a ghost list behind the cache is ARC's idea (Megiddo and Modha, FAST'03); here it has a
// price.
//
// Measured in a DramSample, over windows of kTurns times as many look-ups as DRAM has blocks, a mean of the last four
// or so.
//
// Atomic words, all relaxed, as they are advice. Evictions, returns: grow; who ends a window takes the returns.
// Look-ups of this window: grow; who finds that they fill it takes them all (CAS, tried once) and ends it. Who loses to
// another that added meanwhile leaves it to that one, who finds the window full as well. Rate: unknown -> known, stored
// by who ends a window.
//
// Thread-safe.
class BreakEven {
 public:
  explicit BreakEven(uint64_t dram_blocks) : sample_(dram_blocks) {}

  // DRAM holds so many blocks from now on.
  void SetCapacity(uint64_t dram_blocks) { sample_.SetCapacity(dram_blocks); }

  // A block that may enter DRAM was read from flash. `hash` must be well mixed, here and below.
  void OnMiss(uint64_t hash);
  // A block leaves DRAM, or passes it by.
  void OnEviction(uint64_t hash);
  // After that: it is in neither tier now.
  void OnDrop(uint64_t hash);
  // So many look-ups were made, in whatever tier they ended.
  void OnLookups(uint64_t count);

  // The least frequency that pays, if frequencies are halved once in so many look-ups: infinite until the first window
  // ended, 0 where nothing returns.
  double Frequency(uint64_t lookups_between_halvings, double gain) const;

  static constexpr uint64_t kTurns = 4;
  static constexpr uint64_t kLookupsMin = 1024;  // of a window

 private:
  static constexpr uint32_t kOne = 1u << 30;
  static constexpr uint32_t kUnknown = UINT32_MAX;
  static constexpr unsigned kWindowsShift = 2;

  uint64_t window() const;

  DramSample sample_;
  RecentKeys dropped_;
  std::atomic<uint32_t> evictions_{0};    // of the sample
  std::atomic<uint32_t> returns_{0};      // of the sample, in this window
  std::atomic<uint64_t> lookups_{0};      // of all keys, in this window
  std::atomic<uint32_t> rate_{kUnknown};  // returns a look-up, of kOne
};

}  // namespace mezz
