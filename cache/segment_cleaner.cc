// SPDX-License-Identifier: Apache-2.0
#include "cache/segment_cleaner.h"

#include <algorithm>
#include <cassert>

#include "cache/log_reader.h"
#include "cache/log_rules.h"

namespace mezz {

SegmentCleaner::SegmentCleaner(const CleanerParts& parts, Level level, SegmentCleaner* slower)
    : parts_(parts), level_(level), slower_(slower), survivor_credit_(parts.log->segment_bytes()) {}

bool SegmentCleaner::Work(uint64_t bytes, Mode mode, ShareId needs) {
  // What was begun otherwise ends so.
  if (mode == Mode::kMove && victim_ && !parts_.log->space().IsWithdrawn(victim_->segment)) mode = Mode::kSpare;
  // What a recovery has not come to is older than all it has, and has no heat.
  if (!victim_ && mode != Mode::kMove && !parts_.log->owners().IsFull(needs, level_) &&
      parts_.log->awaiting().GiveUpOldest(/*pinned_too=*/mode == Mode::kDropPinned, level_)) {
    parts_.counters->Add(Event::kScmSegmentReclaimed, BlockRole::kOther);
    return true;
  }
  if (!victim_ && !PickVictim(mode, needs)) return false;
  if (mode != Mode::kSpare && victim_->pass != Pass::kEmpty) StartPass(Pass::kEmpty);
  uint64_t walked = 0;
  do {
    if (victim_->cursor < victim_->end) walked += VisitNext(mode);
    assert(victim_->cursor <= victim_->end);
    if (victim_->cursor == victim_->end) FinishPass();
  } while (victim_ && walked < bytes);
  return true;
}

// Visits the next record. Returns its bytes, or 0 if its header is damaged.
uint64_t SegmentCleaner::VisitNext(Mode mode) {
  const uint64_t offset = victim_->cursor;
  const auto sequence = static_cast<uint32_t>(parts_.log->Sequence(victim_->segment));
  const auto header = record::ReadHeader(parts_.medium, {offset, sequence});
  if (parts_.emulation != nullptr) parts_.emulation->ChargeLines(offset, 1);
  if (!header || layout::RecordBytes(header->payload_bytes) > victim_->end - offset) {
    // What lies before it is still to be settled, if this is another pass.
    if (victim_->pass != Pass::kEmpty) {
      StartPass(Pass::kEmpty);
    } else {
      ForgetRest();
    }
    return 0;
  }
  if ((header->flags & (layout::kRecordVoid | layout::kRecordDictionary)) == 0) {
    ++settled_;
    if (victim_->pass != Pass::kEmpty) {
      Weigh(*header, offset);
    } else {
      Settle(offset, *header, mode);
    }
  }
  victim_->cursor += layout::RecordBytes(header->payload_bytes);
  return layout::RecordBytes(header->payload_bytes);
}

void SegmentCleaner::StartPass(Pass pass) {
  assert(victim_->pass != Pass::kEmpty || pass == Pass::kEmpty);
  victim_->pass = pass;
  victim_->cursor = parts_.log->FirstRecord(victim_->segment);
  if (pass != Pass::kEmpty) return;
  // Of the bytes in use: a segment with a large record that did not fit may hold half of what another does.
  survivor_credit_ =
      std::min(survivor_credit_ + (victim_->end - victim_->cursor) / log_rules::kSurvivorShareDenominator *
                                      log_rules::kSurvivorShareNumerator,
               log_rules::kCreditMaxSegments * parts_.log->segment_bytes());
}

void SegmentCleaner::FinishPass() {
  switch (victim_->pass) {
    case Pass::kWeigh: {
      const uint64_t percent = requeue_percent_.load(std::memory_order_relaxed);
      const bool keep = percent != 0 && victim_->hot != 0 && 100 * victim_->hot >= percent * victim_->records;
      return StartPass(keep ? Pass::kCool : Pass::kEmpty);
    }
    case Pass::kCool:
      assert(victim_->generation == Generation::kProven && requeued_in_a_row_ < log_rules::kRequeuesInARowMax);
      ++requeued_in_a_row_;
      parts_.log->Requeue(victim_->segment);
      parts_.counters->Add(Event::kScmSegmentRequeued, BlockRole::kOther);
      break;
    case Pass::kEmpty:
      requeued_in_a_row_ = 0;
      RewriteDictionaries(victim_->segment);
      parts_.log->StartDraining(victim_->segment);
      parts_.counters->Add(Event::kScmSegmentReclaimed, BlockRole::kOther);
      break;
  }
  victim_.reset();
}

// Weighs a record in kWeigh. In kCool every record that was weighed pays as if it had been copied, hot or not.
void SegmentCleaner::Weigh(const record::Header& header, uint64_t offset) {
  const Index::Entry entry = parts_.index->FindLine(parts_.index->Hash(header.key), offset / kLineBytes);
  if (victim_->pass == Pass::kCool) {
    // One that only this life's hits tell from what an earlier one left, unchecked, keeps the last of them.
    const bool last_of_adopted = entry && entry.word.heat() == 1 && parts_.log->IsAdopted(victim_->segment);
    if (entry && !last_of_adopted) parts_.index->Cool(entry);
    return;
  }
  assert(victim_->pass == Pass::kWeigh);
  ++victim_->records;
  const bool hot = entry && !entry.word.dram() && entry.word.heat() >= log_rules::kRequeueHeat;
  if (hot && !IsDead(header)) ++victim_->hot;
}

bool SegmentCleaner::PickVictim(Mode mode, ShareId needs) {
  if (parts_.judge != nullptr) parts_.log->SetYoungPercent(parts_.judge->young_percent());
  const SegmentLog::Victim picked =
      mode == Mode::kMove ? parts_.log->TakeWithdrawn(level_)
                          : parts_.log->TakeVictim(/*pinned_too=*/mode == Mode::kDropPinned, needs, level_);
  if (picked.skipped_pinned != 0)
    parts_.counters->Add(Event::kScmSegmentSkippedPinned, BlockRole::kOther, picked.skipped_pinned);
  if (mode != Mode::kMove)
    pin_pressure_.store(4 * (picked.skipped_pinned + picked.draining) > picked.sealed, std::memory_order_relaxed);
  if (!picked.segment) return false;
  const bool weighed = mode == Mode::kSpare && picked.generation == Generation::kProven && !picked.sparse &&
                       requeue_percent_.load(std::memory_order_relaxed) != 0 &&
                       requeued_in_a_row_ < log_rules::kRequeuesInARowMax;
  victim_ = Victim{.segment = *picked.segment,
                   .generation = picked.generation,
                   .share = picked.share,
                   .is_reserved = parts_.log->owners().IsReserved(*picked.segment),
                   .pass = Pass::kWeigh};
  victim_->end = parts_.log->Tail(*picked.segment);
  StartPass(weighed ? Pass::kWeigh : Pass::kEmpty);
  return true;
}

// Whether the word's dram bit is the mark of an earlier life, whose DRAM tier held the block. This life's does not hold
// it; otherwise the mark would be gone.
bool SegmentCleaner::IsMark(IndexWord word) const {
  return word.dram() && word.heat() == 0 && parts_.log->IsAdopted(victim_->segment);
}

Fate SegmentCleaner::FateOf(const record::Header& header, IndexWord word, bool packable) const {
  const bool packed = record::IsPacked(header);
  const bool in_dram = word.dram() && !IsMark(word);
  if (in_dram && dram_goes_.load(std::memory_order_relaxed)) [[unlikely]]
    return Fate::kSpare;
  const bool demotable = MayDemote();
  Fate fate = SecondChance(word.heat(), packable, demotable);
  if (parts_.judge != nullptr) {
    fate = parts_.judge->Judge({.key = header.key,
                                .role = header.role,
                                .payload_bytes = header.payload_bytes,
                                .generation = victim_->generation,
                                .heat = static_cast<uint8_t>(word.heat()),
                                .in_dram = in_dram,
                                .packed = packed,
                                .packable = packable,
                                .demotable = demotable});
  }
  if ((in_dram && !packed) || (fate == Fate::kPack && !packable) || (fate == Fate::kDemote && !demotable))
    return Fate::kDrop;
  return fate;
}

void SegmentCleaner::Settle(uint64_t offset, record::Header header, Mode mode) {
  const KeyHash hash = parts_.index->Hash(header.key);
  const uint64_t bytes = layout::RecordBytes(header.payload_bytes);
  Index::Entry entry = parts_.index->FindLine(hash, offset / kLineBytes);
  const bool dead = IsDead(header);
  bool packable = entry && parts_.packer != nullptr && mode == Mode::kSpare && !dead &&
                  (header.flags & (layout::kRecordPacked | layout::kRecordRejected)) == 0 &&
                  parts_.packer->Wants(header.role, record::PayloadBytes(header));
  // Until it was replaced or erased.
  for (; entry; entry = parts_.index->FindLine(hash, offset / kLineBytes)) {
    const bool may_stay = (mode == Mode::kSpare || mode == Mode::kMove) && !dead;
    const Fate fate = may_stay ? FateOf(header, entry.word, packable) : Fate::kDrop;
    const bool must_move = fate == Fate::kSpare || victim_->is_reserved;
    const bool moves = mode == Mode::kMove && may_stay && (must_move || MovesUnjudged());
    // Nobody could tell the copy's mark from what this life's DRAM tier holds.
    if ((fate != Fate::kDrop || moves) && IsMark(entry.word)) entry.word = parts_.index->Touch(entry, /*heat=*/0);
    if (fate != Fate::kDrop && fate != Fate::kDemote && packable) {
      const Packing packing = Pack(offset, header, entry, fate);
      if (packing == Packing::kDone) return;
      packable = false;
      if (packing == Packing::kUseless) header.flags |= layout::kRecordRejected;
      if (packing != Packing::kNoRoom && fate == Fate::kPack) continue;  // judged again, as what it is
    }
    const bool spares = mode == Mode::kSpare && fate == Fate::kSpare && bytes <= survivor_credit_;
    const bool demotes = fate != Fate::kDrop && MayDemote();  // what cannot be spared, too
    if ((moves || spares || demotes) && !MayCopy(header, offset, entry)) return;
    const auto whom = must_move ? SegmentLog::For::kReclaim : SegmentLog::For::kWriter;
    if (moves && MoveOut(offset, header, entry, whom)) return;
    if (spares && Spare(offset, header, entry)) return;
    if (demotes && Demote(offset, header, entry)) return;
    if (parts_.index->Drop(entry) == Index::Outcome::kDone) {
      if (dead) return CountDead(parts_.counters, header);
      return parts_.counters->Add(Event::kScmDropped, header.role);
    }
    // Hit or erased between the look and the drop: it is judged again, by what is known now.
  }
}

// Whether a record may be copied. A copy is not told any more from what was stored in this life, so what no hit has
// checked is checked here. False: it was damaged, and is forgotten.
bool SegmentCleaner::MayCopy(const record::Header& header, uint64_t offset, Index::Entry entry) {
  if (entry.word.heat() != 0 || !parts_.log->IsAdopted(victim_->segment) ||
      record::PayloadIsWhole(record::HeaderAt(parts_.medium, offset), parts_.authenticator))
    return true;
  parts_.counters->Add(Event::kScmChecksumMismatch, header.role);
  parts_.index->RemoveRecord(entry);
  return false;
}

// Spares a record. False: there was no room for the copy, or it could not be made.
bool SegmentCleaner::Spare(uint64_t offset, const record::Header& header, Index::Entry entry) {
  const uint64_t bytes = layout::RecordBytes(header.payload_bytes);
  const auto to = ReserveAsProven(level_, bytes, victim_->share);
  if (!to || !Copy(offset, header, *to)) return false;
  assert(bytes <= survivor_credit_);
  survivor_credit_ -= bytes;
  parts_.counters->Add(Event::kScmSecondChance, header.role);
  parts_.counters->Add(Event::kScmSecondChanceBytes, header.role, bytes);
  (void)PointToCopy(entry, *to, /*heat_cost=*/1);
  return true;
}

// Demotes a record. As Spare.
bool SegmentCleaner::Demote(uint64_t offset, const record::Header& header, Index::Entry entry) {
  const uint64_t bytes = layout::RecordBytes(header.payload_bytes);
  const auto to = slower_->TakeIn(bytes, victim_->share);
  if (!to || !Copy(offset, header, *to)) return false;
  // Not so hot that it would rise again before it is hit there.
  const unsigned heat_cost = entry.word.heat() - std::min(entry.word.heat(), log_rules::kRaiseHeat - 1);
  if (!PointToCopy(entry, *to, heat_cost)) return true;
  parts_.counters->Add(Event::kScmDemoted, header.role);
  parts_.counters->Add(Event::kScmDemotedBytes, header.role, bytes);
  return true;
}

Level SegmentCleaner::LevelToMoveTo() const {
  if (parts_.log->space().IsInUse(level_)) return level_;
  return level_ == Level::kFast && parts_.log->has_slow() ? Level::kSlow : Level::kFast;
}

// Whether what lies in a withdrawn segment moves unjudged: it displaces nothing, as more is free than reclaim keeps
// free for writers.
bool SegmentCleaner::MovesUnjudged() const {
  const Level level = LevelToMoveTo();
  return parts_.log->space().free_segments(level) >
         log_rules::FreeKept(parts_.log->writer_lanes(level)) + log_rules::kFreeToMove;
}

// Moves a record of a withdrawn segment as it is. As Spare. For kReclaim it may take the last free segment, and go
// beyond the maximum of a share, which is less now.
bool SegmentCleaner::MoveOut(uint64_t offset, const record::Header& header, Index::Entry entry, SegmentLog::For whom) {
  const uint64_t bytes = layout::RecordBytes(header.payload_bytes);
  const auto to = Reserve(LevelToMoveTo(), victim_->generation, bytes, victim_->share, whom);
  if (!to || !Copy(offset, header, *to)) return false;
  parts_.counters->Add(Event::kScmSecondChance, header.role);
  parts_.counters->Add(Event::kScmSecondChanceBytes, header.role, bytes);
  (void)PointToCopy(entry, *to, /*heat_cost=*/0);
  return true;
}

// Makes the index name the copy, and ends its reservation. False: the record was erased or replaced meanwhile.
bool SegmentCleaner::PointToCopy(Index::Entry entry, const SegmentLog::Reservation& to, unsigned heat_cost) {
  MEZZ_TEST_POINT("reclaim.before_move");
  const bool moved = parts_.index->Move(entry, to.place.offset / kLineBytes, heat_cost) == Index::Outcome::kDone;
  MEZZ_TEST_POINT("reclaim.moved");
  parts_.log->Leave(to);
  return moved;
}

// Reserves space for a record that the faster level demotes, and cleans a little more than that.
std::optional<SegmentLog::Reservation> SegmentCleaner::TakeIn(uint64_t bytes, ShareId share) {
  const uint32_t free = parts_.log->space().free_segments(level_);
  const bool urgent = free <= 1 || parts_.log->owners().IsFull(share, level_);
  if (urgent || free <= 2) Work(bytes * (urgent ? log_rules::kPaceUrgent : log_rules::kPaceCalm), Mode::kSpare, share);
  return Reserve(level_, Generation::kYoung, bytes, share, SegmentLog::For::kWriter);
}

// Packs a record. Its bytes are checked first, as packing would give damaged bytes a good checksum.
SegmentCleaner::Packing SegmentCleaner::Pack(uint64_t offset, const record::Header& header, Index::Entry entry,
                                             Fate fate) {
  if (parts_.emulation != nullptr) parts_.emulation->ChargeStreamRead(offset, header.payload_bytes);
  if (!record::PayloadIsWhole(record::HeaderAt(parts_.medium, offset), parts_.authenticator)) {
    LogReader(parts_.medium, parts_.log, parts_.counters).NoteMismatch(header.role, entry.word);
    parts_.index->RemoveRecord(entry);
    return Packing::kDone;
  }
  std::span<const std::byte> payload;
  if (record::SteadyBytes({parts_.medium.base() + offset + sizeof(record::Header), record::PayloadBytes(header)},
                          &payload) != record::Steady::kHere)
    return Packing::kNoMemory;  // or the copy finds out what it is
  const PackedBlock packed = parts_.packer->Pack(header.role, payload, record::StoredChecksum(header));
  if (packed.outcome() == PackedBlock::Outcome::kRejected) return Packing::kUseless;
  if (packed.outcome() != PackedBlock::Outcome::kPacked) return Packing::kNoMemory;
  const uint64_t bytes = record::BytesFor(packed.bytes().size(), parts_.authenticator);
  const auto to = bytes <= survivor_credit_ ? ReserveForPacked(bytes, fate) : std::nullopt;
  if (!to) return Packing::kNoRoom;
  survivor_credit_ -= bytes;
  if (!record::Write(parts_.medium, to->place, header.key, header.role, packed.bytes().size(),
                     SpanSource{packed.bytes()}, layout::kRecordPacked, parts_.authenticator)) {
    parts_.log->Leave(*to);
    return Packing::kNoRoom;
  }
  if (packed.dictionary() != 0) parts_.log->kept_dictionaries().Keep(to->segment, packed.dictionary());
  if (parts_.emulation != nullptr) parts_.emulation->ChargeWrite(to->place.offset, bytes);
  parts_.counters->Add(fate == Fate::kSpare ? Event::kScmSecondChance : Event::kScmPackedAtReclaim, header.role);
  if (fate == Fate::kSpare) parts_.counters->Add(Event::kScmSecondChanceBytes, header.role, bytes);
  parts_.counters->Add(Event::kScmWrittenBytes, header.role, bytes);
  (void)PointToCopy(entry, *to, fate == Fate::kSpare ? 1 : 0);
  return Packing::kDone;
}

std::optional<SegmentLog::Reservation> SegmentCleaner::Reserve(Level level, Generation generation, uint64_t bytes,
                                                               ShareId share, SegmentLog::For whom) {
  const unsigned lane = parts_.log->LaneOf(share, generation, level);
  auto to = parts_.log->Reserve(lane, bytes);
  if (!to && parts_.log->Advance(lane, bytes, whom)) to = parts_.log->Reserve(lane, bytes);
  return to;
}

std::optional<SegmentLog::Reservation> SegmentCleaner::ReserveAsProven(Level level, uint64_t bytes, ShareId share) {
  return Reserve(level, Generation::kProven, bytes, share, SegmentLog::For::kReclaim);
}

// Reserves space for a packed record. Young ones share a lane with writers, and its next segment too. The last free
// segment stays for the proven.
std::optional<SegmentLog::Reservation> SegmentCleaner::ReserveForPacked(uint64_t bytes, Fate fate) {
  const ShareId share = victim_->share;
  if (fate == Fate::kSpare || victim_->generation == Generation::kProven) return ReserveAsProven(level_, bytes, share);
  const auto to = Reserve(level_, Generation::kYoung, bytes, share, SegmentLog::For::kWriter);
  return to ? to : ReserveAsProven(level_, bytes, share);
}

// Copies a record to space that was reserved. False: it cannot be read, and the space was given back.
bool SegmentCleaner::Copy(uint64_t offset, const record::Header& header, const SegmentLog::Reservation& to) {
  if (!record::Copy(parts_.medium, offset, header, to.place)) {
    parts_.log->Leave(to);
    return false;
  }
  const uint64_t bytes = layout::RecordBytes(header.payload_bytes);
  parts_.counters->Add(Event::kScmWrittenBytes, header.role, bytes);
  if (record::IsPacked(header)) KeepDictionary(offset, to.segment);
  if (parts_.emulation != nullptr) {
    parts_.emulation->ChargeStreamRead(offset, bytes);
    parts_.emulation->ChargeWrite(to.place.offset, bytes);
  }
  return true;
}

// Makes the segment `to`, where the copy goes, keep the record's dictionary. If the record's own segment does not keep
// it, the record is damaged, and its copy will be a miss too.
void SegmentCleaner::KeepDictionary(uint64_t offset, SegmentId to) {
  std::optional<layout::PackedPrefix> prefix;
  const bool read =
      BusErrors::Try([&] { prefix = Packer::ReadPrefix(record::PayloadOf(record::HeaderAt(parts_.medium, offset))); });
  if (read && prefix && parts_.log->kept_dictionaries().Keeps(victim_->segment, prefix->dictionary))
    parts_.log->kept_dictionaries().Keep(to, prefix->dictionary);
}

void SegmentCleaner::RewriteDictionaries(SegmentId lost) {
  for (unsigned slot = 0; parts_.dictionaries != nullptr && slot < Dictionaries::kSlots; ++slot) {
    const Dictionaries::Lease dictionary =
        parts_.dictionaries->Take(slot);  // so the place is not another's in a moment
    if (!dictionary) continue;
    const uint64_t place = parts_.dictionaries->place(slot);
    if (place == 0) parts_.dictionaries->CallTrainer();  // there may be room now
    if (place == 0 || parts_.log->SegmentAt(place) != lost) continue;
    // A tier that is switched off keeps none; and it would not end.
    const auto to = parts_.log->space().limit() == 0
                        ? std::nullopt
                        : ReserveAsProven(LevelToMoveTo(), parts_.dictionaries->RecordBytes(*dictionary), kNoShare);
    if (!to) {
      parts_.dictionaries->LosePlace(slot);
      continue;
    }
    if (!parts_.dictionaries->Write(*dictionary, parts_.medium, to->place, parts_.emulation, parts_.counters))
      parts_.dictionaries->LosePlace(slot);
    parts_.log->kept_dictionaries().CheckPlaces();
    parts_.log->Leave(*to);
  }
}

// Forgets all words of the segment that the index still has: the medium lost a header, so the walk cannot go on.
void SegmentCleaner::ForgetRest() {
  parts_.counters->Add(Event::kScmDamagedHeader, BlockRole::kOther);
  // A look-up may have told of the same header.
  if (!parts_.log->IsAdopted(victim_->segment) && !parts_.log->faults().HadOne(victim_->segment))
    parts_.log->faults().Note(victim_->segment);
  ForgetIf([this](SegmentId id) { return id == victim_->segment; });
  victim_->cursor = victim_->end;
}

}  // namespace mezz
