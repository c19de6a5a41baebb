// SPDX-License-Identifier: Apache-2.0
// Heirs on releases whose compactions do not warm the cache: blocks that were hot before a compaction are read back
// after it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <thread>

#include "admission/lineage.h"
#include "cache/base/fork_guard.h"
#include "cache/types.h"
#include "integration/heir_reader.h"
#include "integration/parent_keys.h"
#include "integration/read_back_counts.h"
#include "integration/read_back_worth.h"
#include "rocksdb/cache.h"
#include "rocksdb/file_system.h"
#include "rocksdb/listener.h"

namespace mezz {

// Reads heirs back into the cache after a compaction. A thread of its own reads the compaction's new files, at the keys
// of the blocks that the compaction found in the cache. RocksDB reads and checks each block, and inserts it into the
// cache under its own key. The cache asks LineageOf, and the policy decides as it does when RocksDB warms the cache
// (TierFlow::OnWarm).
//
//   a compaction's thread   Begin, NoteParent for what it looks up, OnFileWritten for each table, End
//   ours                    a queue of tables, each with the keys noted so far; those behind its end wait for the next
//   a closing database      CloseDatabase, which waits for the table being read
//
// It reads no faster than ReadPace allows. A table waits at most kAgeSecondsMax in the queue, which holds at most
// kQueueBytesMax of keys. What exceeds these bounds is dropped and counted. Nothing is read of a file that has been
// deleted, or if RocksDB itself offers what it has written. If a database's blocks were read back for nothing, most of
// its compactions are left out (ReadBackWorth).
//
// Thread-safe. No exception leaves it.
class ReadBack {
 public:
  static constexpr uint64_t kAgeSecondsMax = 60;
  static constexpr size_t kQueueBytesMax = 32 << 20;

  // What this asks of the cache. The functions are called on any thread.
  struct Cache {
    rocksdb::Cache* cache = nullptr;           // must outlive this
    std::function<bool(FileId)> is_forgotten;  // true if the file is known to be deleted
    std::function<uint64_t()> blocks_offered;  // how many blocks of compactions RocksDB itself has offered so far
    ReadBackCounters* counters = nullptr;      // must outlive this; those of all databases that share the tier
  };
  // The thread starts when there is something to read.
  explicit ReadBack(Cache cache);
  ~ReadBack();
  ReadBack(const ReadBack&) = delete;
  ReadBack& operator=(const ReadBack&) = delete;
  // Ends the thread of a cache's ReadBack, before the cache is destroyed. In a fork's child, which has no such thread,
  // the object is released and left in memory.
  static void Stop(std::unique_ptr<ReadBack>* of_cache);

  // What the listener knows of an open database.
  struct Database {
    std::shared_ptr<rocksdb::FileSystem> files;
    bool direct = false;  // true if its tables are written past the page cache
    const std::shared_ptr<ReadBackWorth::Score> worth = std::make_shared<ReadBackWorth::Score>();
    std::atomic<bool> closed{false};  // relaxed, because it is a hint; CloseDatabase waits besides
  };

  // The calling thread's compaction, or its part of one, begins or ends.
  void Begin() noexcept;
  static void End() noexcept;
  // The calling thread has looked up a block and found it; `block_of()` returns its bytes. Without Begin this costs
  // next to nothing.
  template <typename BlockOf>
  void NoteParent(Standing standing, uint8_t frequency, BlockOf block_of) noexcept {
    if (!Notes()) return;
    try {
      Note(block_of(), standing, frequency);
    } catch (...) {  // from the block's callbacks, or for want of memory: the block then has no heirs
    }
  }
  // The calling thread's compaction has written a table.
  void OnFileWritten(const std::shared_ptr<Database>& database, const rocksdb::TableFileCreationInfo& table) noexcept;
  // When this returns, nothing of the database is read any more.
  void CloseDatabase(const std::shared_ptr<Database>& database) noexcept;

  // Whether the calling thread reads back. Its look-ups and inserts are then no user's requests.
  static bool OnThisThread() { return this_thread_reads; }
  // What is known of the parents of a block that this thread has read and inserts. REQUIRES: OnThisThread().
  Lineage LineageOf(std::span<const std::byte> block) { return reader_.LineageOf(block); }

  // The SCM tier has taken a block that this thread has read. REQUIRES: OnThisThread().
  void NoteTaken(const BlockKey& key) noexcept { worth_.NoteBlock(key); }
  // The SCM tier answers a look-up. For most blocks this costs next to nothing.
  void NoteHit(const BlockKey& key) noexcept { worth_.NoteHit(key); }
  void OnFileDeleted(FileId file) noexcept { worth_.OnFileDeleted(file); }

  // Of all databases that share the tier.
  ReadBackCounts counts() const { return counts_.Read(); }
  // Waits until the queue is empty; for tests.
  void Drain();

  // The bytes of the keys that are noted or queued, for all caches, and of what this remembers of the blocks it read.
  size_t dram_bytes() const { return ParentKeys::bytes_of_all() + worth_.dram_bytes(); }

 private:
  struct Stream;
  struct ThreadNotes;
  struct Item;

  static ThreadNotes* NotesOfThisThread(bool make);
  // Whether the calling thread's compaction is noted: it runs, and RocksDB has offered no block since it began.
  bool Notes() const noexcept;
  void Stop();
  void Note(std::span<const std::byte> block, Standing standing, uint8_t frequency);
  void Push(std::unique_ptr<Item> item);
  void Run();
  void Read(Item& item);
  bool StopsReading(const Item& item) const;

  [[gnu::tls_model("initial-exec")]] static inline thread_local constinit bool this_thread_reads = false;

  const Cache cache_;
  const uint64_t id_;  // unique in this process
  ReadBackWorth worth_;
  ForkGuard guard_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::unique_ptr<Item>> queue_;  // guarded by mutex_
  size_t queue_bytes_ = 0;                   // guarded by mutex_
  const Database* reading_ = nullptr;        // guarded by mutex_: the database whose table our thread reads
  bool no_thread_ = false;                   // guarded by mutex_: no thread could be started
  std::atomic<bool> stop_{false};            // stored under mutex_; loaded relaxed where it is a hint
  std::thread thread_;                       // made under mutex_, with the first table

  ReadBackCounters& counts_;
  HeirReader reader_;  // our thread's alone
};

}  // namespace mezz
