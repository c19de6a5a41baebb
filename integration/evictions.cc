// SPDX-License-Identifier: Apache-2.0
#include "integration/evictions.h"

namespace mezz {
namespace {

void Refuse(HybridCore& core, Event reason, const LeavingBlock& block) {
  core.counters().Add(reason, block.object.role());
  // What is refused may be a change that nobody told of.
  if (!core.guards_moves() && block.key.size() == BlockKey::kBytes)
    core.scm().Erase(BlockKey::FromBytes(block.key.data()));
}

}  // namespace

void OnEviction(HybridCore& core, const LeavingBlock& block) noexcept {
  const CachedObject& object = block.object;
  try {
    if (!object.can_be_read()) return Refuse(core, Event::kRefusedNotPersistable, block);
    if (block.key.size() != BlockKey::kBytes) return Refuse(core, Event::kRefusedKeySize, block);
    const BlockKey key = BlockKey::FromBytes(block.key.data());
    if (core.scm().IsForgotten(key.file())) return Refuse(core, Event::kRefusedDeadFile, block);
    const size_t bytes = object.bytes();
    if (bytes == 0) return Refuse(core, Event::kRefusedNotPersistable, block);
    core.OnDramEviction(key, object.role(), bytes, block.was_hit, object.source(bytes), block.share);
  } catch (...) {
    Refuse(core, Event::kRefusedFillFailed, block);
  }
}

}  // namespace mezz
