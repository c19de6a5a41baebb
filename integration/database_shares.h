// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "cache/base/stripe.h"
#include "cache/counters.h"
#include "cache/scm_tier.h"
#include "cache/shares.h"
#include "cache/status.h"
#include "cache/types.h"
#include "integration/options.h"

namespace mezz {

// What one database, or the rest, has of a shared cache now.
struct DatabaseFigures {
  std::string name;  // empty: all that belongs to no share
  DatabaseLimits limits;
  uint64_t scm_bytes = 0, scm_reserved_bytes = 0, scm_max_bytes = 0;
  uint64_t dram_bytes = 0;           // that it holds
  uint64_t dram_pinned_bytes = 0;    // of these: what somebody reads now
  uint64_t dram_capacity_bytes = 0;  // that it may hold now
  CounterSnapshot counters;          // dram.hit, scm.hit, miss and insert
};

// A line of the report.
std::string ToText(const DatabaseFigures& figures);

// The databases that share one hybrid cache: each has a share of its SCM tier, and a DRAM tier and counters of its own.
// Divides the DRAM among them and the rest, which is the cache itself.
//
// In a child made by fork() nothing is added, divided or told, as its parent's threads may hold the locks.
//
// Thread-safe, except for OpenRest. A call waits for others as long as DRAM tiers take to be resized; NoteDramMiss and
// AddTo do not wait for that.
class DatabaseShares {
 public:
  // The DRAM tier and the counters of a database. `resize` and the next three are called by any thread with a lock held
  // under which DRAM tiers may evict, so they must not call DatabaseShares but for AddTo. After Remove none is called.
  struct DramPart {
    std::function<void(uint64_t bytes)> resize;  // empty: its size is its own
    std::function<uint64_t()> bytes, pinned_bytes, capacity_bytes;
    std::function<void(CounterSnapshot* sum)> add_counters;  // the rest's: of both tiers, without what databases count
  };

  // `scm` is null until the cache is open, and outlives this.
  explicit DatabaseShares(const std::unique_ptr<ScmTier>& scm) : scm_(scm) {}
  DatabaseShares(const DatabaseShares&) = delete;
  DatabaseShares& operator=(const DatabaseShares&) = delete;

  // The rest. Before the first look-up.
  void OpenRest(DramPart rest);
  // From now on all DRAM tiers together get `bytes`, those with a size of their own apart.
  void SetTotal(uint64_t bytes);
  // Calls told(bytes) with what the DRAM tiers with a size of their own have. One call comes after the other.
  void TellApart(const std::function<void(uint64_t bytes)>& told) const;
  // What the divided DRAM tiers of databases have now. Waits for nobody.
  uint64_t given_bytes() const { return given_.load(std::memory_order_relaxed); }

  // Adds a database, which puts under `*share` from then on. What an earlier life, or an earlier database of the name,
  // left in the SCM tier is its own again. Refuses limits that contradict themselves or those of others, and what
  // ScmShares::Add refuses; nothing changes then.
  Status Add(std::string_view name, const DatabaseLimits& limits, DramPart dram, ShareId* share);
  // The database gets no more requests. Its blocks in the SCM tier stay until they are reclaimed.
  void Remove(ShareId share);
  Status SetLimits(ShareId share, const DatabaseLimits& limits);

  // Whether there is more than the rest. A hint.
  bool are_several() const { return divided_.load(std::memory_order_relaxed); }

  // A DRAM tier missed a block. Divides the DRAM anew now and then. Do not call it within an eviction.
  void NoteDramMiss() {
    if (divided_.load(std::memory_order_relaxed) &&
        misses_.fetch_add(1, std::memory_order_relaxed) % kMissesOfDivision == kMissesOfDivision - 1) [[unlikely]]
      Divide();
  }
  static constexpr uint64_t kMissesOfDivision = 4096;

  // The rest has had a hit in the SCM tier, which itself counts those of all.
  void CountScmHitOfRest(BlockRole role) {
    const size_t stripe = StripeOfThisThread();
    AddInStripe(stripe, rest_scm_hits_[stripe].by_role[static_cast<size_t>(role)], uint64_t{1});
  }
  // Adds what the databases counted, those that went included; scm.hit is left out, as the SCM tier counts it.
  void AddTo(CounterSnapshot* sum) const;
  // All databases, with the rest first. Empty while there is none.
  std::vector<DatabaseFigures> Figures() const;

 private:
  struct Member {
    ShareId share = kNoShare;
    std::string name;
    DatabaseLimits limits;
    DramPart dram;
    uint64_t hits_before = 0;  // at the last division
    double worth = 0;          // hits, decayed by half with each division
  };

  struct alignas(kLineBytes) Stripe {
    std::array<std::atomic<uint64_t>, kBlockRoles> by_role{};
  };

  Status Fit(std::string_view name, ShareId share, const ShareLimits& dram) const;
  Member* FindLocked(ShareId share) const;
  CounterSnapshot CountersOf(const Member& member) const;
  void Divide();
  void DivideLocked(bool all_at_once);
  static std::vector<uint64_t> TargetsOf(const std::vector<Member*>& members, uint64_t total);

  const std::unique_ptr<ScmTier>& scm_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Member>> members_;  // GUARDED_BY(mutex_): the first one is the rest
  uint64_t total_ = 0;                            // GUARDED_BY(mutex_): bytes
  // An eviction may ask for the counters while mutex_ is held, so they have a mutex of their own, taken after it.
  mutable std::mutex counters_mutex_;
  std::vector<const Member*> counting_;    // GUARDED_BY(counters_mutex_): all but the rest
  std::unique_ptr<CounterSnapshot> gone_;  // GUARDED_BY(counters_mutex_): of databases that have gone
  std::array<Stripe, kStripes> rest_scm_hits_;
  std::atomic<bool> divided_{false};  // relaxed: a hint that there is more than the rest
  std::atomic<uint64_t> given_{0};    // relaxed: bytes, stored under mutex_
  std::atomic<uint64_t> misses_{0};   // relaxed: publishes nothing
};

}  // namespace mezz
