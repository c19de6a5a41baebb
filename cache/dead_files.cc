// SPDX-License-Identifier: Apache-2.0
#include "cache/dead_files.h"

#include <algorithm>
#include <cassert>
#include <mutex>

namespace mezz {

void DeadFiles::Add(FileId file) {
  if (file == FileId{0} || Has(file)) return;
  const std::lock_guard lock(mutex_);
  if (Has(file)) return;  // by another thread
  Line& line = lines_[LineOf(file)];
  const auto empty = std::ranges::find_if(
      line.words, [](const Atomic<uint64_t>& word) { return word.load(std::memory_order_relaxed) == 0; });
  uint8_t& oldest = oldest_[LineOf(file)];
  Atomic<uint64_t>& word = empty != line.words.end() ? *empty : line.words[oldest];
  if (empty == line.words.end()) oldest = (oldest + 1) % line.words.size();
  if (word.exchange(static_cast<uint64_t>(file), std::memory_order_relaxed) == 0)
    count_.fetch_add(1, std::memory_order_relaxed);
  counters_->Add(Event::kScmFileForgotten, BlockRole::kOther);
  slots_left_.store(index_->slots(), std::memory_order_relaxed);
}

void DeadFiles::Revive(FileId file) {
  for (Atomic<uint64_t>& word : lines_[LineOf(file)].words) {
    auto expected = static_cast<uint64_t>(file);
    if (word.load(std::memory_order_relaxed) != expected ||
        !word.compare_exchange_strong(expected, 0, std::memory_order_relaxed, std::memory_order_relaxed))
      continue;
    count_.fetch_sub(1, std::memory_order_relaxed);
    counters_->Add(Event::kScmFileRevived, BlockRole::kOther);
  }
}

void DeadFiles::Step(uint64_t bytes) {
  if (slots_left_.load(std::memory_order_relaxed) == 0) return;
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  const uint64_t left = slots_left_.load(std::memory_order_relaxed);
  const uint64_t due = std::min(left, SlotsFor(bytes));
  for (uint64_t done = 0; done < due; done += kSlotsAtOnce) WalkLocked(std::min(due - done, kSlotsAtOnce));
  slots_left_.store(left - due, std::memory_order_relaxed);
}

uint64_t DeadFiles::SlotsFor(uint64_t bytes) const {
  const uint64_t turn = std::max(uint64_t{1}, log_->space().limit() * log_->segment_bytes());
  return std::max(kSlotsAtOnce, (index_->slots() * kRoundsPerTurn * bytes + turn - 1) / turn);
}

void DeadFiles::WalkLocked(uint64_t count) {
  size_t records = 0;
  uint64_t one_offset = 0;
  // All headers are on their way before the first is looked at: they depend on nothing but their words.
  for (uint64_t i = 0; i < count; ++i) {
    const IndexWord word = index_->At((next_slot_ + i) % index_->slots()).word;
    if (word.empty()) continue;
    __builtin_prefetch(&reader_.HeaderOf(word));
    one_offset = word.line() * kLineBytes;
    ++records;
  }
  if (emulation_ != nullptr && records != 0) emulation_->ChargeScatteredLines(one_offset, records);
  for (uint64_t i = 0; i < count; ++i) {
    Visit(next_slot_);
    next_slot_ = (next_slot_ + 1) % index_->slots();
  }
}

void DeadFiles::Visit(uint64_t slot) {
  index_->VisitPinned(slot, reader_, [&](IndexWord word) {
    const record::Header& header = reader_.HeaderOf(word);
    if (!Has(header.key.file()) || index_->RemoveRecord({slot, word}) != Index::Outcome::kDone) return;
    CountDead(counters_, header);
    log_->NoteDead(reader_.SegmentOf(word), layout::RecordBytes(header.payload_bytes));
  });
}

}  // namespace mezz
