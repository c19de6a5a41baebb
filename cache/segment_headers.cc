// SPDX-License-Identifier: Apache-2.0
#include "cache/segment_headers.h"

#include <cassert>
#include <mutex>

#include "cache/header_checksum.h"
#include "cache/layout.h"
#include "cache/media/bus_errors.h"
#include "cache/media/wipe.h"

namespace mezz {

void SegmentHeaders::OpenLocked(SegmentId id, uint64_t sequence, Generation generation, ShareId share,
                                SegmentTable::State to) {
  layout::SegmentHeader header{};
  header.magic = to == SegmentTable::State::kOpen ? layout::kSegmentMagic : layout::kTombstonesMagic;
  header.sequence = sequence;
  header.format_id = format_id_;
  header.segment = Raw(id);
  header.generation = generation;
  header.share_reserved_percent = static_cast<uint8_t>(parts_.shares.limits(share).reserved_percent);
  header.share = parts_.shares.tag(share);
  header.checksum = record::SegmentHeaderChecksum(header);
  // Where it is not taken, the segment is condemned, and what is put there before it is sealed is for this life only.
  (void)parts_.medium.Stream(parts_.medium.base() + parts_.HeaderOf(id), &header, sizeof(header));
  parts_.medium.Drain();
  parts_.counters->Add(Event::kScmWrittenBytes, BlockRole::kOther, sizeof(header));
  SegmentTable::Segment& segment = parts_.table[id];
  segment.sequence.store(header.sequence, std::memory_order_relaxed);
  segment.tail.store(parts_.FirstRecord(id) - parts_.BeginOf(id), std::memory_order_relaxed);
  segment.dead.store(0, std::memory_order_relaxed);
  segment.adopted = false;
  if (to == SegmentTable::State::kOpen) parts_.GiveToLocked(id, share, header.share);
  parts_.table.Change(id, SegmentTable::State::kFree, to);
}

SegmentHeaders::Owner SegmentHeaders::ReadOwner(SegmentId id) const {
  layout::SegmentHeader header;
  const bool read = CopyBytes({parts_.medium.base() + parts_.HeaderOf(id), sizeof(header)}, &header);
  if (!read || header.magic != layout::kSegmentMagic) return {};
  return {.tag = header.share, .reserved_percent = header.share_reserved_percent};
}

bool SegmentHeaders::EraseBelow(uint64_t sequence, uint32_t from) {
  const std::lock_guard lock(parts_.mutex);
  bool erased = true;
  for (uint32_t i = from; i < parts_.segments; ++i) {
    // What is quarantined may not be touched; nor will the next life find what the kernel knows to be bad.
    const bool may_touch = parts_.table.state(SegmentId{i}) != SegmentTable::State::kQuarantined;
    if (may_touch) erased &= EraseOneBelow(SegmentId{i}, sequence);
  }
  return erased;
}

// Reads the header first: most segments of a medium that is not ready yet have none, and then nothing is written.
bool SegmentHeaders::EraseOneBelow(SegmentId id, uint64_t sequence) const {
  layout::SegmentHeader header;
  if (!CopyBytes({parts_.medium.base() + parts_.HeaderOf(id), sizeof(header)}, &header)) return false;
  if (header.magic != layout::kSegmentMagic || header.sequence >= sequence) return true;
  return Erase(parts_.medium, parts_.HeaderOf(id));
}

bool SegmentHeaders::Erase(const Medium& medium, uint64_t at) {
  layout::SegmentHeader header;
  const auto is_gone = [&] { return CopyBytes({medium.base() + at, sizeof(header)}, &header) && header.magic == 0; };
  return is_gone() || (Wipe(medium, at, sizeof(header)) && is_gone());
}

}  // namespace mezz
