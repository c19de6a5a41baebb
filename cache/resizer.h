// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "cache/fault_handler.h"
#include "cache/status.h"
#include "cache/tier_parts.h"

namespace mezz {

// Changes how much of its medium, or of one of several, a tier uses. ScmTier's functions of these names have the
// promises.
//
// Thread-safe. SetMemberCapacity holds a lock while it empties segments; no other call takes that.
class Resizer {
 public:
  Resizer(TierParts& parts, FaultHandler* fault_handler) : parts_(parts), fault_handler_(fault_handler) {}

  Status SetCapacity(uint64_t bytes);
  Status SetMemberCapacity(size_t member, uint64_t bytes);

 private:
  Status MayResize(const std::string& asked) const;
  Status CheckMemberLimit(const std::string& asked, size_t member, uint32_t wanted) const;

  TierParts& parts_;
  FaultHandler* const fault_handler_;
  Mutex resizing_;  // held while the limit of one of several media changes
};

}  // namespace mezz
