// SPDX-License-Identifier: Apache-2.0
#include "cache/inspection.h"

#include <algorithm>
#include <cassert>
#include <optional>

#include "cache/authenticator.h"
#include "cache/header_checksum.h"
#include "cache/log_scan.h"
#include "cache/snapshot.h"
#include "cache/tombstones.h"

namespace mezz {
namespace {

constexpr uint8_t kBlockFlags = layout::kRecordPacked | layout::kRecordRejected | layout::kRecordKeyed;

void Count(const record::Header& header, bool verify, const Authenticator* authenticator, Inspection* inspection) {
  if ((header.flags & layout::kRecordVoid) != 0) {
    ++inspection->voids;
    return;
  }
  const bool dictionary = (header.flags & ~layout::kRecordKeyed) == layout::kRecordDictionary;
  if (!record::HasRole(header) || (!dictionary && (header.flags & ~kBlockFlags) != 0)) {
    ++inspection->unknown;
    return;
  }
  auto& counts = dictionary ? inspection->dictionaries : inspection->of_role[static_cast<size_t>(header.role)];
  ++counts.records;
  counts.bytes += header.payload_bytes;
  if (record::IsPacked(header)) ++counts.packed;
  if (verify && !record::PayloadIsWhole(header, authenticator)) ++counts.damaged;
}

Inspection::Snapshot SnapshotIn(std::span<const std::byte> medium, const layout::Superblock& superblock) {
  Inspection::Snapshot snapshot;
  if (superblock.snapshot_segment == 0) return snapshot;
  SnapshotReader reader(medium, superblock);
  snapshot.wrong = reader.Check();
  snapshot.segments = reader.chunks();
  if (!snapshot.wrong.empty()) return snapshot;
  snapshot.bytes = reader.bytes();
  snapshot.records = reader.head().records;
  return snapshot;
}

}  // namespace

Inspection Inspect(std::span<const std::byte> medium, bool verify, const VerifyKey* key) {
  Inspection inspection;
  inspection.superblock = FindSuperblock(medium.first(std::min<size_t>(medium.size(), layout::kSuperblockSpace)));
  if (inspection.superblock.what != FoundSuperblock::What::kWhole) return inspection;
  const layout::Superblock& superblock = inspection.superblock.superblock;
  inspection.keyed = superblock.key_check != 0;
  std::optional<Authenticator> authenticator;
  if (key != nullptr) authenticator.emplace(*key, superblock);
  const LogScan scan(medium, superblock);
  inspection.segments = scan.segments();
  for (uint32_t id = 0; id < scan.segments(); ++id) {
    const auto fill = scan.Open(SegmentId{id});
    if (!fill) {
      ++(scan.OpenTombstones(SegmentId{id}) ? inspection.tombstones.segments : inspection.empty);
      continue;
    }
    ++(fill->generation == Generation::kProven ? inspection.proven : inspection.young);
    const uint64_t tail = scan.Walk(*fill, [&](uint64_t, const record::Header& header) {
      Count(header, verify, authenticator ? &*authenticator : nullptr, &inspection);
    });
    inspection.filled_bytes += tail - id * superblock.segment_bytes;
  }
  const auto erased = ErasedKeys::Read(medium, superblock);
  inspection.tombstones.lost = !erased;
  if (erased) inspection.tombstones.tombstones = erased->tombstones();
  inspection.snapshot = SnapshotIn(medium, superblock);
  // No chunk is a segment's header, nor two chunks the same segment: each was counted above.
  assert(inspection.snapshot.segments <= inspection.empty);
  inspection.empty -= inspection.snapshot.segments;
  return inspection;
}

}  // namespace mezz
