// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cache/header_checksum.h"
#include "cache/media/bus_errors.h"
#include "cache/media/medium.h"
#include "cache/record.h"
#include "cache/segment_log.h"

namespace mezz {

// Tells which words of an index the next life can use: those that point into fills that are kept.
class RestorableSegments {
 public:
  // The log is not owned.
  RestorableSegments(const SegmentLog& log, std::span<const SegmentLog::Fill> fills) : log_(log), of_(log.segments()) {
    for (const SegmentLog::Fill& fill : fills) of_[Raw(fill.segment)] = {fill.tail, fill.sequence};
  }
  bool Has(uint64_t offset) const {
    const SegmentId id = log_.SegmentAt(offset);
    return Raw(id) < of_.size() && offset >= log_.FirstRecord(id) && offset < of_[Raw(id)].tail;
  }
  // Forgets the fill of a segment that was not adopted.
  void Drop(SegmentId id) { of_[Raw(id)] = {}; }
  // The record at `offset`, if it is whole as far as its header tells; else null.
  const record::Header* RecordAt(const Medium& medium, uint64_t offset) const {
    if (offset % kLineBytes != 0 || !Has(offset)) return nullptr;
    const Fill& fill = of_[Raw(log_.SegmentAt(offset))];
    const record::Header& header = record::HeaderAt(medium, offset);
    const bool whole = BusErrors::TryTest([&] {
      return record::IsWhole(header, static_cast<uint32_t>(fill.sequence)) &&
             layout::RecordBytes(header.payload_bytes) <= fill.tail - offset;
    });
    return whole ? &header : nullptr;
  }

 private:
  struct Fill {
    uint64_t tail = 0;  // 0: the segment's fill is not kept
    uint64_t sequence = 0;
  };
  const SegmentLog& log_;
  std::vector<Fill> of_;
};

}  // namespace mezz
