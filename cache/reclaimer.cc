// SPDX-License-Identifier: Apache-2.0
#include "cache/reclaimer.h"

#include <algorithm>
#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "cache/log_rules.h"

namespace mezz {
namespace {

uint16_t HeaderChecksum(const layout::RecordHeader& header) {
  return static_cast<uint16_t>(
      XXH3_64bits_withSeed(&header, offsetof(layout::RecordHeader, checksum), layout::kChecksumSeed));
}

}  // namespace

std::optional<layout::RecordHeader> ReadRecordHeader(const Medium& medium, uint64_t offset, uint32_t sequence) {
  layout::RecordHeader header;
  std::memcpy(&header, medium.base() + offset, sizeof(header));
  if (header.sequence != sequence || header.checksum != HeaderChecksum(header)) return std::nullopt;
  return header;
}

void SealRecordHeader(layout::RecordHeader* header) { header->checksum = HeaderChecksum(*header); }

uint32_t PayloadChecksum(const void* payload, size_t bytes) {
  return static_cast<uint32_t>(XXH3_64bits_withSeed(payload, bytes, layout::kChecksumSeed));
}

Reclaimer::Reclaimer(const Medium& medium, SegmentLog* log, Index* index, Counters* counters, Throttle* throttle,
                     std::atomic<int64_t>* resident_blocks, SurvivorJudge* judge)
    : medium_(medium),
      log_(log),
      index_(index),
      counters_(counters),
      throttle_(throttle),
      resident_blocks_(resident_blocks),
      judge_(judge),
      survivor_credit_(log->segment_bytes()) {}

void Reclaimer::Step(uint64_t bytes) {
  // One segment is reclaim's reserve, each writer lane wants one ready.
  const uint32_t enough = 1 + (log_->lanes() - 1);
  const uint32_t free = log_->free_segments();
  if (free > enough && log_->draining_segments() == 0) return;
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  if (log_->draining_segments() != 0) log_->CollectDrained();
  if (free <= enough) WorkLocked(bytes * (free <= 1 ? log_rules::kPaceUrgent : log_rules::kPaceCalm), /*spare=*/true);
}

bool Reclaimer::MakeRoom() {
  std::lock_guard lock(mutex_);
  for (uint32_t tries = 0; tries < 2 * log_->segments(); ++tries) {
    log_->CollectDrained();
    if (log_->free_segments() > 1) return true;
    if (!WorkLocked(UINT64_MAX, /*spare=*/true)) return false;
  }
  return false;
}

void Reclaimer::ShrinkTo(uint32_t segments) {
  std::lock_guard lock(mutex_);
  log_->CollectDrained();
  while (log_->LimitTo(segments) != 0) {
    if (segments == 0) log_->SealAll();
    if (!WorkLocked(UINT64_MAX, /*spare=*/false)) return;
  }
}

bool Reclaimer::PinPressure() {
  constexpr uint32_t kRecountEvery = 1024;
  if (!pin_pressure_.load(std::memory_order_relaxed)) return false;
  if (asked_under_pressure_.fetch_add(1, std::memory_order_relaxed) % kRecountEvery != kRecountEvery - 1) return true;
  const uint32_t unused = log_->free_segments() + log_->parked_segments();
  const bool pressure = 4 * log_->PinnedSegments() + unused > log_->segments();
  pin_pressure_.store(pressure, std::memory_order_relaxed);
  return pressure;
}

// Walks up to `bytes` of a victim. False: there is none to walk.
bool Reclaimer::WorkLocked(uint64_t bytes, bool spare) {
  if (!victim_ && !PickVictimLocked()) return false;
  const uint32_t sequence = static_cast<uint32_t>(log_->Sequence(victim_->segment));
  uint64_t walked = 0;
  while (walked < bytes && victim_->cursor < victim_->end) {
    const uint64_t offset = victim_->cursor;
    const auto header = ReadRecordHeader(medium_, offset, sequence);
    if (throttle_ != nullptr) throttle_->ChargeLines(1);
    if (!header || layout::RecordBytes(header->payload_bytes) > victim_->end - offset) {
      ForgetRestLocked();
      break;
    }
    if ((header->flags & layout::kRecordVoid) == 0) SettleLocked(offset, *header, spare);
    victim_->cursor += layout::RecordBytes(header->payload_bytes);
    walked += layout::RecordBytes(header->payload_bytes);
  }
  if (victim_->cursor >= victim_->end) {
    log_->StartDraining(victim_->segment);
    counters_->Add(Event::kScmSegmentReclaimed, BlockRole::kOther);
    victim_.reset();
  }
  return true;
}

bool Reclaimer::PickVictimLocked() {
  const SegmentLog::Victim picked = log_->TakeVictim();
  if (picked.skipped_pinned != 0)
    counters_->Add(Event::kScmSegmentSkippedPinned, BlockRole::kOther, picked.skipped_pinned);
  pin_pressure_.store(4 * (picked.skipped_pinned + log_->draining_segments()) > picked.sealed,
                      std::memory_order_relaxed);
  if (!picked.segment) return false;
  victim_ = Victim{*picked.segment, picked.generation, log_->FirstRecord(*picked.segment), log_->Tail(*picked.segment)};
  survivor_credit_ = std::min(survivor_credit_ + log_->segment_bytes() / log_rules::kSurvivorShareDenominator *
                                                     log_rules::kSurvivorShareNumerator,
                              log_rules::kCreditMaxSegments * log_->segment_bytes());
  return true;
}

bool Reclaimer::Spares(const layout::RecordHeader& header, IndexWord word) const {
  if (judge_ == nullptr) return word.heat() > 0 && !word.dram();
  const bool spares = judge_->Spare({.key = header.key,
                                     .role = header.role,
                                     .payload_bytes = header.payload_bytes,
                                     .generation = victim_->generation,
                                     .heat = static_cast<uint8_t>(word.heat()),
                                     .in_dram = word.dram()});
  return spares && !word.dram();
}

void Reclaimer::SettleLocked(uint64_t offset, const layout::RecordHeader& header, bool spare) {
  const KeyHash hash = index_->Hash(header.key);
  const uint64_t bytes = layout::RecordBytes(header.payload_bytes);
  for (;;) {
    IndexWord word;
    Index::Slot* slot = index_->FindRecord(hash, offset / kLineBytes, &word);
    if (slot == nullptr) return;  // replaced or erased since
    if (spare && Spares(header, word) && bytes <= survivor_credit_ && SpareLocked(offset, header, slot, word)) return;
    uint64_t expected = word.raw();
    if (slot->compare_exchange_strong(expected, 0, std::memory_order_seq_cst, std::memory_order_relaxed)) {
      resident_blocks_->fetch_sub(1, std::memory_order_relaxed);
      counters_->Add(Event::kScmDropped, header.role);
      return;
    }
    // Hit or erased between the load and the exchange: it is judged again, by what is known now.
  }
}

// True: the record lives on elsewhere, or was erased while it was copied. False: no room to copy it to.
bool Reclaimer::SpareLocked(uint64_t offset, const layout::RecordHeader& header, Index::Slot* slot, IndexWord word) {
  const auto copy = CopyLocked(offset, header);
  if (!copy) return false;
  const uint64_t bytes = layout::RecordBytes(header.payload_bytes);
  survivor_credit_ -= bytes;
  counters_->Add(Event::kScmSecondChance, header.role);
  counters_->Add(Event::kScmSecondChanceBytes, header.role, bytes);
  counters_->Add(Event::kScmWrittenBytes, header.role, bytes);
  for (IndexWord seen = word; seen.SameRecord(word);) {
    uint64_t expected = seen.raw();
    const unsigned heat = seen.heat() > 0 ? seen.heat() - 1 : 0;
    const IndexWord moved = IndexWord::Make(word.tag(), copy->offset / kLineBytes, seen.dram(), heat);
    if (slot->compare_exchange_strong(expected, moved.raw(), std::memory_order_seq_cst, std::memory_order_acquire))
      break;
    seen = IndexWord(expected);
  }
  log_->Unpin(copy->segment);
  return true;
}

std::optional<SegmentLog::Reservation> Reclaimer::CopyLocked(uint64_t offset, const layout::RecordHeader& header) {
  const uint64_t bytes = layout::RecordBytes(header.payload_bytes);
  auto to = log_->Reserve(log_->proven_lane(), bytes);
  if (!to && log_->Advance(log_->proven_lane(), bytes, SegmentLog::For::kReclaim))
    to = log_->Reserve(log_->proven_lane(), bytes);
  if (!to) return std::nullopt;
  std::byte* const from = medium_.base() + offset;
  alignas(kLineBytes) std::byte first_line[kLineBytes];
  std::memcpy(first_line, from, kLineBytes);
  layout::RecordHeader renewed = header;
  renewed.sequence = to->sequence;
  SealRecordHeader(&renewed);
  std::memcpy(first_line, &renewed, sizeof(renewed));
  medium_.Stream(medium_.base() + to->offset, first_line, kLineBytes);
  if (bytes > kLineBytes)
    medium_.Stream(medium_.base() + to->offset + kLineBytes, from + kLineBytes, bytes - kLineBytes);
  medium_.Drain();
  if (throttle_ != nullptr) {
    throttle_->ChargeStreamRead(bytes);
    throttle_->ChargeWrite(bytes);
  }
  return to;
}

// The medium lost a header, so the walk cannot go on: whatever the index still has of this segment is forgotten.
void Reclaimer::ForgetRestLocked() {
  counters_->Add(Event::kScmDamagedHeader, BlockRole::kOther);
  for (uint64_t i = 0; i < index_->slots(); ++i) {
    Index::Slot& slot = index_->slot(i);
    uint64_t raw = slot.load(std::memory_order_acquire);
    while (raw != 0 && log_->SegmentAt(IndexWord(raw).line() * kLineBytes) == victim_->segment) {
      if (!slot.compare_exchange_weak(raw, 0, std::memory_order_seq_cst, std::memory_order_acquire)) continue;
      resident_blocks_->fetch_sub(1, std::memory_order_relaxed);
      counters_->Add(Event::kScmDropped, BlockRole::kOther);
      break;
    }
  }
  victim_->cursor = victim_->end;
}

}  // namespace mezz
