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
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "admission/lineage.h"
#include "cache/base/fork_guard.h"
#include "cache/types.h"
#include "integration/read_back_worth.h"
#include "rocksdb/cache.h"
#include "rocksdb/file_system.h"
#include "rocksdb/listener.h"
#include "rocksdb/options.h"

namespace mezz {

// What reading back has cost and gained since the cache was made.
struct ReadBackCounts {
  uint64_t reads = 0, bytes = 0;  // calls of the file system, and their bytes; includes those that open a table
  uint64_t files = 0;             // tables from which something was read
  uint64_t blocks = 0;            // blocks that were read, and on which the policy decided (decision.warm.*)
  uint64_t failed = 0;            // files that could not be read to the end
  uint64_t dropped = 0;  // files of which nothing was read: queue full, too old, deleted, or unknown comparator
  uint64_t skipped = 0;  // compactions, or parts of one, left out because too few such blocks are asked for
};

// Those counts as they are counted. Relaxed, because they are figures only. A file is `whole` or `failed`, once it is
// known which.
struct ReadBackCounters {
  std::atomic<uint64_t> reads{0}, bytes{0}, whole{0}, blocks{0}, failed{0}, dropped{0}, skipped{0};

  ReadBackCounts Read() const;
};

// The user keys of the blocks that a compaction has found in the cache, in the order of its reading.
//
// Not thread-safe. Takes at most kBytesMax. As that fills, only every second, fourth, ... key of a block is kept.
// Blocks are read back by the keys that are left, and most blocks have several.
class ParentKeys {
 public:
  static constexpr size_t kBytesMax = 8 << 20;

  ParentKeys() = default;
  ParentKeys(ParentKeys&& other) noexcept;
  ParentKeys& operator=(ParentKeys&& other) noexcept;
  ~ParentKeys() { Clear(); }

  // Adds the keys of `block`, which is a data block as it lies uncompressed in the cache. Adds nothing of any other
  // block.
  void Add(std::span<const std::byte> block, Standing standing, uint8_t frequency);
  void Add(std::string_view key, const Parent& parent);
  // Sorts by key, as the database does; `reversed` stands for rocksdb::ReverseBytewiseComparator. Of two equal keys,
  // the one with the better standing is kept.
  void Sort(bool reversed);
  // Copies the keys from `first` on to `to`, which is emptied before.
  void MoveTail(size_t first, ParentKeys* to) const;
  void Clear();

  size_t size() const { return notes_.size(); }
  bool empty() const { return notes_.empty(); }
  std::string_view key(size_t i) const { return {text_.data() + notes_[i].at, notes_[i].bytes}; }
  const Parent& parent(size_t i) const { return notes_[i].parent; }
  size_t bytes() const { return counted_; }

  // The bytes of all objects of this class.
  static size_t bytes_of_all();

 private:
  struct Note {
    uint32_t at;
    uint16_t bytes;
    Parent parent;
  };
  size_t Stride() const;
  void Count();

  std::vector<char> text_;
  std::vector<Note> notes_;
  size_t counted_ = 0;
};

// Reads heirs back into the cache after a compaction. A thread of its own reads the compaction's new files, at the keys
// of the blocks that the compaction found in the cache. RocksDB reads and checks each block, and inserts it into the
// cache under its own key. The cache asks LineageOf, and the policy decides as it does when RocksDB warms the cache
// (TierFlow::OnWarm).
//
//   a compaction's thread   Begin, NoteParent for what it looks up, OnFileWritten for each table, End
//   ours                    a queue of tables, each with the keys noted so far; those behind its end wait for the next
//   a closing database      CloseDatabase, which waits for the table being read
//
// It reads at most kBytesPerSecond. A table waits at most kAgeSecondsMax in the queue, which holds at most
// kQueueBytesMax of keys. What exceeds these bounds is dropped and counted. Nothing is read of a file that has been
// deleted, or if RocksDB itself offers what it has written. If a database's blocks were read back for nothing, most of
// its compactions are left out (ReadBackWorth).
//
// A table of which many keys are wanted is read in pieces of kPieceBytes, any other block by block. If RocksDB writes
// tables through the page cache, reads use it too, because it still holds them.
//
// Thread-safe. No exception leaves it.
class ReadBack {
 public:
  static constexpr uint64_t kBytesPerSecond = 256 << 20;
  static constexpr uint64_t kAgeSecondsMax = 60;
  static constexpr size_t kQueueBytesMax = 32 << 20;
  static constexpr size_t kPieceBytes = 256 << 10;
  // A table is read in pieces if at least this percentage of its keys are keys of parents.
  static constexpr unsigned kPiecesPercentMin = 20;

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
  Lineage LineageOf(std::span<const std::byte> block);

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
  class Files;
  class File;
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
  rocksdb::Options OptionsFor(const Item& item, rocksdb::Env* env) const;
  size_t ReadTable(const Item& item);
  bool StopsReading(const Item& item) const;
  void OnRead(uint64_t bytes);

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

  // Only our thread uses these:
  std::unique_ptr<ParentTable> lineage_;
  std::vector<uint64_t> hashes_;
  uint64_t free_ns_ = 0;  // until then kBytesPerSecond allows no further read
  bool read_failed_ = false;

  ReadBackCounters& counts_;
};

}  // namespace mezz
