// SPDX-License-Identifier: Apache-2.0
#include "integration/parents.h"

#include <span>

namespace mezz {
namespace {

// Earlier releases offer nothing that compactions have written.
constexpr bool kOffersHeirs = ROCKSDB_MAJOR >= 8;

}  // namespace

void Parents::NoteFound(const BlockKey& key, const CachedObject& object, Standing standing) noexcept {
  if (!Notes(object.role())) return;
  core_.offered().NoteReadByCompaction();
  try {
    const uint8_t frequency = core_.Frequency(key);
    if constexpr (kOffersHeirs) {
      const std::span<const std::byte> block = object.Copy();
      heirs_.NoteParent(block, standing, frequency);
      read_back_->NoteParent(standing, frequency, [block] { return block; });
    } else {
      read_back_->NoteParent(standing, frequency, [&object] { return object.Copy(); });
    }
  } catch (...) {  // of the block's callbacks, or without memory
    user_.counters().Add(Event::kAllocationFailed, object.role());
  }
}

void Parents::NoteMissing(BlockRole role) noexcept {
  if (!Notes(role)) return;
  core_.offered().NoteReadByCompaction();
  if (!kOffersHeirs) return;
  try {
    heirs_.NoteParent({}, Standing::kNowhere, 0);
  } catch (...) {
    user_.counters().Add(Event::kAllocationFailed, role);
  }
}

}  // namespace mezz
