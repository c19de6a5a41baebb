// SPDX-License-Identifier: Apache-2.0
// Heirs on releases whose compactions do not warm the cache: what was hot before a compaction is read back after it.
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

// What reading back has cost and brought since the cache was made.
struct ReadBackCounts {
  uint64_t reads = 0, bytes = 0;  // of files, each call of the file system's; what opening a table takes included
  uint64_t files = 0;             // tables of which something was read
  uint64_t blocks = 0;            // blocks that were read, and decided on (decision.warm.*)
  uint64_t failed = 0;            // files that could not be read to the end
  uint64_t dropped = 0;  // files of which nothing was read: full queue, too old, deleted, or no known comparator
  uint64_t skipped = 0;  // compactions, or parts of one, that were left out: too few of such blocks are asked for
};

// The user keys of the blocks that a compaction has found in the cache, in the order of its reading.
//
// Not thread-safe. At most kBytesMax: as that fills, only every second, fourth, ... key of a block is kept. Blocks are
// read back by the keys that are left, and most blocks have several.
class ParentKeys {
 public:
  static constexpr size_t kBytesMax = 8 << 20;

  ParentKeys() = default;
  ParentKeys(ParentKeys&& other) noexcept;
  ParentKeys& operator=(ParentKeys&& other) noexcept;
  ~ParentKeys() { Clear(); }

  // The keys of `block`, a data block as it lies uncompressed in the cache; of another nothing.
  void Add(std::span<const std::byte> block, Standing standing, uint8_t frequency);
  void Add(std::string_view key, const Parent& parent);
  // Sorts by key, as the database does (`reversed`: rocksdb::ReverseBytewiseComparator); of two equal keys the better
  // standing is left.
  void Sort(bool reversed);
  // Moves those from `first` on to `to`, which is emptied before.
  void MoveTail(size_t first, ParentKeys* to) const;
  void Clear();

  size_t size() const { return notes_.size(); }
  bool empty() const { return notes_.empty(); }
  std::string_view key(size_t i) const { return {text_.data() + notes_[i].at, notes_[i].bytes}; }
  const Parent& parent(size_t i) const { return notes_[i].parent; }
  size_t bytes() const { return counted_; }

  // Of all there are.
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

// Reads the heirs of what the cache held back into it: on a thread of its own, from a compaction's new files, by the
// keys of the blocks that the compaction found in the cache. RocksDB reads and checks each block, and inserts it into
// the cache under its own key; the cache asks LineageOf, and the policy decides as it does where RocksDB warms
// (TierFlow::OnWarm).
//
//   a compaction's thread   Begin, NoteParent for what it looks up, OnFileWritten for each table, End
//   ours                    a queue of tables, each with the keys noted so far; those behind its end wait for the next
//   a closing database      CloseDatabase, which waits for the table being read
//
// Bounds: kBytesPerSecond, kAgeSecondsMax in the queue, kQueueBytesMax of keys in it. What exceeds them is dropped and
// counted. Nothing is read of a file that is deleted meanwhile, nor where RocksDB itself offers what it has written,
// nor of most compactions of a database whose blocks were read back for nothing (ReadBackWorth).
//
// Where most keys of a table are wanted, it is read in pieces of kPieceBytes; else block by block. Reads are buffered
// where RocksDB writes tables through the page cache, which still has them then.
//
// Thread-safe. No exception leaves it.
class ReadBack {
 public:
  static constexpr uint64_t kBytesPerSecond = 256 << 20;
  static constexpr uint64_t kAgeSecondsMax = 60;
  static constexpr size_t kQueueBytesMax = 32 << 20;
  static constexpr size_t kPieceBytes = 256 << 10;
  // A table is read in pieces if so many of a hundred of its keys, or more, are those of parents.
  static constexpr unsigned kPiecesPercentMin = 20;

  // What the cache answers. Called on any thread.
  struct Cache {
    rocksdb::Cache* cache = nullptr;           // outlives this
    std::function<bool(FileId)> is_forgotten;  // the file is known to be deleted
    std::function<uint64_t()> blocks_offered;  // by compactions, of RocksDB itself, so far
  };
  // It starts no thread before there is something to read.
  explicit ReadBack(Cache cache);
  ~ReadBack();
  ReadBack(const ReadBack&) = delete;
  ReadBack& operator=(const ReadBack&) = delete;
  // Ends the thread of what a cache has, before the cache goes. In a fork's child, which has no such thread, it is let
  // go of and left alone.
  static void Stop(std::unique_ptr<ReadBack>* of_cache);

  // An open database, as its listener knows it.
  struct Database {
    std::shared_ptr<rocksdb::FileSystem> files;
    bool direct = false;  // its tables are written past the page cache
    const std::shared_ptr<ReadBackWorth::Score> worth = std::make_shared<ReadBackWorth::Score>();
    std::atomic<bool> closed{false};  // relaxed: a hint; CloseDatabase waits besides
  };

  // This thread's compaction, or its part of one, begins and ends.
  void Begin() noexcept;
  static void End() noexcept;
  // This thread has looked a block up and found it; `block_of()` gives its bytes. Next to nothing without Begin.
  template <typename BlockOf>
  void NoteParent(Standing standing, uint8_t frequency, BlockOf block_of) noexcept {
    if (!Notes()) return;
    try {
      Note(block_of(), standing, frequency);
    } catch (...) {  // of the block's callbacks, or without memory: it has no heirs
    }
  }
  // This thread's compaction has written a table.
  void OnFileWritten(const std::shared_ptr<Database>& database, const rocksdb::TableFileCreationInfo& table) noexcept;
  // Nothing of it is read any more when this returns.
  void CloseDatabase(const std::shared_ptr<Database>& database) noexcept;

  // Whether the calling thread reads back: what it looks up and inserts is nobody's request.
  static bool OnThisThread() { return this_thread_reads; }
  // What is known of a block that this thread has read and inserts. REQUIRES: OnThisThread().
  Lineage LineageOf(std::span<const std::byte> block);

  // The SCM tier has taken a block that this thread has read. REQUIRES: OnThisThread().
  void NoteTaken(const BlockKey& key) noexcept { worth_.NoteBlock(key); }
  // The SCM tier answers a look-up. Next to nothing for most.
  void NoteHit(const BlockKey& key) noexcept { worth_.NoteHit(key); }
  void OnFileDeleted(FileId file) noexcept { worth_.OnFileDeleted(file); }

  ReadBackCounts counts() const;
  // Waits until the queue is empty; for tests.
  void Drain();

  // Keys that are noted or wait, of all caches, and what this remembers of what it read.
  size_t dram_bytes() const { return ParentKeys::bytes_of_all() + worth_.dram_bytes(); }

 private:
  class Files;
  class File;
  struct Stream;
  struct ThreadNotes;
  struct Item;

  static ThreadNotes* NotesOfThisThread(bool make);
  // This thread's compaction is noted: it runs, and RocksDB has offered no block since it began.
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
  const uint64_t id_;  // no other has had it
  ReadBackWorth worth_;
  ForkGuard guard_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::unique_ptr<Item>> queue_;  // guarded by mutex_
  size_t queue_bytes_ = 0;                   // guarded by mutex_
  const Database* reading_ = nullptr;        // guarded by mutex_: whose table our thread reads
  bool no_thread_ = false;                   // guarded by mutex_: there was none to be had
  std::atomic<bool> stop_{false};            // stored under mutex_; relaxed where it is a hint
  std::thread thread_;                       // made under mutex_, with the first table

  // Of our thread:
  std::unique_ptr<ParentTable> lineage_;
  std::vector<uint64_t> hashes_;
  uint64_t free_ns_ = 0;  // by then what has been read is as much as kBytesPerSecond allows
  bool read_failed_ = false;

  // Relaxed: figures.
  struct {
    std::atomic<uint64_t> reads{0}, bytes{0}, files{0}, blocks{0}, failed{0}, dropped{0}, skipped{0};
  } counts_;
};

}  // namespace mezz
