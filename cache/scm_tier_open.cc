// SPDX-License-Identifier: Apache-2.0
// How a tier begins and ends.
#include <fmt/format.h>
#include <sys/random.h>

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

// Of several media: all that can be read are in. A snapshot is of use only if none was out, or is new.
void TakeMembers(const FoundMembers& members, layout::Superblock* superblock) {
  superblock->members_in = members.readable;
  if ((members.of_life & ~members.outdated) != layout::AllMembers(*superblock)) superblock->snapshot_segment = 0;
}

uint64_t RandomWord() {
  uint64_t word = 0;
  if (getrandom(&word, sizeof(word), 0) != sizeof(word)) word = reinterpret_cast<uintptr_t>(&word);
  return word;
}

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
      remembers_(tier.options_.Remembers()),
      erases_durably_(remembers_ && tier.options_.erase == EraseMode::kDurable) {
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
    if (nameless_.load(std::memory_order_relaxed)) ForgetNameless();
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
    impl_->AfterFault();
    return impl_->faults_.IsOver();
  };
  const bool remember =
      remembers && !wipe && !gave_up() && !medium_->IsNameless() && options_.recovery != Recovery::kDiscard;
  if (remember) Drain();
  std::vector<uint64_t> ready_ends;
  bool all_ready = false;
  if (preparer_ != nullptr) {
    if (wipe && leftovers_) static_cast<void>(preparer_->Wait());  // what cannot be made ready cannot be written to
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
    } else if (leftovers_ || impl_->log_.Sequence(SegmentId{id}) != 0) {
      held.push_back(id);
    }
  }
  keeper_->TellOfLost({});  // it told impl_
  impl_.reset();
  if (!opened_) return;                // what the medium holds is as it was, or a life that was not closed
  if (closed_itself && !wipe) return;  // the next life reads what it finds
  const bool wiped = wipe && WipeSegments(held, ready_ends) && (!leftovers_ || (all_ready && whole));
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

// Reads the tombstones of an earlier life. False: it is not known what was erased, so nothing may be found again;
// recovery_ says why.
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

// The superblock of this life. *keep: whether the blocks of the earlier life are used.
layout::Superblock ScmTier::TakeOver(const FoundSuperblock& found, std::span<const SegmentId> bad, bool existing,
                                     bool* keep) {
  const bool remembers = options_.Remembers();
  recovery_.why = found.what == FoundSuperblock::What::kUnusable ? found.why
                  : !existing                                    ? std::string()
                  : options_.recovery == Recovery::kDiscard      ? "is opened with recovery=discard"
                                                                 : WhyOfNoUse(found.superblock, options_);
  if (!remembers && options_.recovery == Recovery::kWarm)
    recovery_.why = fmt::format("of medium={} remembers nothing, so recovery=warm starts cold", options_.MediumText());
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

// Finds the segments with bad blocks. The copies of the superblock, where the medium or one of several begins, are
// handled apart: one without any is bad as a whole. `readable`: those that have one, a bit each.
Status ScmTier::FindBadSegments(uint32_t readable, std::vector<SegmentId>* bad) const {
  const uint64_t segment_bytes = options_.segment_bytes;
  const uint64_t segments = options_.capacity_bytes / segment_bytes;
  uint64_t ranges = 0;
  std::vector<bool> is_bad(segments);
  for (const BadRange& range : medium_->BadRanges()) {
    const uint64_t head = medium_->begins()[medium_->MemberAt(range.begin)];
    const uint64_t from = std::max(range.begin, head + layout::kSuperblockSpace);
    if (from >= range.end || from >= options_.capacity_bytes) continue;
    ++ranges;
    const uint64_t last = std::min((range.end - 1) / segment_bytes, segments - 1);
    for (uint64_t id = from / segment_bytes; id <= last; ++id) is_bad[id] = true;
  }
  for (uint32_t id = 0; id < segments; ++id) {
    const size_t member = medium_->MemberAt(id * segment_bytes);
    if (is_bad[id] || (readable >> member & 1) == 0) bad->push_back(SegmentId{id});
  }
  if (bad->empty()) return Status::Ok();
  const std::string what = fmt::format("has bad blocks in {} places, which the kernel knows of: {} of its {} segments",
                                       ranges, bad->size(), segments);
  if (segments - bad->size() < kSegmentsMin)
    return Status::IoError(
        fmt::format("{} {}, and {} are needed: use another medium", medium_->info().description, what, kSegmentsMin));
  if (options_.on_trouble && ranges != 0) options_.on_trouble(what + " are out of use");
  return Status::Ok();
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
  FoundMembers members = FindMembers(*opened->medium_, effective);
  if (members.readable == 0)
    return Status::IoError(
        fmt::format("{}: both copies of its superblock lie on bad blocks, or cannot be read: use another medium",
                    opened->medium_->info().description));
  std::vector<SegmentId> bad;
  MEZZ_RETURN_IF_ERROR(opened->FindBadSegments(members.readable, &bad));
  if (!effective.Remembers()) members.found = {};
  existing &= members.found.what == FoundSuperblock::What::kWhole;
  bool keep = false;
  layout::Superblock superblock = opened->TakeOver(members.found, bad, existing, &keep);
  if (!effective.members.empty()) TakeMembers(members, &superblock);
  if (effective.recovery == Recovery::kRequire && !opened->recovery_.why.empty())
    return Status::NotSupported(fmt::format("{} {}: use recovery=warm to have it discarded",
                                            opened->medium_->info().description, opened->recovery_.why));
  effective.verify_key.reset();
  effective.verify_key_file = options.verify_key_file;
  if (keep && members.outdated != 0) {
    members.readable &= ~opened->ForgetOutdated(members.outdated, superblock, &bad);
    superblock.members_in = members.readable;
  }
  opened->TellOfUnreadable(members.readable);
  layout::Superblock now = superblock;
  now.capacity_bytes = effective.capacity_bytes;
  opened->keeper_ = std::make_unique<SuperblockKeeper>(*opened->medium_, now);
  opened->impl_ = std::make_unique<Impl>(*opened, &opened->counters_, judge, superblock);
  if (!opened->impl_->index_.ok())
    return Status::NoSpace(fmt::format("no memory for the index of {} bytes of SCM; raise expected_block_bytes ({})",
                                       effective.capacity_bytes, effective.expected_block_bytes));
  for (const SegmentId id : bad) opened->impl_->log_.space().Quarantine(id);
  const uint32_t all_members = (1u << opened->medium_->begins().size()) - 1;
  opened->impl_->log_.faults().BeginWithout(all_members & ~members.readable);
  if (keep) MEZZ_RETURN_IF_ERROR(opened->ForgetBeyond(superblock));
  MEZZ_RETURN_IF_ERROR(opened->TakeSuperblock(existing));
  bool prepared = !keep;
  (void)IfThereIsMemory([&] { prepared = prepared || opened->impl_->PrepareRecovery(superblock, effective); });
  if (!prepared)
    return Status::NoSpace("no memory for the recovery of the SCM tier: use recovery=discard, or allow more");
  opened->medium_->KeepChanges();
  opened->StartPreparer();
  MEZZ_RETURN_IF_ERROR(opened->StartThreads());
  opened->opened_ = true;
  if (options.on_trouble) {
    ScmTier* const watched = opened.get();
    const auto tell = [watched] {
      (void)IfThereIsMemory([&] { watched->options_.on_trouble(watched->medium_->NameTrouble()); });
    };
    (void)IfThereIsMemory([&] { watched->medium_->WatchName(tell); });
  }
  opened->impl_->StartRecovery(effective, std::move(opened->erased_));
  *tier = std::move(opened);
  return Status::Ok();
}

// Forgets records beyond the end of an earlier, smaller life, which left them there. It did not know their
// dictionaries' numbers, so they must not be found again, and it wiped nothing there.
Status ScmTier::ForgetBeyond(const layout::Superblock& found) {
  if (found.capacity_bytes >= std::min(medium_->bytes_before(), options_.capacity_bytes)) return Status::Ok();
  leftovers_ = true;
  const auto first = static_cast<uint32_t>(found.capacity_bytes / options_.segment_bytes);
  if (impl_->log_.headers().EraseBelow(found.sequence_end, first)) return Status::Ok();
  return Status::IoError(fmt::format("{}: cannot be written to behind its first {}: use another medium",
                                     medium_->info().description, HumanBytes(found.capacity_bytes)));
}

// Erases the headers of media that were left out while the life that goes on went on without them, so that nobody finds
// their records. Returns those that do not take that, a bit each: all their segments are bad.
uint32_t ScmTier::ForgetOutdated(uint32_t members, const layout::Superblock& found, std::vector<SegmentId>* bad) {
  leftovers_ = true;
  const auto segments = static_cast<uint32_t>(options_.capacity_bytes / options_.segment_bytes);
  const auto member_of = [this](uint32_t id) { return 1u << medium_->MemberAt(id * options_.segment_bytes); };
  std::vector<bool> is_bad(segments);
  for (const SegmentId id : *bad) is_bad[Raw(id)] = true;
  uint32_t failed = 0;
  for (uint32_t id = 0; id < segments; ++id) {
    if ((members & ~failed & member_of(id)) == 0 || is_bad[id]) continue;
    if (!SegmentHeaders::Erase(*medium_, layout::StartOfSegment(found, id))) failed |= member_of(id);
  }
  for (uint32_t id = 0; id < segments; ++id) {
    if ((failed & member_of(id)) != 0 && !is_bad[id]) bad->push_back(SegmentId{id});
  }
  return failed;
}

// Says which of several media are left out from the start.
void ScmTier::TellOfUnreadable(uint32_t readable) const {
  for (size_t member = 0; options_.on_trouble && member < medium_->begins().size(); ++member) {
    if ((readable >> member & 1) != 0) continue;
    options_.on_trouble(fmt::format(
        "lacks one of its media, and goes on with the others: both copies of the superblock of {} lie on bad "
        "blocks, or cannot be read. Replace the device",
        medium_->member_info(member).description));
  }
}

// Writes the superblock of this life.
Status ScmTier::TakeSuperblock(bool existing) {
  if (!existing) keeper_->PutMagic();
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
  const auto provide = [log](size_t member, uint64_t ready_bytes) {
    log->Provide(static_cast<uint32_t>(ready_bytes / log->segment_bytes()), member);
  };
  for (size_t member = 0; member < medium_->begins().size(); ++member) provide(member, preparer_->ready_bytes(member));
  preparer_->StartMembers(provide);
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
  return impl_->recoverer_ != nullptr ? impl_->recoverer_->report() : recovery_;
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
