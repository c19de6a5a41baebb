// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <new>
#include <utility>

#include "cache/types.h"
#include "integration/block_objects.h"
#include "integration/compaction_thread.h"
#include "integration/database_user.h"
#include "integration/hybrid_core.h"
#include "integration/move_gate.h"
#include "integration/parents.h"
#include "integration/rocksdb_compat.h"
#include "integration/stock_tier.h"

namespace mezz {

// Answers the look-ups that one cache's DRAM tier missed: finds the block in the SCM tier, and serves it in place,
// copied or promoted, as the policy says. Every handle is a plain handle of `target`, the stock cache.
//
// Thread-safe.
class ScmHits {
 public:
  using Handle = rocksdb::Cache::Handle;

  // All must outlive this. `dram` is the tier over `target`.
  ScmHits(HybridCore& core, DatabaseUser& user, Parents& parents, StockTier& dram, rocksdb::Cache& target)
      : core_(core), user_(user), parents_(parents), dram_(dram), target_(target), objects_(core.scm(), target) {}

  // Null: the SCM tier does not have the block, or it could not be served, which is counted. Then the observers hear of
  // a miss.
  Handle* LookUp(const BlockKey& key, const BlockRequest& request, rocksdb::Statistics* stats);

 private:
  Handle* Find(const BlockKey& key, const BlockRequest& request, rocksdb::Statistics* stats);
  Handle* Serve(const BlockKey& key, PinnedBlock&& block, const BlockRequest& request);
  Handle* ServeInPlace(PinnedBlock&& block, const BlockRequest& request);
  Handle* ServeCopy(PinnedBlock block, const BlockRequest& request);
  Handle* Promote(const BlockKey& key, PinnedBlock block, const BlockRequest& request, HybridCore::Serve serve);
  Handle* Standalone(const OwnedObject& made, const BlockRequest& request);
  void Count(Event event, const BlockRequest& request) {
    user_.counters().Add(event, CachedObject::RoleOf(request.helper));
  }

  HybridCore& core_;
  DatabaseUser& user_;
  Parents& parents_;
  StockTier& dram_;
  rocksdb::Cache& target_;
  BlockObjects objects_;
};

// What a hit in place goes through is one function with HybridCache::Lookup: as several it took longer (results/media).

[[gnu::always_inline]] inline rocksdb::Cache::Handle* ScmHits::ServeInPlace(PinnedBlock&& block,
                                                                            const BlockRequest& request) {
  bool in_place = false;
  const OwnedObject made = objects_.InPlace(std::move(block), request, &in_place);
  if (made.obj == nullptr) return nullptr;
  Handle* handle = Standalone(made, request);
  Count(in_place ? Event::kServedInPlace : Event::kServedCopied, request);
  return handle;
}

[[gnu::always_inline]] inline rocksdb::Cache::Handle* ScmHits::Serve(const BlockKey& key, PinnedBlock&& block,
                                                                     const BlockRequest& request) {
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

[[gnu::always_inline]] inline rocksdb::Cache::Handle* ScmHits::Find(const BlockKey& key, const BlockRequest& request,
                                                                    rocksdb::Statistics* stats) {
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

[[gnu::always_inline]] inline rocksdb::Cache::Handle* ScmHits::LookUp(const BlockKey& key, const BlockRequest& request,
                                                                      rocksdb::Statistics* stats) {
  core_.databases().NoteDramMiss();
  Handle* const handle = Find(key, request, stats);
  if (handle != nullptr) return handle;
  const BlockRole role = CachedObject::RoleOf(request.helper);
  core_.observers().NoteMiss(key, role);
  if (OnCompactionThread()) [[unlikely]]
    parents_.NoteMissing(role);
  return nullptr;
}

}  // namespace mezz
