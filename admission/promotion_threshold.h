// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "admission/dram_sample.h"

namespace mezz {

// How often a packed block must be asked for before its place in DRAM pays.
//
// In DRAM its hits need not be unpacked. But DRAM then has room for one block less of those that SCM does not hold, and
// some of these would have been asked for again in time. That costs flash reads, each worth about nine (zstd) to thirty
// (LZ4) such hits. So this watches what a larger DRAM would still have held:
//
//   returns = the share of look-ups that miss a block which DRAM dropped within the last N evictions, where N is the
//             number of DRAM's blocks: with twice the room it would still have been there
//   a block that is asked for in a share `rate` of the look-ups pays in DRAM if rate * gain >= returns / N
//
// where `gain` is what one of its hits saves in DRAM, in flash reads. More promotions leave new blocks less room. More
// of these then return, and the next block must be asked for more often. So it limits itself, unlike the share of
// promoted blocks that were hit (PromotionFeedback).
//
// The marginal utility of a ghost list behind the cache is ARC's idea (Megiddo and Modha, FAST'03); here it has a
// price.
//
// It is measured in a DramSample, over windows of kTurns * N look-ups, as a mean of about the last four windows.
//
// Atomic words, all relaxed, as they are hints. Evictions and returns grow; the thread that ends a window takes the
// returns. Look-ups of this window grow; a thread that finds the window full takes them all (one CAS) and ends it. If
// another thread has added meanwhile, it leaves that to the other, which finds the window full too. Rate: unknown ->
// known, stored by the thread that ends a window.
//
// Thread-safe.
class PromotionThreshold {
 public:
  explicit PromotionThreshold(uint64_t dram_blocks) : sample_(dram_blocks) {}

  // Sets how many blocks DRAM holds from now on.
  void SetCapacity(uint64_t dram_blocks) { sample_.SetCapacity(dram_blocks); }

  // Call it when a block that may enter DRAM was read from flash. `hash` must be well mixed, here and below.
  void OnMiss(uint64_t hash);
  // Call it when a block leaves DRAM, or passes it by.
  void OnEviction(uint64_t hash);
  // Call it after that, if the block is in neither tier now.
  void OnDrop(uint64_t hash);
  // Tells of `count` look-ups, whichever tier answered them.
  void OnLookups(uint64_t count);

  // The least frequency that pays, if frequencies are halved once in `lookups_between_halvings`. Infinite until the
  // first window ended; 0 where nothing returns.
  double Frequency(uint64_t lookups_between_halvings, double gain) const;

  static constexpr uint64_t kTurns = 4;
  static constexpr uint64_t kLookupsMin = 1024;  // look-ups of a window

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
  std::atomic<uint32_t> rate_{kUnknown};  // returns for a look-up, in 1/kOne
};

}  // namespace mezz
