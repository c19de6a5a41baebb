// SPDX-License-Identifier: Apache-2.0
#include "integration/scm_hits.h"

#include <new>
#include <utility>

#include "integration/compaction_thread.h"
#include "integration/move_gate.h"

namespace mezz {

rocksdb::Cache::Handle* ScmHits::LookUp(const BlockKey& key, const BlockRequest& request, rocksdb::Statistics* stats) {
  core_.databases().NoteDramMiss();
  Handle* const handle = Find(key, request, stats);
  if (handle != nullptr) return handle;
  const BlockRole role = CachedObject::RoleOf(request.helper);
  core_.observers().NoteMiss(key, role);
  if (OnCompactionThread()) [[unlikely]]
    parents_.NoteMissing(role);
  return nullptr;
}

rocksdb::Cache::Handle* ScmHits::Find(const BlockKey& key, const BlockRequest& request, rocksdb::Statistics* stats) {
  const MoveGate::Window window(core_.gate());
  const BlockRole role = CachedObject::RoleOf(request.helper);
  PinnedBlock block = core_.Find(key, role);
  if (!block) return nullptr;
  const Standing standing = block.heat() > 0 ? Standing::kScmHot : Standing::kScmCold;
  Handle* handle = nullptr;
  try {
    handle = Serve(key, std::move(block), request);
  } catch (const std::bad_alloc&) {  // no DRAM for the copy or the handle: RocksDB reads flash instead
    Count(Event::kAllocationFailed, request);
  } catch (...) {  // of create_cb
    Count(Event::kCreateFailed, request);
  }
  if (handle == nullptr) return nullptr;
  user_.CountScmHit(role);
  parents_.NoteScmHit(key);
  CountSecondaryHit(request.helper->role, stats);
  if (OnCompactionThread()) [[unlikely]]
    parents_.NoteFound(key, {target_.Value(handle), request.helper}, standing);
  return handle;
}

rocksdb::Cache::Handle* ScmHits::Serve(const BlockKey& key, PinnedBlock&& block, const BlockRequest& request) {
  switch (const HybridCore::Serve serve = core_.OnScmHit(key, block)) {
    case HybridCore::Serve::kInPlace:
      return ServeInPlace(std::move(block), request);
    case HybridCore::Serve::kPromote:
    case HybridCore::Serve::kMove:
      return Promote(key, std::move(block), request, serve);
    default:
      return ServeCopy(std::move(block), request);
  }
}

rocksdb::Cache::Handle* ScmHits::ServeInPlace(PinnedBlock&& block, const BlockRequest& request) {
  bool in_place = false;
  const OwnedObject made = objects_.InPlace(std::move(block), request, &in_place);
  if (made.obj == nullptr) return nullptr;
  Handle* handle = Standalone(made, request);
  Count(in_place ? Event::kServedInPlace : Event::kServedCopied, request);
  return handle;
}

rocksdb::Cache::Handle* ScmHits::ServeCopy(PinnedBlock block, const BlockRequest& request) {
  const OwnedObject made = objects_.Copy(std::move(block), request);
  if (made.obj == nullptr) return nullptr;
  Handle* handle = Standalone(made, request);
  Count(Event::kServedCopied, request);
  return handle;
}

rocksdb::Cache::Handle* ScmHits::Promote(const BlockKey& key, PinnedBlock block, const BlockRequest& request,
                                         HybridCore::Serve serve) {
  const OwnedObject made = objects_.Copy(std::move(block), request);
  if (made.obj == nullptr) return nullptr;
  Handle* handle = nullptr;
  if (const MoveGate::Move move(core_.gate(), key); move) {
    if (dram_.Insert(request.key, made, request.helper, &handle, request.priority, {}, rocksdb::kNoCompression).ok()) {
      core_.OnPromoted(key, CachedObject::RoleOf(request.helper), serve);
      return handle;
    }
  }
  Count(Event::kPromotionRefused, request);
  handle = Standalone(made, request);
  Count(Event::kServedCopied, request);
  return handle;
}

rocksdb::Cache::Handle* ScmHits::Standalone(const OwnedObject& made, const BlockRequest& request) {
  try {
    return target_.CreateStandalone(request.key, made.obj, request.helper, made.charge, /*allow_uncharged=*/true);
  } catch (const std::bad_alloc&) {
    request.helper->del_cb(made.obj, target_.memory_allocator());
    throw;
  }
}

}  // namespace mezz
