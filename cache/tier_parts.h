// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
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
#include "cache/scm_figures.h"
#include "cache/scrubber.h"
#include "cache/segment_log.h"
#include "cache/superblock.h"
#include "cache/survivor_judge.h"
#include "cache/tier_medium.h"
#include "cache/tombstones.h"

namespace mezz {

// What the rooms of a tier share (TierRooms): the medium, the log of segments on it, the index of what lies there, and
// what packs, reclaims, scrubs and recovers. Built in the order of the members. Outlives the rooms.
//
// Each part is thread-safe.
struct TierParts {
  // REQUIRES: `of` is open.
  TierParts(std::unique_ptr<TierMedium> of, SurvivorJudge* judge);
  ~TierParts();
  // Ends all threads, those that prepare the medium too. REQUIRES: nothing is put any more.
  void Stop();

  Dictionaries* dictionaries() const { return trainer != nullptr ? &trainer->dictionaries() : nullptr; }
  ScmDram dram() const;
  // At least what ScmTier and its rooms take beside the parts.
  static constexpr size_t kRoomsBytes = 1024;
  // As ScmTier::DramNeeded.
  static ScmDram DramNeeded(const ScmOptions& options);

  const std::unique_ptr<TierMedium> opened;
  const ForkGuard& guard;
  const ScmOptions& options;
  const Medium& medium;
  Emulation* const emulation;                // null without a model
  const Authenticator* const authenticator;  // null without verify=keyed
  SuperblockKeeper& keeper;
  const VerifyMode verify;
  const bool remembers;       // the medium keeps its bytes when the tier is closed
  const bool erases_durably;  // an erased key stays erased in every later life
  Counters counters;
  Faults faults;
  const std::unique_ptr<Trainer> trainer;  // null: no dictionaries
  const std::unique_ptr<Packer> packer;    // null: pack=off
  const std::unique_ptr<PackStage> stage;  // null: each put packs
  Index index;
  SegmentLog log;
  const LogReader reader;
  DeadFiles dead;
  Reclaimer reclaimer;
  Scrubber scrubber;  // declared after what its thread reads
  Tombstones tombstones;
  std::unique_ptr<Recoverer> recoverer;  // null: nothing to recover; set before the tier is open
  Mutex store_mutex;                     // held while the stage's thread stores a block, if the medium remembers it
};

}  // namespace mezz
