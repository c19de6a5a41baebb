// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "admission/policy.h"
#include "cache/types.h"

namespace mezz {

// Decides the form of new records in a tier that can pack. They are raw while everything fits: packing then gains
// nothing, and each hit on a packed record costs time. From the first reclaim on every record is packed, hot or cold. A
// block so hot that a raw record pays belongs in DRAM (docs/explanation/policies.md, "Raw or packed").
//
//   raw --OnReclaim--> packed --OnGrown--> raw
//
// Relaxed: it publishes nothing, and a record of the other form is valid too.
//
// Thread-safe.
class FormRule {
 public:
  // The form of a new record.  -> kRaw | kPack
  Decision OnPut(BlockRole role) const {
    if (!RolePacks(role)) return {Action::kRaw, Reason::kRole};
    if (!reclaimed()) return {Action::kRaw, Reason::kFilling};
    return {Action::kPack, Reason::kFull};
  }
  // Tells that reclaim has reached a record.
  void OnReclaim() { reclaimed_.store(true, std::memory_order_relaxed); }
  bool reclaimed() const { return reclaimed_.load(std::memory_order_relaxed); }
  // Tells that the SCM tier has room again.
  void OnGrown() { reclaimed_.store(false, std::memory_order_relaxed); }

 private:
  std::atomic<bool> reclaimed_{false};
};

}  // namespace mezz
