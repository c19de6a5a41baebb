// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "cache/block_reader.h"
#include "cache/block_writer.h"
#include "cache/eraser.h"
#include "cache/fault_handler.h"
#include "cache/resizer.h"
#include "cache/scm_figures.h"
#include "cache/scm_shares.h"
#include "cache/tier_parts.h"

namespace mezz {

// The rooms of a tier, each for what a caller may ask of it, over the parts that they share.
struct TierRooms {
  TierRooms(std::unique_ptr<TierMedium> opened, SurvivorJudge* judge) : parts(std::move(opened), judge) {}
  ~TierRooms() { parts.Stop(); }  // the threads of the parts use the rooms

  TierParts parts;
  Eraser eraser{parts};
  FaultHandler fault_handler{parts, &eraser};
  Resizer resizer{parts, &fault_handler};
  BlockWriter writer{parts, &fault_handler};
  BlockReader reader{parts, &fault_handler};
  ScmShares shares{parts};
  const ScmFigures figures{parts};
};

}  // namespace mezz
