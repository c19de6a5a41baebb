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
#include <string>
#include <vector>

#include "admission/curves/curve.h"
#include "admission/curves/point_model.h"
#include "admission/curves/sampler.h"
#include "admission/policy.h"
#include "cache/base/stripe.h"
#include "cache/status.h"
#include "cache/types.h"

namespace mezz::plan {

// The curve of a cache at work: five disjoint spatial samples of its look-ups (Sampler), each of at most 8192 blocks
// and of the latest requests for them, sixteen a block, from which the curve is simulated when somebody asks for it.
//
// A look-up whose block's hash (BlockHash) lies above the threshold costs a comparison, or is not told at all: nothing
// above HashMax is ever looked at. The others, at most `rate_max` of the blocks, wait in a short queue of the thread's
// stripe; whoever fills it carries it to the samples. A thread that owns its stripe notes with plain stores. Nobody
// waits: where another thread has the samples, a full queue drops what comes, as does the shared stripe's where another
// notes; that is counted and made up for by scaling.
//
// The requests that are kept are a window. Once the longest log is full, all of them lose their older half, but for the
// last request of each block: so the models begin with what the tiers hold. Where the
// samples then hold few blocks because the threshold fell for blocks that nobody asks for any more, they begin anew.
//
// Where there is no memory for a sample, no look-up is sampled any more, and Make says so.
//
// Mutexes: the shared stripe's is only tried, and who holds it only tries the samples'. Thread-safe.
class LiveCurve {
 public:
  using LookUps = std::array<uint64_t, kBlockRoles>;

  static constexpr uint32_t kSeeds = 5;
  static constexpr uint32_t kBlocksMax = 8192;       // of a sample
  static constexpr uint32_t kRequestsOfABlock = 16;  // that are kept, in the mean
  static constexpr size_t kQueue = 32;
  // The share of the window that is not counted, but only warms the models.
  static constexpr double kWarmup = 0.5;
  static constexpr uint32_t kBlocksMin = 500;  // fewer in all samples say nothing

  struct Options {
    double rate_max = 0.01;
    uint32_t block_bytes = 4096;       // of blocks whose size nobody has told yet
    uint32_t blocks_max = kBlocksMax;  // a power of two
    bool takes_others = false;         // BlockRole::kOther; else those are left out
    // All look-ups so far that were, or would have been, told to NoteLookUp; any thread's.
    std::function<LookUps()> look_ups{};
    std::function<uint64_t()> now_ns{};  // monotonic
  };
  explicit LiveCurve(Options options);

  // The greatest hash of a block that a curve of this rate looks at, whatever its threshold is.
  static uint64_t HashMax(double rate_max) { return Sampler::ThresholdOf(rate_max); }

  // A look-up of the block of this BlockHash, found or not. `size_of()`: the block's bytes, 0 where they are not known;
  // it is asked of a sampled block alone, and may throw.
  template <typename SizeOf>
  void NoteLookUp(uint64_t hash, BlockRole role, SizeOf&& size_of) {
    if (hash > threshold_.load(std::memory_order_relaxed)) [[likely]]
      return;
    Push({.hash = hash, .bytes = BytesOf(size_of), .role = role, .is_look_up = true});
  }
  // A block's size, which a look-up that missed could not tell.
  template <typename SizeOf>
  void NoteSize(uint64_t hash, SizeOf&& size_of) {
    if (hash > threshold_.load(std::memory_order_relaxed)) [[likely]]
      return;
    Push({.hash = hash, .bytes = BytesOf(size_of), .role = BlockRole::kOther, .is_look_up = false});
  }

  // The cache of which the curve is made: its grid is half, once, twice and four times each tier, and no SCM.
  struct Tiers {
    std::string name{};  // of the host
    MiniatureOptions miniature{};
    std::string pack{};         // the form's
    std::string pack_ratios{};  // the form's
    uint64_t dram_bytes = 0;
    uint64_t scm_bytes = 0;
  };
  // Takes up to some seconds of the caller, and some MiB meanwhile; look-ups go on. Refuses a window that says too
  // little, with what to do.
  Status Make(const Tiers& tiers, Curve* curve);

  // Look-ups so far that are kept, or were until something newer came; and that would have been, but threads met.
  uint64_t sampled() const;
  uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

  // Of DRAM: the most so far, and whatever comes.
  uint64_t dram_bytes() const { return dram_bytes_.load(std::memory_order_relaxed) + sizeof(*this); }
  static constexpr uint64_t DramBytesMax(uint32_t blocks_max) {
    constexpr uint64_t kNumbersMin = 64 << 10;  // of a KeyMap
    const uint64_t of_sample = blocks_max * uint64_t{kRequestsOfABlock * 4 + 2 * 24 + 2 * 8} +
                               std::max<uint64_t>(kNumbersMin, blocks_max * 64);
    return kSeeds * of_sample + sizeof(LiveCurve);
  }
  // What suffices for the curve of tiers that hold `blocks`, four times as large and half full, at this rate.
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
  // Of a stripe; kept are the notes [carried, noted), each at its number modulo kQueue.
  //   place: free --its noter writes the note; noted + 1: release--> kept --read by who has mutex_; carried: release-->
  //          free
  // One thread notes at a time, the stripe's owner or who has shared_mutex_, and one carries, who has mutex_: so each
  // loads its own word relaxed, and the other's with acquire.
  struct alignas(kLineBytes) Queue {
    std::atomic<uint64_t> noted{0};
    std::atomic<uint64_t> look_ups{0};  // of the notes so far. Stored as noted; relaxed: a count
    std::atomic<uint64_t> carried{0};
    std::array<Note, kQueue> notes;
  };
  // What belongs to the samples' present window.
  struct Begin {
    LookUps look_ups{};
    uint64_t ns = 0;
    uint64_t kept = 0;
    uint64_t dropped = 0;
  };
  struct Window {
    std::vector<Sampler> samplers;
    Begin passed;  // differences
  };

  template <typename SizeOf>
  static uint32_t BytesOf(SizeOf&& size_of) {
    try {
      return static_cast<uint32_t>(size_of());
    } catch (...) {  // of a block's callback; nobody who looks a block up shall see it
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
  Status MakeOf(const Tiers& tiers, Curve* curve);
  Begin NowLocked() const;
  Window TakeWindow();
  void Drop(const Note& note);

  const Options options_;
  const size_t requests_max_;
  const uint64_t threshold_max_;
  // Of all samples, the greatest: nothing above it is looked at. 0 once there is no memory. Stored with the samples'
  // mutex held; relaxed: a hint.
  std::atomic<uint64_t> threshold_;
  std::atomic<uint64_t> dram_bytes_{0};  // stored likewise; a figure
  std::atomic<uint64_t> dropped_{0};     // look-ups; relaxed: a count
  std::array<Queue, kStripes> queues_;
  std::mutex shared_mutex_;  // of who notes in the shared stripe

  std::mutex mutex_;
  std::vector<Sampler> samplers_;  // guarded by mutex_, as what follows
  bool no_memory_ = false;         // then the samples may be half of anything
  uint64_t kept_ = 0;
  Begin begin_;
  std::optional<Begin> mark_;  // where the younger half begins
};

}  // namespace mezz::plan
