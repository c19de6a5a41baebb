// SPDX-License-Identifier: Apache-2.0
// How the index reads records: through the log, which keeps them in place meanwhile.
#pragma once

#include "cache/counters.h"
#include "cache/header_checksum.h"
#include "cache/index.h"
#include "cache/record.h"
#include "cache/segment_log.h"

namespace mezz {

// Takes every whole record, whatever its key: for walks over the index. A RecordReader.
class LogReader {
 public:
  // None is owned.
  LogReader(const Medium& medium, SegmentLog* log, Counters* counters, const Authenticator* authenticator = nullptr)
      : medium_(medium), log_(log), counters_(counters), authenticator_(authenticator) {}

  bool Pin(IndexWord word) const {
    __builtin_prefetch(&HeaderOf(word));  // arrives while the pin is taken
    return log_->Pin(SegmentOf(word));
  }
  void Unpin(IndexWord word) const { log_->Unpin(SegmentOf(word)); }
  void Prefetch(IndexWord word) const { __builtin_prefetch(&HeaderOf(word)); }

  // A header that fails its checksum, is of another fill of its segment or of no role, or leaves it, is damage:
  // counted.
  Verdict Judge(IndexWord word) const {
    const record::Header& header = HeaderOf(word);
    MEZZ_READS_MEDIUM(&header, sizeof(header));
    const SegmentId segment = SegmentOf(word);
    const bool whole = record::IsWhole(header, static_cast<uint32_t>(log_->Sequence(segment))) &&
                       record::HasRole(header) &&
                       OffsetOf(word) + layout::RecordBytes(header.payload_bytes) <= log_->Tail(segment);
    if (whole) [[likely]]
      return Verdict::kThisKey;
    counters_->Add(Event::kScmDamagedHeader, BlockRole::kOther);
    return Verdict::kDamaged;
  }

  // As this tier asks of its records. REQUIRES: the record is pinned.
  bool PayloadIsWhole(const record::Header& header) const { return record::PayloadIsWhole(header, authenticator_); }
  const record::Header& HeaderOf(IndexWord word) const { return record::HeaderAt(medium_, OffsetOf(word)); }
  SegmentId SegmentOf(IndexWord word) const { return log_->SegmentAt(OffsetOf(word)); }

 private:
  static uint64_t OffsetOf(IndexWord word) { return word.line() * kLineBytes; }

  const Medium& medium_;
  SegmentLog* const log_;
  Counters* const counters_;
  const Authenticator* const authenticator_;  // null: without verify=keyed
};

// Takes the records of one key. A RecordReader.
class KeyReader : public LogReader {
 public:
  KeyReader(const LogReader& reader, const BlockKey& key) : LogReader(reader), key_(key) {}

  Verdict Judge(IndexWord word) const {
    const Verdict verdict = LogReader::Judge(word);
    if (verdict != Verdict::kThisKey || HeaderOf(word).key == key_) return verdict;
    return Verdict::kAnotherKey;
  }

 private:
  const BlockKey& key_;
};

}  // namespace mezz
