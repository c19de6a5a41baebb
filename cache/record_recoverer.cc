// SPDX-License-Identifier: Apache-2.0
#include "cache/record_recoverer.h"

#include "cache/base/atomic.h"
#include "cache/header_checksum.h"
#include "cache/log_reader.h"
#include "cache/pack/packer.h"
#include "cache/recoverer.h"

namespace mezz {
namespace {

constexpr uint8_t kKnownFlags = layout::kRecordVoid | layout::kRecordPacked | layout::kRecordRejected |
                                layout::kRecordDictionary | layout::kRecordKeyed;

}  // namespace

void RecordRecoverer::Walk(const SegmentLog::Fill& fill, Walked* walked) const {
  walked->fill = fill;
  const RecoveryHooks& hooks = parts_.hooks;
  walked->entries.clear();
  walked->dropped = 0;
  MEZZ_TEST_POINT("walker.walks");
  walked->fill.tail = parts_.scan.Walk(fill, [&](uint64_t offset, const record::Header& header) {
    if ((header.flags & (layout::kRecordVoid | layout::kRecordDictionary)) != 0) return;
    if (!IsOfUse(header) || (hooks.is_erased && hooks.is_erased(header.key, fill, offset))) {
      ++walked->dropped;
      return;
    }
    const auto prefix = Packer::PrefixOf(header);
    walked->entries.push_back({.hash = parts_.index->Hash(header.key),
                               .offset = offset,
                               .bytes = header.payload_bytes,
                               .role = header.role,
                               .dictionary = prefix ? prefix->dictionary : uint16_t{0}});
  });
}

// Whether the record can be used, if its dictionary is there.
bool RecordRecoverer::IsOfUse(const record::Header& header) const {
  if ((header.flags & ~kKnownFlags) != 0 || !record::HasRole(header)) return false;
  if (header.key.file() == FileId{0} || parts_.hooks.is_forgotten(header.key.file())) return false;
  if (!record::IsPacked(header)) return true;
  const auto prefix = Packer::PrefixOf(header);
  if (parts_.pack == PackMode::kOff || !prefix) return false;
  if (prefix->codec == Codec::kZstd) return MayUseZstd(parts_.pack);
  return prefix->codec != Codec::kImage || TakesImages(parts_.pack);
}

RecoveryCounts RecordRecoverer::Publish(const Walked& walked) {
  constexpr size_t kPrefetchAhead = 8;
  const SegmentId segment = walked.fill.segment;
  if (!parts_.log->awaiting().Adopt(walked.fill)) {
    parts_.log->Unpin(segment);
    return {};
  }
  RecoveryCounts part{.segments = 1, .dropped = walked.dropped};
  const std::vector<Entry>& entries = walked.entries;
  for (size_t left = entries.size(); left-- > 0;) {
    if (left >= kPrefetchAhead) parts_.index->Prefetch(entries[left - kPrefetchAhead].hash);
    switch (Publish(entries[left], segment)) {
      case Index::Refilled::kPublished:
        ++part.records;
        part.bytes += entries[left].bytes;
        parts_.hooks.grow();
        break;
      case Index::Refilled::kFull:
        ++part.dropped;
        break;
      case Index::Refilled::kPassedOver:
        ++part.passed_over;
        break;
      case Index::Refilled::kOver:
        break;
    }
    MEZZ_TEST_POINT("recovery.record_published");
  }
  parts_.log->Leave({.segment = segment, .place = {}});
  return part;
}

// Publishes a record. What a share reserves takes the place of another's. kFull is also the answer if its dictionary is
// missing.
Index::Refilled RecordRecoverer::Publish(const Entry& entry, SegmentId segment) {
  if (entry.dictionary != 0 && !HoldsDictionary(entry.dictionary, segment)) return Index::Refilled::kFull;
  // No heat: that is what tells a record that was not checked since (ScmTier::Find).
  const IndexWord word = IndexWord::Make(entry.hash.tag, entry.offset / kLineBytes, /*dram=*/false, /*heat=*/0);
  uint64_t displaced = 0;
  const Index::Refilled refilled = parts_.index->Recover(entry.hash, word, AgeIn{*parts_.log}, &displaced);
  if (refilled == Index::Refilled::kFull) ++displaced;
  if (displaced != 0) parts_.counters->Add(Event::kScmDisplaced, entry.role, displaced);
  return refilled;
}

bool RecordRecoverer::HoldsDictionary(uint16_t number, SegmentId segment) const {
  if (parts_.dictionaries == nullptr) return false;
  const auto held = parts_.dictionaries->Take(Dictionaries::SlotOf(number));
  if (!held || held->number() != number) return false;
  parts_.log->kept_dictionaries().Keep(segment, number);
  return true;
}

}  // namespace mezz
