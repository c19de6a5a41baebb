// SPDX-License-Identifier: Apache-2.0
#include "integration/policy_in_force.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <utility>

#include "admission/tier_flow.h"
#include "integration/dram_budget.h"

namespace mezz {

PolicyInForce::PolicyInForce(const HybridCacheOptions& options, Cache cache)
    : options_(options),
      cache_(std::move(cache)),
      machine_bytes_(std::max<uint64_t>(1, ThisMachine().memory_bytes)),
      policy_options_(PolicyOptionsOf(options)),
      scm_bytes_(options.scm.capacity_bytes),
      dram_tier_bytes_(policy_options_.dram_bytes),
      reported_dram_bytes_(policy_options_.dram_bytes),
      reported_block_capacity_(options.scm.capacity_bytes) {}

Status PolicyInForce::Use(std::string_view name) {
  const std::lock_guard lock(mutex_);
  Policy* found = nullptr;
  try {
    MEZZ_RETURN_IF_ERROR(Find(name, &found));
  } catch (const std::bad_alloc&) {
    return Status::NoSpace(fmt::format("no memory for policy={}", name));
  }
  policy_.store(found, std::memory_order_release);
  cache_.chosen(*found);
  return Status::Ok();
}

Status PolicyInForce::Find(std::string_view name, Policy** found) {
  for (const std::unique_ptr<Policy>& kept : policies_) {
    if (kept->name() != name) continue;
    *found = kept.get();
    return Status::Ok();
  }
  std::unique_ptr<Policy> made;
  MEZZ_RETURN_IF_ERROR(options_.MakePolicy(name, policy_options_, &made));
  MEZZ_RETURN_IF_ERROR(cache_.fits(*made));
  const uint64_t capacity = cache_.block_capacity();
  if (capacity != policy_options_.scm_bytes) made->OnCapacity(policy_options_.dram_bytes, capacity);
  policies_.push_back(std::move(made));
  CountLocked();
  *found = policies_.back().get();
  return Status::Ok();
}

void PolicyInForce::OnScmOpened(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  scm_bytes_ = bytes;
  reported_block_capacity_.store(bytes, std::memory_order_relaxed);
}

void PolicyInForce::OnDramCapacity(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  dram_tier_bytes_ = bytes;
  // 0 would be "not known", and "no limit" no size to prepare for.
  policy_options_.dram_bytes = std::clamp<uint64_t>(bytes, 1, machine_bytes_);
  // With dram_total the DRAM tier yields a little to each growth of our structures: that is no step.
  if (IsCapacityStep(reported_dram_bytes_, policy_options_.dram_bytes)) TellLocked();
}

void PolicyInForce::OnPacking() {
  if (!IsCapacityStep(reported_block_capacity_.load(std::memory_order_relaxed), cache_.block_capacity())) return;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock.owns_lock()) TellLocked();
}

uint64_t PolicyInForce::dram_tier_bytes() const {
  const std::lock_guard lock(mutex_);
  return dram_tier_bytes_;
}

uint64_t PolicyInForce::dram_bytes() const {
  const std::lock_guard lock(mutex_);
  return policy_options_.dram_bytes;
}

void PolicyInForce::TellLocked() {
  const uint64_t capacity = cache_.block_capacity();
  reported_block_capacity_.store(capacity, std::memory_order_relaxed);
  reported_dram_bytes_ = policy_options_.dram_bytes;
  for (const std::unique_ptr<Policy>& policy : policies_) policy->OnCapacity(policy_options_.dram_bytes, capacity);
  CountLocked();
}

void PolicyInForce::CountLocked() {
  uint64_t bytes = 0;
  for (const std::unique_ptr<Policy>& policy : policies_) bytes += policy->dram_bytes();
  bytes_of_all_.store(bytes, std::memory_order_relaxed);
}

}  // namespace mezz
