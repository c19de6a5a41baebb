// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cache/tier_parts.h"
#include "cache/types.h"

namespace mezz {

// Takes blocks out of the tier so that no look-up finds them again: one, or all; and with erase=durable, or on a medium
// that remembers, none in a later life either. ScmTier's Erase and EraseAll have the promises.
//
// Thread-safe. Lock order: TierParts::store_mutex, then Reclaimer's mutex.
class Eraser {
 public:
  explicit Eraser(TierParts& parts) : parts_(parts) {}

  // True: the block was resident, or staged.
  bool Erase(const BlockKey& key);
  void EraseAll();
  // Makes the next life forget all that is stored, because there is no room for a tombstone, or because failed memory
  // may not hold the tombstones that there are. Nobody may take a position meanwhile: its tombstone would be lost with
  // the others, while the segment that it is about is not.
  void ForsakeRestart();

 private:
  bool EraseHere(const BlockKey& key);
  bool EraseDurably(const BlockKey& key);
  void ForsakeWhatIsStored();

  TierParts& parts_;
};

}  // namespace mezz
