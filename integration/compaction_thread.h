// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

namespace mezz {

// What is known of a thread so far.
struct ThreadKind {
  enum class Pool : uint8_t { kUnknown, kOther, kCompactions };
  Pool pool = Pool::kUnknown;  // by the thread's name, which is read once
  // How many more questions are answered with yes, whatever its name, since it inserted a compaction's output.
  uint8_t compacts = 0;
};
// Initial-exec, because every hit reads it: it is then found without a call, from a shared library too.
[[gnu::tls_model("initial-exec")]] inline thread_local constinit ThreadKind this_thread_kind;

// The slow half of OnCompactionThread.
bool IsCompactionThread();

// True if the calling thread reads for a compaction. Such a look-up is no evidence that a user wants the block.
//
// RocksDB's thread pools name their threads "rocksdb:low" (compactions), "rocksdb:bottom" (those of the last level) and
// "rocksdb:high" (flushes), with the pool's mutex held, which a thread takes before its first piece of work
// (util/threadpool_imp.cc, from 7.8 to 11.8). A subcompaction's thread is started by a compaction's and inherits its
// name, as Linux does. So a thread's name is read once, and the answer is kept.
//
// Under an Env that names its threads otherwise, and in DB::CompactFiles, which compacts on the caller's thread, the
// thread shows itself where RocksDB warms the cache with what it writes (NoteCompactionOutput). Without that its
// look-ups count as a user's.
inline bool OnCompactionThread() {
  // Compares both bytes at once, because every hit asks.
  constexpr auto kUsers = std::bit_cast<uint16_t>(ThreadKind{.pool = ThreadKind::Pool::kOther, .compacts = 0});
  if (std::bit_cast<uint16_t>(this_thread_kind) == kUsers) [[likely]]
    return false;
  return IsCompactionThread();
}

// Call it when the calling thread inserts a block that a compaction has written.
void NoteCompactionOutput();
// True if the calling thread did so lately: RocksDB warms the cache with what this thread's compaction writes.
inline bool WarmsWithOutput() { return this_thread_kind.compacts > 0; }
// Call it when the thread's compaction has ended: what the thread looks up next is not a compaction's.
void NoteCompactionEnd();

}  // namespace mezz
