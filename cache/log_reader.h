// SPDX-License-Identifier: Apache-2.0
// How the index reads records: through the log, which keeps them in place while they are read.
#pragma once

#include "cache/counters.h"
#include "cache/header_checksum.h"
#include "cache/index.h"
#include "cache/record.h"
#include "cache/segment_log.h"

namespace mezz {

// The age of a word (Index::Publish). A full bucket displaces nothing of what a share reserves for the blocks of
// others.
struct AgeIn {
  const SegmentLog& log;
  uint64_t operator()(IndexWord word) const {
    const SegmentId segment = log.SegmentAt(word.line() * kLineBytes);
    return log.owners().IsReserved(segment) ? Index::kKept : log.Sequence(segment);
  }
};

// A RecordReader that accepts every whole record, whatever its key: for walks over the index.
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

  // Judges the record's header. It is damaged, and counted as such, if it fails its checksum, belongs to another fill
  // of its segment, has no known role, reaches beyond its segment, or its memory failed (bus_errors.h). Any other
  // header may be read as long as the record is pinned; a bus error there is not contained.
  Verdict Judge(IndexWord word) const {
    if (BusErrors::contained() ? TryIsWhole(word) : IsWhole(word)) [[likely]]
      return Verdict::kThisKey;
    const SegmentId segment = SegmentOf(word);
    counters_->Add(Event::kScmDamagedHeader, BlockRole::kOther);
    if (!log_->IsAdopted(segment)) log_->faults().Note(segment);
    return Verdict::kDamaged;
  }

  // Whether no hit has checked the record's payload since an earlier life left it, as far as can be told: it lies in an
  // adopted segment and has no heat. A cut of power may have damaged such a payload. A hit that passes the check gives
  // the record heat. REQUIRES: the record is pinned.
  bool IsUnproven(IndexWord word) const { return word.heat() == 0 && log_->IsAdopted(SegmentOf(word)); }
  // Counts a payload that is not as it was sealed. `word`: the record's, as it was before the check. If the payload was
  // never checked in this life, this is no fault of the memory. The record's header may be damaged by now too.
  // REQUIRES: the record is pinned.
  void NoteMismatch(BlockRole role, IndexWord word) const {
    counters_->Add(Event::kScmChecksumMismatch, role);
    if (!IsUnproven(word)) log_->faults().Note(SegmentOf(word));
  }

  // Whether the payload is whole, by checksum or MAC as this tier has it. REQUIRES: the record is pinned.
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
  // For Judge where bus errors are contained. Not inlined: what Try is given lies in memory, and would cost every
  // Judge.
  [[gnu::noinline]] bool TryIsWhole(IndexWord word) const {
    return BusErrors::TryTest([&] { return IsWhole(word); });
  }

  const Medium& medium_;
  SegmentLog* const log_;
  Counters* const counters_;
  const Authenticator* const authenticator_;  // null without verify=keyed
};

// A RecordReader that accepts the records of one key.
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
