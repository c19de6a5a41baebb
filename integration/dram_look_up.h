// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cache/types.h"
#include "integration/cached_object.h"
#include "integration/compaction_thread.h"
#include "integration/hybrid_core.h"
#include "integration/parents.h"

namespace mezz {

// Tells the observers, and a compaction's parents, that the DRAM tier has answered a look-up of a block that may be
// demoted. `object()` returns its CachedObject, and is rarely called.
template <typename ObjectOf>
void NoteDramHit(HybridCore& core, Parents& parents, const BlockKey& key, BlockRole role, const ObjectOf& object) {
  const auto size_of = [&object] { return object().bytes(); };
  if (OnCompactionThread()) [[unlikely]] {
    core.observers().NoteDramRead(key, role, size_of);
    parents.NoteFound(key, object(), Standing::kDram);
  } else {
    core.observers().NoteDramHit(key, role, size_of);
  }
}

}  // namespace mezz
