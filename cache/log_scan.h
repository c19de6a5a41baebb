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
  // `medium` is not owned. If it is shorter than the superblock says, what is there is read. REQUIRES: `superblock` is
  // whole, and describes these bytes.
  LogScan(std::span<const std::byte> medium, const layout::Superblock& superblock)
      : medium_(medium), superblock_(superblock) {}

  uint32_t segments() const;
  // The segment's fill, as its header says; its tail is that of a segment without records. Empty: the header is
  // damaged, of another life of the medium, or erased.
  std::optional<SegmentLog::Fill> Open(SegmentId id) const;
  // The same for a segment of tombstones. The fill's generation means nothing.
  std::optional<SegmentLog::Fill> OpenTombstones(SegmentId id) const;
  // Calls visit(offset, header) for the records of this fill in order, void ones included. Each has a whole header and
  // lies within the segment. Returns the tail: where the first byte after the last record lies.
  uint64_t Walk(const SegmentLog::Fill& fill,
                const std::function<void(uint64_t offset, const record::Header& header)>& visit) const;

 private:
  std::optional<SegmentLog::Fill> OpenAs(SegmentId id, uint64_t magic) const;
  uint64_t StartOf(SegmentId id) const;

  const std::span<const std::byte> medium_;
  const layout::Superblock superblock_;
};

}  // namespace mezz
