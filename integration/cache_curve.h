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

// The live curve of a hybrid cache (`curve=on`): the hit ratios that the latest look-ups would have had at half, once,
// twice and four times each tier's present size. The cache tells it of each look-up. Whoever asks for the curve
// simulates it, which takes up to some seconds. The last result is given instead until an eighth more look-ups are kept
// than it was made of.
//
// Thread-safe.
class CacheCurve {
 public:
  // What the curve asks of the cache. The functions are called on any thread.
  struct Cache {
    struct Now {
      std::string_view policy{};
      uint64_t dram_bytes = 0, scm_bytes = 0;  // of the tiers
      std::optional<Codec> codec{};            // of new records; none if they stay raw
      double fast_share = 0;                   // of scm_bytes: the fast ones of ordered media; 0: they are not ordered
    };
    std::function<Now()> now;
    std::function<CounterSnapshot()> counters;
    std::function<uint64_t()> now_ns;  // monotonic
  };
  // `options` must outlive this.
  CacheCurve(const HybridCacheOptions& options, Cache cache);
  CacheCurve(const CacheCurve&) = delete;
  CacheCurve& operator=(const CacheCurve&) = delete;

  // Both do what LiveCurve's functions of the same names do.
  template <typename SizeOf>
  void NoteLookUp(uint64_t hash, BlockRole role, SizeOf&& size_of) {
    live_.NoteLookUp(hash, role, size_of);
  }
  template <typename SizeOf>
  void NoteSize(uint64_t hash, SizeOf&& size_of) {
    live_.NoteSize(hash, size_of);
  }

  // Simulates the curve now. kNotFound if too few look-ups are kept; its message says what to do.
  Status Make(plan::Curve* curve) const;
  // Writes the same to a file that mezz_plan reads and merges. A reader of `path` sees the whole old file or the whole
  // new one.
  Status Dump(const std::string& path) const;

  // The curve as text for a report. kLast returns the last text at once, or nothing while another thread simulates.
  enum class Which { kRecent, kLast };
  std::string Text(Which which) const;

  // For monitoring. `dram` and `scm` are factors of the present sizes; hits and the error are shares of the look-ups.
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
  // Simulates the curve if enough look-ups are new, and then writes it to curve_file, if that is set. REQUIRES:
  // latest_.mutex is held.
  void FollowLocked(uint64_t sampled) const;

  const HybridCacheOptions& options_;
  const Cache cache_;
  mutable plan::LiveCurve live_;
  mutable struct {
    std::mutex mutex;
    plan::Curve curve;     // guarded by mutex, as the members below
    std::string text;      // empty until there was a curve
    uint64_t sampled = 0;  // look-ups that both were made of
  } latest_;
};

}  // namespace mezz
