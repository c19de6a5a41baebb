// SPDX-License-Identifier: Apache-2.0
// Reads what a log left on a medium, from its bytes alone, and trusts nothing but checksums. Recovery and inspection
// use it. Nobody may write to the bytes meanwhile.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "cache/layout.h"
#include "cache/record.h"
#include "cache/segment_log.h"
#include "cache/types.h"

namespace mezz {

class LogScan {
 public:
  // `medium` is not owned: one medium, several behind each other, or one of several, which `superblock` was read from.
  // If it is shorter than the superblock says, what is there is read. REQUIRES: `superblock` is whole, and describes
  // these bytes.
  LogScan(std::span<const std::byte> medium, const layout::Superblock& superblock)
      : medium_(medium),
        superblock_(superblock),
        first_(layout::BeginOf(superblock, superblock.member)),
        begin_(first_ * superblock.segment_bytes) {}

  // The segments are first() to end() - 1.
  uint32_t first() const { return first_; }
  uint32_t end() const;
  // The segment's fill, as its header says; its tail is that of a segment without records. Empty: the header is
  // damaged, of another life of the medium, or erased.
  std::optional<SegmentLog::Fill> Open(SegmentId id) const;
  // The same for a segment of tombstones. The fill's generation means nothing.
  std::optional<SegmentLog::Fill> OpenTombstones(SegmentId id) const;
  // Calls visit(offset, header) for the records of this fill in order, void ones included. Each has a whole header and
  // lies within the segment. `header` is a copy of the record's first line, so of its payload only a PackedPrefix is
  // there. Returns the tail: where the first byte after the last record lies.
  uint64_t Walk(const SegmentLog::Fill& fill,
                const std::function<void(uint64_t offset, const record::Header& header)>& visit) const;
  // The header where it lies, with its payload behind it.
  const record::Header& HeaderAt(uint64_t offset) const {
    return *reinterpret_cast<const record::Header*>(medium_.data() + offset - begin_);
  }

 private:
  std::optional<SegmentLog::Fill> OpenAs(SegmentId id, uint64_t magic) const;
  uint64_t StartOf(SegmentId id) const;

  // Offsets are those of several media, of which `medium_` begins at begin_.
  const std::span<const std::byte> medium_;
  const layout::Superblock superblock_;
  const uint32_t first_;
  const uint64_t begin_;
};

}  // namespace mezz
