// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "cache/inspection.h"
#include "cache/reclaimer.h"
#include "cache/snapshot.h"
#include "cache/tombstones.h"
#include "tests/fuzz/media_edits.h"
#include "tests/support/recover.h"

namespace mezz::test {

// What inspection and recovery make of a medium that may be anything: nothing is read outside of it, no block is found
// under a key that it was not put under, and a log that was taken over works on. libFuzzer's program and a plain test
// feed it.
class RecoveryTarget {
 public:
  // How often an input came so far, that nobody takes checksum gates for tests.
  struct Reached {
    uint64_t whole = 0, recovered = 0, blocks = 0, packed = 0, unpacked = 0, damaged = 0, dictionaries = 0, moved = 0;
    uint64_t snapshots = 0, useless_snapshots = 0, erased = 0, lost_tombstones = 0;
  };

  // What is wrong; empty: nothing is. The input: EditedMedium.
  std::string Run(std::span<const uint8_t> input) {
    wrong_.clear();
    const EditedMedium edited(media_, input, medium_.base());
    Look(edited.length());
    const FoundSuperblock found = FindSuperblock({medium_.base(), layout::kSuperblockSpace});
    if (found.what == FoundSuperblock::What::kWhole && WhyOfNoUse(found.superblock, options_).empty())
      TakeOver(found.superblock, edited.forged(), edited.works_on());
    return wrong_;
  }
  const Reached& reached() const { return reached_; }

 private:
  template <typename... Args>
  void Wrong(fmt::format_string<Args...> text, Args&&... args) {
    if (wrong_.empty()) wrong_ = fmt::format(text, std::forward<Args>(args)...);
  }

  void Look(size_t length) {
    std::vector<std::byte> part;  // whose end a sanitizer sees
    if (length < kFuzzBytes) part.assign(medium_.base(), medium_.base() + length);
    const Inspection seen = Inspect(length < kFuzzBytes ? part : std::span(medium_.base(), length), /*verify=*/true);
    if (seen.superblock.what != FoundSuperblock::What::kWhole) return;
    ++reached_.whole;
    if (seen.young + seen.proven + seen.tombstones.segments + seen.snapshot.segments + seen.empty != seen.segments)
      Wrong("{} young, {} proven, {} of tombstones, {} of a snapshot and {} empty segments of {}", seen.young,
            seen.proven, seen.tombstones.segments, seen.snapshot.segments, seen.empty, seen.segments);
    if (seen.filled_bytes > length) Wrong("{} bytes are filled of {}", seen.filled_bytes, length);
  }

  struct Life {
    Life(RecoveryTarget& target, const layout::Superblock& superblock)
        : keeper(target.medium_, superblock),
          dictionaries(target.dictionaries_.emplace(&target.wakeup_)),
          log(target.medium_, kFuzzBytes, kFuzzSegmentBytes, superblock.format_id, &target.counters_, target.guard_,
              &dictionaries),
          tombstones(target.medium_, &log, &keeper, &target.counters_, nullptr),
          reader(target.medium_, &log, &target.counters_),
          reclaimer({.medium = target.medium_,
                     .log = &log,
                     .index = &target.index_,
                     .counters = &target.counters_,
                     .dictionaries = &dictionaries}) {
      (void)log.sequences().TakeFrom([this] { return keeper.ReserveSequences(); }, SuperblockKeeper::kSequencesAtOnce);
    }
    SuperblockKeeper keeper;
    Dictionaries& dictionaries;
    SegmentLog log;
    Tombstones tombstones;
    LogReader reader;
    Reclaimer reclaimer;
    bool by_snapshot = false, worked = false;
  };

  // As ScmTier does.
  void TakeOver(const layout::Superblock& superblock, bool forged, bool works_on) {
    const auto erased = ErasedKeys::Read({medium_.base(), kFuzzBytes}, superblock);
    if (!erased) {
      ++reached_.lost_tombstones;
      return;
    }
    index_.Clear();
    Life life(*this, superblock);
    if (superblock.tombstone_segments != 0) (void)life.tombstones.Adopt(*erased);
    Recover(life, superblock, *erased);
    Audit(life);
    UseAll(life, forged);
    life.log.Provide(kFuzzSegments);
    if (works_on) {
      WorkOn(life);
      Audit(life);
    }
    index_.Clear();
  }

  void Recover(Life& life, const layout::Superblock& superblock, const ErasedKeys& erased) {
    const RecoveryReport report = test::Recover(
        {medium_, superblock, options_, &life.log, &index_, &counters_, &life.dictionaries, guard_, &erased});
    life.by_snapshot = report.from_snapshot;
    if (superblock.snapshot_segment != 0) ++(life.by_snapshot ? reached_.snapshots : reached_.useless_snapshots);
    if (report.records != index_.blocks()) Wrong("{} blocks in the index, {} told", index_.blocks(), report.records);
    if (report.in_dram > report.records) Wrong("{} of {} blocks lay in DRAM", report.in_dram, report.records);
    if (life.by_snapshot) return;
    ++reached_.recovered;
    if (erased.empty()) return;
    ++reached_.erased;
    for (uint64_t slot = 0; slot < index_.slots(); ++slot) {
      index_.VisitPinned(slot, life.reader, [&](IndexWord word) {
        if (erased.Cover(life.reader.HeaderOf(word).key, life.log.Sequence(life.reader.SegmentOf(word)),
                         word.line() * kLineBytes))
          Wrong("what was erased is found again");
      });
    }
  }

  // A snapshot says where records lie, and each hit asks whether they do; a scan has asked. Nor do the words that it
  // brought all leave with their segment, for reclaim finds them by the headers (Index::RestoreAt).
  void Audit(Life& life) {
    std::vector<std::string> violations;
    life.log.Audit(&violations);
    if (!violations.empty()) Wrong("{}", violations.front());
    for (uint32_t id = 0; id < kFuzzSegments; ++id) {
      if (life.log.pins(SegmentId{id}) != 0) Wrong("segment {} is pinned", id);
    }
    std::set<std::string> keys;
    for (uint64_t slot = 0; slot < index_.slots(); ++slot) {
      const IndexWord word = index_.At(slot).word;
      if (word.empty()) continue;
      if (word.line() * kLineBytes >= kFuzzBytes) return Wrong("a word points past the medium");
      if (life.by_snapshot && life.worked) continue;
      const auto state = life.log.state(life.reader.SegmentOf(word));
      if (state != SegmentLog::State::kOpen && state != SegmentLog::State::kSealed)
        return Wrong("a word points into a segment that holds nothing");
      if (life.by_snapshot) continue;
      if (life.reader.Judge(word) != Verdict::kThisKey) return Wrong("a word points to no record");
      if (!keys.emplace(life.reader.HeaderOf(word).key.bytes()).second) Wrong("a key has two words");
    }
  }

  // As first hits do.
  void UseAll(Life& life, bool forged) {
    for (uint64_t slot = 0; slot < index_.slots(); ++slot) {
      index_.VisitPinned(slot, life.reader, [&](IndexWord word) {
        const record::Header& header = life.reader.HeaderOf(word);
        if (!record::PayloadIsWhole(header)) {
          ++reached_.damaged;
          return;
        }
        ++reached_.blocks;
        const auto stored = record::PayloadOf(header);
        if (!forged && !media_.WasPut(header.key, stored))
          Wrong("{} bytes with flags {} at {} were never put under {:016x} {:016x}", stored.size(), header.flags,
                word.line() * kLineBytes, header.key.words[0], header.key.words[1]);
        if (record::IsPacked(header)) Unpack(life, life.reader.SegmentOf(word), stored);
      });
    }
  }
  void Unpack(Life& life, SegmentId segment, std::span<const std::byte> stored) {
    ++reached_.packed;
    const auto prefix = Packer::ReadPrefix(stored);
    if (!prefix || prefix->codec == Codec::kImage) return;
    if (prefix->dictionary != 0 && !life.log.kept_dictionaries().Keeps(segment, prefix->dictionary)) {
      if (!life.by_snapshot) Wrong("a record came back without its dictionary");
      return;
    }
    if (prefix->dictionary != 0) ++reached_.dictionaries;
    std::vector<std::byte> block(prefix->logical_bytes);
    if (packer_.Unpack(stored, *prefix, block.data()) == Unpacked::kDone) ++reached_.unpacked;
  }

  void WorkOn(Life& life) {
    constexpr size_t kBytes = 900;
    const auto payload = Payload(1, 1, kBytes);
    const uint64_t bytes = layout::RecordBytes(kBytes);
    for (uint64_t n = 0; n < 12; ++n) {
      const unsigned lane = n % 4 == 3 ? life.log.proven_lane() : 0;
      life.reclaimer.Step(bytes);
      auto where = life.log.Reserve(lane, bytes);
      while (!where && (life.log.Advance(lane, bytes, SegmentLog::For::kWriter) || life.reclaimer.MakeRoom()))
        where = life.log.Reserve(lane, bytes);
      // Tombstones that somebody forged may take all of it.
      if (!where) return life.log.tombstone_segments().count() > 2 ? void() : Wrong("there is no room to write");
      const BlockKey key = Key(kFuzzKeys / 2 + n);  // half of them may be there
      record::Write(medium_, where->place, key, BlockRole::kData, kBytes, [&](size_t at, size_t count, std::byte* to) {
        std::memcpy(to, payload.data() + at, count);
        return true;
      });
      const KeyHash hash = index_.Hash(key);
      KeyReader of_key(life.reader, key);
      const auto age = [&](IndexWord word) { return life.log.Sequence(life.reader.SegmentOf(word)); };
      index_.Publish(hash, IndexWord::Make(hash.tag, where->place.offset / kLineBytes, false, n % 3), of_key, age);
      life.log.Leave(*where);
      if (n % 4 == 1 && life.tombstones.Add(Key(n), life.log.Position()) == Tombstones::Added::kFailed)
        Wrong("a tombstone was not stored");
    }
    life.worked = true;
    ++reached_.moved;
  }

  const FuzzMedia media_;
  const ScmOptions options_ = FuzzOptions();
  const ForkGuard guard_;
  Counters counters_;
  HeapMedium medium_{kFuzzBytes};
  Index index_{kFuzzIndexBlocks, kFuzzHashSeed};
  Wakeup wakeup_;
  std::optional<Dictionaries> dictionaries_{std::in_place, &wakeup_};  // of a Life; always at the same place
  Packer packer_{Codec::kZstd, &counters_, &*dictionaries_};
  Reached reached_;
  std::string wrong_;
};

}  // namespace mezz::test
