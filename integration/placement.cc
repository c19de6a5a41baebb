// SPDX-License-Identifier: Apache-2.0
#include "integration/placement.h"

#include "integration/compaction_thread.h"

namespace mezz {

// `place(bytes)` asks the policy.
template <typename Place>
Placement BlockPlacement::Try(const CachedObject& object, Place place) noexcept {
  try {
    if (const size_t bytes = object.bytes(); bytes != 0) return place(bytes);
  } catch (...) {  // of the block's callbacks, or without memory
    user_.counters().Add(Event::kRefusedFillFailed, object.role());
  }
  return Placement::kDram;
}

Placement BlockPlacement::OfInserted(const BlockKey& key, const CachedObject& object, InsertedBy by,
                                     const Image* image) noexcept {
  const bool written = by != InsertedBy::kMiss;
  if (written && core_.options().heirs) return OfWritten(key, object, by == InsertedBy::kCompaction);
  if (!core_.wants_misses()) return Placement::kDram;
  return Try(object, [&](size_t bytes) {
    return core_.OnMiss(key, object.role(), bytes, object.source(bytes), image, /*warms=*/written, user_.share());
  });
}

Placement BlockPlacement::OfWritten(const BlockKey& key, const CachedObject& object, bool by_compaction) noexcept {
  return Try(object, [&](size_t bytes) {
    Lineage lineage{.kind = Lineage::Kind::kFlushed};
    if (!by_compaction) {
      core_.offered().NoteByFlush();
    } else {
      core_.offered().NoteByCompaction();
      NoteCompactionOutput();
      lineage = object.role() == BlockRole::kData ? parents_.OfWarmed(object) : Lineage{};
    }
    return core_.OnWarm(key, object.role(), bytes, object.source(bytes), lineage, user_.share());
  });
}

void BlockPlacement::OfReadBack(const BlockKey& key, const CachedObject& object,
                                const std::function<bool()>& in_dram) noexcept {
  ReadBack& reader = *parents_.read_back();
  (void)Try(object, [&](size_t bytes) {
    const Lineage lineage = reader.LineageOf(object.Copy());
    if (in_dram()) return Placement::kDram;
    const Placement placement =
        core_.OnReadBack(key, object.role(), bytes, object.source(bytes), lineage, user_.share());
    if (placement == Placement::kScm) reader.NoteTaken(key);
    return placement;
  });
}

}  // namespace mezz
