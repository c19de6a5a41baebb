// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "admission/policy.h"
#include "cache/status.h"
#include "integration/options.h"

namespace mezz {

// The policy that decides, by name. It may be replaced while the cache runs; each name's policy is made once and kept,
// so that one that comes back remembers what it knew (docs/explanation/synchronization.md).
//
// All of them are told what the tiers may hold, by steps of an eighth: what they tune themselves by begins anew with
// each.
//
// Thread-safe.
class PolicyInForce {
 public:
  // What it asks of the cache. Called with its mutex held.
  struct Cache {
    std::function<uint64_t()> block_capacity;   // bytes of blocks that the SCM tier holds, as they pack at present
    std::function<Status(const Policy&)> fits;  // an error where dram_total has no room for one that was made
    std::function<void(const Policy&)> chosen;  // it decides from now on
  };
  // `options` outlive this. Nothing is asked of `cache` yet.
  PolicyInForce(const HybridCacheOptions& options, Cache cache);
  PolicyInForce(const PolicyInForce&) = delete;
  PolicyInForce& operator=(const PolicyInForce&) = delete;

  // The policy of this name decides from now on. Refuses an unknown name, and one that there is no room for.
  Status Use(std::string_view name);
  // REQUIRES: Use was called. Whoever got a policy may use it after it was replaced: it lives as long as this.
  Policy& get() const { return *policy_.load(std::memory_order_acquire); }
  // Use was called.
  bool is_chosen() const { return policy_.load(std::memory_order_acquire) != nullptr; }

  // The SCM tier was opened, and has so many bytes. Before OnScmCapacity.
  void OnScmOpened(uint64_t bytes);
  // The DRAM tier has so many bytes from now on; 0: it holds nothing. Who waits for Use waits here.
  void OnDramCapacity(uint64_t bytes);
  // The SCM tier has. `grown()` is called first where that is more than before.
  template <typename Grown>
  void OnScmCapacity(uint64_t bytes, Grown&& grown) {
    const std::lock_guard lock(mutex_);
    const uint64_t before = std::exchange(scm_bytes_, bytes);
    if (bytes > before) grown();
    if (bytes != before) TellLocked();
  }
  // Records are packed, so that the SCM tier may hold another number of blocks. Never waits.
  void OnPacking();

  // What the DRAM tier has, as it was told last.
  uint64_t dram_tier_bytes() const;
  // The same as policies are told: never 0, nor more than the machine has.
  uint64_t dram_bytes() const;
  // What all policies that were made take.
  uint64_t bytes_of_all() const { return bytes_of_all_.load(std::memory_order_relaxed); }

 private:
  Status Find(std::string_view name, Policy** found);
  void TellLocked();
  void CountLocked();

  const HybridCacheOptions& options_;
  const Cache cache_;
  const uint64_t machine_bytes_;

  mutable std::mutex mutex_;
  PolicyOptions policy_options_;                   // dram_bytes guarded by mutex_
  uint64_t scm_bytes_;                             // guarded by mutex_
  uint64_t dram_tier_bytes_;                       // guarded by mutex_
  uint64_t told_dram_bytes_;                       // guarded by mutex_
  std::atomic<uint64_t> told_block_capacity_;      // stored under mutex_; relaxed: a hint
  std::atomic<uint64_t> bytes_of_all_{0};          // stored under mutex_; relaxed: a figure
  std::vector<std::unique_ptr<Policy>> policies_;  // guarded by mutex_; each name once, never removed
  // One of policies_. null --the first Use: release store--> a policy --Use: release store--> another, any number of
  // times. Who loads it (acquire) sees that policy as it was made.
  std::atomic<Policy*> policy_{nullptr};
};

}  // namespace mezz
