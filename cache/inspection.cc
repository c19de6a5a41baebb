// SPDX-License-Identifier: Apache-2.0
#include "cache/inspection.h"

#include <algorithm>
#include <cassert>
#include <functional>
#include <map>
#include <optional>
#include <unordered_set>
#include <vector>

#include "cache/authenticator.h"
#include "cache/header_checksum.h"
#include "cache/log_scan.h"
#include "cache/snapshot.h"
#include "cache/tombstones.h"

namespace mezz {
namespace {

constexpr uint8_t kBlockFlags = layout::kRecordPacked | layout::kRecordRejected | layout::kRecordKeyed;

void Add(Inspection::Records* to, const Inspection::Records& one) {
  to->records += one.records;
  to->bytes += one.bytes;
  to->packed += one.packed;
  to->damaged += one.damaged;
}

// Sums up what the headers of the records say.
class Tally {
 public:
  // `authenticator` may be null.
  Tally(bool verify, const Authenticator* authenticator, Inspection* inspection)
      : verify_(verify), authenticator_(authenticator), inspection_(*inspection) {}

  void Count(const record::Header& header, Inspection::Age* age) {
    if ((header.flags & layout::kRecordVoid) != 0) {
      ++inspection_.voids;
      return;
    }
    const bool dictionary = (header.flags & ~layout::kRecordKeyed) == layout::kRecordDictionary;
    if (!record::HasRole(header) || (!dictionary && (header.flags & ~kBlockFlags) != 0)) {
      ++inspection_.unknown;
      return;
    }
    const bool damaged = verify_ && !record::PayloadIsWhole(header, authenticator_);
    const Inspection::Records one{.records = 1,
                                  .bytes = header.payload_bytes,
                                  .packed = record::IsPacked(header) ? 1u : 0u,
                                  .damaged = damaged ? 1u : 0u};
    if (dictionary) return Add(&inspection_.dictionaries, one);
    Add(&inspection_.of_role[static_cast<size_t>(header.role)], one);
    Add(&age->blocks, one);
    if (header.key.file() == FileId{0}) return Add(&inspection_.nameless, one);
    Inspection::Session& session = sessions_[SessionOf(header.key)];
    Add(&session.blocks, one);
    if (files_.size() < Inspection::kFilesMax && files_.insert(header.key.words[0]).second) ++session.files;
  }
  void Finish() {
    std::vector<Inspection::Session>& all = inspection_.sessions;
    for (auto& [number, session] : sessions_) {
      session.session = number;
      all.push_back(session);
    }
    std::ranges::stable_sort(all, std::greater<>(), [](const auto& session) { return session.blocks.bytes; });
    for (; all.size() > Inspection::kSessionsMax; all.pop_back()) {
      ++inspection_.more_sessions;
      Add(&inspection_.of_more_sessions, all.back().blocks);
    }
  }

 private:
  const bool verify_;
  const Authenticator* const authenticator_;
  Inspection& inspection_;
  std::map<uint32_t, Inspection::Session> sessions_;
  std::unordered_set<uint64_t> files_;
};

Inspection::Snapshot SnapshotIn(std::span<const std::byte> medium, const layout::Superblock& superblock) {
  Inspection::Snapshot snapshot;
  if (superblock.snapshot_segment == 0) return snapshot;
  SnapshotReader reader(medium, superblock);
  snapshot.wrong = reader.Check();
  snapshot.segments = reader.chunks().size();
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
  inspection.segments = scan.end() - scan.first();
  std::vector<SegmentLog::Fill> fills;
  for (uint32_t id = scan.first(); id < scan.end(); ++id) {
    if (const auto fill = scan.Open(SegmentId{id})) {
      fills.push_back(*fill);
      continue;
    }
    ++(scan.OpenTombstones(SegmentId{id}) ? inspection.tombstones.segments : inspection.empty);
  }
  std::ranges::sort(fills, std::greater<>(), &SegmentLog::Fill::sequence);
  Tally tally(verify, authenticator ? &*authenticator : nullptr, &inspection);
  for (size_t i = 0; i < fills.size(); ++i) {
    const SegmentLog::Fill& fill = fills[i];
    Inspection::Age& age = inspection.of_age[i * Inspection::kAges / fills.size()];
    ++age.segments;
    ++(fill.generation == Generation::kProven ? inspection.proven : inspection.young);
    const uint64_t tail =
        scan.Walk(fill, [&](uint64_t offset, const record::Header&) { tally.Count(scan.HeaderAt(offset), &age); });
    inspection.filled_bytes += tail - Raw(fill.segment) * superblock.segment_bytes;
  }
  tally.Finish();
  inspection.members = layout::MembersOf(superblock);
  if (inspection.members > 1) return inspection;  // what was erased, and a snapshot, may be told by another
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
