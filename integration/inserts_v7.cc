// SPDX-License-Identifier: Apache-2.0
#include "integration/inserts_v7.h"

#include "integration/move_gate.h"

namespace mezz {

rocksdb::Status InsertsV7::Insert(const InsertedEntryV7& entry, Handle** handle) {
  const auto& [key, value, helper, charge, priority] = entry;
  user_.counters().Add(Event::kInsert, BlockRole::kOther);
  if (key.size() == BlockKey::kBytes) {
    const BlockKey block = BlockKey::FromBytes(key.data());
    const CachedObject object(value, helper);
    if (handle == nullptr && priority == rocksdb::Cache::Priority::LOW) core_.offered().NoteByFlush();
    core_.observers().NoteInsert(block);
    if (StockTierV7::IsDemotable(key, helper)) {
      core_.observers().NoteInsertedSize(block, [&] { return object.bytes(); });
      if (charge > core_.scm().figures().max_block_bytes()) core_.TellTooLarge(BlockRole::kOther, charge);
      // What a flush has written is placed as what was missed.
      if (placement_.OfInserted(block, object, InsertedBy::kMiss, /*image=*/nullptr) != Placement::kDram &&
          HandOver(entry, handle))
        return rocksdb::Status::OK();
    }
  }
  return dram_.StockTierV7::Insert(key, value, helper, charge, handle, priority);
}

// Of our own thread, which is the only one that wants the object.
rocksdb::Status InsertsV7::InsertReadBack(const InsertedEntryV7& entry, Handle** handle) {
  if (StockTierV7::IsDemotable(entry.key, entry.helper)) {
    const MoveGate::Window window(core_.gate());
    placement_.OfReadBack(BlockKey::FromBytes(entry.key.data()), {entry.value, entry.helper}, /*in_dram=*/[&] {
      Handle* const there = dram_.StockTierV7::Lookup(entry.key, nullptr);
      if (there != nullptr) dram_.StockTierV7::Release(there, /*useful=*/false, /*erase_if_last_ref=*/false);
      return there != nullptr;
    });
  }
  return HandOver(entry, handle) ? rocksdb::Status::OK() : rocksdb::Status::MemoryLimit();
}

// Gives the caller an object that does not stay in DRAM, or deletes it if the caller does not want it. Returns false,
// and does nothing, if there is no memory.
bool InsertsV7::HandOver(const InsertedEntryV7& entry, Handle** handle) {
  if (handle == nullptr) {
    entry.helper->del_cb(entry.key, entry.value);
    return true;
  }
  *handle = dram_.Standalone(entry.key, entry.value, entry.helper->del_cb, entry.charge);
  return *handle != nullptr;
}

void InsertsV7::Erase(const rocksdb::Slice& key) {
  if (key.size() != BlockKey::kBytes) return dram_.StockTierV7::Erase(key);  // never moved
  const BlockKey block = BlockKey::FromBytes(key.data());
  const MoveGate::Change change(core_.gate(), block);
  dram_.StockTierV7::Erase(key);
  core_.scm().Erase(block);
}

}  // namespace mezz
