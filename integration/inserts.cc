// SPDX-License-Identifier: Apache-2.0
#include "integration/inserts.h"

#include "integration/read_back.h"

namespace mezz {
namespace {

// RocksDB warms the cache with what it has written, for which it wants no handle: at BOTTOM priority with what a
// compaction has written, at LOW with what a flush has. (Blobs, which only flushes warm it with, are BOTTOM.)
InsertedBy ByWhom(bool wants_handle, rocksdb::Cache::Priority priority, BlockRole role) {
  if (wants_handle) return InsertedBy::kMiss;
  const bool compacted = priority == rocksdb::Cache::Priority::BOTTOM && role != BlockRole::kBlob;
  return compacted ? InsertedBy::kCompaction : InsertedBy::kFlush;
}

}  // namespace

rocksdb::Status Inserts::Insert(const InsertedEntry& entry, Handle** handle) {
  const auto& [key, made, helper, priority, compressed, type] = entry;
  if (ReadBack::OnThisThread()) [[unlikely]]
    return InsertReadBack(entry, handle);
  user_.counters().Add(Event::kInsert, entry.role());
  core_.FollowDram();
  if (key.size() != BlockKey::kBytes) return InsertOther(entry, handle);
  const BlockKey block = BlockKey::FromBytes(key.data());
  const bool demotable = StockTier::IsDemotable(key, helper);
  core_.observers().NoteInsert(block);
  if (demotable) core_.observers().NoteInsertedSize(block, [&] { return entry.object().bytes(); });
  // RocksDB inserts what both tiers missed, so what is here was inserted meanwhile: perhaps other bytes.
  // HyperClockCache would keep them, and LRUCache report them as evicted.
  EraseBlock(key, block);
  const MoveGate::Window window(core_.gate());
  if (made.charge > scm_block_bytes_max_ && demotable) core_.TellTooLarge(entry.role(), made.charge);
  if (made.obj == nullptr && handle != nullptr) {
    if (Handle* const reserved = dram_.Reserve(key, helper, made.charge)) {
      *handle = reserved;
      return rocksdb::Status::OK();
    }
  }
  Placement placement = Placement::kDram;
  if (demotable) {
    const Image image = ImageOf(compressed, type);
    placement = placement_.OfInserted(block, entry.object(), ByWhom(handle != nullptr, priority, entry.role()),
                                      image.bytes.empty() ? nullptr : &image);
  }
  if (placement != Placement::kDram && placement != Placement::kBoth) return HandOver(entry, handle);
  rocksdb::Status inserted = dram_.Insert(key, made, helper, handle, priority, compressed, type);
  // LRUCache evicts what another thread has inserted under this key since; it may have been demoted just now. And an
  // Insert that fails leaves nothing.
  if (inserted.IsOkOverwritten() || !inserted.ok()) core_.scm().Erase(block);
  return inserted;
}

// A key that is never moved.
rocksdb::Status Inserts::InsertOther(const InsertedEntry& entry, Handle** handle) {
  dram_.Erase(entry.key);  // LRUCache keeps the old object where it has no room for the new one
  const MoveGate::Window window(core_.gate());
  return target_.Insert(entry.key, entry.made.obj, entry.helper, entry.made.charge, handle, entry.priority,
                        entry.compressed, entry.type);
}

// Of our own thread, which is the only one that wants the object.
rocksdb::Status Inserts::InsertReadBack(const InsertedEntry& entry, Handle** handle) {
  const MoveGate::Window window(core_.gate());  // a standalone handle is charged, so it may evict
  if (entry.role() == BlockRole::kData && entry.object().can_be_read() && entry.key.size() == BlockKey::kBytes) {
    placement_.OfReadBack(BlockKey::FromBytes(entry.key.data()), entry.object(), /*in_dram=*/[&] {
      Handle* const there = dram_.Lookup(entry.key);
      if (there != nullptr) target_.Release(there, /*erase_if_last_ref=*/false);
      return there != nullptr;
    });
  }
  return HandOver(entry, handle);
}

// Gives the caller an object that does not stay in DRAM, or deletes it if the caller does not want it.
rocksdb::Status Inserts::HandOver(const InsertedEntry& entry, Handle** handle) {
  const auto& [obj, charge] = entry.made;
  if (handle != nullptr) {
    *handle = target_.CreateStandalone(entry.key, obj, entry.helper, charge, /*allow_uncharged=*/true);
  } else {
    entry.helper->del_cb(obj, target_.memory_allocator());
  }
  return rocksdb::Status::OK();
}

void Inserts::Erase(const rocksdb::Slice& key) {
  if (key.size() != BlockKey::kBytes) return target_.Erase(key);
  EraseBlock(key, BlockKey::FromBytes(key.data()));
}

void Inserts::EraseBlock(const rocksdb::Slice& key, const BlockKey& block) {
  const MoveGate::Change change(core_.gate(), block);
  dram_.Erase(key);
  core_.scm().Erase(block);
}

void Inserts::EraseRecordOf(Handle* handle) {
  if (dram_.Unreserve(handle)) return;
  if (!target_.GetCacheItemHelper(handle)->IsSecondaryCacheCompatible()) return;
  dram_.EraseLarge(handle);
  ApplyToKey(target_, handle, [this](const rocksdb::Slice& key) {
    if (key.size() == BlockKey::kBytes) core_.scm().Erase(BlockKey::FromBytes(key.data()));
  });
}

}  // namespace mezz
