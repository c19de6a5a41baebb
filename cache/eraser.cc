// SPDX-License-Identifier: Apache-2.0
#include "cache/eraser.h"

#include <mutex>

#include "cache/layout.h"

namespace mezz {

bool Eraser::Erase(const BlockKey& key) {
  return parts_.erases_durably && parts_.guard.InParent() ? EraseDurably(key) : EraseHere(key);
}

// All that was put before must lie before the position that the tombstone names. A record in the index does, as reclaim
// does not move it once it is out of the index. But reclaim may be copying a record just now, and the stage's thread
// may be writing a block that was forgotten meanwhile. So both stand still from the removal until the position is
// taken.
bool Eraser::EraseDurably(const BlockKey& key) {
  bool erased = false;
  LogPosition position;
  {
    const std::lock_guard stage_stores_nothing(parts_.store_mutex);
    parts_.reclaimer.WhileNothingMoves([&] {
      erased = EraseHere(key);
      position = parts_.log.Position();
    });
  }
  for (;;) {
    const Tombstones::Added added = parts_.tombstones.Add(key, position);
    if (added == Tombstones::Added::kDone) break;
    const bool lacks_room = added == Tombstones::Added::kNoRoom && !parts_.faults.IsOver();
    if (lacks_room && parts_.reclaimer.MakeRoom()) continue;
    if (lacks_room && parts_.recoverer != nullptr && parts_.recoverer->report().running) {
      MEZZ_TEST_POINT("recovery.is_waited_for");
      parts_.recoverer->Wait();  // it may hold all there is
      continue;
    }
    ForsakeRestart();
    break;
  }
  return erased;
}

void Eraser::ForsakeRestart() {
  parts_.reclaimer.WhileNothingMoves([this] { ForsakeWhatIsStored(); });
}

// Says in the superblock that nothing is stored. If the superblock cannot be written, the headers of the segments are
// erased instead. REQUIRES: no record is being moved.
void Eraser::ForsakeWhatIsStored() {
  const uint64_t sequence = parts_.log.SealAll();
  if (parts_.tombstones.EraseBelow(sequence) == SuperblockKeeper::Stored::kLasts) return;
  const bool may_lie = !parts_.log.headers().EraseBelow(sequence);
  parts_.faults.CloseWithoutSuperblock(may_lie);
}

// Forgets the staged block first: it is then in the index already, or will never be.
bool Eraser::EraseHere(const BlockKey& key) {
  const bool staged = parts_.stage != nullptr && parts_.stage->Forget(key);
  KeyReader reader(parts_.reader, key);
  const bool stored = parts_.index.Erase(parts_.index.Hash(key), reader, [&](IndexWord word) {
    parts_.counters.Add(Event::kScmErase, reader.HeaderOf(word).role);
  });
  return stored || staged;
}

// On a medium that remembers, the superblock first says that nothing in the present segments is found again. A put that
// runs meanwhile is forgotten at a restart. But older blocks must not get into a later segment, neither by reclaim nor
// by the stage, whose thread may be storing a block that was forgotten meanwhile.
void Eraser::EraseAll() {
  if (parts_.stage != nullptr) parts_.stage->ForgetAll();
  if (parts_.recoverer != nullptr && parts_.guard.InParent()) parts_.log.awaiting().GiveUpAll();
  if (!parts_.remembers || !parts_.guard.InParent()) return parts_.index.Clear();
  const std::lock_guard stage_stores_nothing(parts_.store_mutex);
  parts_.reclaimer.WhileNothingMoves([this] {
    ForsakeWhatIsStored();
    parts_.index.Clear();
  });
}

}  // namespace mezz
