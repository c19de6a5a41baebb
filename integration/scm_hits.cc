// SPDX-License-Identifier: Apache-2.0
#include "integration/scm_hits.h"

#include <new>
#include <utility>

#include "integration/move_gate.h"

namespace mezz {

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
