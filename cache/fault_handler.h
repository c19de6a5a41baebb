// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cache/eraser.h"
#include "cache/tier_parts.h"

namespace mezz {

// What a tier does about a medium that fails: it goes on without one of several, or closes itself for good. Whoever
// meets a fault only counts it (Faults, SegmentLog::NoteFault), as it may hold locks; a call that holds none comes here
// afterwards.
//
// Thread-safe. Tells the operator (ScmOptions::on_trouble), once for each loss.
class FaultHandler {
 public:
  FaultHandler(TierParts& parts, Eraser* eraser) : parts_(parts), eraser_(eraser) {}

  // Closes the tier, or leaves out one of several media, if the last allowed fault was found. Two loads if not.
  // REQUIRES: the caller holds no lock.
  void Handle() {
    if (parts_.log.members().HasNewlyOut()) [[unlikely]]
      LeaveMembersOut();
    if (parts_.faults.IsClosing()) [[unlikely]]
      CloseForGood();
  }

 private:
  void LeaveMembersOut();
  void CloseForGood();
  std::string WhyClosed() const;

  TierParts& parts_;
  Eraser* const eraser_;
};

}  // namespace mezz
