// SPDX-License-Identifier: Apache-2.0
#include "cache/reclaimer.h"

#include <algorithm>
#include <cassert>
#include <thread>

#include "cache/log_reader.h"
#include "cache/log_rules.h"

namespace mezz {

// Holds the mutex, and counts what its holder settled.
class Reclaimer::Stay {
 public:
  Stay(Reclaimer& reclaimer, std::unique_lock<Mutex> lock) : reclaimer_(reclaimer), lock_(std::move(lock)) {
    reclaimer_.settled_ = 0;
  }
  ~Stay() {
    uint64_t longest = reclaimer_.longest_stay_.load(std::memory_order_relaxed);
    while (reclaimer_.settled_ > longest &&
           !reclaimer_.longest_stay_.compare_exchange_weak(longest, reclaimer_.settled_, std::memory_order_relaxed,
                                                           std::memory_order_relaxed)) {
    }
  }

 private:
  Reclaimer& reclaimer_;
  std::unique_lock<Mutex> lock_;
};

Reclaimer::Reclaimer(const Medium& medium, SegmentLog* log, Index* index, Counters* counters, Throttle* throttle,
                     SurvivorJudge* judge, Packer* packer, Dictionaries* dictionaries, const DeadFiles* dead,
                     const Authenticator* authenticator)
    : medium_(medium),
      log_(log),
      index_(index),
      counters_(counters),
      throttle_(throttle),
      judge_(judge),
      packer_(packer),
      dictionaries_(dictionaries),
      dead_(dead),
      authenticator_(authenticator),
      survivor_credit_(log->segment_bytes()) {}

void Reclaimer::Step(uint64_t bytes, ShareId share) {
  // One segment is reclaim's reserve, each writer lane wants one ready.
  if (log_->HasCondemned()) [[unlikely]]
    Quarantine();
  const uint32_t enough = 1 + (log_->lanes() - 1);
  const uint32_t free = log_->free_segments();
  const bool full = log_->IsFull(share);
  if (free > enough && !full) return;
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  const Stay stay(*this, std::move(lock));
  WorkLocked(bytes * (free <= 1 || full ? log_rules::kPaceUrgent : log_rules::kPaceCalm), Mode::kSpare, share);
}

void Reclaimer::Quarantine() {
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;  // the next put does it
  const Stay stay(*this, std::move(lock));
  QuarantineLocked();
}

void Reclaimer::QuarantineLocked() {
  if (victim_ && log_->IsCondemned(victim_->segment)) {
    QuarantineLocked(std::span(&victim_->segment, 1));
    victim_.reset();
  }
  QuarantineLocked(log_->TakeCondemned());
}

// What else lies in condemned segments may be forgotten, too.
void Reclaimer::QuarantineLocked(std::span<const SegmentId> segments) {
  if (segments.empty()) return;
  ForgetIfLocked([this](SegmentId id) { return log_->IsCondemned(id); });
  for (const SegmentId id : segments) RewriteDictionariesLocked(id);
  log_->StartDraining(segments);
}

void Reclaimer::GrowIndex() {
  constexpr int kSplitsMax = 2;  // sixteen words' room each, for one record
  constexpr unsigned kHeadersOfSplit = BucketGroups::kMembersMax / 2 * Index::kSlotsPerBucket;  // read, on average
  if (!index_->WantsToGrow()) return;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  LogReader reader(medium_, log_, counters_);
  for (int i = 0; i < kSplitsMax && index_->WantsToGrow(); ++i) {
    if (throttle_ != nullptr) throttle_->ChargeLines(kHeadersOfSplit);
    const unsigned forgotten =
        index_->Split(reader, [&](IndexWord word) -> const BlockKey& { return reader.HeaderOf(word).key; });
    if (forgotten != 0) counters_->Add(Event::kScmDisplaced, BlockRole::kOther, forgotten);
  }
}

void Reclaimer::RunWhileNothingMoves(const std::function<void()>& change) {
  waiting_.fetch_add(1, std::memory_order_relaxed);
  const Stay stay(*this, std::unique_lock(mutex_));
  waiting_.fetch_sub(1, std::memory_order_relaxed);
  change();
}

bool Reclaimer::MakeRoom(ShareId share) {
  constexpr uint32_t kVictimsAtOnce = 8;
  waiting_.fetch_add(1, std::memory_order_relaxed);
  const Stay stay(*this, std::unique_lock(mutex_));
  waiting_.fetch_sub(1, std::memory_order_relaxed);
  const uint32_t held = log_->UseOf(share).held;
  for (uint32_t tries = 0; tries < log_rules::kSparingVictimsMax + log_->segments(); ++tries) {
    if (log_->free_segments() > 1 && !log_->IsFull(share)) return true;
    // A share far above a maximum that was lowered: others may reclaim before it is asked for again.
    if (tries >= kVictimsAtOnce && log_->IsFull(share) && log_->UseOf(share).held + kVictimsAtOnce / 2 <= held)
      return true;
    if (!WorkLocked(UINT64_MAX, tries < log_rules::kSparingVictimsMax ? Mode::kSpare : Mode::kDrop, share))
      return false;
  }
  return false;  // pinned since they were taken
}

void Reclaimer::ShrinkTo(uint32_t segments) {
  constexpr int kYieldsMax = 100;
  for (bool done = false; !done;) {
    bool worked = false;
    {
      const Stay stay(*this, std::unique_lock(mutex_));
      done = log_->LimitTo(segments) == 0;
      if (!done && segments == 0) log_->SealAll();
      if (!done) worked = WorkLocked(UINT64_MAX, Mode::kDropPinned);
    }
    // All that is left is open: below the limit by itself, but for shares' segments.
    if (!done && !worked && !log_->HasSealed() && !log_->SealShares()) return;
    if (!done && !worked) std::this_thread::yield();  // until the writers in them have left
    // A mutex favours who released it last: let those in who wait for room.
    for (int i = 0; i < kYieldsMax && waiting_.load(std::memory_order_relaxed) != 0; ++i) std::this_thread::yield();
  }
}

bool Reclaimer::PinPressure() {
  constexpr uint32_t kRecountEvery = 1024;
  if (!pin_pressure_.load(std::memory_order_relaxed)) return false;
  if (asked_under_pressure_.fetch_add(1, std::memory_order_relaxed) % kRecountEvery != kRecountEvery - 1) return true;
  const bool pressure = 4 * log_->PinnedSegments() + log_->unused_segments() > log_->segments();
  pin_pressure_.store(pressure, std::memory_order_relaxed);
  return pressure;
}

// Walks up to `bytes` of one victim, in its present pass. False: there is no victim.
bool Reclaimer::WorkLocked(uint64_t bytes, Mode mode, ShareId needs) {
  // What a recovery has not come to is older than all it has, and has no heat.
  if (!victim_ && !log_->IsFull(needs) && log_->GiveUpOldest(/*pinned_too=*/mode == Mode::kDropPinned)) {
    counters_->Add(Event::kScmSegmentReclaimed, BlockRole::kOther);
    return true;
  }
  if (!victim_ && !PickVictimLocked(mode, needs)) return false;
  if (mode != Mode::kSpare && victim_->pass != Pass::kEmpty) StartPassLocked(Pass::kEmpty);
  uint64_t walked = 0;
  do {
    if (victim_->cursor < victim_->end) walked += VisitNextLocked(mode);
    assert(victim_->cursor <= victim_->end);
    if (victim_->cursor == victim_->end) FinishPassLocked();
  } while (victim_ && walked < bytes);
  return true;
}

// Visits the next record. Returns its bytes, or 0 if its header is damaged.
uint64_t Reclaimer::VisitNextLocked(Mode mode) {
  const uint64_t offset = victim_->cursor;
  const auto sequence = static_cast<uint32_t>(log_->Sequence(victim_->segment));
  const auto header = record::ReadHeader(medium_, {offset, sequence});
  if (throttle_ != nullptr) throttle_->ChargeLines(1);
  if (!header || layout::RecordBytes(header->payload_bytes) > victim_->end - offset) {
    // What lies before it is still to be settled, if this is another pass.
    if (victim_->pass != Pass::kEmpty) {
      StartPassLocked(Pass::kEmpty);
    } else {
      ForgetRestLocked();
    }
    return 0;
  }
  if ((header->flags & (layout::kRecordVoid | layout::kRecordDictionary)) == 0) {
    ++settled_;
    if (victim_->pass != Pass::kEmpty) {
      WeighLocked(*header, offset);
    } else {
      SettleLocked(offset, *header, mode);
    }
  }
  victim_->cursor += layout::RecordBytes(header->payload_bytes);
  return layout::RecordBytes(header->payload_bytes);
}

void Reclaimer::StartPassLocked(Pass pass) {
  assert(victim_->pass != Pass::kEmpty || pass == Pass::kEmpty);
  victim_->pass = pass;
  victim_->cursor = log_->FirstRecord(victim_->segment);
  if (pass != Pass::kEmpty) return;
  // Of the bytes in use: a segment with a large record that did not fit may hold half of what another does.
  survivor_credit_ =
      std::min(survivor_credit_ + (victim_->end - victim_->cursor) / log_rules::kSurvivorShareDenominator *
                                      log_rules::kSurvivorShareNumerator,
               log_rules::kCreditMaxSegments * log_->segment_bytes());
}

void Reclaimer::FinishPassLocked() {
  switch (victim_->pass) {
    case Pass::kWeigh: {
      const uint64_t percent = requeue_percent_.load(std::memory_order_relaxed);
      const bool keep = percent != 0 && victim_->hot != 0 && 100 * victim_->hot >= percent * victim_->records;
      return StartPassLocked(keep ? Pass::kCool : Pass::kEmpty);
    }
    case Pass::kCool:
      assert(victim_->generation == Generation::kProven && requeued_in_a_row_ < log_rules::kRequeuesInARowMax);
      ++requeued_in_a_row_;
      log_->Requeue(victim_->segment);
      counters_->Add(Event::kScmSegmentRequeued, BlockRole::kOther);
      break;
    case Pass::kEmpty:
      requeued_in_a_row_ = 0;
      RewriteDictionariesLocked(victim_->segment);
      log_->StartDraining(victim_->segment);
      counters_->Add(Event::kScmSegmentReclaimed, BlockRole::kOther);
      break;
  }
  victim_.reset();
}

// Weighs a record in kWeigh. In kCool every record that was weighed pays as if it had been copied, hot or not.
void Reclaimer::WeighLocked(const record::Header& header, uint64_t offset) {
  const Index::Entry entry = index_->FindLine(index_->Hash(header.key), offset / kLineBytes);
  if (victim_->pass == Pass::kCool) {
    // One that only this life's hits tell from what an earlier one left, unchecked, keeps the last of them.
    const bool last_of_adopted = entry && entry.word.heat() == 1 && log_->IsAdopted(victim_->segment);
    if (entry && !last_of_adopted) index_->Cool(entry);
    return;
  }
  assert(victim_->pass == Pass::kWeigh);
  ++victim_->records;
  const bool hot = entry && !entry.word.dram() && entry.word.heat() >= log_rules::kRequeueHeat;
  if (hot && !IsDead(header)) ++victim_->hot;
}

bool Reclaimer::PickVictimLocked(Mode mode, ShareId needs) {
  if (judge_ != nullptr) log_->SetYoungPercent(judge_->young_percent());
  const SegmentLog::Victim picked = log_->TakeVictim(/*pinned_too=*/mode == Mode::kDropPinned, needs);
  if (picked.skipped_pinned != 0)
    counters_->Add(Event::kScmSegmentSkippedPinned, BlockRole::kOther, picked.skipped_pinned);
  pin_pressure_.store(4 * (picked.skipped_pinned + log_->draining_segments()) > picked.sealed,
                      std::memory_order_relaxed);
  if (!picked.segment) return false;
  const bool weighed = mode == Mode::kSpare && picked.generation == Generation::kProven && !picked.hollow &&
                       requeue_percent_.load(std::memory_order_relaxed) != 0 &&
                       requeued_in_a_row_ < log_rules::kRequeuesInARowMax;
  victim_ =
      Victim{.segment = *picked.segment, .generation = picked.generation, .share = picked.share, .pass = Pass::kWeigh};
  victim_->end = log_->Tail(*picked.segment);
  StartPassLocked(weighed ? Pass::kWeigh : Pass::kEmpty);
  return true;
}

// Whether the word's dram bit is the mark of an earlier life, whose DRAM tier held the block. This life's does not hold
// it; otherwise the mark would be gone.
bool Reclaimer::IsMark(IndexWord word) const {
  return word.dram() && word.heat() == 0 && log_->IsAdopted(victim_->segment);
}

Fate Reclaimer::FateOf(const record::Header& header, IndexWord word, bool packable) const {
  const bool packed = record::IsPacked(header);
  const bool in_dram = word.dram() && !IsMark(word);
  if (in_dram && dram_goes_.load(std::memory_order_relaxed)) [[unlikely]]
    return Fate::kSpare;
  Fate fate = FateByHeat(word.heat(), packable);
  if (judge_ != nullptr) {
    fate = judge_->Judge({.key = header.key,
                          .role = header.role,
                          .payload_bytes = header.payload_bytes,
                          .generation = victim_->generation,
                          .heat = static_cast<uint8_t>(word.heat()),
                          .in_dram = in_dram,
                          .packed = packed,
                          .packable = packable});
  }
  if ((in_dram && !packed) || (fate == Fate::kPack && !packable)) return Fate::kDrop;
  return fate;
}

void Reclaimer::SettleLocked(uint64_t offset, record::Header header, Mode mode) {
  const KeyHash hash = index_->Hash(header.key);
  const uint64_t bytes = layout::RecordBytes(header.payload_bytes);
  Index::Entry entry = index_->FindLine(hash, offset / kLineBytes);
  const bool dead = IsDead(header);
  bool packable = entry && packer_ != nullptr && mode == Mode::kSpare && !dead &&
                  (header.flags & (layout::kRecordPacked | layout::kRecordRejected)) == 0 &&
                  packer_->Wants(header.role, record::PayloadBytes(header));
  // Until it was replaced or erased.
  for (; entry; entry = index_->FindLine(hash, offset / kLineBytes)) {
    const Fate fate = mode == Mode::kSpare && !dead ? FateOf(header, entry.word, packable) : Fate::kDrop;
    // Nobody could tell the copy's mark from what this life's DRAM tier holds.
    if (fate != Fate::kDrop && IsMark(entry.word)) entry.word = index_->Touch(entry, /*heat=*/0);
    if (fate != Fate::kDrop && packable) {
      const Packing packing = PackLocked(offset, header, entry, fate);
      if (packing == Packing::kDone) return;
      packable = false;
      if (packing == Packing::kUseless) header.flags |= layout::kRecordRejected;
      if (packing != Packing::kNoRoom && fate == Fate::kPack) continue;  // judged again, as what it is
    }
    if (fate == Fate::kSpare && bytes <= survivor_credit_ && SpareLocked(offset, header, entry)) return;
    if (index_->Drop(entry) == Index::Outcome::kDone) {
      if (dead) return CountDead(counters_, header);
      return counters_->Add(Event::kScmDropped, header.role);
    }
    // Hit or erased between the look and the drop: it is judged again, by what is known now.
  }
}

// Spares a record. True: it lives on elsewhere, or was erased while it was copied. False: there was no room for the
// copy.
bool Reclaimer::SpareLocked(uint64_t offset, const record::Header& header, Index::Entry entry) {
  // A copy is not told any more from what was stored in this life, so what no hit has checked is checked here.
  if (entry.word.heat() == 0 && log_->IsAdopted(victim_->segment) &&
      !record::PayloadIsWhole(record::HeaderAt(medium_, offset), authenticator_)) {
    counters_->Add(Event::kScmChecksumMismatch, header.role);
    index_->RemoveRecord(entry);
    return true;
  }
  const auto copy = CopyLocked(offset, header);
  if (!copy) return false;
  const uint64_t bytes = layout::RecordBytes(header.payload_bytes);
  assert(bytes <= survivor_credit_);
  survivor_credit_ -= bytes;
  counters_->Add(Event::kScmSecondChance, header.role);
  counters_->Add(Event::kScmSecondChanceBytes, header.role, bytes);
  counters_->Add(Event::kScmWrittenBytes, header.role, bytes);
  MEZZ_TEST_POINT("reclaim.before_move");
  index_->Move(entry, copy->place.offset / kLineBytes);
  MEZZ_TEST_POINT("reclaim.moved");
  log_->Leave(*copy);
  return true;
}

// Packs a record. Its bytes are checked first, as packing would give damaged bytes a good checksum.
Reclaimer::Packing Reclaimer::PackLocked(uint64_t offset, const record::Header& header, Index::Entry entry, Fate fate) {
  if (throttle_ != nullptr) throttle_->ChargeStreamRead(header.payload_bytes);
  if (!record::PayloadIsWhole(record::HeaderAt(medium_, offset), authenticator_)) {
    LogReader(medium_, log_, counters_).NoteMismatch(header.role, entry.word);
    index_->RemoveRecord(entry);
    return Packing::kDone;
  }
  std::span<const std::byte> payload;
  if (record::SteadyBytes({medium_.base() + offset + sizeof(record::Header), record::PayloadBytes(header)}, &payload) !=
      record::Steady::kHere)
    return Packing::kNoMemory;  // or the copy finds out what it is
  const PackedBlock packed = packer_->Pack(header.role, payload, record::StoredChecksum(header));
  if (packed.outcome() == PackedBlock::Outcome::kRejected) return Packing::kUseless;
  if (packed.outcome() != PackedBlock::Outcome::kPacked) return Packing::kNoMemory;
  const uint64_t bytes = record::BytesFor(packed.bytes().size(), authenticator_);
  const auto to = bytes <= survivor_credit_ ? ReserveForPackedLocked(bytes, fate) : std::nullopt;
  if (!to) return Packing::kNoRoom;
  survivor_credit_ -= bytes;
  if (!record::Write(medium_, to->place, header.key, header.role, packed.bytes().size(), SpanSource{packed.bytes()},
                     layout::kRecordPacked, authenticator_)) {
    log_->Leave(*to);
    return Packing::kNoRoom;
  }
  if (packed.dictionary() != 0) log_->KeepDictionary(to->segment, packed.dictionary());
  if (throttle_ != nullptr) throttle_->ChargeWrite(bytes);
  counters_->Add(fate == Fate::kSpare ? Event::kScmSecondChance : Event::kScmPackedAtReclaim, header.role);
  if (fate == Fate::kSpare) counters_->Add(Event::kScmSecondChanceBytes, header.role, bytes);
  counters_->Add(Event::kScmWrittenBytes, header.role, bytes);
  MEZZ_TEST_POINT("reclaim.before_move");
  index_->Move(entry, to->place.offset / kLineBytes, fate == Fate::kSpare ? 1 : 0);
  log_->Leave(*to);
  return Packing::kDone;
}

std::optional<SegmentLog::Reservation> Reclaimer::ReserveLocked(unsigned lane, uint64_t bytes, SegmentLog::For whom) {
  auto to = log_->Reserve(lane, bytes);
  if (!to && log_->Advance(lane, bytes, whom)) to = log_->Reserve(lane, bytes);
  return to;
}

std::optional<SegmentLog::Reservation> Reclaimer::ReserveAsProvenLocked(uint64_t bytes, ShareId share) {
  return ReserveLocked(log_->LaneOf(share, Generation::kProven), bytes, SegmentLog::For::kReclaim);
}

// Reserves space for a packed record. Young ones share a lane with writers, and its next segment too. The last free
// segment stays for the proven.
std::optional<SegmentLog::Reservation> Reclaimer::ReserveForPackedLocked(uint64_t bytes, Fate fate) {
  const ShareId share = victim_->share;
  if (fate == Fate::kSpare || victim_->generation == Generation::kProven) return ReserveAsProvenLocked(bytes, share);
  const auto to = ReserveLocked(log_->LaneOf(share, Generation::kYoung), bytes, SegmentLog::For::kWriter);
  return to ? to : ReserveAsProvenLocked(bytes, share);
}

std::optional<SegmentLog::Reservation> Reclaimer::CopyLocked(uint64_t offset, const record::Header& header) {
  const uint64_t bytes = layout::RecordBytes(header.payload_bytes);
  const auto to = ReserveAsProvenLocked(bytes, victim_->share);
  if (!to) return std::nullopt;
  if (!record::Copy(medium_, offset, header, to->place)) {
    log_->Leave(*to);
    return std::nullopt;
  }
  if (record::IsPacked(header)) KeepDictionaryLocked(offset, to->segment);
  if (throttle_ != nullptr) {
    throttle_->ChargeStreamRead(bytes);
    throttle_->ChargeWrite(bytes);
  }
  return to;
}

// Makes the segment `to`, where the copy goes, keep the record's dictionary. If the record's own segment does not keep
// it, the record is damaged, and its copy will be a miss too.
void Reclaimer::KeepDictionaryLocked(uint64_t offset, SegmentId to) {
  std::optional<layout::PackedPrefix> prefix;
  const bool read =
      BusErrors::Try([&] { prefix = Packer::ReadPrefix(record::PayloadOf(record::HeaderAt(medium_, offset))); });
  if (read && prefix && log_->KeepsDictionary(victim_->segment, prefix->dictionary))
    log_->KeepDictionary(to, prefix->dictionary);
}

// Writes dictionaries anew whose records lay in the segment `lost`.
void Reclaimer::RewriteDictionariesLocked(SegmentId lost) {
  for (unsigned slot = 0; dictionaries_ != nullptr && slot < Dictionaries::kSlots; ++slot) {
    const Dictionaries::Lease dictionary = dictionaries_->Take(slot);  // so the place is not another's in a moment
    if (!dictionary) continue;
    const uint64_t place = dictionaries_->place(slot);
    if (place == 0) dictionaries_->CallTrainer();  // there may be room now
    if (place == 0 || log_->SegmentAt(place) != lost) continue;
    // A tier that is switched off keeps none; and it would not end.
    const auto to =
        log_->limit() != 0 ? ReserveAsProvenLocked(dictionaries_->RecordBytes(*dictionary), kNoShare) : std::nullopt;
    if (!to) {
      dictionaries_->LosePlace(slot);
      continue;
    }
    if (!dictionaries_->Write(*dictionary, medium_, to->place, throttle_, counters_)) dictionaries_->LosePlace(slot);
    log_->CheckDictionaryPlaces();
    log_->Leave(*to);
  }
}

template <typename Is>
void Reclaimer::ForgetIfLocked(const Is& is) {
  const auto lies_in = [&](IndexWord word) { return is(log_->SegmentAt(word.line() * kLineBytes)); };
  counters_->Add(Event::kScmDropped, BlockRole::kOther, index_->RemoveIf(lies_in));
}

// Forgets all words of the segment that the index still has: the medium lost a header, so the walk cannot go on.
void Reclaimer::ForgetRestLocked() {
  counters_->Add(Event::kScmDamagedHeader, BlockRole::kOther);
  // A look-up may have told of the same header.
  if (!log_->IsAdopted(victim_->segment) && !log_->HadFault(victim_->segment)) log_->NoteFault(victim_->segment);
  ForgetIfLocked([this](SegmentId id) { return id == victim_->segment; });
  victim_->cursor = victim_->end;
}

}  // namespace mezz
