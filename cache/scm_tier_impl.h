// SPDX-License-Identifier: Apache-2.0
// The parts of an ScmTier, for the sources that define it: scm_tier.cc (put, find), scm_tier_open.cc (open,
// recover, close) and scm_tier_watch.cc (figures). What else a tier does lies in rooms of their own: TierParts.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>

#include "cache/authenticator.h"
#include "cache/block_writer.h"
#include "cache/dead_files.h"
#include "cache/earlier_life.h"
#include "cache/eraser.h"
#include "cache/fault_handler.h"
#include "cache/index.h"
#include "cache/layout.h"
#include "cache/log_reader.h"
#include "cache/pack/pack_stage.h"
#include "cache/pack/packer.h"
#include "cache/pack/trainer.h"
#include "cache/reclaimer.h"
#include "cache/recoverer.h"
#include "cache/resizer.h"
#include "cache/scm_tier.h"
#include "cache/scrubber.h"
#include "cache/segment_log.h"
#include "cache/snapshot.h"
#include "cache/superblock.h"
#include "cache/tier_audit.h"
#include "cache/tier_parts.h"
#include "cache/tombstones.h"

namespace mezz {

class ScmTier::Impl {
 public:
  Impl(const ScmTier& tier, Counters* counters, SurvivorJudge* judge, const layout::Superblock& superblock);
  ~Impl() { Stop(); }
  // Ends all threads. REQUIRES: nothing is put any more.
  void Stop() {
    if (recoverer_ != nullptr) recoverer_->Stop();  // it gives records and dictionaries to the others
    if (stage_ != nullptr) stage_->Stop();          // it stores blocks by what goes later
    if (trainer_ != nullptr) trainer_->Stop();      // it stores dictionaries by what goes later
    scrubber_.Stop();
  }
  // Writes the snapshot of the index. Only the superblock may be written after it. REQUIRES: after Stop.
  std::optional<SnapshotPlace> WriteSnapshot();

  bool StartTrainer() {
    return trainer_ == nullptr ||
           trainer_->Start([this](const Dictionary& dictionary) { return writer_.StoreDictionary(dictionary); });
  }
  bool StartStage() {
    return stage_ == nullptr || stage_->Start([this](const StagedBlocks::Block& block) { writer_.StoreStaged(block); });
  }

  // Reserves the first sequences, before anything else is written. False: the superblock could not be stored.
  bool TakeSequences() {
    const auto reserve = [this] {
      const auto first = keeper_->ReserveSequences();
      if (!first) faults_.CloseWithoutSuperblock();
      return first;
    };
    return log_.sequences().TakeFrom(reserve, SuperblockKeeper::kSequencesAtOnce);
  }
  // Prepares the recovery. False, or std::bad_alloc: there is no memory.
  bool PrepareRecovery(const layout::Superblock& superblock, const ScmOptions& options);
  void StartRecovery(const ScmOptions& options, std::shared_ptr<const ErasedKeys> erased);

  bool Unpack(const PinnedBlock& block, std::byte* to);
  std::optional<std::span<const std::byte>> SteadyBytes(const PinnedBlock& block);
  void RejectImage(const PinnedBlock& block);
  bool Find(const BlockKey& key, BlockRole role, Heat heat, PinnedBlock* found);
  bool Contains(const BlockKey& key);
  Held Compare(const BlockKey& key, size_t bytes, BlockSource source);
  Held CompareStaged(const BlockKey& key, size_t bytes, BlockSource source);
  bool SetDram(const BlockKey& key, bool dram);
  bool NoteDramEviction(const BlockKey& key);
  void Release(StagedBlocks::Slot slot) { stage_->Unpin(slot); }
  void ForEach(const std::function<void(const BlockKey&, size_t, BlockRole)>& visit);
  uint64_t RecordBytesOf(const std::function<bool(FileId)>& such);

  SegmentId SegmentOf(const std::byte* address) const { return log_.SegmentAt(medium_.OffsetOf(address)); }

  const ForkGuard& guard_;
  SuperblockKeeper* const keeper_;
  const Medium& medium_;
  Counters* const counters_;
  Emulation* const emulation_;
  const VerifyMode verify_;
  const Authenticator* const authenticator_;  // null without verify=keyed
  Faults faults_;
  const ScmOptions& options_;
  const std::unique_ptr<Trainer> trainer_;  // null: no dictionaries
  const std::unique_ptr<Packer> packer_;    // null: pack=off
  const std::unique_ptr<PackStage> stage_;  // null: each put packs
  Index index_;
  SegmentLog log_;
  LogReader reader_;
  DeadFiles dead_;
  Reclaimer reclaimer_;
  Scrubber scrubber_;  // declared after what its thread reads
  Tombstones tombstones_;
  std::unique_ptr<Recoverer> recoverer_;  // null: nothing to recover
  const TierParts parts_;                 // of all above, for the rooms below
  Eraser eraser_;
  FaultHandler fault_handler_;
  Resizer resizer_;
  BlockWriter writer_;

 private:
  Mutex store_mutex_;       // TierParts::store_mutex
  bool recovered_ = false;  // there may be records of an earlier life; set before the tier is open

  void ForgetNameless();
  // Not inlined, like all that Find calls and a hit does not need.
  [[gnu::noinline]] bool FindElsewhere(const BlockKey& key, BlockRole role, Heat heat, PinnedBlock* found);
  [[gnu::noinline]] bool Miss(BlockRole role);  // counts it, and returns false
  bool TakeStaged(const BlockKey& key, Heat heat, PinnedBlock* found);
  bool Take(Index::Entry entry, KeyReader& reader, Heat heat, PinnedBlock* found);
  bool HasDictionaryOf(const layout::PackedPrefix& prefix, SegmentId segment) const;
  bool PayloadFails(const record::Header& header, IndexWord word, bool unproven);
  [[gnu::noinline]] bool TakePacked(const record::Header& header, IndexWord word, PinnedBlock* found);
  void ForgetRecord(const PinnedBlock& block);
};

}  // namespace mezz
