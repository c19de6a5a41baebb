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

// The policy that decides. It may be replaced by name while the cache runs. Each name's policy is made once and kept,
// so that it remembers what it knew if it is chosen again (docs/explanation/synchronization.md).
//
// All policies that were made are told what the tiers may hold, but only when it has changed by an eighth, because a
// policy's tuning begins anew each time.
//
// Thread-safe.
class PolicyInForce {
 public:
  // What this asks of the cache. The functions are called with this object's mutex held.
  struct Cache {
    std::function<uint64_t()> block_capacity;   // bytes of blocks that the SCM tier can hold, as they pack at present
    std::function<Status(const Policy&)> fits;  // an error if dram_total has no room for this policy
    std::function<void(const Policy&)> chosen;  // this policy decides from now on
  };
  // `options` must outlive this. The constructor asks nothing of `cache`.
  PolicyInForce(const HybridCacheOptions& options, Cache cache);
  PolicyInForce(const PolicyInForce&) = delete;
  PolicyInForce& operator=(const PolicyInForce&) = delete;

  // The policy of this name decides from now on. Refuses an unknown name, and a policy for which there is no room.
  Status Use(std::string_view name);
  // A policy lives as long as this, so a caller may use it after it was replaced. REQUIRES: Use has succeeded.
  Policy& get() const { return *policy_.load(std::memory_order_acquire); }
  // Whether Use has succeeded.
  bool is_chosen() const { return policy_.load(std::memory_order_acquire) != nullptr; }

  // The SCM tier was opened, and has so many bytes. Before OnScmCapacity.
  void OnScmOpened(uint64_t bytes);
  // The DRAM tier has so many bytes from now on; 0 if it holds nothing. Waits for a Use that is running.
  void OnDramCapacity(uint64_t bytes);
  // The SCM tier has so many bytes from now on. If that is more than before, `grown()` is called first.
  template <typename Grown>
  void OnScmCapacity(uint64_t bytes, Grown&& grown) {
    const std::lock_guard lock(mutex_);
    const uint64_t before = std::exchange(scm_bytes_, bytes);
    if (bytes > before) grown();
    if (bytes != before) TellLocked();
  }
  // Records have been packed, so the number of blocks that the SCM tier can hold may have changed. Never waits.
  void OnPacking();

  // The bytes of the DRAM tier, as told last.
  uint64_t dram_tier_bytes() const;
  // The same as policies are told it: never 0, and never more than the machine has.
  uint64_t dram_bytes() const;
  // The DRAM of all policies that were made.
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
  uint64_t reported_dram_bytes_;                   // guarded by mutex_
  std::atomic<uint64_t> reported_block_capacity_;  // stored under mutex_; relaxed: a hint
  std::atomic<uint64_t> bytes_of_all_{0};          // stored under mutex_; relaxed: a figure
  std::vector<std::unique_ptr<Policy>> policies_;  // guarded by mutex_; each name once, never removed
  // One of policies_. null --the first Use: release store--> a policy --Use: release store--> another, any number of
  // times. An acquire load sees the whole policy.
  std::atomic<Policy*> policy_{nullptr};
};

}  // namespace mezz
