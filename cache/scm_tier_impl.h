// SPDX-License-Identifier: Apache-2.0
// The parts of an ScmTier, for the sources that define it: scm_tier.cc (put, find), scm_tier_forget.cc (erase, shrink,
// give up), scm_tier_open.cc (open, recover, close) and scm_tier_watch.cc (audit, figures).
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
#include "cache/dead_files.h"
#include "cache/index.h"
#include "cache/layout.h"
#include "cache/log_reader.h"
#include "cache/pack/pack_stage.h"
#include "cache/pack/packer.h"
#include "cache/pack/trainer.h"
#include "cache/reclaimer.h"
#include "cache/recoverer.h"
#include "cache/scm_tier.h"
#include "cache/scrubber.h"
#include "cache/segment_log.h"
#include "cache/snapshot.h"
#include "cache/superblock.h"
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
    return trainer_ == nullptr || trainer_->Start([this](const Dictionary& dictionary) { return Store(dictionary); });
  }
  bool StartStage() {
    return stage_ == nullptr || stage_->Start([this](const StagedBlocks::Block& block) { StoreStaged(block); });
  }

  // Reserves the first sequences, before anything else is written. False: the superblock could not be stored.
  bool TakeSequences() {
    const auto reserve = [this] {
      const auto first = keeper_->ReserveSequences();
      if (!first) LoseSuperblock();
      return first;
    };
    return log_.sequences().TakeFrom(reserve, SuperblockKeeper::kSequencesAtOnce);
  }
  // Prepares the recovery. False, or std::bad_alloc: there is no memory.
  bool PrepareRecovery(const layout::Superblock& superblock, const ScmOptions& options);
  void StartRecovery(const ScmOptions& options, std::shared_ptr<const ErasedKeys> erased);

  PutResult Put(const BlockKey& key, BlockRole role, size_t bytes, BlockSource source, Generation generation,
                Form wanted, PackedBy by, ShareId share);
  PutResult PutImage(const BlockKey& key, BlockRole role, size_t bytes, const Image& image, Generation generation,
                     ShareId share);
  bool Unpack(const PinnedBlock& block, std::byte* to);
  std::optional<std::span<const std::byte>> SteadyBytes(const PinnedBlock& block);
  void RejectImage(const PinnedBlock& block);
  bool Find(const BlockKey& key, BlockRole role, Heat heat, PinnedBlock* found);
  bool Contains(const BlockKey& key);
  Held Compare(const BlockKey& key, size_t bytes, BlockSource source);
  Held CompareStaged(const BlockKey& key, size_t bytes, BlockSource source);
  bool SetDram(const BlockKey& key, bool dram);
  bool NoteDramEviction(const BlockKey& key);
  bool Erase(const BlockKey& key);
  void EraseAll();
  // Closes the tier, or leaves out one of several media, if the last allowed fault was found. REQUIRES: the caller
  // holds no lock.
  void AfterFault() {
    if (log_.members().HasUntold()) [[unlikely]]
      LeaveMembersOut();
    if (faults_.IsClosing()) [[unlikely]]
      CloseForGood();
  }
  void Release(StagedBlocks::Slot slot) { stage_->Unpin(slot); }
  Status SetCapacity(uint64_t bytes);
  Status SetMemberCapacity(size_t member, uint64_t bytes);
  void ForEach(const std::function<void(const BlockKey&, size_t, BlockRole)>& visit);
  uint64_t RecordBytesOf(const std::function<bool(FileId)>& such);
  ScmAudit Audit();

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

 private:
  const bool remembers_;  // the medium keeps its bytes when the tier is closed
  const bool erases_durably_;
  Mutex resizing_;          // held while the limit of one of several media changes
  Mutex store_mutex_;       // held while the stage's thread stores a block, if the medium remembers it
  bool recovered_ = false;  // there may be records of an earlier life; set before the tier is open
  // lost_superblock_: a change of the superblock was stored nowhere. may_lie_: as a consequence, an erased block may be
  // found again. Each becomes true once, for good. Relaxed: each is stored before faults_ is closed (seq_cst), which
  // publishes it.
  Atomic<bool> lost_superblock_{false}, may_lie_{false};
  Atomic<bool> nameless_{false};  // a record of FileId{0} was published; relaxed: read when nobody puts any more

  void ForgetNameless();
  bool EraseHere(const BlockKey& key);
  bool EraseDurably(const BlockKey& key);
  void ForsakeRestart();
  void ForsakeWhatIsStored();
  // Closes the tier: the next life cannot be told of changes any more, so nothing more may be stored.
  void LoseSuperblock() {
    lost_superblock_.store(true, std::memory_order_relaxed);
    faults_.Close();
  }
  void LeaveMembersOut();
  std::string WhyClosed() const;
  Status MayResize(const std::string& asked) const;
  Status CheckMemberLimit(const std::string& asked, size_t member, uint32_t wanted) const;
  void CloseForGood();
  std::optional<SegmentLog::Reservation> Reserve(uint64_t bytes, Generation generation, ShareId share);
  // A record that is about to be stored, without its bytes.
  struct Fresh {
    const BlockKey& key;
    BlockRole role;
    Generation generation;
    ShareId share;
    uint8_t flags = 0;
    uint16_t dictionary = 0;
    std::optional<StagedBlocks::Slot> slot{};  // where its block was staged
    bool published = false;                    // set by Store
  };
  void Publish(Fresh* fresh, uint64_t offset);
  void PublishInIndex(const Fresh& fresh, uint64_t offset, unsigned heat, bool dram);
  PutResult Refused(BlockRole role, Event reason, PutResult result);
  std::optional<PutResult> RefusedAtOnce(const BlockKey& key, BlockRole role, size_t bytes);
  void CountPut(BlockRole role, size_t bytes, std::optional<size_t> packed_bytes);
  PutResult Store(Fresh* fresh, size_t bytes, BlockSource source);
  PutResult StoreAsPacked(const PackedBlock& packed, Fresh fresh, size_t bytes, BlockSource source);
  std::optional<PutResult> Stage(const BlockKey& key, BlockRole role, size_t bytes, BlockSource source,
                                 Generation generation, ShareId share);
  void StoreStaged(const StagedBlocks::Block& block);
  // Not inlined, like all that Find calls and a hit does not need.
  [[gnu::noinline]] bool FindElsewhere(const BlockKey& key, BlockRole role, Heat heat, PinnedBlock* found);
  [[gnu::noinline]] bool Miss(BlockRole role);  // counts it, and returns false
  bool TakeStaged(const BlockKey& key, Heat heat, PinnedBlock* found);
  bool Take(Index::Entry entry, KeyReader& reader, Heat heat, PinnedBlock* found);
  bool ForgetStaged(const BlockKey& key) { return stage_ != nullptr && stage_->Forget(key); }
  bool Store(const Dictionary& dictionary);
  bool HasDictionaryOf(const layout::PackedPrefix& prefix, SegmentId segment) const;
  bool PayloadFails(const record::Header& header, IndexWord word, bool unproven);
  [[gnu::noinline]] bool TakePacked(const record::Header& header, IndexWord word, PinnedBlock* found);
  void ForgetRecord(const PinnedBlock& block);
  void AuditWord(Index::Entry entry, ScmAudit* audit, std::unordered_set<std::string>* keys);
  void AuditPacked(const record::Header& header, ScmAudit* audit,
                   const std::function<void(std::string_view)>& violation);
};

}  // namespace mezz
