// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "admission/curves/curve.h"
#include "admission/curves/curve_window.h"
#include "admission/curves/sampler.h"
#include "admission/policy.h"
#include "cache/base/stripe.h"
#include "cache/status.h"
#include "cache/types.h"

namespace mezz::plan {

// The curve of a cache at work. It has five disjoint spatial samples of the cache's look-ups (Sampler), each of at most
// 8192 blocks, with the latest requests for them, sixteen a block in the mean. The curve is simulated from these when
// somebody asks for it.
//
// A look-up whose block's hash (BlockHash) lies above the threshold costs a comparison; one above HashMax need not be
// told at all. The other look-ups, at most `rate_max` of the blocks, wait in a short queue of the thread's stripe. The
// thread that fills a queue carries it to the samples. A thread that owns its stripe notes look-ups with plain stores.
// Nobody waits: if another thread has the samples, a full queue drops look-ups, and so does the shared stripe if
// another thread is noting. Dropped look-ups are counted, and scaling makes up for them.
//
// The requests that are kept are a window. Once the longest log is full, all logs lose their older half, except the
// last request for each block; so the models begin with what the tiers hold. If the samples then hold few blocks,
// because the threshold fell for blocks that nobody asks for any more, they begin anew.
//
// If there is no memory for a sample, no look-up is sampled any more, and Make says so.
//
// Mutexes: the shared stripe's is only tried, and a thread that holds it only tries the samples'. Thread-safe.
class LiveCurve {
 public:
  using LookUps = CurveWindow::LookUps;

  static constexpr uint32_t kSeeds = CurveWindow::kSeeds;
  static constexpr uint32_t kBlocksMax = 8192;       // of a sample
  static constexpr uint32_t kRequestsOfABlock = 16;  // requests that are kept, in the mean
  static constexpr size_t kQueue = 32;
  static constexpr uint32_t kBlocksMin = CurveWindow::kBlocksMin;

  struct Options {
    double rate_max = 0.01;
    uint32_t block_bytes = 4096;       // of blocks whose size is not known yet
    uint32_t blocks_max = kBlocksMax;  // a power of two
    bool takes_others = false;         // whether to sample blocks of BlockRole::kOther
    // Returns the number of all look-ups so far, by all threads, that were or would have been told to NoteLookUp.
    std::function<LookUps()> look_ups{};
    std::function<uint64_t()> now_ns{};  // monotonic
  };
  explicit LiveCurve(Options options);

  // The greatest hash of a block that a curve of this rate may sample, whatever its present threshold.
  static uint64_t HashMax(double rate_max) { return Sampler::ThresholdOf(rate_max); }

  // Notes a look-up of the block with this BlockHash, whether it was found or not. `size_of()` returns the block's
  // bytes, or 0 if they are not known. It is called for a sampled block only, and may throw.
  template <typename SizeOf>
  void NoteLookUp(uint64_t hash, BlockRole role, SizeOf&& size_of) {
    if (hash > threshold_.load(std::memory_order_relaxed)) [[likely]]
      return;
    Push({.hash = hash, .bytes = BytesOf(size_of), .role = role, .is_look_up = true});
  }
  // Notes the size of a block that a look-up missed, so that it could not tell the size.
  template <typename SizeOf>
  void NoteSize(uint64_t hash, SizeOf&& size_of) {
    if (hash > threshold_.load(std::memory_order_relaxed)) [[likely]]
      return;
    Push({.hash = hash, .bytes = BytesOf(size_of), .role = BlockRole::kOther, .is_look_up = false});
  }

  using Tiers = LiveTiers;
  // Makes the curve. Takes up to some seconds of the caller, and some MiB meanwhile; look-ups go on. If the window has
  // too little for a curve, the error says what to do.
  Status Make(const Tiers& tiers, Curve* curve);

  // Look-ups that were sampled so far; and look-ups that were dropped because threads met.
  uint64_t sampled() const;
  uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

  // The DRAM that it takes: the most so far, which it keeps.
  uint64_t dram_bytes() const { return dram_bytes_.load(std::memory_order_relaxed) + sizeof(*this); }
  static constexpr uint64_t DramBytesMax(uint32_t blocks_max) {
    constexpr uint64_t kNumbersMin = 64 << 10;  // of a KeyMap
    const uint64_t of_sample = blocks_max * uint64_t{kRequestsOfABlock * 4 + 2 * 24 + 2 * 8} +
                               std::max<uint64_t>(kNumbersMin, blocks_max * 64);
    return kSeeds * of_sample + sizeof(LiveCurve);
  }
  // The size of a sample that suffices for tiers that hold `blocks` blocks at this rate, when they are four times as
  // large and half full.
  static constexpr uint32_t BlocksMaxFor(double rate, uint64_t blocks) {
    constexpr double kFootprint = 8;
    constexpr double kLeast = 512;
    const double wanted =
        std::clamp(rate * static_cast<double>(blocks) * kFootprint / kSeeds, kLeast, double{kBlocksMax});
    return std::bit_ceil(static_cast<uint32_t>(wanted));
  }

 private:
  struct Note {
    uint64_t hash;
    uint32_t bytes;
    BlockRole role;
    bool is_look_up;
  };
  // The queue of a stripe. It keeps the notes [carried, noted), each at its number modulo kQueue.
  //   place: free --a thread writes the note; noted + 1: release--> kept --the holder of mutex_ reads it; carried:
  //          release--> free
  // One thread at a time notes: the stripe's owner, or the holder of shared_mutex_. One carries: the holder of mutex_.
  // So each loads its own word relaxed, and the other's with acquire.
  struct alignas(kLineBytes) Queue {
    std::atomic<uint64_t> noted{0};
    std::atomic<uint64_t> look_ups{0};  // of the notes so far; stored with `noted`; relaxed: a count
    std::atomic<uint64_t> carried{0};
    std::array<Note, kQueue> notes;
  };
  using Begin = CurveWindow::Passed;  // where the samples' present window began

  template <typename SizeOf>
  static uint32_t BytesOf(SizeOf&& size_of) {
    try {
      return static_cast<uint32_t>(size_of());
    } catch (...) {  // from a block's callback; a look-up must not throw it
      return 0;
    }
  }
  void Push(const Note& note);
  void PushTo(Queue* queue, const Note& note);
  void AddLocked(const Note& note);
  void TurnLocked();
  void StartLocked();
  void PublishLocked();
  void CarryLocked(Queue* queue);
  Begin NowLocked() const;
  CurveWindow TakeWindow();
  void Drop(const Note& note);

  const Options options_;
  const size_t requests_max_;
  const uint64_t threshold_max_;
  // The greatest threshold of all samples: no hash above it is sampled. 0 once there is no memory. Stored with the
  // samples' mutex held. Relaxed, as it is a hint.
  std::atomic<uint64_t> threshold_;
  std::atomic<uint64_t> dram_bytes_{0};  // stored likewise; a figure
  std::atomic<uint64_t> dropped_{0};     // look-ups; relaxed: a count
  std::array<Queue, kStripes> queues_;
  std::mutex shared_mutex_;  // held by a thread that notes in the shared stripe

  std::mutex mutex_;
  std::vector<Sampler> samplers_;  // guarded by mutex_, as what follows
  bool no_memory_ = false;         // the samples may then be incomplete
  uint64_t kept_ = 0;
  Begin begin_;
  std::optional<Begin> mark_;  // where the younger half begins
};

}  // namespace mezz::plan
