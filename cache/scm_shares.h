// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "cache/shares.h"
#include "cache/status.h"
#include "cache/types.h"

namespace mezz {

struct TierParts;

// Bytes of segments that hold a share's records; and the share's limits in bytes.
struct ShareUse {
  uint64_t bytes = 0, reserved_bytes = 0, max_bytes = 0;
};

// The shares of a tier (shares.h), each for one of several users of it: what he puts is his, until it is reclaimed.
//
// Thread-safe. In a child made by fork() nothing is changed.
class ScmShares {
 public:
  explicit ScmShares(TierParts& parts) : parts_(parts) {}

  // Adds a share. The blocks that an earlier life left under this name are his again. At most kSharesMax - 1 at a time.
  // Refuses what Shares::Add refuses.
  Status Add(std::string_view name, const ShareLimits& limits, ShareId* id);
  Status Change(ShareId id, const ShareLimits& limits);
  // Takes the share's limits away. Its blocks stay as the rest's do. REQUIRES: nobody puts for it any more.
  void Remove(ShareId id);
  // Of kNoShare too.
  ShareUse UseOf(ShareId id) const;

 private:
  TierParts& parts_;
};

}  // namespace mezz
