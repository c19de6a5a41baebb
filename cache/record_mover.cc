// SPDX-License-Identifier: Apache-2.0
#include "cache/record_mover.h"

#include <cassert>

#include "cache/log_reader.h"

namespace mezz {

// Of the bytes in use: a segment with a large record that did not fit may hold half of what another does.
void RecordMover::AddCredit(uint64_t bytes) {
  credit_ = std::min(credit_ + bytes / log_rules::kSurvivorShareDenominator * log_rules::kSurvivorShareNumerator,
                     log_rules::kCreditMaxSegments * parts_.log->segment_bytes());
}

bool RecordMover::MayCopy(const Record& from) const {
  if (from.entry.word.heat() != 0 || !parts_.log->IsAdopted(from.segment) ||
      record::PayloadIsWhole(record::HeaderAt(parts_.medium, from.offset), parts_.authenticator))
    return true;
  parts_.counters->Add(Event::kScmChecksumMismatch, from.header.role);
  parts_.index->RemoveRecord(from.entry);
  return false;
}

void RecordMover::CountSpared(BlockRole role, uint64_t bytes) {
  parts_.counters->Add(Event::kScmSecondChance, role);
  parts_.counters->Add(Event::kScmSecondChanceBytes, role, bytes);
}

bool RecordMover::Spare(const Record& from) {
  const auto to = ReserveAsProven(level_, from.bytes(), from.share);
  if (!to || !Copy(from, *to)) return false;
  assert(HasCredit(from.bytes()));
  credit_ -= from.bytes();
  CountSpared(from.header.role, from.bytes());
  (void)PointToCopy(from.entry, *to, /*heat_cost=*/1);
  return true;
}

bool RecordMover::MoveOut(const Record& from, SegmentLog::For whom) {
  const auto to = Reserve(LevelToMoveTo(), from.generation, from.bytes(), from.share, whom);
  if (!to || !Copy(from, *to)) return false;
  CountSpared(from.header.role, from.bytes());
  (void)PointToCopy(from.entry, *to, /*heat_cost=*/0);
  return true;
}

bool RecordMover::Demote(const Record& from, const std::optional<SegmentLog::Reservation>& to) {
  if (!to || !Copy(from, *to)) return false;
  // Not so hot that it would rise again before it is hit there.
  const unsigned heat = from.entry.word.heat(), heat_cost = heat - std::min(heat, log_rules::kRaiseHeat - 1);
  if (!PointToCopy(from.entry, *to, heat_cost)) return true;
  parts_.counters->Add(Event::kScmDemoted, from.header.role);
  parts_.counters->Add(Event::kScmDemotedBytes, from.header.role, from.bytes());
  return true;
}

Level RecordMover::LevelToMoveTo() const {
  if (parts_.log->space().IsInUse(level_)) return level_;
  return level_ == Level::kFast && parts_.log->has_slow() ? Level::kSlow : Level::kFast;
}

bool RecordMover::MovesUnjudged() const {
  const Level level = LevelToMoveTo();
  return parts_.log->space().free_segments(level) >
         log_rules::FreeKept(parts_.log->writer_lanes(level)) + log_rules::kFreeToMove;
}

// Makes the index name the copy, and ends its reservation. False: the record was erased or replaced meanwhile.
bool RecordMover::PointToCopy(Index::Entry entry, const SegmentLog::Reservation& to, unsigned heat_cost) {
  MEZZ_TEST_POINT("reclaim.before_move");
  const bool moved = parts_.index->Move(entry, to.place.offset / kLineBytes, heat_cost) == Index::Outcome::kDone;
  MEZZ_TEST_POINT("reclaim.moved");
  parts_.log->Leave(to);
  return moved;
}

// The bytes are checked first, as packing would give damaged bytes a good checksum.
RecordMover::Packing RecordMover::Pack(const Record& from, Fate fate) {
  const uint64_t offset = from.offset;
  const record::Header& header = from.header;
  if (parts_.emulation != nullptr) parts_.emulation->ChargeStreamRead(offset, header.payload_bytes);
  if (!record::PayloadIsWhole(record::HeaderAt(parts_.medium, offset), parts_.authenticator)) {
    LogReader(parts_.medium, parts_.log, parts_.counters).NoteMismatch(header.role, from.entry.word);
    parts_.index->RemoveRecord(from.entry);
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
  const auto to = HasCredit(bytes) ? ReserveForPacked(from, bytes, fate) : std::nullopt;
  if (!to) return Packing::kNoRoom;
  credit_ -= bytes;
  if (!record::Write(parts_.medium, to->place, header.key, header.role, packed.bytes().size(),
                     SpanSource{packed.bytes()}, layout::kRecordPacked, parts_.authenticator)) {
    parts_.log->Leave(*to);
    return Packing::kNoRoom;
  }
  if (packed.dictionary() != 0) parts_.log->kept_dictionaries().Keep(to->segment, packed.dictionary());
  if (parts_.emulation != nullptr) parts_.emulation->ChargeWrite(to->place.offset, bytes);
  if (fate == Fate::kSpare) {
    CountSpared(header.role, bytes);
  } else {
    parts_.counters->Add(Event::kScmPackedAtReclaim, header.role);
  }
  parts_.counters->Add(Event::kScmWrittenBytes, header.role, bytes);
  (void)PointToCopy(from.entry, *to, fate == Fate::kSpare ? 1 : 0);
  return Packing::kDone;
}

std::optional<SegmentLog::Reservation> RecordMover::Reserve(Level level, Generation generation, uint64_t bytes,
                                                            ShareId share, SegmentLog::For whom) {
  const unsigned lane = parts_.log->LaneOf(share, generation, level);
  auto to = parts_.log->Reserve(lane, bytes);
  if (!to && parts_.log->Advance(lane, bytes, whom)) to = parts_.log->Reserve(lane, bytes);
  return to;
}

// Reserves space for a packed record. Young ones share a lane with writers, and its next segment too. The last free
// segment stays for the proven.
std::optional<SegmentLog::Reservation> RecordMover::ReserveForPacked(const Record& from, uint64_t bytes, Fate fate) {
  if (fate == Fate::kSpare || from.generation == Generation::kProven) return ReserveAsProven(level_, bytes, from.share);
  const auto to = ReserveYoung(bytes, from.share);
  return to ? to : ReserveAsProven(level_, bytes, from.share);
}

// Copies a record to space that was reserved. False: it cannot be read, and the space was given back.
bool RecordMover::Copy(const Record& from, const SegmentLog::Reservation& to) {
  if (!record::Copy(parts_.medium, from.offset, from.header, to.place)) {
    parts_.log->Leave(to);
    return false;
  }
  parts_.counters->Add(Event::kScmWrittenBytes, from.header.role, from.bytes());
  if (record::IsPacked(from.header)) KeepDictionary(from, to.segment);
  if (parts_.emulation != nullptr) {
    parts_.emulation->ChargeStreamRead(from.offset, from.bytes());
    parts_.emulation->ChargeWrite(to.place.offset, from.bytes());
  }
  return true;
}

// Makes the segment `to`, where the copy goes, keep the record's dictionary. If the record's own segment does not keep
// it, the record is damaged, and its copy will be a miss too.
void RecordMover::KeepDictionary(const Record& from, SegmentId to) {
  std::optional<layout::PackedPrefix> prefix;
  const bool read = BusErrors::Try(
      [&] { prefix = Packer::ReadPrefix(record::PayloadOf(record::HeaderAt(parts_.medium, from.offset))); });
  if (read && prefix && parts_.log->kept_dictionaries().Keeps(from.segment, prefix->dictionary))
    parts_.log->kept_dictionaries().Keep(to, prefix->dictionary);
}

void RecordMover::RewriteDictionaries(SegmentId lost) {
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

}  // namespace mezz
