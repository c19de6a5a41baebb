// SPDX-License-Identifier: Apache-2.0
#include "cache/snapshot_restorer.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <span>
#include <string_view>

#include "cache/base/atomic.h"
#include "cache/base/in_parallel.h"
#include "cache/log_reader.h"
#include "cache/log_scan.h"
#include "cache/media/bus_errors.h"

namespace mezz {
namespace {

constexpr const char* kThreadName = "mezz-restore";
constexpr std::string_view kContradiction = "contradicts the medium";
constexpr size_t kHeadersAThread = 1024;  // fewer do not repay the thread

}  // namespace

SnapshotRestorer::SnapshotRestorer(const SnapshotOf& of, const layout::Superblock& superblock, Counters* counters)
    : of_(of),
      counters_(counters),
      superblock_(superblock),
      reader_({of.medium.base(), of.medium.bytes()}, superblock),
      dictionaries_(of.medium, of.log, of.dictionaries) {}

std::string SnapshotRestorer::Prepare() {
  MEZZ_TEST_POINT("opening.prepares_snapshot");
  if (std::string wrong = reader_.CheckHead(); !wrong.empty()) return wrong;
  const layout::SnapshotHead& head = reader_.head();
  if (head.pack != static_cast<uint8_t>(of_.pack) || head.has_dictionaries != (of_.dictionaries != nullptr ? 1 : 0))
    return "was written with other options of packing";
  SegmentLog& log = *of_.log;
  std::vector<SegmentLog::Fill> awaiting;
  std::vector<bool> listed(log.segments());
  const auto list = [&](const SegmentLog::Fill& fill) {
    const uint32_t id = Raw(fill.segment);
    if (id >= listed.size() || listed[id] || log.state(fill.segment) != SegmentLog::State::kUnready) return false;
    listed[id] = true;
    awaiting.push_back(fill);
    return true;
  };
  for (const SnapshotReader::Chunk& chunk : reader_.chunks()) {
    if (!list({.segment = chunk.segment})) return std::string(kContradiction);
  }
  for (const layout::SnapshotFill& described : reader_.fills()) {
    const SegmentLog::Fill fill{.segment = SegmentId{described.segment},
                                .sequence = described.sequence,
                                .tail = described.tail,
                                .dead = described.dead,
                                .dictionaries = described.dictionaries};
    const uint64_t end = (uint64_t{described.segment} + 1) * log.segment_bytes();
    if (described.dead > log.segment_bytes() || fill.tail > end || fill.tail % kLineBytes != 0 || !list(fill) ||
        fill.tail < log.FirstRecord(fill.segment))
      return std::string(kContradiction);
    fills_.push_back(fill);
  }
  reader_.ForgetFills();
  if (log.segments() - log.tombstone_segments().count() < fills_.size() + SegmentsBeside(log, reader_.chunks().size()))
    return "leaves too little room to write";
  if (!of_.index->TakeShape({head.groups, head.members, head.growth})) return "is of an index of another size";
  if (head.slots != of_.index->slots()) {
    of_.index->LetGrow();
    return std::string(kContradiction);
  }
  log.awaiting().Await(awaiting, /*keep=*/true);
  return {};
}

std::string SnapshotRestorer::Check() {
  MEZZ_TEST_POINT("recovery.checks_snapshot");
  if (std::string wrong = CheckChunks(); !wrong.empty()) return wrong;
  if (!ConfirmFills()) return std::string(kContradiction);
  kept_.emplace(*of_.log, fills_);
  if (!ReadDictionaries()) return "names a dictionary that is damaged";
  const auto lacks = [&](const SegmentLog::Fill& fill) { return (fill.dictionaries & ~dictionaries_.slots()) != 0; };
  return std::ranges::any_of(fills_, lacks) ? std::string(kContradiction) : std::string();
}

std::string SnapshotRestorer::CheckChunks() const {
  std::mutex mutex;
  std::string wrong;
  ForEachInParallel(kThreadName, reader_.first_unchecked(), reader_.chunks().size(), /*a_thread=*/1, [&](size_t i) {
    std::string of_chunk = reader_.CheckChunk(i);
    const std::lock_guard lock(mutex);
    if (!of_chunk.empty()) wrong.swap(of_chunk);
  });
  return wrong;
}

// Compares the fills with the segments' own headers. False: one differs.
bool SnapshotRestorer::ConfirmFills() {
  std::atomic<bool> confirmed{true};
  ForEachInParallel(kThreadName, 0, fills_.size(), kHeadersAThread, [&](size_t i) {
    if (!Confirm(&fills_[i])) confirmed.store(false, std::memory_order_relaxed);
  });
  return confirmed.load(std::memory_order_relaxed);
}

bool SnapshotRestorer::Confirm(SegmentLog::Fill* fill) const {
  const LogScan scan({of_.medium.base(), of_.medium.bytes()}, superblock_);
  const auto opened = scan.Open(fill->segment);
  if (!opened || opened->sequence != fill->sequence) return false;
  fill->generation = opened->generation;
  return true;
}

// Reads the dictionaries, the live ones last, so that they stay live. False: one is damaged.
bool SnapshotRestorer::ReadDictionaries() {
  for (const bool live : {false, true}) {
    for (unsigned slot = 0; slot < Dictionaries::kSlots; ++slot) {
      const layout::SnapshotHead::DictionarySlot& described = reader_.head().dictionaries[slot];
      if (described.place == 0 || (described.live != 0) != live) continue;
      const record::Header* const header = kept_->RecordAt(of_.medium, described.place);
      auto dictionary = header != nullptr && of_.dictionaries != nullptr
                            ? Dictionary::Read(*header, of_.dictionaries->authenticator())
                            : nullptr;
      if (dictionary == nullptr || Dictionaries::SlotOf(dictionary->number()) != slot) return false;
      dictionaries_.Add(std::move(dictionary), described.place);
    }
  }
  for (unsigned slot = 0; slot < Dictionaries::kSlots; ++slot) dictionaries_.NoteNumber(slot, last_number(slot));
  return true;
}

void SnapshotRestorer::LetGoOfSnapshot() {
  for (const SnapshotReader::Chunk& chunk : reader_.chunks()) of_.log->Unpin(chunk.segment);
}

void SnapshotRestorer::Forsake() {
  of_.index->LetGrow();
  LetGoOfSnapshot();
}

// --- restore ---------------------------------------------------------------------------------------------------------

RecoveryCounts SnapshotRestorer::Restore(const std::function<bool()>& is_over, size_t* empty) {
  SegmentLog& log = *of_.log;
  RecoveryCounts all;
  if (of_.dictionaries != nullptr) dictionaries_.Restore();
  const bool over = is_over();
  for (size_t left = fills_.size(); left-- > 0;) {
    SegmentLog::Fill& fill = fills_[left];
    if (over) log.Unpin(fill.segment);
    if (!over && Adopt(fill)) {
      ++all.segments;
      all.bytes += fill.tail - log.FirstRecord(fill.segment);
      continue;
    }
    *empty += fill.tail == log.FirstRecord(fill.segment) ? 1 : 0;
    kept_->Drop(fill.segment);
    fill.tail = 0;
  }
  MEZZ_TEST_POINT("recovery.segments_adopted");
  std::mutex mutex;
  const std::vector<SnapshotReader::Chunk>& chunks = reader_.chunks();
  ForEachInParallel(kThreadName, 0, chunks.size(), /*a_thread=*/1, [&](size_t i) {
    const RecoveryCounts of_chunk = RestoreWords(chunks[i], is_over);
    const std::lock_guard lock(mutex);
    all += of_chunk;
  });
  for (const SegmentLog::Fill& fill : fills_) {
    if (fill.tail != 0) log.Leave({.segment = fill.segment, .place = {}});
  }
  LetGoOfSnapshot();
  log.awaiting().GiveUpAll();
  return all;
}

// Adopts a segment. False: it was given up, and our pin is gone.
bool SnapshotRestorer::Adopt(const SegmentLog::Fill& fill) {
  if (!of_.log->awaiting().Adopt(fill)) {
    of_.log->Unpin(fill.segment);
    return false;
  }
  for (unsigned slot = 0; slot < Dictionaries::kSlots; ++slot) {
    if ((fill.dictionaries >> slot & 1) == 0) continue;
    if (const auto held = of_.dictionaries->Take(slot)) of_.log->kept_dictionaries().Keep(fill.segment, held->number());
  }
  return true;
}

// What a share reserves takes the place of another's.
Index::Refilled SnapshotRestorer::RestoreWord(uint64_t slot, IndexWord word) const {
  uint64_t displaced = 0;
  const Index::Refilled restored = of_.index->Restore(slot, word, AgeIn{*of_.log}, &displaced);
  if (displaced != 0) counters_->Add(Event::kScmDisplaced, BlockRole::kOther, displaced);
  return restored;
}

// Restores the words of a chunk, until the recovery is over or all was erased. Words that cannot be read any more stay
// away.
RecoveryCounts SnapshotRestorer::RestoreWords(const SnapshotReader::Chunk& chunk,
                                              const std::function<bool()>& is_over) const {
  RecoveryCounts restored;
  constexpr size_t kWordsAtOnce = 512;
  std::array<uint64_t, kWordsAtOnce> words;
  const uint64_t slots = of_.index->slots();
  for (size_t done = 0; done < chunk.words.size(); done += kWordsAtOnce) {
    const auto part = chunk.words.subspan(done, std::min(kWordsAtOnce, chunk.words.size() - done));
    if (is_over()) break;
    if (!CopyBytes(std::as_bytes(part), words.data())) continue;
    for (size_t i = 0; i < part.size(); ++i) {
      if (words[i] == 0) continue;
      const uint64_t slot = chunk.first_slot + done + i;
      const IndexWord word = IndexWord(words[i]).with(IndexWord(words[i]).dram(), /*heat=*/0);
      if (slot >= slots || word.empty() || !kept_->Has(word.line() * kLineBytes)) {
        ++restored.dropped;
        continue;
      }
      switch (RestoreWord(slot, word)) {
        case Index::Refilled::kPublished:
          ++restored.records;
          restored.in_dram += word.dram() ? 1 : 0;
          break;
        case Index::Refilled::kFull:
          ++restored.dropped;
          break;
        case Index::Refilled::kPassedOver:
          ++restored.passed_over;
          break;
        case Index::Refilled::kOver:
          return restored;
      }
      MEZZ_TEST_POINT("recovery.word_restored");
    }
  }
  return restored;
}

}  // namespace mezz
