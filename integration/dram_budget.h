// SPDX-License-Identifier: Apache-2.0
// How much DRAM a hybrid cache takes beside its DRAM tier, and how dram_total= is divided.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "admission/policy.h"
#include "cache/status.h"
#include "cache/types.h"
#include "integration/options.h"

namespace mezz {

// The DRAM of our own structures, in bytes. It includes neither blocks nor what RocksDB's cache takes for them, which
// that cache charges to its own capacity.
struct DramUse {
  uint64_t index = 0;
  uint64_t segments = 0;  // the segment table
  uint64_t policies = 0;  // sketch, ghosts and miniatures of every policy that was made
  uint64_t hit_bits = 0;
  uint64_t packing = 0;  // one workspace for each thread of the most that have packed at once
  uint64_t curve = 0;    // the live curve's samples
  uint64_t rest = 0;     // counters, and the objects themselves

  uint64_t total() const { return index + segments + policies + hit_bits + packing + curve + rest; }
  // One line for each number, as "dram.index_bytes: 614400".
  std::string ToString() const;
};

// The options that policies are made with, for a cache of these options.
PolicyOptions PolicyOptionsOf(const HybridCacheOptions& options);

// The most blocks that one sample of the cache's live curve holds.
uint32_t CurveBlocks(const HybridCacheOptions& options);
// The greatest BlockHash of the blocks that the cache's live curve looks at; nullopt if the cache keeps no curve.
std::optional<uint64_t> WatchedHashMax(const HybridCacheOptions& options);

// An upper bound of the DramUse of a cache of these options when it is opened, with one workspace if it packs. To find
// it, the policy is made and thrown away.
Status DramNeeded(const HybridCacheOptions& options, DramUse* needed);

// With dram_total, sets dram_bytes to what our own structures leave. They are sized for a DRAM tier of dram_total
// bytes, which is an upper bound. Refuses a total that is too small, and says how much would suffice.
Status DivideDram(HybridCacheOptions* options);

// The error for options that give both the total and the DRAM tier's own size.
Status TotalContradictsDram(const HybridCacheOptions& options);

// Keeps the DRAM tier and our structures within the total. When the structures grow, the tier shrinks. When they shrink
// (samples of blocks come and go), the tier grows again, once that is worth a resize.
//
//   charged_    what is left to the structures, whole steps of kStepBytes. Without a total: everything.
//   off_        the tier was set to nothing, which it stays, whatever the structures leave, until it is set again
//   resizing_   false --Follow: exchange; SetTier: waits--> true --release store--> false: who resizes the tier
//
// Thread-safe. Follow takes no lock and never waits: if another thread is resizing, it returns.
class DramBudget {
 public:
  static constexpr uint64_t kStepBytes = 64 << 10;
  // The tier grows again once the structures take so much less than is charged.
  static constexpr uint64_t kSlackBytes = 4 * kStepBytes;

  DramBudget() = default;
  // Begins with this total, of which the tier has `tier_bytes` already. Before the first look-up.
  void Open(uint64_t total, uint64_t tier_bytes);

  // The structures take so many bytes now. Calls resize(bytes) with the DRAM tier's new size if that is more than is
  // charged, or less by more than the slack.
  template <typename Resize>
  void Follow(uint64_t structures, Resize&& resize) {
    const uint64_t charged = charged_.load(std::memory_order_relaxed);
    if (structures <= charged && (charged - structures <= kSlackBytes || !limited())) [[likely]]
      return;
    if (resizing_.exchange(true, std::memory_order_acquire)) return;
    const Turn turn(*this);
    charged_.store(RoundUp(structures, kStepBytes), std::memory_order_relaxed);
    resize(TierBytes());
  }

  // Gives the tier `bytes`, because the user asked for that. The total becomes that plus what the structures take now,
  // unless the tier has so many already. Calls resize(bytes) in any case.
  template <typename Resize>
  void SetTier(uint64_t bytes, uint64_t structures, Resize&& resize) {
    while (resizing_.exchange(true, std::memory_order_acquire)) resizing_.wait(true, std::memory_order_relaxed);
    const Turn turn(*this);
    if (limited() && bytes != TierBytes()) {
      const uint64_t beside = RoundUp(structures, kStepBytes);
      constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();  // a common capacity: no limit
      charged_.store(beside, std::memory_order_relaxed);
      total_.store(bytes + std::min(beside, kMax - bytes), std::memory_order_relaxed);
    }
    off_.store(bytes == 0, std::memory_order_relaxed);
    resize(bytes);
  }

  bool limited() const { return total() != 0; }
  uint64_t total() const { return total_.load(std::memory_order_relaxed); }
  // True if structures of so many bytes would leave the tier some room. Also true if there is no total, or if the tier
  // was set to nothing.
  bool HasRoomFor(uint64_t structures) const;

 private:
  // The right to resize, which ends with this scope, also if resize() throws for want of memory.
  class Turn {
   public:
    explicit Turn(DramBudget& budget) : budget_(budget) {}
    ~Turn() {
      budget_.resizing_.store(false, std::memory_order_release);
      budget_.resizing_.notify_all();
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    DramBudget& budget_;
  };

  bool is_off() const { return off_.load(std::memory_order_relaxed); }
  uint64_t TierBytes() const;

  std::atomic<uint64_t> charged_{std::numeric_limits<uint64_t>::max()};  // relaxed; stored while resizing_
  std::atomic<uint64_t> total_{0};                                       // likewise
  std::atomic<bool> off_{false};                                         // likewise
  std::atomic<bool> resizing_{false};
};

}  // namespace mezz
