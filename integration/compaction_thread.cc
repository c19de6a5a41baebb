// SPDX-License-Identifier: Apache-2.0
#include "integration/compaction_thread.h"

#include <pthread.h>

#include <string_view>

namespace mezz {
namespace {

constexpr size_t kThreadNameBytes = 16;  // the kernel's, with the zero
// Between two of its outputs a compaction looks some inputs up, and each look-up asks a few times. A user's thread that
// has compacted passes for one that does for so many questions more.
constexpr uint8_t kAskedPerOutput = 192;

bool NamedForCompactions() {
  char name[kThreadNameBytes] = {};
  if (pthread_getname_np(pthread_self(), name, sizeof(name)) != 0) return false;
  const std::string_view text(name);
  return text.starts_with("rocksdb:low") || text.starts_with("rocksdb:bottom");
}

}  // namespace

bool IsCompactionThread() {
  using Pool = ThreadKind::Pool;
  ThreadKind& kind = this_thread_kind;
  if (kind.pool == Pool::kUnknown) kind.pool = NamedForCompactions() ? Pool::kCompactions : Pool::kOther;
  const bool compacts = kind.compacts > 0;
  if (compacts) --kind.compacts;
  return compacts || kind.pool == Pool::kCompactions;
}

void NoteCompactionEnd() { this_thread_kind.compacts = 0; }

void NoteCompactionOutput() { this_thread_kind.compacts = kAskedPerOutput; }

}  // namespace mezz
