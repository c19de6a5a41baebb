// SPDX-License-Identifier: Apache-2.0
#include "integration/closing.h"

#include <cassert>

#include "cache/base/if_memory.h"

namespace mezz {
namespace {

// A block whose callbacks throw is refused, and counted.
void Save(HybridCore& core, const rocksdb::Slice& key, const CachedObject& object, bool was_hit) noexcept {
  if (!object.can_be_read() || key.size() != BlockKey::kBytes) return;
  const BlockKey block = BlockKey::FromBytes(key.data());
  try {
    if (!core.warm().WantsWrite(block, object.role())) return;
    if (const size_t bytes = object.bytes(); bytes != 0)
      core.warm().Write(block, object.role(), bytes, object.source(bytes), was_hit);
  } catch (...) {
    core.counters().Add(Event::kRefusedFillFailed, object.role());
  }
}

bool IsSavedFirst(const WarmDram& warm, const rocksdb::Slice& key, const CachedObject& object) {
  return key.size() == BlockKey::kBytes && warm.SavedFirst(BlockKey::FromBytes(key.data()), object.role());
}

#if ROCKSDB_MAJOR < 8
void SaveAll(HybridCore& core, StockTierV7& dram) {
  dram.ForEachLarge([&](const rocksdb::Slice& key, const CachedObject& object) { Save(core, key, object, true); });
  dram.EmptyInto(core.warm().save_left(), [&](const rocksdb::Slice& key, const CachedObject& object) {
    Save(core, key, object, IsSavedFirst(core.warm(), key, object));
  });
}
#else
// The first walk has what DRAM was right to keep, the second the rest. What was erased is in neither.
void SaveAll(HybridCore& core, StockTier& dram) {
  for (const bool first : {true, false}) {
    if (!core.warm().saves()) return;
    const auto save = [&](const rocksdb::Slice& key, void* object, size_t /*charge*/, const StockTier::Helper* helper) {
      const CachedObject saved(object, helper);
      if (StockTier::IsDemotable(key, helper) && IsSavedFirst(core.warm(), key, saved) == first)
        Save(core, key, saved, first);
    };
    dram.ForEach(save, {});
  }
}
#endif

}  // namespace

void CloseOver(HybridCore& core, DatabaseUser& user, Parents& parents, ClosingTier& dram, bool disowned) noexcept {
  if (user.is_main()) core.StopMetrics();
  parents.Stop();
  // A forked child leaks what is large: threads of its parent may hold the locks of it.
  const bool leaks = disowned || core.scm().in_child();
  if (!leaks) {
    (void)IfThereIsMemory([&] {
      if (!user.is_main()) return user.EmptyIntoScm(dram);
      assert(core.guards_moves());
      if (core.warm().StartSaving()) SaveAll(core, dram);
    });
  }
  user.Close();
  if (!leaks) dram.ClearLarge();
}

}  // namespace mezz
