// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "cache/authenticator.h"
#include "cache/base/atomic.h"
#include "cache/base/fork_guard.h"
#include "cache/counters.h"
#include "cache/dead_files.h"
#include "cache/faults.h"
#include "cache/index.h"
#include "cache/log_reader.h"
#include "cache/media/emulation.h"
#include "cache/media/medium.h"
#include "cache/options.h"
#include "cache/pack/pack_stage.h"
#include "cache/pack/packer.h"
#include "cache/pack/trainer.h"
#include "cache/reclaimer.h"
#include "cache/recoverer.h"
#include "cache/segment_log.h"
#include "cache/superblock.h"
#include "cache/tombstones.h"

namespace mezz {

// The parts of an ScmTier, as its rooms see them: BlockWriter, Eraser, FaultHandler, Resizer,
// TierAudit. It owns none of them, and
// all outlive the rooms.
struct TierParts {
  const ForkGuard& guard;
  const ScmOptions& options;
  const Medium& medium;
  Counters* counters;
  Emulation* emulation;                // null without a model
  const Authenticator* authenticator;  // null without verify=keyed
  Faults* faults;
  Trainer* trainer;  // null: no dictionaries
  Packer* packer;    // null: pack=off
  PackStage* stage;  // null: each put packs
  Index* index;
  SegmentLog* log;
  const LogReader& reader;
  DeadFiles* dead;
  Reclaimer* reclaimer;
  SuperblockKeeper* keeper;
  Tombstones* tombstones;
  const std::unique_ptr<Recoverer>& recoverer;  // null: nothing to recover
  // Held while the stage's thread stores a block, if the medium remembers it.
  Mutex* store_mutex;
  bool remembers;       // the medium keeps its bytes when the tier is closed
  bool erases_durably;  // an erased key stays erased in every later life
};

}  // namespace mezz
