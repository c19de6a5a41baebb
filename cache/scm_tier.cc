// SPDX-License-Identifier: Apache-2.0
#include "cache/scm_tier.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cstring>
#include <new>
#include <unordered_set>
#include <utility>

#include "cache/authenticator.h"
#include "cache/base/if_memory.h"
#include "cache/dead_files.h"
#include "cache/index.h"
#include "cache/layout.h"
#include "cache/log_reader.h"
#include "cache/media/wipe.h"
#include "cache/pack/pack_stage.h"
#include "cache/pack/packer.h"
#include "cache/pack/trainer.h"
#include "cache/reclaimer.h"
#include "cache/recoverer.h"
#include "cache/scrubber.h"
#include "cache/segment_log.h"
#include "cache/snapshot.h"
#include "cache/superblock.h"
#include "cache/tombstones.h"

namespace mezz {
namespace {

// verify=sampled reads about four bytes of payload a hit, whatever the blocks' size: all of one hit in 1024 at 4 KiB,
// of one in 8192 at 32 KiB. Small blocks are checked at one hit in 256.
constexpr uint32_t kSampleBytesPerHit = 4;
constexpr uint32_t kSampleOneInMin = 256;

// True about once in so many calls on a thread, by chance, so that no pattern of accesses is always spared.
bool TimeToVerify(uint32_t payload_bytes) {
  [[gnu::tls_model("initial-exec")]] thread_local constinit uint32_t state = 1;  // as stripe_of_this_thread
  state = state * 1664525u + 1013904223u;  // Numerical Recipes' generator: its upper bits are good
  // Mostly settled before the header with the size has arrived.
  if (state >= UINT32_MAX / kSampleOneInMin) [[likely]]
    return false;
  return uint64_t{state} * std::max(kSampleOneInMin, payload_bytes / kSampleBytesPerHit) >> 32 == 0;
}

std::unique_ptr<Trainer> MakeTrainer(const ScmOptions& options, Counters* counters, const ForkGuard& guard) {
  if (!MayUseZstd(options.pack) || options.dictionaries.sample_every == 0) return nullptr;
  return std::make_unique<Trainer>(options.dictionaries, options.EffectiveSegmentBytes(), counters, guard);
}

Dictionaries* DictionariesOf(Trainer* trainer) { return trainer != nullptr ? &trainer->dictionaries() : nullptr; }

std::unique_ptr<Packer> MakePacker(PackMode mode, Counters* counters, Trainer* trainer) {
  const auto codec = CodecOf(mode);
  if (!codec) return nullptr;
  auto packer = std::make_unique<Packer>(*codec, counters, DictionariesOf(trainer),
                                         trainer != nullptr ? &trainer->samples() : nullptr);
  if (mode == PackMode::kAuto) packer->CompareCodecs();
  return packer;
}

// Records may turn out to pack, and then more of them fit.
Index::Size IndexSize(const ScmOptions& options) {
  return options.pack == PackMode::kOff ? Index::Size::kFixed : Index::Size::kGrows;
}

// A whole number of lines for each unit; 0: there is no stage.
uint64_t PackStageBytes(const ScmOptions& options) {
  constexpr uint64_t kMultiple = StagedBlocks::kUnits * kLineBytes;
  return options.pack == PackMode::kOff ? 0 : options.pack_stage_bytes / kMultiple * kMultiple;
}

std::unique_ptr<PackStage> MakeStage(const ScmOptions& options, const ForkGuard& guard) {
  const uint64_t bytes = PackStageBytes(options);
  return bytes == 0 ? nullptr : std::make_unique<PackStage>(bytes, guard);
}

uint64_t ExpectedRecords(const ScmOptions& options) {
  return options.capacity_bytes / layout::RecordBytes(options.expected_block_bytes);
}

Event EventOf(Unpacked failure) {
  return failure == Unpacked::kNoMemory       ? Event::kAllocationFailed
         : failure == Unpacked::kNoDictionary ? Event::kScmNoDictionary
                                              : Event::kScmUnpackFailed;
}

uint64_t RandomWord() {
  uint64_t word = 0;
  if (getrandom(&word, sizeof(word), 0) != sizeof(word)) word = reinterpret_cast<uintptr_t>(&word);
  return word;
}

}  // namespace

class ScmTier::Impl {
 public:
  Impl(const ScmTier& tier, Counters* counters, SurvivorJudge* judge, const layout::Superblock& superblock)
      : guard_(tier.guard_),
        keeper_(tier.keeper_.get()),
        medium_(*tier.medium_),
        counters_(counters),
        throttle_(tier.throttle_.get()),
        verify_(tier.options_.verify),
        authenticator_(tier.authenticator_.get()),
        faults_(tier.options_.faults_max),
        options_(tier.options_),
        trainer_(MakeTrainer(tier.options_, counters, guard_)),
        packer_(MakePacker(tier.options_.pack, counters, trainer_.get())),
        stage_(MakeStage(tier.options_, guard_)),
        index_(ExpectedRecords(tier.options_), superblock.hash_seed, IndexSize(tier.options_)),
        log_(medium_, tier.options_.capacity_bytes, tier.options_.EffectiveSegmentBytes(), superblock.format_id,
             counters, guard_, DictionariesOf(trainer_.get())),
        reader_(medium_, &log_, counters, authenticator_),
        dead_(&index_, reader_, &log_, counters, throttle_),
        reclaimer_(medium_, &log_, &index_, counters, throttle_, judge, packer_.get(), DictionariesOf(trainer_.get()),
                   &dead_, authenticator_),
        scrubber_(&index_, reader_, counters, guard_),
        tombstones_(medium_, &log_, keeper_, counters, throttle_),
        remembers_(Remembers(tier.options_.medium)),
        erases_durably_(remembers_ && tier.options_.erase == EraseMode::kDurable) {
    if (trainer_ != nullptr) trainer_->dictionaries().UseAuthenticator(authenticator_);
    log_.TellFaultsTo(&faults_);
  }
  ~Impl() { Stop(); }
  // Of all threads. Nothing is put any more.
  void Stop() {
    if (recoverer_ != nullptr) recoverer_->Stop();  // before what it gives records and dictionaries to
    if (stage_ != nullptr) stage_->Stop();          // before what it stores blocks with
    if (trainer_ != nullptr) trainer_->Stop();      // before what it stores dictionaries with
    scrubber_.Stop();
  }
  // REQUIRES: Stop. Nothing more is to be written but the superblock.
  std::optional<SnapshotPlace> WriteSnapshot();

  bool StartTrainer() {
    return trainer_ == nullptr || trainer_->Start([this](const Dictionary& dictionary) { return Store(dictionary); });
  }
  bool StartStage() {
    return stage_ == nullptr || stage_->Start([this](const StagedBlocks::Block& block) { StoreStaged(block); });
  }

  // Before anything else is written. False: the superblock is stored nowhere.
  bool TakeSequences() {
    const auto reserve = [this] {
      const auto first = keeper_->ReserveSequences();
      if (!first) LoseSuperblock();
      return first;
    };
    return log_.TakeSequencesFrom(reserve, SuperblockKeeper::kSequencesAtOnce);
  }
  // False, or std::bad_alloc: no memory.
  bool PrepareRecovery(const layout::Superblock& superblock, const ScmOptions& options);
  void StartRecovery(const ScmOptions& options, std::shared_ptr<const ErasedKeys> erased);

  PutResult Put(const BlockKey& key, BlockRole role, size_t bytes, BlockSource source, Generation generation,
                Form wanted);
  PutResult PutImage(const BlockKey& key, BlockRole role, size_t bytes, const Image& image, Generation generation);
  bool Unpack(const PinnedBlock& block, std::byte* to);
  std::optional<std::span<const std::byte>> SteadyBytes(const PinnedBlock& block);
  void RejectImage(const PinnedBlock& block);
  bool Find(const BlockKey& key, BlockRole role, Heat heat, PinnedBlock* found);
  bool Contains(const BlockKey& key);
  Held Compare(const BlockKey& key, size_t bytes, BlockSource source);
  Held CompareStaged(const BlockKey& key, size_t bytes, BlockSource source);
  bool SetDram(const BlockKey& key, bool dram) {
    return index_.SetDram(index_.Hash(key), dram) || (stage_ != nullptr && stage_->SetDram(key, dram));
  }
  bool Erase(const BlockKey& key);
  void EraseAll();
  // Where the last fault was found: closes the tier. REQUIRES: the caller holds no lock.
  void AfterFault() {
    if (faults_.IsClosing()) [[unlikely]]
      CloseForGood();
  }
  void Release(StagedBlocks::Slot slot) { stage_->Unpin(slot); }
  Status SetCapacity(uint64_t bytes);
  void ForEach(const std::function<void(const BlockKey&, size_t, BlockRole)>& visit);
  uint64_t RecordBytesOf(const std::function<bool(FileId)>& such);
  ScmAudit Audit();

  SegmentId SegmentOf(const std::byte* address) const {
    return log_.SegmentAt(static_cast<uint64_t>(address - medium_.base()));
  }

  const ForkGuard& guard_;
  SuperblockKeeper* const keeper_;
  const Medium& medium_;
  Counters* const counters_;
  Throttle* const throttle_;
  const VerifyMode verify_;
  const Authenticator* const authenticator_;  // null: without verify=keyed
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
  Scrubber scrubber_;  // its thread ends before what it reads
  Tombstones tombstones_;
  std::unique_ptr<Recoverer> recoverer_;  // null: nothing to recover

 private:
  const bool remembers_;  // the medium, when the tier is closed
  const bool erases_durably_;
  Mutex store_mutex_;       // held while the stage's thread stores a block, if erases are durable
  bool recovered_ = false;  // there may be records of an earlier life; set before the tier is open
  // A change of the superblock was stored nowhere; and then: what was erased may be found again. false, then true for
  // good: stored before faults_ is closed (seq_cst), which is what tells; relaxed.
  Atomic<bool> lost_superblock_{false}, may_lie_{false};
  Atomic<bool> nameless_{false};  // a record of FileId{0} was published; relaxed: read when nobody puts any more

  void ForgetNameless();
  bool EraseHere(const BlockKey& key);
  bool EraseDurably(const BlockKey& key);
  void ForsakeRestart();
  void ForsakeWhatIsStored();
  // What cannot be told to the next life any more must not become necessary: nothing more is stored.
  void LoseSuperblock() {
    lost_superblock_.store(true, std::memory_order_relaxed);
    faults_.Close();
  }
  std::string WhyClosed() const;
  void CloseForGood();
  std::optional<SegmentLog::Reservation> Reserve(uint64_t bytes, Generation generation);
  // A record to be, beside its bytes.
  struct Fresh {
    const BlockKey& key;
    BlockRole role;
    Generation generation;
    uint8_t flags = 0;
    uint16_t dictionary = 0;
    std::optional<StagedBlocks::Slot> slot{};  // where its block was staged
    bool published = false;                    // by Store
  };
  void Publish(Fresh* fresh, uint64_t offset);
  void PublishInIndex(const Fresh& fresh, uint64_t offset, unsigned heat, bool dram);
  PutResult Refused(BlockRole role, Event reason, PutResult result);
  std::optional<PutResult> RefusedAtOnce(const BlockKey& key, BlockRole role, size_t bytes);
  void CountPut(BlockRole role, size_t bytes, std::optional<size_t> packed_bytes);
  PutResult Store(Fresh* fresh, size_t bytes, BlockSource source);
  PutResult StoreAsPacked(const PackedBlock& packed, Fresh fresh, size_t bytes, BlockSource source);
  std::optional<PutResult> Stage(const BlockKey& key, BlockRole role, size_t bytes, BlockSource source,
                                 Generation generation);
  void StoreStaged(const StagedBlocks::Block& block);
  // Out of line, as all that Find calls and a hit does not need.
  [[gnu::noinline]] bool FindElsewhere(const BlockKey& key, BlockRole role, Heat heat, PinnedBlock* found);
  [[gnu::noinline]] bool Miss(BlockRole role);  // false
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

bool ScmTier::Impl::PrepareRecovery(const layout::Superblock& superblock, const ScmOptions& options) {
  recovered_ = true;
  if (!index_.StartRefill()) return false;
  recoverer_ = std::make_unique<Recoverer>(medium_, superblock, options, &log_, &index_, counters_,
                                           DictionariesOf(trainer_.get()), guard_);
  recoverer_->Prepare();
  if (trainer_ != nullptr) trainer_->Hold();
  return true;
}

void ScmTier::Impl::StartRecovery(const ScmOptions& options, std::shared_ptr<const ErasedKeys> erased) {
  if (recoverer_ == nullptr) return;
  RecoveryHooks hooks{.grow = [this] { reclaimer_.GrowIndex(); },
                      .is_forgotten = [this](FileId file) { return dead_.Has(file); },
                      // Some may have lost their records, or their places.
                      .dictionaries_known = [this] { trainer_->LetGo(); },
                      .over = options.on_recovered};
  if (erased != nullptr && !erased->empty()) {
    hooks.is_erased = [erased = std::move(erased)](const BlockKey& key, const SegmentLog::Fill& fill, uint64_t offset) {
      return erased->Cover(key, fill.sequence, offset);
    };
  }
  recoverer_->Start(std::move(hooks));
}

// Without memory there is none, nor where the recovery was stopped: the next life asks each record's header.
std::optional<SnapshotPlace> ScmTier::Impl::WriteSnapshot() {
  if (log_.HasAwaiting()) return std::nullopt;
  std::optional<SnapshotPlace> place;
  (void)IfThereIsMemory([&] {
    if (nameless_.load(std::memory_order_relaxed)) ForgetNameless();
    layout::Superblock next = keeper_->Now();
    ++next.generation;
    place = mezz::WriteSnapshot({medium_, &log_, &index_, DictionariesOf(trainer_.get()), options_.pack}, next);
  });
  return place;
}

// Their keys may name other blocks in the next process.
void ScmTier::Impl::ForgetNameless() {
  for (uint64_t slot = 0; slot < index_.slots(); ++slot) {
    bool nameless = false;
    const auto judge = [&](IndexWord word) { nameless = reader_.HeaderOf(word).key.file() == FileId{0}; };
    index_.VisitPinned(slot, reader_, judge);
    if (nameless) index_.RemoveRecord(index_.At(slot));
  }
}

// --- put -------------------------------------------------------------------------------------------------------------

PutResult ScmTier::Impl::Put(const BlockKey& key, BlockRole role, size_t bytes, BlockSource source,
                             Generation generation, Form wanted) {
  if (const auto refused = RefusedAtOnce(key, role, bytes)) return *refused;
  const bool packs = wanted == Form::kPacked && packer_ != nullptr && packer_->Wants(role, bytes);
  if (packs && stage_ != nullptr) {
    const auto staged = Stage(key, role, bytes, source, generation);
    AfterFault();
    if (staged) return *staged;
  }
  const PackedBlock packed = packs ? packer_->PackWanted(role, bytes, source) : PackedBlock();
  if (packed.outcome() == PackedBlock::Outcome::kSourceFailed)
    return Refused(role, Event::kRefusedFillFailed, PutResult::kFillFailed);
  const PutResult result = StoreAsPacked(packed, {.key = key, .role = role, .generation = generation}, bytes, source);
  AfterFault();
  return result;
}

// Nothing: there is no room.
std::optional<PutResult> ScmTier::Impl::Stage(const BlockKey& key, BlockRole role, size_t bytes, BlockSource source,
                                              Generation generation) {
  const auto block = stage_->Reserve(key, role, generation, bytes);
  if (!block) return std::nullopt;
  if (!record::Fill(source, 0, bytes, block->bytes.data())) {
    stage_->Abandon(block->slot);
    return Refused(role, Event::kRefusedFillFailed, PutResult::kFillFailed);
  }
  MEZZ_TEST_POINT("staged block filled");
  // The index is asked first, and would answer with the older record. After Reserve: see StagedBlocks, held_.
  KeyReader reader(reader_, key);
  if (index_.Erase(index_.Hash(key), reader, [](IndexWord) {})) counters_->Add(Event::kScmReplaced, role);
  stage_->Commit(block->slot);
  if (faults_.IsOver()) ForgetStaged(key);  // perhaps since CloseForGood looked
  return PutResult::kStored;
}

// Called by the stage's thread.
void ScmTier::Impl::StoreStaged(const StagedBlocks::Block& block) {
  if (dead_.Has(block.key.file())) return counters_->Add(Event::kRefusedDeadFile, block.role);
  if (faults_.IsOver()) return counters_->Add(Event::kRefusedNoSpace, block.role);
  const PackedBlock packed = packer_->Pack(block.role, block.bytes, record::PayloadChecksum(block.bytes));
  MEZZ_TEST_POINT("staged block packed");
  {
    const std::unique_lock lock = erases_durably_ ? std::unique_lock(store_mutex_) : std::unique_lock<Mutex>();
    if (erases_durably_ && !stage_->blocks().IsWanted(block.slot)) return;
    MEZZ_TEST_POINT("staged block wanted");
    StoreAsPacked(packed, {.key = block.key, .role = block.role, .generation = block.generation, .slot = block.slot},
                  block.bytes.size(), SpanSource{block.bytes});
  }
  AfterFault();
}

// `packed` was made of the source's block of `bytes`, or was not tried.
PutResult ScmTier::Impl::StoreAsPacked(const PackedBlock& packed, Fresh fresh, size_t bytes, BlockSource source) {
  PutResult result = PutResult::kStored;
  const bool is_packed = packed.outcome() == PackedBlock::Outcome::kPacked;
  if (packed.outcome() == PackedBlock::Outcome::kLeft) {
    result = Store(&fresh, bytes, source);
  } else {
    fresh.flags = is_packed ? layout::kRecordPacked : layout::kRecordRejected;
    fresh.dictionary = packed.dictionary();
    result = Store(&fresh, packed.bytes().size(), SpanSource{packed.bytes()});
  }
  if (fresh.published) CountPut(fresh.role, bytes, is_packed ? std::optional(packed.bytes().size()) : std::nullopt);
  return result;
}

PutResult ScmTier::Impl::PutImage(const BlockKey& key, BlockRole role, size_t bytes, const Image& image,
                                  Generation generation) {
  static_assert(kImageOverheadBytes == sizeof(layout::PackedPrefix));
  if (const auto refused = RefusedAtOnce(key, role, bytes)) return *refused;
  const layout::PackedPrefix prefix = packer_->PrefixOfImage(role, bytes, image);
  const auto prefix_then_image = [&](size_t offset, size_t count, std::byte* to) {
    const size_t of_prefix = offset < sizeof(prefix) ? std::min(count, sizeof(prefix) - offset) : 0;
    if (of_prefix != 0) std::memcpy(to, reinterpret_cast<const std::byte*>(&prefix) + offset, of_prefix);
    if (of_prefix != count)
      std::memcpy(to + of_prefix, image.bytes.data() + (offset + of_prefix - sizeof(prefix)), count - of_prefix);
    return true;
  };
  const size_t stored_bytes = sizeof(prefix) + image.bytes.size();
  Fresh fresh{.key = key, .role = role, .generation = generation, .flags = layout::kRecordPacked};
  const PutResult result = Store(&fresh, stored_bytes, prefix_then_image);
  AfterFault();
  if (result != PutResult::kStored) return result;
  CountPut(role, bytes, stored_bytes);
  counters_->Add(Event::kScmImagePut, role);
  return PutResult::kStored;
}

// Before any lock and any byte of the medium, which a child shares with its parent.
std::optional<PutResult> ScmTier::Impl::RefusedAtOnce(const BlockKey& key, BlockRole role, size_t bytes) {
  if (!guard_.InParent()) return Refused(role, Event::kRefusedForked, PutResult::kNoSpace);
  if (faults_.IsOver()) {
    AfterFault();
    return Refused(role, Event::kRefusedNoSpace, PutResult::kNoSpace);
  }
  if (bytes > UINT32_MAX || record::BytesFor(bytes, authenticator_) > layout::SegmentPayloadBytes(log_.segment_bytes()))
    return Refused(role, Event::kRefusedTooLarge, PutResult::kTooLarge);
  if (log_.limit() == 0) return Refused(role, Event::kRefusedNoSpace, PutResult::kNoSpace);
  if (dead_.Has(key.file())) return Refused(role, Event::kRefusedDeadFile, PutResult::kDeadFile);
  return std::nullopt;
}

void ScmTier::Impl::CountPut(BlockRole role, size_t bytes, std::optional<size_t> packed_bytes) {
  counters_->Add(Event::kScmPut, role);
  counters_->Add(Event::kScmPutBytes, role, bytes);
  if (!packed_bytes) return;
  counters_->Add(Event::kScmPackedPut, role);
  counters_->Add(Event::kScmPackedPutBytes, role, bytes);
  counters_->Add(Event::kScmPackedPutStored, role, *packed_bytes);
}

PutResult ScmTier::Impl::Refused(BlockRole role, Event reason, PutResult result) {
  counters_->Add(reason, role);
  return result;
}

// Writes and publishes a record of `bytes` payload bytes; a refusal is counted.
PutResult ScmTier::Impl::Store(Fresh* fresh, size_t bytes, BlockSource source) {
  const BlockRole role = fresh->role;
  const uint64_t record_bytes = record::BytesFor(bytes, authenticator_);
  reclaimer_.Step(record_bytes);
  dead_.Step(record_bytes);
  const auto where = Reserve(record_bytes, fresh->generation);
  if (!where) {
    return log_.limit() == 0 ? Refused(role, Event::kRefusedNoSpace, PutResult::kNoSpace)
                             : Refused(role, Event::kRefusedAllPinned, PutResult::kAllPinned);
  }
  const bool written =
      record::Write(medium_, where->place, fresh->key, role, bytes, source, fresh->flags, authenticator_);
  if (throttle_ != nullptr) throttle_->ChargeWrite(record_bytes);
  counters_->Add(Event::kScmWrittenBytes, role, record_bytes);
  if (fresh->dictionary != 0) log_.KeepDictionary(where->segment, fresh->dictionary);
  if (written) Publish(fresh, where->place.offset);
  log_.Leave(*where);
  reclaimer_.GrowIndex();
  if (!written) return Refused(role, Event::kRefusedFillFailed, PutResult::kFillFailed);
  return PutResult::kStored;
}

// Called by the trainer's thread.
bool ScmTier::Impl::Store(const Dictionary& dictionary) {
  const auto where = log_.limit() != 0 && !faults_.IsOver()
                         ? Reserve(trainer_->dictionaries().RecordBytes(dictionary), Generation::kProven)
                         : std::nullopt;
  if (!where) return false;
  trainer_->dictionaries().Write(dictionary, medium_, where->place, throttle_, counters_);
  log_.Leave(*where);
  return true;
}

std::optional<SegmentLog::Reservation> ScmTier::Impl::Reserve(uint64_t bytes, Generation generation) {
  const unsigned lane = generation == Generation::kProven ? log_.proven_lane() : log_.LaneOfThisThread();
  for (;;) {
    if (auto where = log_.Reserve(lane, bytes)) return where;
    if (!log_.Advance(lane, bytes, SegmentLog::For::kWriter) && !reclaimer_.MakeRoom()) return std::nullopt;
    if (log_.limit() == 0 || faults_.IsOver()) return std::nullopt;
  }
}

// A staged block is published only as long as nobody erased it or put it anew. Other puts forget what is staged:
// before, so that an older block does not follow; and after, as StagedBlocks asks.
void ScmTier::Impl::Publish(Fresh* fresh, uint64_t offset) {
  if (fresh->slot) {
    MEZZ_TEST_POINT("staged block written");
    fresh->published = stage_->blocks().Publish(
        *fresh->slot, [&](unsigned heat, bool dram) { PublishInIndex(*fresh, offset, heat, dram); });
    return;
  }
  ForgetStaged(fresh->key);
  MEZZ_TEST_POINT("unstaged block written");
  PublishInIndex(*fresh, offset, HeatOfNew(fresh->generation), /*dram=*/false);
  ForgetStaged(fresh->key);
  fresh->published = true;
}

void ScmTier::Impl::PublishInIndex(const Fresh& fresh, uint64_t offset, unsigned heat, bool dram) {
  if (fresh.key.file() == FileId{0}) [[unlikely]]
    nameless_.store(true, std::memory_order_relaxed);
  const KeyHash hash = index_.Hash(fresh.key);
  const IndexWord made = IndexWord::Make(hash.tag, offset / kLineBytes, dram, heat);
  const auto age = [this](IndexWord word) { return log_.Sequence(reader_.SegmentOf(word)); };
  KeyReader reader(reader_, fresh.key);
  const Index::Published published = index_.Publish(hash, made, reader, age);
  if (published == Index::Published::kReplaced) counters_->Add(Event::kScmReplaced, fresh.role);
  if (published == Index::Published::kDisplaced) counters_->Add(Event::kScmDisplaced, fresh.role);
  if (faults_.IsOver()) [[unlikely]]
    index_.RemoveLine(hash, offset / kLineBytes);  // perhaps since CloseForGood emptied it
}

// --- find ------------------------------------------------------------------------------------------------------------

bool ScmTier::Impl::Find(const BlockKey& key, BlockRole role, Heat heat, PinnedBlock* found) {
  KeyReader reader(reader_, key);
  if (const Index::Entry entry = index_.Find(index_.Hash(key), reader)) [[likely]]
    return Take(entry, reader, heat, found) || Miss(role);
  return FindElsewhere(key, role, heat, found);
}

bool ScmTier::Impl::Miss(BlockRole role) {
  counters_->Add(Event::kScmMiss, role);
  AfterFault();
  return false;
}

// The index does not have it: it may be staged.
bool ScmTier::Impl::FindElsewhere(const BlockKey& key, BlockRole role, Heat heat, PinnedBlock* found) {
  if (stage_ != nullptr && stage_->MayHold(key)) {
    if (TakeStaged(key, heat, found)) return true;
    KeyReader reader(reader_, key);
    if (const Index::Entry entry = index_.Find(index_.Hash(key), reader))  // it has just been stored
      return Take(entry, reader, heat, found) || Miss(role);
  }
  if (dead_.Has(key.file())) [[unlikely]]
    dead_.Revive(key.file());
  return Miss(role);
}

bool ScmTier::Impl::TakeStaged(const BlockKey& key, Heat heat, PinnedBlock* found) {
  const auto block = stage_->blocks().Pin(key, heat == Heat::kRaise);
  if (!block) return false;
  found->stored_ = block->bytes;
  found->role_ = block->role;
  found->heat_ = static_cast<uint8_t>(block->heat);
  found->slot_ = static_cast<int8_t>(block->slot);
  counters_->Add(Event::kScmHit, block->role);
  return true;  // the pin goes to the caller
}

// False: it was damaged, and is forgotten.
bool ScmTier::Impl::Take(Index::Entry entry, KeyReader& reader, Heat heat, PinnedBlock* found) {
  const record::Header& header = reader.HeaderOf(entry.word);
  const BlockRole role = header.role;
  const bool packed = record::IsPacked(header);
  const bool unproven = recovered_ && reader_.IsUnproven(entry.word);
  found->stored_ = record::PayloadOf(header);
  if (packed ? !TakePacked(header, entry.word, found) : PayloadFails(header, entry.word, unproven)) [[unlikely]] {
    index_.RemoveLine(index_.Hash(reader.key()), entry.word.line());  // its header may be gone too
    reader.Unpin(entry.word);
    return false;
  }
  // A search starts at the block's end; the line arrives while the caller builds its object.
  if (!packed && found->stored_.size() > kLineBytes) __builtin_prefetch(&found->stored_.back());
  found->role_ = role;
  if (unproven) [[unlikely]]
    found->carried_ = entry.word.dram() ? Carried::kFromDram : Carried::kFromScm;
  counters_->Add(Event::kScmHit, role);
  if (unproven && heat == Heat::kKeep) return true;  // it stays unproven, and with its mark
  const unsigned raised = std::min(entry.word.heat() + 1, IndexWord::kHeatMax);
  // A hit that reached us missed the DRAM tier, so the block is not there, whatever we were told before.
  found->heat_ = static_cast<uint8_t>(index_.Touch(entry, heat == Heat::kRaise ? raised : entry.word.heat()).heat());
  return true;  // the pin goes to the caller
}

bool ScmTier::Impl::PayloadFails(const record::Header& header, IndexWord word, bool unproven) {
  const BlockRole role = header.role;
  const bool verify =
      unproven || VerifiesAll(verify_) || (verify_ == VerifyMode::kSampled && TimeToVerify(header.payload_bytes));
  if (!verify || reader_.PayloadIsWhole(header)) [[likely]]
    return false;
  reader_.NoteMismatch(role, word);
  return true;
}

// A packed record, checked whole: what unpacks damaged bytes gives wrong ones without a word.
bool ScmTier::Impl::TakePacked(const record::Header& header, IndexWord word, PinnedBlock* found) {
  const BlockRole role = header.role;
  if (!reader_.PayloadIsWhole(header)) {
    reader_.NoteMismatch(role, word);
    return false;
  }
  const auto prefix = packer_ != nullptr ? Packer::ReadPrefix(record::PayloadOf(header)) : std::nullopt;
  if (!prefix) {
    counters_->Add(Event::kScmUnpackFailed, role);
    return false;
  }
  if (!HasDictionaryOf(*prefix, reader_.SegmentOf(word))) {
    counters_->Add(Event::kScmNoDictionary, role);
    return false;
  }
  found->form_ = Form::kPacked;
  found->logical_bytes_ = prefix->logical_bytes;
  found->codec_ = prefix->codec;
  found->image_type_ = prefix->type;
  counters_->Add(Event::kScmPackedHit, role);
  counters_->Add(Event::kScmPackedHitStored, role, header.payload_bytes);
  if (prefix->codec == Codec::kImage) counters_->Add(Event::kScmImageHit, role);
  return true;
}

// REQUIRES: the record is pinned.
bool ScmTier::Impl::HasDictionaryOf(const layout::PackedPrefix& prefix, SegmentId segment) const {
  return prefix.dictionary == 0 || log_.KeepsDictionary(segment, prefix.dictionary);
}

bool ScmTier::Impl::Unpack(const PinnedBlock& block, std::byte* to) {
  MEZZ_READS_MEDIUM(block.stored_.data(), block.stored_.size());
  std::span<const std::byte> stored;
  const record::Steady steady = record::SteadyBytes(block.stored_, &stored);
  const auto prefix = steady == record::Steady::kHere ? Packer::ReadPrefix(stored) : std::nullopt;
  Unpacked unpacked = steady == record::Steady::kNoMemory ? Unpacked::kNoMemory : Unpacked::kDamaged;
  if (prefix && prefix->logical_bytes == block.logical_bytes_) {
    unpacked = HasDictionaryOf(*prefix, SegmentOf(block.stored_.data())) ? packer_->Unpack(stored, *prefix, to)
                                                                         : Unpacked::kNoDictionary;
  }
  if (unpacked == Unpacked::kDone && VerifiesAll(verify_) &&
      record::PayloadChecksum({to, prefix->logical_bytes}) != prefix->logical_checksum)
    unpacked = Unpacked::kDamaged;
  if (unpacked == Unpacked::kDone) return true;
  counters_->Add(EventOf(unpacked), block.role_);
  if (unpacked != Unpacked::kNoMemory) ForgetRecord(block);
  AfterFault();
  return false;
}

std::optional<std::span<const std::byte>> ScmTier::Impl::SteadyBytes(const PinnedBlock& block) {
  if (block.staged()) return block.stored_;
  std::span<const std::byte> bytes;
  const record::Steady steady = record::SteadyBytes(block.stored_, &bytes);
  if (steady == record::Steady::kHere) [[likely]]
    return bytes;
  const bool lost = steady == record::Steady::kLost;
  counters_->Add(lost ? Event::kScmChecksumMismatch : Event::kAllocationFailed, block.role_);
  if (lost) ForgetRecord(block);
  AfterFault();
  return std::nullopt;
}

void ScmTier::Impl::RejectImage(const PinnedBlock& block) {
  counters_->Add(Event::kScmImageFailed, block.role_);
  ForgetRecord(block);
}

// One whose header cannot be read any more goes with its segment.
void ScmTier::Impl::ForgetRecord(const PinnedBlock& block) {
  const auto offset = static_cast<uint64_t>(block.stored_.data() - medium_.base()) - sizeof(record::Header);
  record::Header header;
  if (CopyBytes({medium_.base() + offset, sizeof(header)}, &header))
    index_.RemoveLine(index_.Hash(header.key), offset / kLineBytes);
}

bool ScmTier::Impl::Contains(const BlockKey& key) {
  KeyReader reader(reader_, key);
  const Index::Entry entry = index_.Find(index_.Hash(key), reader);
  if (entry) reader.Unpin(entry.word);
  AfterFault();
  return entry || (stage_ != nullptr && stage_->Has(key));
}

// The header alone is compared, and a packed record's prefix, which shares its line; not the payload: that would read
// all of it from the medium. A damaged prefix compares as other bytes, and so does an image.
Held ScmTier::Impl::Compare(const BlockKey& key, size_t bytes, BlockSource source) {
  KeyReader reader(reader_, key);
  const Index::Entry entry = index_.Find(index_.Hash(key), reader);
  if (!entry) {
    AfterFault();
    return CompareStaged(key, bytes, source);
  }
  const record::Header& header = reader.HeaderOf(entry.word);
  size_t held_bytes = record::PayloadBytes(header);
  uint32_t held_checksum = record::StoredChecksum(header);
  if (record::IsPacked(header)) {
    const auto prefix = Packer::ReadPrefix(record::PayloadOf(header));
    held_bytes = prefix && prefix->codec != Codec::kImage ? prefix->logical_bytes : SIZE_MAX;
    held_checksum = prefix ? prefix->logical_checksum : 0;
  }
  reader.Unpin(entry.word);
  if (held_bytes != bytes) return Held::kOther;
  return record::SourceChecksum(bytes, source) == held_checksum ? Held::kSame : Held::kOther;
}

Held ScmTier::Impl::CompareStaged(const BlockKey& key, size_t bytes, BlockSource source) {
  const bool may_hold = stage_ != nullptr && stage_->MayHold(key);
  const auto block = may_hold ? stage_->blocks().Pin(key, /*raise=*/false) : std::nullopt;
  if (!block) return Held::kNothing;
  const bool same =
      block->bytes.size() == bytes && record::SourceChecksum(bytes, source) == record::PayloadChecksum(block->bytes);
  stage_->Unpin(block->slot);
  return same ? Held::kSame : Held::kOther;
}

// --- forget ----------------------------------------------------------------------------------------------------------

bool ScmTier::Impl::Erase(const BlockKey& key) {
  const bool erased = erases_durably_ && guard_.InParent() ? EraseDurably(key) : EraseHere(key);
  AfterFault();
  return erased;
}

// What was put before must lie before the position that the tombstone names: not only what is in the index, which no
// reclaim moves once it is out of there, but also what reclaim is copying just now, and what the stage's thread writes
// of a block that was forgotten under its hands. So both stand still between the removal and the position.
bool ScmTier::Impl::EraseDurably(const BlockKey& key) {
  bool erased = false;
  LogPosition position;
  {
    const std::lock_guard stage_stores_nothing(store_mutex_);
    reclaimer_.WhileNothingMoves([&] {
      erased = EraseHere(key);
      position = log_.Position();
    });
  }
  for (;;) {
    const Tombstones::Added added = tombstones_.Add(key, position);
    if (added == Tombstones::Added::kDone) break;
    const bool lacks_room = added == Tombstones::Added::kNoRoom && !faults_.IsOver();
    if (lacks_room && reclaimer_.MakeRoom()) continue;
    if (lacks_room && recoverer_ != nullptr && recoverer_->report().running) {
      MEZZ_TEST_POINT("recovery.is_waited_for");
      recoverer_->Wait();  // it may hold all there is
      continue;
    }
    ForsakeRestart();
    break;
  }
  return erased;
}

// There is no room for a tombstone, or memory that failed may not hold what there are: the next life forgets all there
// is. Who takes a position meanwhile would add a tombstone that is lost with the others, of a segment that is not.
void ScmTier::Impl::ForsakeRestart() {
  reclaimer_.WhileNothingMoves([this] { ForsakeWhatIsStored(); });
}

// REQUIRES: nothing moves. What the superblock does not take, the headers of the segments say: that there is nothing.
void ScmTier::Impl::ForsakeWhatIsStored() {
  const uint64_t sequence = log_.SealAll();
  if (tombstones_.EraseBelow(sequence) == SuperblockKeeper::Stored::kLasts) return;
  if (!log_.EraseHeadersBelow(sequence)) may_lie_.store(true, std::memory_order_relaxed);
  LoseSuperblock();
}

// First what is staged: it is in the index by then, or stays out of it.
bool ScmTier::Impl::EraseHere(const BlockKey& key) {
  const bool staged = ForgetStaged(key);
  KeyReader reader(reader_, key);
  const bool stored = index_.Erase(
      index_.Hash(key), reader, [&](IndexWord word) { counters_->Add(Event::kScmErase, reader.HeaderOf(word).role); });
  return stored || staged;
}

// On a medium that remembers it is written first that nothing in today's segments is to be found again. A put that
// goes on meanwhile is forgotten at a restart; but what was stored before must not get into a later segment: neither by
// reclaim nor from the stage, whose thread stores a block that was forgotten under its hands.
void ScmTier::Impl::EraseAll() {
  if (stage_ != nullptr) stage_->ForgetAll();
  if (recoverer_ != nullptr && guard_.InParent()) log_.GiveUpAwaiting();
  if (!remembers_ || !guard_.InParent()) return index_.Clear();
  if (stage_ != nullptr) stage_->Drain();
  reclaimer_.WhileNothingMoves([this] {
    ForsakeWhatIsStored();
    index_.Clear();
  });
  AfterFault();
}

// Nothing of the medium is read or written for it but, if erases are durable, the superblock: a medium that failed so
// often may not hold what was erased. What is pinned stays where it is.
void ScmTier::Impl::CloseForGood() {
  if (!guard_.InParent() || !faults_.Claim()) return;
  if (stage_ != nullptr) stage_->ForgetAll();
  if (recoverer_ != nullptr) log_.GiveUpAwaiting();
  index_.Clear();
  if (erases_durably_) ForsakeRestart();
  if (!options_.on_trouble) return;
  (void)IfThereIsMemory([&] { options_.on_trouble(WhyClosed()); });
}

// As the rest of a sentence that begins with the medium.
std::string ScmTier::Impl::WhyClosed() const {
  if (lost_superblock_.load(std::memory_order_relaxed)) {
    const bool may_lie = may_lie_.load(std::memory_order_relaxed);
    return fmt::format(
        "does not take its superblock any more: the SCM tier is closed until the cache is opened anew. Replace the "
        "device{}",
        may_lie ? "; what was erased may be found on it again, so open it with recovery=discard, if at all" : "");
  }
  return fmt::format(
      "failed {} times, and {} of its {} segments are out of use: the SCM tier is closed until the cache is opened "
      "anew. Replace the device, or raise faults_max ({})",
      faults_.count(), log_.quarantined_segments(), log_.segments(), options_.faults_max);
}

Status ScmTier::Impl::SetCapacity(uint64_t bytes) {
  if (faults_.IsOver())
    return Status::NotSupported(fmt::format(
        "SCM capacity {} is asked for, and the tier has closed itself after faults of its medium: reopen it", bytes));
  if (!guard_.InParent())
    return Status::NotSupported(fmt::format("SCM capacity {} is asked for in a forked child: ask the parent", bytes));
  const uint64_t wanted = bytes / log_.segment_bytes();
  if (wanted > log_.segments())
    return Status::InvalidArgument(
        fmt::format("SCM capacity {} is more than the {} the tier was opened with; reopen it", bytes,
                    log_.segments() * log_.segment_bytes()));
  if (wanted != 0 && wanted < kSegmentsMin)
    return Status::InvalidArgument(fmt::format("SCM capacity {} is less than {} segments of {}; use 0 to switch it off",
                                               bytes, kSegmentsMin, log_.segment_bytes()));
  if (tombstones_.TrimTo(static_cast<uint32_t>(wanted)) == SuperblockKeeper::Stored::kNowhere) {
    LoseSuperblock();
    AfterFault();
    return Status::IoError(fmt::format(
        "SCM capacity {} is asked for, and {} does not take its superblock any more: the tier has closed itself", bytes,
        medium_.info().description));
  }
  reclaimer_.ShrinkTo(static_cast<uint32_t>(wanted));
  if (wanted == 0 && stage_ != nullptr) stage_->ForgetAll();
  if (trainer_ != nullptr) trainer_->Wake();  // what found no room on the medium may find it now
  return Status::Ok();
}

// --- watch -----------------------------------------------------------------------------------------------------------

void ScmTier::Impl::ForEach(const std::function<void(const BlockKey&, size_t, BlockRole)>& visit) {
  for (uint64_t slot = 0; slot < index_.slots(); ++slot) {
    index_.VisitPinned(slot, reader_, [&](IndexWord word) {
      const record::Header& header = reader_.HeaderOf(word);
      const auto prefix = record::IsPacked(header) ? Packer::ReadPrefix(record::PayloadOf(header)) : std::nullopt;
      visit(header.key, prefix ? prefix->logical_bytes : record::PayloadBytes(header), header.role);
    });
  }
  if (stage_ != nullptr && guard_.InParent()) stage_->blocks().ForEach(visit);
}

uint64_t ScmTier::Impl::RecordBytesOf(const std::function<bool(FileId)>& such) {
  uint64_t bytes = 0;
  for (uint64_t slot = 0; slot < index_.slots(); ++slot) {
    index_.VisitPinned(slot, reader_, [&](IndexWord word) {
      const record::Header& header = reader_.HeaderOf(word);
      if (such(header.key.file())) bytes += layout::RecordBytes(header.payload_bytes);
    });
  }
  return bytes;
}

ScmAudit ScmTier::Impl::Audit() {
  ScmAudit audit;
  std::unordered_set<std::string> keys;
  for (uint64_t slot = 0; slot < index_.slots(); ++slot) AuditWord(index_.At(slot), &audit, &keys);
  for (uint32_t i = 0; i < log_.segments(); ++i) audit.live_pins += log_.pins(SegmentId{i});
  log_.Audit(&audit.violations);
  if (stage_ != nullptr && guard_.InParent()) {
    audit.live_pins += stage_->blocks().pins();
    if (const unsigned busy = stage_->blocks().busy(); busy != 0)
      audit.violations.push_back(fmt::format("{} blocks are staged, and nobody is at them", busy));
  }
  if (!std::cmp_equal(audit.resident_blocks, index_.counted()))
    audit.violations.push_back(
        fmt::format("{} blocks in the index, {} counted", audit.resident_blocks, index_.counted()));
  return audit;
}

void ScmTier::Impl::AuditWord(Index::Entry entry, ScmAudit* audit, std::unordered_set<std::string>* keys) {
  const IndexWord word = entry.word;
  if (word.empty()) return;
  ++audit->resident_blocks;
  const auto violation = [&](std::string_view what) {
    audit->violations.push_back(fmt::format("word of line {}: {}", word.line(), what));
  };
  const uint64_t offset = word.line() * kLineBytes;
  if (offset >= medium_.bytes()) return violation("points past the medium");
  const SegmentId segment = reader_.SegmentOf(word);
  const auto state = log_.state(segment);
  if (state != SegmentLog::State::kOpen && state != SegmentLog::State::kSealed)
    return violation("points into a segment that holds no records");
  if (offset < log_.FirstRecord(segment) || offset >= log_.Tail(segment)) return violation("points outside the log");
  const auto header = record::ReadHeader(medium_, {offset, static_cast<uint32_t>(log_.Sequence(segment))});
  if (!header) return violation("points to a damaged header");
  if (offset + layout::RecordBytes(header->payload_bytes) > log_.Tail(segment)) return violation("record is too long");
  if ((header->flags & layout::kRecordVoid) != 0) violation("points to a void record");
  if (!reader_.PayloadIsWhole(record::HeaderAt(medium_, offset)))
    return violation("payload does not match its checksum");
  if (index_.Hash(header->key).tag != word.tag()) violation("tag is not its key's");
  const Index::Entry found = index_.FindLine(index_.Hash(header->key), word.line());
  if (!found || found.slot != entry.slot) violation("is in a wrong bucket");
  if (!keys->emplace(header->key.bytes()).second) violation("is the second one of its key");
  audit->resident_payload_bytes += header->payload_bytes;
  if (record::IsPacked(*header)) return AuditPacked(record::HeaderAt(medium_, offset), audit, violation);
  audit->resident_logical_bytes += record::PayloadBytes(*header);
}

void ScmTier::Impl::AuditPacked(const record::Header& header, ScmAudit* audit,
                                const std::function<void(std::string_view)>& violation) {
  const auto payload = record::PayloadOf(header);
  const auto prefix = Packer::ReadPrefix(payload);
  if (!prefix || packer_ == nullptr) return violation("is packed as nothing is");
  ++audit->packed_blocks;
  audit->resident_logical_bytes += prefix->logical_bytes;
  if (!Packer::IsPackable(header.role, prefix->logical_bytes)) violation("is packed and should not be");
  if (8 * layout::RecordBytes(payload.size()) > 7 * layout::RecordBytes(prefix->logical_bytes))
    violation("is packed and saves less than an eighth");
  if (prefix->codec == Codec::kImage) return;  // the host's to unpack
  std::vector<std::byte> block(prefix->logical_bytes);
  if (!HasDictionaryOf(*prefix, SegmentOf(payload.data()))) {
    violation("was packed with a dictionary that is gone");
  } else if (packer_->Unpack(payload, *prefix, block.data()) != Unpacked::kDone) {
    violation("does not unpack");
  } else if (record::PayloadChecksum(block) != prefix->logical_checksum) {
    violation("unpacks to other bytes");
  }
}

// --- facade ----------------------------------------------------------------------------------------------------------

ScmTier::ScmTier(const ScmOptions& options) : options_(options) {}

ScmTier::~ScmTier() {
  if (keeper_ != nullptr && guard_.InParent()) Close();
  preparer_.reset();
  impl_.reset();
}

// The superblock after what writes: so that nothing is stored behind one that says it was closed.
void ScmTier::Close() {
  const bool remembers = opened_ && Remembers(options_.medium);
  const bool wipe = remembers && options_.scrub_on_close;
  const bool gave_up = impl_ != nullptr && impl_->faults_.IsOver();
  const bool remember = remembers && !wipe && !gave_up && options_.recovery != Recovery::kDiscard;
  if (remember) Drain();
  uint64_t ready_bytes = 0;
  if (preparer_ != nullptr) {
    if (wipe && leftovers_) static_cast<void>(preparer_->Wait());  // what cannot be made ready cannot be written to
    preparer_->Stop();
    ready_bytes = preparer_->ready_bytes();
  }
  preparer_.reset();
  std::optional<SnapshotPlace> snapshot;
  std::vector<uint32_t> held;           // segments that held records
  if (impl_ != nullptr) impl_->Stop();  // its threads may be told of a bus error, by impl_
  if (remember) snapshot = impl_->WriteSnapshot();
  // What the kernel knew to be bad is not touched; what failed since was filled once.
  const auto is_bad = [this](uint32_t id) {
    return impl_->log_.state(SegmentId{id}) == SegmentLog::State::kQuarantined &&
           impl_->log_.Sequence(SegmentId{id}) == 0;
  };
  bool whole = true;
  for (uint32_t id = 0; wipe && id < impl_->log_.segments(); ++id) {
    if (is_bad(id)) {
      whole = false;
    } else if (leftovers_ || impl_->log_.Sequence(SegmentId{id}) != 0) {
      held.push_back(id);
    }
  }
  impl_.reset();
  if (gave_up && !wipe) return;  // the next life reads what it finds
  const bool wiped =
      wipe && WipeSegments(held, ready_bytes) && (!leftovers_ || (ready_bytes == options_.capacity_bytes && whole));
  // Where it is stored nowhere, the next life finds a tier that was not closed, and asks each record's header.
  (void)keeper_->Change([&](layout::Superblock* superblock) {
    superblock->flags |= layout::kClosedCleanly | (wiped ? uint32_t{layout::kWiped} : 0u);
    superblock->snapshot_segment = snapshot ? snapshot->segment : 0;
    superblock->snapshot_chunks = snapshot ? snapshot->chunks : 0;
  });
}

// The superblock first, so that nobody believes a part of what is left. False: some of them did not take it, or nor did
// the superblock: then that part is whole records, and the next close wipes them.
bool ScmTier::WipeSegments(const std::vector<uint32_t>& held, uint64_t ready_bytes) {
  const auto stored = keeper_->Change([](layout::Superblock* superblock) {
    superblock->sequence_begin = superblock->sequence_end;
    superblock->tombstone_segments = 0;
    superblock->snapshot_segment = superblock->snapshot_chunks = 0;
  });
  bool all = stored == SuperblockKeeper::Stored::kLasts;
  for (const uint32_t id : held) {
    const uint64_t from = std::max(id * options_.segment_bytes, layout::kSuperblockSpace);
    const uint64_t end = std::min((id + 1) * options_.segment_bytes, ready_bytes);
    if (from < end) all &= Wipe(*medium_, from, end - from);
  }
  return all;
}

// False: it is not known what was erased, so nothing is to be found again; recovery_ says why.
bool ScmTier::TakeErasedKeys(const layout::Superblock& superblock, std::span<const SegmentId> bad) {
  if (superblock.tombstone_segments == 0) return true;
  const bool memory = IfThereIsMemory([&] {
    auto erased = ErasedKeys::Read({medium_->base(), medium_->bytes()}, superblock, bad);
    if (erased) erased_ = std::make_shared<const ErasedKeys>(std::move(*erased));
  });
  if (erased_ != nullptr) return true;
  recovery_.why =
      memory ? "has lost tombstones, so nobody knows what was erased" : "has more tombstones than there is memory for";
  return false;
}

// What the medium's superblock says from now on. *keep: what lies behind it is of use.
layout::Superblock ScmTier::TakeOver(std::span<const std::byte> head, std::span<const SegmentId> bad, bool existing,
                                     bool* keep) {
  const bool remembers = Remembers(options_.medium);
  const FoundSuperblock found = remembers ? FindSuperblock(head) : FoundSuperblock{};
  recovery_.why = found.what == FoundSuperblock::What::kUnusable ? found.why
                  : !existing                                    ? std::string()
                  : options_.recovery == Recovery::kDiscard      ? "is opened with recovery=discard"
                                                                 : WhyOfNoUse(found.superblock, options_);
  if (!remembers && options_.recovery == Recovery::kWarm)
    recovery_.why =
        fmt::format("of medium={} remembers nothing, so recovery=warm starts cold", mezz::ToString(options_.medium));
  recovery_.asked = existing && options_.recovery == Recovery::kDiscard;
  *keep = existing && recovery_.why.empty() && TakeErasedKeys(found.superblock, bad);
  leftovers_ =
      found.what == FoundSuperblock::What::kUnusable || (existing && (found.superblock.flags & layout::kWiped) == 0);
  if (!recovery_.why.empty()) recovery_.outcome = RecoveryReport::Outcome::kDiscarded;
  const bool keyed = options_.verify == VerifyMode::kKeyed;
  if (*keep && keyed) authenticator_ = std::make_unique<Authenticator>(*options_.verify_key, found.superblock);
  if (*keep) return found.superblock;
  layout::Superblock fresh = SuperblockOf(options_);
  fresh.hash_seed = RandomWord();
  fresh.format_id = RandomWord() | 1;  // 0 is a medium that was never formatted
  // Above those of what both copies may say, and of records of earlier lives, which carry no format id.
  fresh.generation = found.superblock.generation;
  fresh.sequence_end = existing ? found.superblock.sequence_end : RandomWord() >> 2 | 1;
  fresh.uuid[0] = existing ? found.superblock.uuid[0] : RandomWord();
  fresh.uuid[1] = existing ? found.superblock.uuid[1] : RandomWord();
  if (keyed) {
    authenticator_ = std::make_unique<Authenticator>(*options_.verify_key, fresh);
    fresh.key_check = authenticator_->check();
  }
  return fresh;
}

// The superblock's copies, at the start of the first segment, are asked for by themselves.
Status ScmTier::FindBadSegments(std::vector<SegmentId>* bad) const {
  const uint64_t segment_bytes = options_.segment_bytes;
  const uint64_t segments = options_.capacity_bytes / segment_bytes;
  uint64_t ranges = 0;
  std::vector<bool> is_bad(segments);
  for (const BadRange& range : medium_->BadRanges()) {
    const uint64_t from = std::max(range.begin, layout::kSuperblockSpace);
    if (from >= range.end || from >= options_.capacity_bytes) continue;
    ++ranges;
    const uint64_t last = std::min((range.end - 1) / segment_bytes, segments - 1);
    for (uint64_t id = from / segment_bytes; id <= last; ++id) is_bad[id] = true;
  }
  for (uint32_t id = 0; id < segments; ++id) {
    if (is_bad[id]) bad->push_back(SegmentId{id});
  }
  if (bad->empty()) return Status::Ok();
  const std::string what = fmt::format("has bad blocks in {} places, which the kernel knows of: {} of its {} segments",
                                       ranges, bad->size(), segments);
  if (segments - bad->size() < kSegmentsMin)
    return Status::IoError(
        fmt::format("{} {}, and {} are needed: use another medium", medium_->info().description, what, kSegmentsMin));
  if (options_.on_trouble) options_.on_trouble(what + " are out of use");
  return Status::Ok();
}

Status ScmTier::Open(const ScmOptions& options, std::unique_ptr<ScmTier>* tier, SurvivorJudge* judge,
                     const WrapMedium& wrap) {
  MEZZ_RETURN_IF_ERROR(options.Validate());
  std::unique_ptr<ScmTier> opened(new (std::nothrow) ScmTier(options));
  if (opened == nullptr) return Status::NoSpace("no memory for the SCM tier");
  if (!opened->guard_.ok())
    return Status::NotSupported("this kernel does not tell forked children from their parent: use Linux 4.14 or newer");
  ScmOptions& effective = opened->options_;
  const uint64_t segment_bytes = options.EffectiveSegmentBytes();
  effective.capacity_bytes = options.capacity_bytes / segment_bytes * segment_bytes;
  effective.segment_bytes = segment_bytes;
  effective.recovery = options.EffectiveRecovery();
  if (!options.verify_key_file.empty()) {
    MEZZ_RETURN_IF_ERROR(ReadVerifyKey(options.verify_key_file, &effective.verify_key.emplace()));
    effective.verify_key_file.clear();  // one of them
  }
  // Before the medium is touched.
  if (effective.bus_errors == BusErrorMode::kContain) MEZZ_RETURN_IF_ERROR(ContainBusErrors());
  bool existing = false;
  MEZZ_RETURN_IF_ERROR(OpenMedium(effective, &opened->medium_, &existing, &opened->preparer_));
  if (effective.model != MediumModelName::kNone)
    opened->throttle_ = std::make_unique<Throttle>(GetMediumModel(effective.model));
  if (wrap) opened->medium_ = wrap(std::move(opened->medium_));
  ScmTier* const watched = opened.get();
  opened->watch_ = std::make_unique<BusErrorWatch>(
      std::span<const std::byte>(opened->medium_->base(), opened->medium_->bytes()), [watched](uint64_t offset) {
        if (watched->impl_ != nullptr) watched->impl_->log_.NoteBusError(offset);
      });
  std::vector<SegmentId> bad;
  MEZZ_RETURN_IF_ERROR(opened->FindBadSegments(&bad));
  const std::vector<std::byte> head = ReadHead(*opened->medium_);
  if (head.empty())
    return Status::IoError(
        fmt::format("{}: both copies of its superblock lie on bad blocks, or cannot be read: use another medium",
                    opened->medium_->info().description));
  bool keep = false;
  const layout::Superblock superblock = opened->TakeOver(head, bad, existing, &keep);
  if (effective.recovery == Recovery::kRequire && !opened->recovery_.why.empty())
    return Status::NotSupported(fmt::format("{} {}: use recovery=warm to have it discarded",
                                            opened->medium_->info().description, opened->recovery_.why));
  effective.verify_key.reset();
  effective.verify_key_file = options.verify_key_file;
  layout::Superblock now = superblock;
  now.capacity_bytes = effective.capacity_bytes;
  opened->keeper_ = std::make_unique<SuperblockKeeper>(*opened->medium_, now);
  opened->impl_ = std::make_unique<Impl>(*opened, &opened->counters_, judge, superblock);
  if (!opened->impl_->index_.ok())
    return Status::NoSpace(fmt::format("no memory for the index of {} bytes of SCM; raise expected_block_bytes ({})",
                                       effective.capacity_bytes, effective.expected_block_bytes));
  for (const SegmentId id : bad) opened->impl_->log_.Quarantine(id);
  MEZZ_RETURN_IF_ERROR(opened->TakeSuperblock());
  bool prepared = !keep;
  (void)IfThereIsMemory([&] { prepared = prepared || opened->impl_->PrepareRecovery(superblock, effective); });
  if (!prepared)
    return Status::NoSpace("no memory for the recovery of the SCM tier: use recovery=discard, or allow more");
  opened->StartPreparer();
  MEZZ_RETURN_IF_ERROR(opened->StartThreads());
  opened->opened_ = true;
  opened->impl_->StartRecovery(effective, std::move(opened->erased_));
  *tier = std::move(opened);
  return Status::Ok();
}

// It is this life's from now on.
Status ScmTier::TakeSuperblock() {
  bool taken = impl_->TakeSequences();
  if (taken) medium_->GiveUpRest();  // the superblock says so by now
  if (taken && erased_ != nullptr) taken = impl_->tombstones_.Adopt(*erased_) == SuperblockKeeper::Stored::kLasts;
  if (taken) return Status::Ok();
  keeper_.reset();  // so that the medium stays as it is
  return Status::IoError(fmt::format("{}: does not hold the superblock that is stored to it: use another medium",
                                     medium_->info().description));
}

void ScmTier::StartPreparer() {
  SegmentLog* const log = &impl_->log_;
  const auto provide = [log](uint64_t ready_bytes) {
    log->Provide(static_cast<uint32_t>(ready_bytes / log->segment_bytes()));
  };
  provide(preparer_->ready_bytes());
  preparer_->Start(provide);
}

Status ScmTier::StartThreads() {
  if (options_.scrub_bytes_per_second != 0 && !impl_->scrubber_.Start(options_.scrub_bytes_per_second))
    return Status::NoSpace(fmt::format("no thread for scrub_bytes_per_second={}: set it to 0, or allow more threads",
                                       options_.scrub_bytes_per_second));
  if (!impl_->StartTrainer())
    return Status::NoSpace(
        fmt::format("no thread to train dictionaries for pack={}: allow more threads, or use pack=lz4",
                    mezz::ToString(options_.pack)));
  if (!impl_->StartStage())
    return Status::NoSpace(fmt::format("no thread or memory for pack_stage_bytes={}: set it to 0, or allow more",
                                       options_.pack_stage_bytes));
  return Status::Ok();
}

PutResult ScmTier::Put(const BlockKey& key, BlockRole role, size_t bytes, BlockSource source, Generation generation,
                       Form wanted) {
  return impl_->Put(key, role, bytes, source, generation, wanted);
}

PutResult ScmTier::Put(const BlockKey& key, BlockRole role, std::span<const std::byte> payload, Generation generation,
                       Form wanted) {
  return impl_->Put(key, role, payload.size(), SpanSource{payload}, generation, wanted);
}

PutResult ScmTier::PutImage(const BlockKey& key, BlockRole role, size_t bytes, const Image& image,
                            Generation generation) {
  assert(TakesImages(options_.pack) && ImagePays(role, bytes, image));
  return impl_->PutImage(key, role, bytes, image, generation);
}
bool ScmTier::ImagePays(BlockRole role, size_t bytes, const Image& image) {
  return Packer::ImagePays(role, bytes, image);
}

// Flattened, one frame for all that a hit does: while a header is on its way from the medium, the processor works ahead
// as far as its reorder window reaches, some 500 instructions. If that is up to the prefetch of the next hit's header,
// the two overlap; so what comes between costs several times its own time (results/2026-11-23-hit-path/summary.md).
[[gnu::flatten]] PinnedBlock ScmTier::Find(const BlockKey& key, BlockRole role_for_miss_counter, Heat heat) {
  PinnedBlock found;
  if (impl_->Find(key, role_for_miss_counter, heat, &found)) found.tier_ = this;
  return found;
}

void ScmTier::ChargeInPlace(BlockRole role, std::span<const std::byte> payload) {
  if (throttle_ != nullptr) throttle_->ChargeInPlace(HowReadInPlace(throttle_->model(), role, payload));
}
void ScmTier::ChargeCopy(size_t stored_bytes) {
  if (throttle_ != nullptr) throttle_->ChargeStreamRead(stored_bytes);
}
void ScmTier::Prefetch(const BlockKey& key) const { impl_->index_.Prefetch(impl_->index_.Hash(key)); }
bool ScmTier::Contains(const BlockKey& key) { return impl_->Contains(key); }
Held ScmTier::Compare(const BlockKey& key, size_t bytes, BlockSource source) {
  return impl_->Compare(key, bytes, source);
}
bool ScmTier::NotePromoted(const BlockKey& key) { return impl_->SetDram(key, true); }
bool ScmTier::NoteDramEviction(const BlockKey& key) { return impl_->SetDram(key, false); }
void ScmTier::NoteDramGoes() { impl_->reclaimer_.SpareDram(); }
bool ScmTier::Erase(const BlockKey& key) { return impl_->Erase(key); }
void ScmTier::EraseAll() { impl_->EraseAll(); }
void ScmTier::ForgetFile(FileId file) {
  if (guard_.InParent()) impl_->dead_.Add(file);  // a child's index is empty, and its parent's lock may be held
}
bool ScmTier::IsHollow() const { return impl_->log_.hollow_segments() != 0; }
bool ScmTier::IsForgotten(FileId file) const { return impl_->dead_.Has(file); }
void ScmTier::Unpin(const std::byte* payload) { impl_->log_.Unpin(impl_->SegmentOf(payload)); }
Status ScmTier::SetCapacity(uint64_t bytes) { return impl_->SetCapacity(bytes); }
void ScmTier::UseCodec(std::optional<Codec> codec) {
  assert(options_.pack == PackMode::kAuto);
  if (guard_.InParent()) impl_->packer_->UseCodec(codec);  // a child's parent may have held a lock of the samples
}
void ScmTier::SetYoungPercent(unsigned percent) { impl_->log_.SetYoungPercent(percent); }
void ScmTier::SetRequeuePercent(unsigned percent) { impl_->reclaimer_.SetRequeuePercent(percent); }
uint64_t ScmTier::capacity_bytes() const {
  return is_closed() ? 0 : impl_->log_.usable_segments() * impl_->log_.segment_bytes();
}
bool ScmTier::is_closed() const { return impl_->faults_.IsOver(); }
uint64_t ScmTier::bus_errors() const { return impl_->log_.bus_errors(); }
uint32_t ScmTier::faults() const { return impl_->faults_.count(); }
uint64_t ScmTier::quarantined_bytes() const { return impl_->log_.quarantined_segments() * impl_->log_.segment_bytes(); }
uint64_t ScmTier::usage_bytes() const {
  if (is_closed()) return 0;
  const SegmentLog& log = impl_->log_;
  return (log.segments() - std::min(log.unused_segments(), log.segments())) * log.segment_bytes();
}
uint64_t ScmTier::pinned_bytes() const { return impl_->log_.PinnedSegments() * impl_->log_.segment_bytes(); }
bool ScmTier::PinPressure() { return impl_->reclaimer_.PinPressure(); }
void ScmTier::ForEach(const std::function<void(const BlockKey&, size_t, BlockRole)>& visit) const {
  impl_->ForEach(visit);
}
uint64_t ScmTier::RecordBytesOf(const std::function<bool(FileId)>& such) const { return impl_->RecordBytesOf(such); }
size_t ScmTier::max_block_bytes() const {
  return layout::SegmentPayloadBytes(impl_->log_.segment_bytes()) - sizeof(layout::RecordHeader) -
         record::MacBytes(authenticator_.get());
}
uint32_t ScmTier::PackedBytesExpected(uint32_t bytes) const {
  const uint64_t share = impl_->packer_ == nullptr ? Packer::kWhole : impl_->packer_->mean_share();
  return static_cast<uint32_t>(bytes * share / Packer::kWhole);
}
unsigned ScmTier::zstd_percent() const { return impl_->packer_->zstd_percent(); }
uint64_t ScmTier::resident_blocks() const { return impl_->index_.blocks(); }
uint64_t ScmTier::Scrub(uint64_t bytes) {
  const uint64_t checked = impl_->scrubber_.Scrub(bytes);
  if (impl_->log_.HasCondemned()) impl_->reclaimer_.Quarantine();
  impl_->AfterFault();
  return checked;
}
uint64_t ScmTier::TakeLongestReclaim() { return impl_->reclaimer_.TakeLongestStay(); }
ScmDram ScmTier::dram() const {
  return {.index = impl_->index_.bytes(),
          .segments = impl_->log_.dram_bytes(),
          .packing = (impl_->packer_ == nullptr ? 0 : impl_->packer_->dram_bytes()) +
                     (impl_->trainer_ == nullptr ? 0 : impl_->trainer_->dram_bytes()) +
                     (impl_->stage_ == nullptr ? 0 : impl_->stage_->dram_bytes()),
          .rest = sizeof(*this) + sizeof(Impl) + Counters::kBytes};
}

ScmDram ScmTier::DramNeeded(const ScmOptions& options) {
  const uint64_t segment_bytes = options.EffectiveSegmentBytes();
  // Of the codec that takes the most.
  const auto codec = MayUseZstd(options.pack) ? Codec::kZstd : CodecOf(options.pack);
  return {.index = Index::BytesFor(ExpectedRecords(options), IndexSize(options)),
          .segments = SegmentLog::DramBytesFor(static_cast<uint32_t>(options.capacity_bytes / segment_bytes)),
          .packing = (codec ? Packer::DramBytesFor(*codec, options.expected_block_bytes) : 0) +
                     PackStage::DramBytesFor(PackStageBytes(options)),
          .rest = sizeof(ScmTier) + sizeof(Impl) + Counters::kBytes};
}

RecoveryReport ScmTier::recovery() const {
  return impl_->recoverer_ != nullptr ? impl_->recoverer_->report() : recovery_;
}

void ScmTier::WaitUntilRecovered() const {
  if (impl_->recoverer_ != nullptr) impl_->recoverer_->Wait();
}

void ScmTier::Drain() const {
  if (impl_->stage_ != nullptr) impl_->stage_->Drain();
}

uint64_t ScmTier::staged_puts() const {
  return impl_->stage_ == nullptr || !guard_.InParent() ? 0 : impl_->stage_->blocks().committed();
}

uint64_t ScmTier::unstaged_puts() const {
  return impl_->stage_ == nullptr || !guard_.InParent() ? 0 : impl_->stage_->blocks().found_full();
}

uint64_t ScmTier::tombstones_written() const { return impl_->tombstones_.written(); }

void ScmTier::SettleDictionaries() const {
  WaitUntilRecovered();
  Drain();
  if (impl_->trainer_ != nullptr) impl_->trainer_->Settle();
}

ScmAudit ScmTier::Audit() const {
  SettleDictionaries();
  ScmAudit audit = impl_->Audit();
  audit.medium_bytes = capacity_bytes();
  audit.dram_bytes = dram().total();
  return audit;
}

// --- PinnedBlock -----------------------------------------------------------------------------------------------------

PinnedBlock& PinnedBlock::operator=(PinnedBlock&& other) noexcept {
  if (this != &other) {
    Release();
    tier_ = std::exchange(other.tier_, nullptr);
    stored_ = other.stored_;
    logical_bytes_ = other.logical_bytes_;
    codec_ = other.codec_;
    image_type_ = other.image_type_;
    role_ = other.role_;
    heat_ = other.heat_;
    form_ = other.form_;
    carried_ = other.carried_;
    slot_ = other.slot_;
  }
  return *this;
}

std::optional<Image> PinnedBlock::image() const {
  if (form_ != Form::kPacked || codec_ != Codec::kImage) return std::nullopt;
  return Image{.bytes = stored_.subspan(ScmTier::kImageOverheadBytes), .type = image_type_};
}

void PinnedBlock::RejectImage() const {
  assert(image());
  tier_->impl_->RejectImage(*this);
}

std::optional<std::span<const std::byte>> PinnedBlock::SteadyBytes() const { return tier_->impl_->SteadyBytes(*this); }

bool PinnedBlock::Unpack(std::byte* to) const {
  assert(!image());
  if (form_ == Form::kPacked) return tier_->impl_->Unpack(*this, to);
  const auto bytes = SteadyBytes();
  if (bytes && !bytes->empty()) std::memcpy(to, bytes->data(), bytes->size());
  return bytes.has_value();
}

void PinnedBlock::Release() {
  ScmTier* const tier = std::exchange(tier_, nullptr);
  if (tier == nullptr) return;
  if (staged()) return tier->impl_->Release(static_cast<StagedBlocks::Slot>(slot_));
  tier->Unpin(stored_.data());
}

const std::byte* PinnedBlock::Detach() {
  assert(!staged());
  tier_ = nullptr;
  return stored_.data();
}

}  // namespace mezz
