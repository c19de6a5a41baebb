// SPDX-License-Identifier: Apache-2.0
// How a tier begins and ends.
#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <utility>

#include "cache/base/if_memory.h"
#include "cache/base/text.h"
#include "cache/media/wipe.h"
#include "cache/scm_tier_impl.h"

namespace mezz {
namespace {

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

// A tier that may pack has an index that grows, as more blocks may fit.
Index::Size IndexSize(const ScmOptions& options) {
  return options.pack == PackMode::kOff ? Index::Size::kFixed : Index::Size::kGrows;
}

// The bytes of the stage: a whole number of lines for each unit. 0: there is no stage.
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

// Whether faults are counted for each of several media. The tier closes when too few segments are left, then.
bool LeavesMembersOut(const ScmOptions& options) { return !options.members.empty() && options.faults_max != 0; }

bool IsSlowAndForgets(const ScmMember& member) { return member.level == Level::kSlow && !Remembers(member.medium); }

}  // namespace

ScmTier::Impl::Impl(const ScmTier& tier, Counters* counters, SurvivorJudge* judge, const layout::Superblock& superblock)
    : guard_(tier.guard_),
      keeper_(tier.keeper_.get()),
      medium_(*tier.medium_),
      counters_(counters),
      emulation_(tier.emulation_.get()),
      verify_(tier.options_.verify),
      authenticator_(tier.authenticator_.get()),
      faults_(LeavesMembersOut(tier.options_) ? UINT32_MAX : tier.options_.faults_max),
      options_(tier.options_),
      trainer_(MakeTrainer(tier.options_, counters, guard_)),
      packer_(MakePacker(tier.options_.pack, counters, trainer_.get())),
      stage_(MakeStage(tier.options_, guard_)),
      index_(ExpectedRecords(tier.options_), superblock.hash_seed, IndexSize(tier.options_)),
      log_(medium_, tier.options_.capacity_bytes, tier.options_.EffectiveSegmentBytes(), superblock.format_id, counters,
           guard_, DictionariesOf(trainer_.get()), tier.options_.SlowBegin()),
      reader_(medium_, &log_, counters, authenticator_),
      dead_(&index_, reader_, &log_, counters, emulation_),
      reclaimer_({.medium = medium_,
                  .log = &log_,
                  .index = &index_,
                  .counters = counters,
                  .emulation = emulation_,
                  .judge = judge,
                  .packer = packer_.get(),
                  .dictionaries = DictionariesOf(trainer_.get()),
                  .dead = &dead_,
                  .authenticator = authenticator_}),
      scrubber_(&index_, reader_, guard_),
      tombstones_(medium_, &log_, keeper_, counters, emulation_),
      parts_{.guard = guard_,
             .options = options_,
             .medium = medium_,
             .counters = counters,
             .emulation = emulation_,
             .authenticator = authenticator_,
             .faults = &faults_,
             .trainer = trainer_.get(),
             .packer = packer_.get(),
             .stage = stage_.get(),
             .index = &index_,
             .log = &log_,
             .reader = reader_,
             .dead = &dead_,
             .reclaimer = &reclaimer_,
             .keeper = keeper_,
             .tombstones = &tombstones_,
             .recoverer = recoverer_,
             .store_mutex = &store_mutex_,
             .remembers = options_.Remembers(),
             .erases_durably = options_.Remembers() && options_.erase == EraseMode::kDurable},
      eraser_(parts_),
      fault_handler_(parts_, &eraser_),
      resizer_(parts_, &fault_handler_),
      writer_(parts_, &fault_handler_) {
  if (trainer_ != nullptr) trainer_->dictionaries().UseAuthenticator(authenticator_);
  log_.faults().TellTo(&faults_, LeavesMembersOut(options_) ? options_.faults_max : 0);
  if (std::ranges::any_of(options_.members, IsSlowAndForgets)) log_.tombstone_segments().TellSlowForgets();
  log_.PreferNear(FindNearMedia(options_));
  keeper_->TellOfLost([this](uint32_t members) { log_.faults().LeaveOut(members); });
}

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
                      .dictionaries_taken = [this](Dictionaries::Numbers numbers) { trainer_->LetGo(numbers); },
                      .over = options.on_recovered};
  if (erased != nullptr && !erased->empty()) {
    hooks.is_erased = [erased = std::move(erased)](const BlockKey& key, const SegmentLog::Fill& fill, uint64_t offset) {
      return erased->Cover(key, fill.sequence, offset);
    };
  }
  recoverer_->Start(std::move(hooks));
}

// Writes the snapshot. There is none without memory, and none if the recovery was stopped; the next life then reads the
// header of each record. There is also none if not all numbers of dictionaries were found: the next life must look for
// them itself. There is none either where a part of it, or of what it speaks of, would be lost with one of several
// media.
std::optional<SnapshotPlace> ScmTier::Impl::WriteSnapshot() {
  const auto forgets = [](const ScmMember& member) { return !Remembers(member.medium); };
  if (log_.members().out() != 0 || std::ranges::any_of(options_.members, forgets)) return std::nullopt;
  if (log_.awaiting().HasAny() || (trainer_ != nullptr && !trainer_->KnowsNumbers())) return std::nullopt;
  std::optional<SnapshotPlace> place;
  (void)IfThereIsMemory([&] {
    if (writer_.stored_nameless()) ForgetNameless();
    layout::Superblock next = keeper_->Now();
    ++next.generation;
    place = mezz::WriteSnapshot({medium_, &log_, &index_, DictionariesOf(trainer_.get()), options_.pack}, next);
  });
  return place;
}

// Forgets records whose keys name no file: those keys may name other blocks in the next process.
void ScmTier::Impl::ForgetNameless() {
  for (uint64_t slot = 0; slot < index_.slots(); ++slot) {
    bool nameless = false;
    const auto judge = [&](IndexWord word) { nameless = reader_.HeaderOf(word).key.file() == FileId{0}; };
    index_.VisitPinned(slot, reader_, judge);
    if (nameless) index_.RemoveRecord(index_.At(slot));
  }
}

ScmTier::ScmTier(const ScmOptions& options) : options_(options) {}

ScmTier::~ScmTier() {
  if (keeper_ != nullptr && guard_.InParent()) Close();
  preparer_.reset();
  impl_.reset();
}

// Ends all threads that write before the superblock says that the tier was closed, so that nothing is stored after
// that.
void ScmTier::Close() {
  const bool remembers = opened_ && options_.Remembers();
  const bool wipe = remembers && options_.scrub_on_close;
  // Threads of its own may have met the last fault, and close nothing.
  const auto gave_up = [this] {
    if (!opened_) return false;
    impl_->fault_handler_.Handle();
    return impl_->faults_.IsOver();
  };
  const bool remember =
      remembers && !wipe && !gave_up() && !medium_->IsNameless() && options_.recovery != Recovery::kDiscard;
  if (remember) Drain();
  std::vector<uint64_t> ready_ends;
  bool all_ready = false;
  if (preparer_ != nullptr) {
    if (wipe && earlier_->left_records())
      static_cast<void>(preparer_->Wait());  // what cannot be made ready cannot be written to
    preparer_->Stop();
    ready_ends = ReadyEnds();
    all_ready = preparer_->ready_bytes() == options_.capacity_bytes;
  }
  std::optional<SnapshotPlace> snapshot;
  std::vector<uint32_t> held;           // segments that held records
  if (impl_ != nullptr) impl_->Stop();  // its threads may be told of a bus error, by impl_, and ask what is ready
  preparer_.reset();
  if (remember && !gave_up()) snapshot = impl_->WriteSnapshot();
  const bool closed_itself = gave_up();
  // What the kernel knew to be bad is not touched; what failed since was filled once.
  const auto is_bad = [this](uint32_t id) {
    return impl_->log_.state(SegmentId{id}) == SegmentLog::State::kQuarantined &&
           impl_->log_.Sequence(SegmentId{id}) == 0;
  };
  bool whole = true;
  for (uint32_t id = 0; wipe && id < impl_->log_.segments(); ++id) {
    if (is_bad(id)) {
      whole = false;
    } else if (earlier_->left_records() || impl_->log_.Sequence(SegmentId{id}) != 0) {
      held.push_back(id);
    }
  }
  keeper_->TellOfLost({});  // it told impl_
  impl_.reset();
  if (!opened_) return;                // what the medium holds is as it was, or a life that was not closed
  if (closed_itself && !wipe) return;  // the next life reads what it finds
  const bool wiped = wipe && WipeSegments(held, ready_ends) && (!earlier_->left_records() || (all_ready && whole));
  // Where it is stored nowhere, the next life finds a tier that was not closed, and asks each record's header.
  (void)keeper_->Change([&](layout::Superblock* superblock) {
    superblock->flags |= layout::kClosedCleanly | (wiped ? uint32_t{layout::kWiped} : 0u);
    superblock->snapshot_segment = snapshot ? snapshot->segment : 0;
    superblock->snapshot_chunks = snapshot ? snapshot->chunks : 0;
  });
}

// Up to where the medium, or each of several, is ready.
std::vector<uint64_t> ScmTier::ReadyEnds() const {
  std::vector<uint64_t> ends;
  for (const uint64_t begin : medium_->begins()) ends.push_back(begin + preparer_->ready_bytes(ends.size()));
  return ends;
}

// Wipes the segments. The superblock says so first, so that no later life uses a part of what is left. False: some
// segments, or the superblock, could not be written. Whole records may then be left, which the next close wipes.
bool ScmTier::WipeSegments(const std::vector<uint32_t>& held, const std::vector<uint64_t>& ready_ends) {
  const auto stored = keeper_->Change([](layout::Superblock* superblock) {
    superblock->sequence_begin = superblock->sequence_end;
    superblock->tombstone_segments = 0;
    superblock->snapshot_segment = superblock->snapshot_chunks = 0;
  });
  bool all = stored == SuperblockKeeper::Stored::kLasts;
  for (const uint32_t id : held) {
    const uint64_t from = layout::StartOfSegment(keeper_->Now(), id);
    const uint64_t end = std::min((id + 1) * options_.segment_bytes, ready_ends[medium_->MemberAt(from)]);
    if (from < end) all &= Wipe(*medium_, from, end - from);
  }
  return all;
}

Status ScmTier::OpenMedia(const WrapMedium& wrap, bool* existing) {
  // Before the medium is touched.
  if (options_.bus_errors == BusErrorMode::kContain) MEZZ_RETURN_IF_ERROR(ContainBusErrors());
  MEZZ_RETURN_IF_ERROR(OpenMedium(options_, &medium_, existing, &preparer_));
  if (wrap) medium_ = wrap(std::move(medium_));
  emulation_ = Emulation::Make(*medium_, options_.Models());
  watch_ = std::make_unique<BusErrorWatch>(std::span<const std::byte>(medium_->base(), medium_->bytes()),
                                           [this](uint64_t offset) {
                                             if (impl_ != nullptr) impl_->log_.faults().NoteBusError(offset);
                                           });
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
  effective = options.Effective();
  effective.recovery = options.EffectiveRecovery();
  if (!options.verify_key_file.empty()) {
    MEZZ_RETURN_IF_ERROR(ReadVerifyKey(options.verify_key_file, &effective.verify_key.emplace()));
    effective.verify_key_file.clear();  // one of them
  }
  bool existing = false;
  MEZZ_RETURN_IF_ERROR(opened->OpenMedia(wrap, &existing));
  EarlierLife& earlier = *(opened->earlier_ = std::make_unique<EarlierLife>(*opened->medium_, effective));
  MEZZ_RETURN_IF_ERROR(earlier.TakeOver(existing));
  effective.verify_key.reset();
  effective.verify_key_file = options.verify_key_file;
  opened->authenticator_ = earlier.TakeAuthenticator();
  layout::Superblock now = earlier.superblock();
  now.capacity_bytes = effective.capacity_bytes;
  opened->keeper_ = std::make_unique<SuperblockKeeper>(*opened->medium_, now);
  opened->impl_ = std::make_unique<Impl>(*opened, &opened->counters_, judge, earlier.superblock());
  if (!opened->impl_->index_.ok())
    return Status::NoSpace(fmt::format("no memory for the index of {} bytes of SCM; raise expected_block_bytes ({})",
                                       effective.capacity_bytes, effective.expected_block_bytes));
  SegmentLog& log = opened->impl_->log_;
  for (const SegmentId id : earlier.bad()) log.space().Quarantine(id);
  const uint32_t all_members = (1u << opened->medium_->begins().size()) - 1;
  log.faults().BeginWithout(all_members & ~earlier.members());
  if (earlier.is_used()) MEZZ_RETURN_IF_ERROR(earlier.ForgetBeyond(&log));
  MEZZ_RETURN_IF_ERROR(opened->TakeSuperblock());
  bool prepared = !earlier.is_used();
  (void)IfThereIsMemory(
      [&] { prepared = prepared || opened->impl_->PrepareRecovery(earlier.superblock(), effective); });
  if (!prepared)
    return Status::NoSpace("no memory for the recovery of the SCM tier: use recovery=discard, or allow more");
  opened->medium_->KeepChanges();
  opened->StartPreparer();
  MEZZ_RETURN_IF_ERROR(opened->StartThreads());
  opened->opened_ = true;
  if (options.on_trouble) (void)IfThereIsMemory([&] { opened->medium_->WatchName(options.on_trouble); });
  opened->impl_->StartRecovery(effective, earlier.TakeErasedKeys());
  *tier = std::move(opened);
  return Status::Ok();
}

// Writes the superblock of this life.
Status ScmTier::TakeSuperblock() {
  if (!earlier_->exists()) keeper_->PutMagic();
  bool taken = impl_->TakeSequences();
  if (taken) medium_->GiveUpRest();  // the superblock says so by now
  if (taken && earlier_->erased() != nullptr)
    taken = impl_->tombstones_.Adopt(*earlier_->erased()) == SuperblockKeeper::Stored::kLasts;
  if (taken) return Status::Ok();
  keeper_.reset();  // so that the medium stays as it is
  return Status::IoError(fmt::format("{}: does not hold the superblock that is stored to it: use another medium",
                                     medium_->info().description));
}

void ScmTier::StartPreparer() {
  SegmentLog* const log = &impl_->log_;
  const auto provide = [log](size_t member, uint64_t ready_bytes) {
    log->Provide(static_cast<uint32_t>(ready_bytes / log->segment_bytes()), member);
  };
  for (size_t member = 0; member < medium_->begins().size(); ++member) provide(member, preparer_->ready_bytes(member));
  const auto tell = [this](const Status& why) {
    if (!options_.on_trouble) return;
    (void)IfThereIsMemory([&] { options_.on_trouble(fmt::format("does not grow any further: {}", why.message())); });
  };
  preparer_->StartMembers(provide, tell);
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

RecoveryReport ScmTier::recovery() const {
  return impl_->recoverer_ != nullptr ? impl_->recoverer_->report() : earlier_->report();
}

void ScmTier::WaitUntilRecovered() const {
  if (impl_->recoverer_ != nullptr) impl_->recoverer_->Wait();
}

ScmDram ScmTier::DramNeeded(const ScmOptions& options) {
  const uint64_t segment_bytes = options.EffectiveSegmentBytes();
  // Of the codec that takes the most.
  const auto codec = MayUseZstd(options.pack) ? Codec::kZstd : CodecOf(options.pack);
  const auto segments = static_cast<uint32_t>(options.capacity_bytes / segment_bytes);
  const bool has_slow = options.SlowBegin() < options.capacity_bytes;
  return {.index = Index::BytesFor(ExpectedRecords(options), IndexSize(options)),
          .segments = SegmentLog::DramBytesFor(segments, has_slow),
          .packing = (codec ? Packer::DramBytesFor(*codec, options.expected_block_bytes) : 0) +
                     PackStage::DramBytesFor(PackStageBytes(options)),
          .rest = sizeof(ScmTier) + sizeof(Impl) + Counters::kBytes};
}

}  // namespace mezz
