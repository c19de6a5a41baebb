// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "cache/media/medium.h"
#include "cache/options.h"
#include "cache/status.h"
#include "cache/survivor_judge.h"
#include "cache/tier_rooms.h"

namespace mezz {

// Opens a tier, in this order: the medium, with what an earlier life left there; the rooms; the superblock of this
// life; the threads; the recovery. Errors: as ScmTier::Open. Until the superblock is written, the medium stays as it
// is, and its earlier life may be opened again.
Status OpenTier(const ScmOptions& options, SurvivorJudge* judge, const WrapMedium& wrap,
                std::unique_ptr<TierRooms>* rooms);

}  // namespace mezz
