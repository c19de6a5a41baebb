// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

namespace mezz {

// What a thread is, as far as it has shown.
struct ThreadKind {
  enum class Pool : uint8_t { kUnknown, kOther, kCompactions };
  Pool pool = Pool::kUnknown;  // by its name, asked for once
  uint8_t compacts = 0;        // for so many questions more, whatever its name: it has inserted a compaction's output
};
// Initial-exec: found without a call from a shared library too, at every hit.
[[gnu::tls_model("initial-exec")]] inline thread_local constinit ThreadKind this_thread_kind;

// The slow half of OnCompactionThread.
bool IsCompactionThread();

// Whether the calling thread reads for a compaction: that is no evidence that a user wants it.
//
// RocksDB's thread pools name their threads "rocksdb:low" (compactions), "rocksdb:bottom" (those of the last level) and
// "rocksdb:high" (flushes), with the pool's mutex held, which a thread takes before its first piece of work
// (util/threadpool_imp.cc, from 7.8 to 11.8). A subcompaction's thread is started by a compaction's and inherits its
// name, as Linux does. So a thread's name is asked for once and kept.
//
// Under an Env that names its threads otherwise, and in DB::CompactFiles, which compacts on the caller's thread, the
// thread shows itself where RocksDB warms the cache with what it writes (NoteCompactionOutput). Without that its
// look-ups count as a user's.
inline bool OnCompactionThread() {
  // Both bytes at once: every hit asks.
  constexpr auto kUsers = std::bit_cast<uint16_t>(ThreadKind{.pool = ThreadKind::Pool::kOther, .compacts = 0});
  if (std::bit_cast<uint16_t>(this_thread_kind) == kUsers) [[likely]]
    return false;
  return IsCompactionThread();
}

// This thread inserts what a compaction has written.
void NoteCompactionOutput();
// And it did so lately: RocksDB warms the cache with what this thread's compaction writes.
inline bool WarmsWithOutput() { return this_thread_kind.compacts > 0; }
// It has done so for the last time: what it reads next is its own.
void NoteCompactionEnd();

}  // namespace mezz
