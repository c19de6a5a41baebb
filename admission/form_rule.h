// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "admission/policy.h"
#include "cache/types.h"

namespace mezz {

// Which form new records get in a tier that can pack, and why. Raw while everything fits: nothing is gained by packing
// then, and each hit of a packed record costs. From the first reclaim on every record is to be packed, hot or cold: a
// block so hot that a raw record pays for itself belongs in DRAM (docs/explanation/policies.md, "Raw or packed").
//
//   raw --OnReclaim--> packed --OnGrown--> raw
//
// Relaxed: it publishes nothing, and a record of the other form is as good.
//
// Thread-safe.
class FormRule {
 public:
  // -> kRaw | kPack
  Decision OnPut(BlockRole role) const {
    if (!RolePacks(role)) return {Action::kRaw, Reason::kRole};
    if (!reclaimed()) return {Action::kRaw, Reason::kFilling};
    return {Action::kPack, Reason::kFull};
  }
  // Reclaim has reached a record.
  void OnReclaim() { reclaimed_.store(true, std::memory_order_relaxed); }
  bool reclaimed() const { return reclaimed_.load(std::memory_order_relaxed); }
  // The SCM tier has room again.
  void OnGrown() { reclaimed_.store(false, std::memory_order_relaxed); }

 private:
  std::atomic<bool> reclaimed_{false};
};

}  // namespace mezz
