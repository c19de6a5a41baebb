// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cache/tier_rooms.h"

namespace mezz {

// Closes a tier that OpenTier gave: ends its threads, stores the snapshot of its index, or wipes what it stored
// (ScmOptions::scrub_on_close), and says in the superblock that it was closed. Nothing is stored after that. REQUIRES:
// nobody uses the tier, and this process opened it.
void CloseTier(TierRooms* rooms);

}  // namespace mezz
