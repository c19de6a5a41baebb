// SPDX-License-Identifier: Apache-2.0
// Reads what a log left on a medium, from its bytes alone, and believes nothing but checksums: for who takes a medium
// over, and who looks at one. Nobody may write to what is read.
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
  // `superblock` is whole, and describes these bytes, which are not owned. Of a shorter medium what is there is read.
  LogScan(std::span<const std::byte> medium, const layout::Superblock& superblock)
      : medium_(medium), superblock_(superblock) {}

  uint32_t segments() const;
  // What the segment's header says, if it is whole, of this life of the medium, and not erased; tail: of no record.
  std::optional<SegmentLog::Fill> Open(SegmentId id) const;
  // The same of a segment of tombstones. Its generation says nothing.
  std::optional<SegmentLog::Fill> OpenTombstones(SegmentId id) const;
  // Calls visit(offset, header) for the records of this fill, in order: each is whole as far as its header tells, and
  // lies within the segment. Void ones too. Returns where the first byte lies that is none's: the tail.
  uint64_t Walk(const SegmentLog::Fill& fill,
                const std::function<void(uint64_t offset, const record::Header& header)>& visit) const;

 private:
  std::optional<SegmentLog::Fill> OpenAs(SegmentId id, uint64_t magic) const;
  uint64_t StartOf(SegmentId id) const;

  const std::span<const std::byte> medium_;
  const layout::Superblock superblock_;
};

}  // namespace mezz
