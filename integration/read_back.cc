// SPDX-License-Identifier: Apache-2.0
#include "integration/read_back.h"

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "cache/base/if_memory.h"
#include "cache/base/start_thread.h"
#include "integration/compaction_thread.h"
#include "integration/file_id.h"
#include "rocksdb/comparator.h"

namespace mezz {
namespace {

using Clock = std::chrono::steady_clock;

uint64_t NextId() {
  static std::atomic<uint64_t> ids{1};
  return ids.fetch_add(1, std::memory_order_relaxed);
}

// The order of a table's keys; null: one that is not RocksDB's own, and nobody tells us of.
const rocksdb::Comparator* ComparatorOf(const rocksdb::TableProperties& table) {
  for (const rocksdb::Comparator* const known : {rocksdb::BytewiseComparator(), rocksdb::ReverseBytewiseComparator()}) {
    if (table.comparator_name == known->Name()) return known;
  }
  return nullptr;
}

}  // namespace

// The keys of one thread's compaction that lie behind the tables it has finished. Of our thread alone.
struct ReadBack::Stream {
  ParentKeys rest;
};

// What one thread's compaction has found in the cache of `owner` since its last table. Its own.
struct ReadBack::ThreadNotes {
  uint64_t owner = 0;  // ReadBack::id_; 0: it does not compact
  ParentKeys keys;
  std::shared_ptr<Stream> stream;
  bool pushed = false;          // a table has been handed over with the stream
  bool judged = false;          // it pays to read it back
  uint64_t offered_before = 0;  // blocks, by RocksDB
};

struct ReadBack::Item {
  std::shared_ptr<Database> database;
  std::shared_ptr<Stream> stream;
  HeirReader::Table table;
  FileId file{0};
  ParentKeys keys;
  Clock::time_point since;
};

namespace {

// none --NotesOfThisThread--> notes --the thread destroys its own objects--> none, for ever
thread_local constinit void* this_thread_notes = nullptr;
thread_local constinit bool this_thread_ends = false;

}  // namespace

ReadBack::ReadBack(Cache cache)
    : cache_(std::move(cache)),
      id_(NextId()),
      counts_(*cache_.counters),
      reader_(cache_.cache, counts_, [this](std::chrono::nanoseconds time) {
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, time, [this] { return stop_.load(std::memory_order_relaxed); });
      }) {}

ReadBack::~ReadBack() { Stop(); }

void ReadBack::Stop() {
  std::deque<std::unique_ptr<Item>> dropped;
  {
    const std::lock_guard lock(mutex_);
    stop_.store(true, std::memory_order_relaxed);
    no_thread_ = true;
    dropped.swap(queue_);
    queue_bytes_ = 0;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void ReadBack::Stop(std::unique_ptr<ReadBack>* of_cache) {
  if (*of_cache == nullptr) return;
  if ((*of_cache)->guard_.InParent()) return (*of_cache)->Stop();
  // A child has no such thread to join, and a condition variable may not go while the parent's thread waits on it.
  [[maybe_unused]] ReadBack* const left = of_cache->release();
}

// Null: the thread ends, or there is no memory and `make`.
ReadBack::ThreadNotes* ReadBack::NotesOfThisThread(bool make) {
  struct Owner {
    ~Owner() {
      this_thread_ends = true;
      delete static_cast<ThreadNotes*>(std::exchange(this_thread_notes, nullptr));
    }
  };
  if (this_thread_notes == nullptr && make && !this_thread_ends) {
    static thread_local Owner owner;
    static_cast<void>(owner);
    this_thread_notes = new (std::nothrow) ThreadNotes;
  }
  return static_cast<ThreadNotes*>(this_thread_notes);
}

bool ReadBack::Notes() const noexcept {
  const auto* const notes = static_cast<const ThreadNotes*>(this_thread_notes);
  if (notes == nullptr || notes->owner != id_) return false;
  if (cache_.blocks_offered() == notes->offered_before) return true;
  End();  // RocksDB itself offers what it writes
  return false;
}

void ReadBack::Begin() noexcept {
  ThreadNotes* const notes = NotesOfThisThread(/*make=*/true);
  if (notes == nullptr) return;
  End();
  (void)IfThereIsMemory([&] {
    notes->stream = std::make_shared<Stream>();
    notes->offered_before = cache_.blocks_offered();
    notes->owner = id_;
  });
}

void ReadBack::End() noexcept {
  ThreadNotes* const notes = NotesOfThisThread(/*make=*/false);
  if (notes == nullptr) return;
  notes->owner = 0;
  notes->keys.Clear();
  notes->stream.reset();
  notes->pushed = notes->judged = false;
}

void ReadBack::Note(std::span<const std::byte> block, Standing standing, uint8_t frequency) {
  if (standing == Standing::kNowhere) return;
  NotesOfThisThread(/*make=*/false)->keys.Add(block, standing, frequency);
}

void ReadBack::OnFileWritten(const std::shared_ptr<Database>& database,
                             const rocksdb::TableFileCreationInfo& table) noexcept {
  if (!Notes() || database == nullptr) return;
  ThreadNotes& notes = *NotesOfThisThread(/*make=*/false);
  if (notes.keys.empty() && !notes.pushed) return;
  if (!notes.judged && !worth_.Pays(database->worth.get())) {
    counts_.skipped.fetch_add(1, std::memory_order_relaxed);
    return End();
  }
  notes.judged = true;
  const bool pushed = IfThereIsMemory([&] {
    auto item = std::make_unique<Item>(Item{.database = database,
                                            .stream = notes.stream,
                                            .table = {.files = database->files,
                                                      .direct = database->direct,
                                                      .path = table.file_path,
                                                      .comparator = ComparatorOf(table.table_properties)},
                                            .file = FileIdOf(table.table_properties),
                                            .keys = std::move(notes.keys),
                                            .since = Clock::now()});
    if (item->table.comparator != nullptr) return Push(std::move(item));
    counts_.dropped.fetch_add(1, std::memory_order_relaxed);
  });
  notes.keys.Clear();
  notes.pushed |= pushed;
}

void ReadBack::Push(std::unique_ptr<Item> item) {
  {
    const std::lock_guard lock(mutex_);
    if (!no_thread_ && !thread_.joinable()) {
      thread_ = StartThread("mezz-heirs", [this] { Run(); });
      no_thread_ = !thread_.joinable();
    }
    const size_t bytes = item->keys.bytes();
    if (no_thread_ || queue_bytes_ + bytes > kQueueBytesMax) {
      counts_.dropped.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    queue_.push_back(std::move(item));
    queue_bytes_ += bytes;
  }
  changed_.notify_all();
}

void ReadBack::CloseDatabase(const std::shared_ptr<Database>& database) noexcept {
  database->closed.store(true, std::memory_order_relaxed);
  std::unique_lock lock(mutex_);
  for (auto item = queue_.begin(); item != queue_.end();) {
    if ((*item)->database != database) {
      ++item;
      continue;
    }
    queue_bytes_ -= (*item)->keys.bytes();
    counts_.dropped.fetch_add(1, std::memory_order_relaxed);
    item = queue_.erase(item);
  }
  changed_.notify_all();
  changed_.wait(lock, [&] { return reading_ != database.get(); });
}

void ReadBack::Drain() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return queue_.empty() && reading_ == nullptr; });
}

void ReadBack::Run() {
  this_thread_reads = true;
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stop_.load(std::memory_order_relaxed) || !queue_.empty(); });
    if (stop_.load(std::memory_order_relaxed)) return;
    std::unique_ptr<Item> item = std::move(queue_.front());
    queue_.pop_front();
    queue_bytes_ -= item->keys.bytes();
    reading_ = item->database.get();
    lock.unlock();
    Read(*item);
    lock.lock();
    reading_ = nullptr;
    changed_.notify_all();
  }
}

bool ReadBack::StopsReading(const Item& item) const {
  return stop_.load(std::memory_order_relaxed) || item.database->closed.load(std::memory_order_relaxed) ||
         cache_.is_forgotten(item.file);
}

void ReadBack::Read(Item& item) {
  const bool old = Clock::now() - item.since > std::chrono::seconds(kAgeSecondsMax);
  if (old || StopsReading(item)) {
    counts_.dropped.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  std::optional<size_t> behind;
  try {
    ParentKeys& rest = item.stream->rest;
    for (size_t i = 0; i < rest.size(); ++i) item.keys.Add(rest.key(i), rest.parent(i));
    rest.Clear();
    item.keys.Sort(item.table.comparator == rocksdb::ReverseBytewiseComparator());
    worth_.BeginFile(item.file, item.database->worth);
    behind = reader_.Read(item.table, item.keys, [&] { return StopsReading(item); });
    if (behind) item.keys.MoveTail(*behind, &rest);
  } catch (...) {  // without memory
    behind.reset();
  }
  (behind ? counts_.whole : counts_.failed).fetch_add(1, std::memory_order_relaxed);
}

}  // namespace mezz
