// SPDX-License-Identifier: Apache-2.0
#include "integration/scm_hits_v7.h"

#include <utility>

#include "integration/compaction_thread.h"
#include "integration/move_gate.h"
#include "integration/serving.h"
#include "rocksdb/perf_context.h"
#include "rocksdb/perf_level.h"

namespace mezz {
namespace {

void CountSecondaryHit(rocksdb::Statistics* stats) {
  if (rocksdb::GetPerfLevel() >= rocksdb::PerfLevel::kEnableCount) {
    rocksdb::get_perf_context()->secondary_cache_hit_count++;
  }
  if (stats != nullptr) stats->recordTick(rocksdb::SECONDARY_CACHE_HITS, 1);
}

}  // namespace

rocksdb::Cache::Handle* ScmHitsV7::LookUp(const BlockKey& key, const Request& request, rocksdb::Statistics* stats) {
  core_.databases().NoteDramMiss();
  Handle* const handle = Find(key, request, stats);
  if (handle != nullptr) return handle;
  core_.observers().NoteMiss(key, BlockRole::kOther);
  if (OnCompactionThread()) [[unlikely]]
    parents_.NoteMissing(BlockRole::kOther);
  return nullptr;
}

rocksdb::Cache::Handle* ScmHitsV7::Find(const BlockKey& key, const Request& request, rocksdb::Statistics* stats) {
  const MoveGate::Window window(core_.gate());
  PinnedBlock block = core_.Find(key, BlockRole::kOther);
  if (!block) return nullptr;
  const BlockRole role = block.role();
  const Standing standing = block.heat() > 0 ? Standing::kScmHot : Standing::kScmCold;
  const HybridCore::Serve serve = core_.OnScmHit(key, block);
  const Made made = Copy(std::move(block), request);
  if (made.object == nullptr) return nullptr;
  user_.CountScmHit(role);
  parents_.NoteScmHit(key);
  CountSecondaryHit(stats);
  if (OnCompactionThread()) [[unlikely]]
    parents_.NoteFound(key, {made.object, request.helper}, standing);
  if (serve == HybridCore::Serve::kPromote || serve == HybridCore::Serve::kMove) {
    if (Handle* const handle = Promote(key, role, made, request, serve)) return handle;
    core_.counters().Add(Event::kPromotionRefused, role);
  }
  Handle* const handle = dram_.Standalone(request.key, made.object, request.helper->del_cb, made.charge);
  if (handle == nullptr) {
    request.helper->del_cb(request.key, made.object);
  } else {
    core_.counters().Add(Event::kServedCopied, role);
  }
  return handle;
}

// RocksDB's callback may throw bad_alloc, and no exception may pass through the cache.
ScmHitsV7::Made ScmHitsV7::Copy(PinnedBlock block, const Request& request) {
  const auto bytes = BytesToCopy(core_.scm(), block);
  if (!bytes) return {};
  Made made;
  try {
    if (request.create(bytes->data(), bytes->size(), &made.object, &made.charge).ok() && made.object != nullptr)
      return made;
  } catch (...) {
  }
  core_.counters().Add(Event::kCreateFailed, block.role());
  return {};
}

// Null: overtaken by a change, or DRAM has no room.
rocksdb::Cache::Handle* ScmHitsV7::Promote(const BlockKey& key, BlockRole role, const Made& made,
                                           const Request& request, HybridCore::Serve serve) {
  const MoveGate::Move move(core_.gate(), key);
  Handle* handle = nullptr;
  if (!move ||
      !dram_.StockTierV7::Insert(request.key, made.object, request.helper, made.charge, &handle, request.priority).ok())
    return nullptr;
  core_.OnPromoted(key, role, serve);
  return handle;
}

}  // namespace mezz
