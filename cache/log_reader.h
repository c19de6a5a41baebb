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

  // A header that fails its checksum, is of another fill of its segment or of no role, leaves it, or is not there any
  // more (bus_errors.h), is damage: counted. Others may be read as long as the record is pinned; only a bus error in
  // the instructions between is not contained.
  Verdict Judge(IndexWord word) const {
    if (BusErrors::contained() ? TryIsWhole(word) : IsWhole(word)) [[likely]]
      return Verdict::kThisKey;
    const SegmentId segment = SegmentOf(word);
    counters_->Add(Event::kScmDamagedHeader, BlockRole::kOther);
    if (!log_->IsAdopted(segment)) log_->NoteFault(segment);
    return Verdict::kDamaged;
  }

  // In an adopted segment a record without heat may be one that no hit has checked since: its payload is as likely as
  // not what a cut of power left. Each hit that passes gives it heat. REQUIRES: the record is pinned.
  bool IsUnproven(IndexWord word) const { return word.heat() == 0 && log_->IsAdopted(SegmentOf(word)); }
  // The payload of a record with this word, as it was before, is not as it was sealed: counted. What was never checked
  // in this life is no fault of the memory's. Its header may be gone by now too. REQUIRES: the record is pinned.
  void NoteMismatch(BlockRole role, IndexWord word) const {
    counters_->Add(Event::kScmChecksumMismatch, role);
    if (!IsUnproven(word)) log_->NoteFault(SegmentOf(word));
  }

  // As this tier asks of its records. REQUIRES: the record is pinned.
  bool PayloadIsWhole(const record::Header& header) const { return record::PayloadIsWhole(header, authenticator_); }
  const record::Header& HeaderOf(IndexWord word) const { return record::HeaderAt(medium_, OffsetOf(word)); }
  SegmentId SegmentOf(IndexWord word) const { return log_->SegmentAt(OffsetOf(word)); }

 private:
  static uint64_t OffsetOf(IndexWord word) { return word.line() * kLineBytes; }
  bool IsWhole(IndexWord word) const {
    const SegmentId segment = SegmentOf(word);
    const record::Header& header = HeaderOf(word);
    MEZZ_READS_MEDIUM(&header, sizeof(header));
    return record::IsWhole(header, static_cast<uint32_t>(log_->Sequence(segment))) && record::HasRole(header) &&
           OffsetOf(word) + layout::RecordBytes(header.payload_bytes) <= log_->Tail(segment);
  }
  // Where bus errors are contained. A frame of its own: what Try is given lies in memory, and would in Judge's for all.
  [[gnu::noinline]] bool TryIsWhole(IndexWord word) const {
    return BusErrors::TryTest([&] { return IsWhole(word); });
  }

  const Medium& medium_;
  SegmentLog* const log_;
  Counters* const counters_;
  const Authenticator* const authenticator_;  // null: without verify=keyed
};

// Takes the records of one key. A RecordReader.
class KeyReader : public LogReader {
 public:
  KeyReader(const LogReader& reader, const BlockKey& key) : LogReader(reader), key_(key) {}

  const BlockKey& key() const { return key_; }

  Verdict Judge(IndexWord word) const {
    const Verdict verdict = LogReader::Judge(word);
    if (verdict != Verdict::kThisKey || HeaderOf(word).key == key_) return verdict;
    return Verdict::kAnotherKey;
  }

 private:
  const BlockKey& key_;
};

}  // namespace mezz
