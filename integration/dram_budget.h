// SPDX-License-Identifier: Apache-2.0
// What a hybrid cache takes of DRAM beside its DRAM tier, and how dram_total= is divided.
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

// The one sum of our own DRAM, in bytes. Blocks are no part of it, nor what RocksDB's cache takes for them, which it
// charges to its own capacity.
struct DramUse {
  uint64_t index = 0;
  uint64_t segments = 0;  // the segment table
  uint64_t policies = 0;  // sketch, ghosts and miniatures of every policy that was made
  uint64_t hit_bits = 0;
  uint64_t packing = 0;  // workspaces: as many as threads have packed at once
  uint64_t curve = 0;    // the live curve's samples
  uint64_t rest = 0;     // counters, and the objects themselves

  uint64_t total() const { return index + segments + policies + hit_bits + packing + curve + rest; }
  // "dram.index_bytes: 614400", a line each.
  std::string ToString() const;
};

// What policies are told of a cache of these options.
PolicyOptions PolicyOptionsOf(const HybridCacheOptions& options);

// Of each sample of its live curve, at most.
uint32_t CurveBlocks(const HybridCacheOptions& options);
// Of the blocks that its live curve looks at, the greatest BlockHash; nullopt: it keeps none.
std::optional<uint64_t> WatchedHashMax(const HybridCacheOptions& options);

// What a cache of these options takes once it is open, with one workspace if it packs: an upper bound of DramUse at the
// opening. Its policy is made, and thrown away.
Status DramNeeded(const HybridCacheOptions& options, DramUse* needed);

// With dram_total: gives the DRAM tier (dram_bytes) what is left after our own structures. They are sized as for a DRAM
// tier of dram_total, which bounds them. Refuses a total that does not suffice, saying how much would.
Status DivideDram(HybridCacheOptions* options);

// What to say of a total that was given beside the DRAM tier's own size.
Status TotalContradictsDram(const HybridCacheOptions& options);

// Keeps both sides of a total: what the structures take more, the DRAM tier gives, and gets back once it is worth a
// resize (samples of blocks come and go).
//
//   charged_    what is left to the structures, whole steps of kStepBytes. Without a total: everything.
//   off_        the tier was set to nothing, which it stays, whatever the structures leave, until it is set again
//   resizing_   false --Follow: exchange; SetTier: waits--> true --release store--> false: who resizes the tier
//
// Thread-safe. Follow takes no lock and never waits: who finds another thread at it goes on.
class DramBudget {
 public:
  static constexpr uint64_t kStepBytes = 64 << 10;
  // So much less than charged, and the tier gets it back.
  static constexpr uint64_t kSlackBytes = 4 * kStepBytes;

  DramBudget() = default;
  // Of `total`, the tier has `tier_bytes` already.
  void Open(uint64_t total, uint64_t tier_bytes);

  // The structures take so much now. If that is more than was charged, or less by more than the slack: resize(bytes) of
  // the DRAM tier.
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

  // Somebody wants the tier itself to have `bytes`: the total is that and what the structures take now, unless it has
  // so many already. resize(bytes) is called in any case.
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
  // Whether structures of so many bytes would leave the tier room for anything, if there is one.
  bool HasRoomFor(uint64_t structures) const;

 private:
  // That of who resizes. Ends also where there is no memory for it.
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
  std::atomic<uint64_t> total_{0};                                       // as charged_
  std::atomic<bool> off_{false};                                         // as charged_
  std::atomic<bool> resizing_{false};
};

}  // namespace mezz
