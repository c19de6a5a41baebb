// SPDX-License-Identifier: Apache-2.0
#include "cache/segment_cleaner.h"

#include <algorithm>
#include <cassert>

#include "cache/log_rules.h"

namespace mezz {

SegmentCleaner::SegmentCleaner(const CleanerParts& parts, Level level, SegmentCleaner* slower)
    : parts_(parts), level_(level), slower_(slower), mover_(parts_, level) {}

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
  mover_.AddCredit(victim_->end - victim_->cursor);
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

void SegmentCleaner::Settle(uint64_t offset, const record::Header& header, Mode mode) {
  const KeyHash hash = parts_.index->Hash(header.key);
  RecordMover::Record from{.segment = victim_->segment,
                           .generation = victim_->generation,
                           .share = victim_->share,
                           .offset = offset,
                           .header = header};
  from.entry = parts_.index->FindLine(hash, offset / kLineBytes);
  const bool dead = IsDead(header);
  bool packable = from.entry && parts_.packer != nullptr && mode == Mode::kSpare && !dead &&
                  (header.flags & (layout::kRecordPacked | layout::kRecordRejected)) == 0 &&
                  parts_.packer->Wants(header.role, record::PayloadBytes(header));
  // Until it was replaced or erased.
  for (; from.entry; from.entry = parts_.index->FindLine(hash, offset / kLineBytes)) {
    const bool may_stay = (mode == Mode::kSpare || mode == Mode::kMove) && !dead;
    const Fate fate = may_stay ? FateOf(from.header, from.entry.word, packable) : Fate::kDrop;
    const bool must_move = fate == Fate::kSpare || victim_->is_reserved;
    const bool moves = mode == Mode::kMove && may_stay && (must_move || mover_.MovesUnjudged());
    // Nobody could tell the copy's mark from what this life's DRAM tier holds.
    if ((fate != Fate::kDrop || moves) && IsMark(from.entry.word))
      from.entry.word = parts_.index->Touch(from.entry, /*heat=*/0);
    if (fate != Fate::kDrop && fate != Fate::kDemote && packable) {
      const RecordMover::Packing packing = mover_.Pack(from, fate);
      if (packing == RecordMover::Packing::kDone) return;
      packable = false;
      if (packing == RecordMover::Packing::kUseless) from.header.flags |= layout::kRecordRejected;
      // Judged again, as what it is.
      if (packing != RecordMover::Packing::kNoRoom && fate == Fate::kPack) continue;
    }
    const bool spares = mode == Mode::kSpare && fate == Fate::kSpare && mover_.HasCredit(from.bytes());
    const bool demotes = fate != Fate::kDrop && MayDemote();  // what cannot be spared, too
    if ((moves || spares || demotes) && !mover_.MayCopy(from)) return;
    const auto whom = must_move ? SegmentLog::For::kReclaim : SegmentLog::For::kWriter;
    if (moves && mover_.MoveOut(from, whom)) return;
    if (spares && mover_.Spare(from)) return;
    if (demotes && mover_.Demote(from, slower_->TakeIn(from.bytes(), from.share))) return;
    if (parts_.index->Drop(from.entry) == Index::Outcome::kDone) {
      if (dead) return CountDead(parts_.counters, header);
      return parts_.counters->Add(Event::kScmDropped, header.role);
    }
    // Hit or erased between the look and the drop: it is judged again, by what is known now.
  }
}

// Reserves space for a record that the faster level demotes, and cleans a little more than that.
std::optional<SegmentLog::Reservation> SegmentCleaner::TakeIn(uint64_t bytes, ShareId share) {
  const uint32_t free = parts_.log->space().free_segments(level_);
  const bool urgent = free <= 1 || parts_.log->owners().IsFull(share, level_);
  if (urgent || free <= 2) Work(bytes * (urgent ? log_rules::kPaceUrgent : log_rules::kPaceCalm), Mode::kSpare, share);
  return mover_.ReserveYoung(bytes, share);
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
