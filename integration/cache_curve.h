// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "admission/curves/curve.h"
#include "admission/curves/live_curve.h"
#include "cache/counters.h"
#include "cache/status.h"
#include "integration/options.h"

namespace mezz {

// The live curve of a hybrid cache (`curve=on`): hit ratios at half, once, twice and four times each tier's present
// size, as the latest look-ups would have had them. It is told of each look-up, and simulates the curve once an eighth
// more of them is kept than when it did last, which takes up to some seconds of whoever asks.
//
// Thread-safe.
class CacheCurve {
 public:
  // The cache, as the curve needs it. Called on any thread.
  struct Cache {
    struct Now {
      std::string_view policy{};
      uint64_t dram_bytes = 0, scm_bytes = 0;  // of the tiers
      std::optional<Codec> codec{};            // of new records; nothing: they are raw
    };
    std::function<Now()> now;
    std::function<CounterSnapshot()> counters;
    std::function<uint64_t()> now_ns;  // monotonic
  };
  // `options` outlive this.
  CacheCurve(const HybridCacheOptions& options, Cache cache);
  CacheCurve(const CacheCurve&) = delete;
  CacheCurve& operator=(const CacheCurve&) = delete;

  // As LiveCurve's.
  template <typename SizeOf>
  void NoteLookUp(uint64_t hash, BlockRole role, SizeOf&& size_of) {
    live_.NoteLookUp(hash, role, size_of);
  }
  template <typename SizeOf>
  void NoteSize(uint64_t hash, SizeOf&& size_of) {
    live_.NoteSize(hash, size_of);
  }

  // Simulated now. kNotFound: too few look-ups, and what to do.
  Status Make(plan::Curve* curve) const;
  // The same as a file that mezz_plan reads and merges. A reader of `path` sees the old file or the new, whole.
  Status Dump(const std::string& path) const;

  // For a report. kLast: whatever there is, at once; nothing where another thread simulates.
  enum class Which { kRecent, kLast };
  std::string Text(Which which) const;

  // For monitoring. Factors are of the present sizes; hits and the error are shares of the look-ups.
  struct Point {
    double dram = 0, scm = 0;
    double dram_hits = 0, scm_hits = 0, error = 0;
  };
  struct Figures {
    uint64_t sampled = 0, dropped = 0;
    std::vector<Point> points{};
  };
  Figures Read() const;

  uint64_t dram_bytes() const { return live_.dram_bytes(); }

 private:
  plan::LiveCurve::LookUps LookUps() const;
  Status Write(const plan::Curve& curve, const std::string& path) const;
  // REQUIRES: latest_.mutex is held. With curve_file, writes it when the curve is new.
  void FollowLocked(uint64_t sampled) const;

  const HybridCacheOptions& options_;
  const Cache cache_;
  mutable plan::LiveCurve live_;
  mutable struct {
    std::mutex mutex;
    plan::Curve curve;     // guarded by mutex, as what follows
    std::string text;      // empty: there was none yet
    uint64_t sampled = 0;  // look-ups of which they were made
  } latest_;
};

}  // namespace mezz
