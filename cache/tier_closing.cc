// SPDX-License-Identifier: Apache-2.0
#include "cache/tier_closing.h"

#include <algorithm>
#include <optional>

#include "cache/base/if_memory.h"
#include "cache/media/wipe.h"
#include "cache/snapshot.h"

namespace mezz {
namespace {

// Forgets records whose keys name no file: those keys may name other blocks in the next process.
void ForgetNameless(TierParts* parts) {
  for (uint64_t slot = 0; slot < parts->index.slots(); ++slot) {
    bool nameless = false;
    const auto judge = [&](IndexWord word) { nameless = parts->reader.HeaderOf(word).key.file() == FileId{0}; };
    parts->index.VisitPinned(slot, parts->reader, judge);
    if (nameless) parts->index.RemoveRecord(parts->index.At(slot));
  }
}

// Writes the snapshot of the index. Only the superblock may be written after it. There is none without memory, and none
// if the recovery was stopped; the next life then reads the header of each record. There is also none if not all
// numbers of dictionaries were found: the next life must look for them itself. There is none either where a part of it,
// or of what it speaks of, would be lost with one of several media.
std::optional<SnapshotPlace> StoreSnapshot(TierRooms* rooms) {
  TierParts& parts = rooms->parts;
  const auto forgets = [](const ScmMember& member) { return !Remembers(member.medium); };
  if (parts.log.members().out() != 0 || std::ranges::any_of(parts.options.members, forgets)) return std::nullopt;
  if (parts.log.awaiting().HasAny() || (parts.trainer != nullptr && !parts.trainer->KnowsNumbers()))
    return std::nullopt;
  std::optional<SnapshotPlace> place;
  (void)IfThereIsMemory([&] {
    if (rooms->writer.stored_nameless()) ForgetNameless(&parts);
    layout::Superblock next = parts.keeper.Now();
    ++next.generation;
    place = WriteSnapshot({parts.medium, &parts.log, &parts.index, parts.dictionaries(), parts.options.pack}, next);
  });
  return place;
}

// Wipes the segments that hold records, or may. The superblock says so first, so that no later life uses a part of what
// is left. False: something may be left, which the next close wipes.
bool WipeSegments(TierParts* parts) {
  const auto stored = parts->keeper.Change([](layout::Superblock* superblock) {
    superblock->sequence_begin = superblock->sequence_end;
    superblock->tombstone_segments = 0;
    superblock->snapshot_segment = superblock->snapshot_chunks = 0;
  });
  const Preparer& preparer = *parts->opened->preparer;
  const bool others_left_records = parts->opened->earlier->left_records();
  bool all = stored == SuperblockKeeper::Stored::kLasts;
  if (others_left_records) all &= preparer.ready_bytes() == parts->options.capacity_bytes;
  for (uint32_t id = 0; id < parts->log.segments(); ++id) {
    const bool was_filled = parts->log.Sequence(SegmentId{id}) != 0;
    // What the kernel knew to be bad is not touched; what failed since was filled once.
    const bool is_bad = !was_filled && parts->log.state(SegmentId{id}) == SegmentLog::State::kQuarantined;
    if (is_bad) {
      all &= !others_left_records;
    } else if (others_left_records || was_filled) {
      const uint64_t from = layout::StartOfSegment(parts->keeper.Now(), id);
      const size_t member = parts->medium.MemberAt(from);
      const uint64_t ready_end = parts->medium.begins()[member] + preparer.ready_bytes(member);
      const uint64_t end = std::min((id + 1) * parts->options.segment_bytes, ready_end);
      if (from < end) all &= Wipe(parts->medium, from, end - from);
    }
  }
  return all;
}

}  // namespace

void CloseTier(TierRooms* rooms) {
  TierParts& parts = rooms->parts;
  const bool wipe = parts.remembers && parts.options.scrub_on_close;
  // Threads of its own may have met the last fault, and close nothing.
  const auto gave_up = [&] {
    rooms->fault_handler.Handle();
    return parts.faults.IsOver();
  };
  const bool remember = parts.remembers && !wipe && !gave_up() && !parts.medium.IsNameless() &&
                        parts.options.recovery != Recovery::kDiscard;
  if (remember && parts.stage != nullptr) parts.stage->Drain();
  if (wipe && parts.opened->earlier->left_records())
    static_cast<void>(parts.opened->preparer->Wait());  // what cannot be made ready cannot be written to
  parts.Stop();
  std::optional<SnapshotPlace> snapshot;
  if (remember && !gave_up()) snapshot = StoreSnapshot(rooms);
  if (gave_up() && !wipe) return;  // the next life reads what it finds
  const bool wiped = wipe && WipeSegments(&parts);
  // Where it is stored nowhere, the next life finds a tier that was not closed, and asks each record's header.
  (void)parts.keeper.Change([&](layout::Superblock* superblock) {
    superblock->flags |= layout::kClosedCleanly | (wiped ? uint32_t{layout::kWiped} : 0u);
    superblock->snapshot_segment = snapshot ? snapshot->segment : 0;
    superblock->snapshot_chunks = snapshot ? snapshot->chunks : 0;
  });
}

}  // namespace mezz
