// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstdint>
#include <optional>

#include "admission/policy.h"
#include "cache/types.h"

namespace mezz {

// Chooses the codec of new records from the present cost of flash (pack=auto). Packing saves misses and makes hits
// slower, so it pays the more, the longer a miss takes than a hit.
//
//              fewer than kSamplesMin misses measured: LZ4
//
//         > kRawMaxNs             > kLz4MaxNs          the mean time of a miss; raw to zstd in one step if it is that
// long
//   raw -------------->  LZ4  ----------------> zstd
//       <--------------       <----------------
//         < kLz4MinNs             < kZstdMinNs
//
// zstd is chosen only where it packs better by a fifth (kZstdPercentMax), and kept until kZstdPercentKept. Otherwise
// its hits and its packing cost more and save no miss. In the simulator records that were 42 % smaller made up for that
// by far at 80 us a miss.
//
// The mean is the average of the first kWindow misses, and then decays over as many. It is a mean and not a median: in
// a scan that reads ahead one miss takes long and the next fifty take no time, and packing saves their sum. A miss
// counts kMissMaxNs at most, far above all borders, so that a stall moves the mean by a microsecond at most.
//
// Borders: docs/explanation/policies.md, "Raw or packed". In the simulator, depending on the trace, raw paid below
// about 13 to 25 us, and LZ4 from there to 25 to 60. The borders are the geometric mean of each band, and a fifth of it
// to either side.
//
// One atomic word: mean in 1/256 ns (40 bits), misses counted up to kWindow (16), codec (8; 0: raw). Changed by one
// relaxed CAS, as it is a hint: a miss that loses a race does not count.
//
// Thread-safe.
class CodecChoice {
 public:
  // Tells how long a miss took, and the size that zstd packs to in percent of LZ4's. True: codec() has changed.
  bool OnMiss(uint64_t ns, unsigned zstd_percent = 0) {
    uint64_t seen = word_.load(std::memory_order_relaxed);
    const State before = Decode(seen);
    State after = before;
    after.misses = std::min(before.misses + 1, kWindow);
    const auto sample = static_cast<int64_t>(std::min(ns, kMissMaxNs) << kFractionBits);
    const auto mean = static_cast<int64_t>(before.mean);
    after.mean = static_cast<uint64_t>(mean + (sample - mean) / static_cast<int64_t>(after.misses));
    assert(after.mean <= kMissMaxNs << kFractionBits);
    if (after.misses >= kSamplesMin) after.codec = Next(before.codec, after.mean >> kFractionBits, zstd_percent);
    return word_.compare_exchange_strong(seen, Encode(after), std::memory_order_relaxed, std::memory_order_relaxed) &&
           after.codec != before.codec;
  }

  // The codec of new records. Empty: they are raw.
  std::optional<Codec> codec() const { return Decode(word_.load(std::memory_order_relaxed)).codec; }
  // The decision about a record that may be packed.  -> kRaw | kPack
  Decision OnPut() const {
    const State now = Decode(word_.load(std::memory_order_relaxed));
    if (!now.codec) return {Action::kRaw, Reason::kFlashFast};
    if (now.misses < kSamplesMin) return {Action::kPack, Reason::kFull};
    return {Action::kPack, *now.codec == Codec::kLz4 ? Reason::kFlashMedium : Reason::kFlashSlow};
  }
  // The mean time of a miss. 0: none was measured.
  uint64_t mean_ns() const { return Decode(word_.load(std::memory_order_relaxed)).mean >> kFractionBits; }

  static constexpr uint64_t kLz4MinNs = 15'000, kRawMaxNs = 22'000;
  static constexpr uint64_t kZstdMinNs = 32'000, kLz4MaxNs = 47'000;
  static constexpr unsigned kZstdPercentMax = 80, kZstdPercentKept = 85;
  static constexpr uint64_t kSamplesMin = 64, kWindow = 1024;
  static constexpr uint64_t kMissMaxNs = 1'000'000;

 private:
  struct State {
    uint64_t mean = 0;  // in 1/256 ns
    uint64_t misses = 0;
    std::optional<Codec> codec = Codec::kLz4;
  };
  static constexpr unsigned kFractionBits = 8, kMissesShift = 8, kMeanShift = 24;
  static_assert(kWindow <= 0xffff && kMissMaxNs << kFractionBits < uint64_t{1} << 40);

  static State Decode(uint64_t word) {
    State state{.mean = word >> kMeanShift, .misses = word >> kMissesShift & 0xffff, .codec = std::nullopt};
    if ((word & 0xff) != 0) state.codec = static_cast<Codec>(word & 0xff);
    return state;
  }
  static constexpr uint64_t Encode(const State& state) {
    return state.mean << kMeanShift | state.misses << kMissesShift |
           (state.codec ? static_cast<uint64_t>(*state.codec) : 0);
  }
  static std::optional<Codec> Next(std::optional<Codec> now, uint64_t mean_ns, unsigned zstd_percent) {
    const bool is_zstd = now == Codec::kZstd;
    if (mean_ns > (is_zstd ? kZstdMinNs : kLz4MaxNs) && zstd_percent <= (is_zstd ? kZstdPercentKept : kZstdPercentMax))
      return Codec::kZstd;
    if (mean_ns < (now ? kLz4MinNs : kRawMaxNs)) return std::nullopt;
    return Codec::kLz4;
  }

  std::atomic<uint64_t> word_{Encode({})};
};

}  // namespace mezz
