// SPDX-License-Identifier: Apache-2.0
#include "cache/log_scan.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "cache/base/atomic.h"
#include "cache/header_checksum.h"

namespace mezz {

uint32_t LogScan::end() const {
  return static_cast<uint32_t>(std::min<uint64_t>(begin_ + medium_.size(), superblock_.capacity_bytes) /
                               superblock_.segment_bytes);
}

uint64_t LogScan::StartOf(SegmentId id) const { return layout::StartOfSegment(superblock_, Raw(id)); }

std::optional<SegmentLog::Fill> LogScan::Open(SegmentId id) const { return OpenAs(id, layout::kSegmentMagic); }
std::optional<SegmentLog::Fill> LogScan::OpenTombstones(SegmentId id) const {
  return OpenAs(id, layout::kTombstonesMagic);
}

std::optional<SegmentLog::Fill> LogScan::OpenAs(SegmentId id, uint64_t magic) const {
  layout::SegmentHeader header;
  const uint64_t start = StartOf(id);
  if (!CopyBytes(medium_.subspan(start - begin_, sizeof(header)), &header)) return {};
  if (header.magic != magic || header.checksum != record::SegmentHeaderChecksum(header)) return {};
  const bool current = header.sequence >= superblock_.sequence_begin && header.sequence < superblock_.sequence_end &&
                       header.sequence != 0;
  if (header.format_id != superblock_.format_id || header.segment != Raw(id) || !current) return {};
  if (header.generation != Generation::kYoung && header.generation != Generation::kProven) return {};
  return SegmentLog::Fill{
      .segment = id, .sequence = header.sequence, .tail = start + sizeof(header), .generation = header.generation};
}

uint64_t LogScan::Walk(const SegmentLog::Fill& fill,
                       const std::function<void(uint64_t offset, const record::Header& header)>& visit) const {
  const uint64_t end = (uint64_t{Raw(fill.segment)} + 1) * superblock_.segment_bytes;
  uint64_t offset = StartOf(fill.segment) + sizeof(layout::SegmentHeader);
  while (offset + kLineBytes <= end) {
    alignas(kLineBytes) std::array<std::byte, kLineBytes> line;
    if (!CopyBytes(medium_.subspan(offset - begin_, kLineBytes), line.data())) break;
    const auto& header = *reinterpret_cast<const record::Header*>(line.data());
    const uint64_t bytes = layout::RecordBytes(header.payload_bytes);
    if (!record::IsWhole(header, static_cast<uint32_t>(fill.sequence)) || bytes > end - offset) break;
    visit(offset, header);
    offset += bytes;
  }
  return offset;
}

}  // namespace mezz
