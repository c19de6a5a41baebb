// SPDX-License-Identifier: Apache-2.0
#include "integration/read_back.h"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cstring>
#include <utility>

#include "cache/base/if_memory.h"
#include "cache/base/start_thread.h"
#include "integration/block_entries.h"
#include "integration/compaction_thread.h"
#include "integration/file_id.h"
#include "rocksdb/env.h"
#include "rocksdb/options.h"
#include "rocksdb/sst_file_reader.h"
#include "rocksdb/table.h"

namespace mezz {
namespace {

constexpr uint64_t kSecondNs = 1'000'000'000;
constexpr uint64_t kBurstNs = kSecondNs / 50;  // so far a read may be ahead of kBytesPerSecond
// Keys whose parents are known before a block with one of them is read: a block has fewer.
constexpr size_t kKeysAhead = ParentTable::kKeys / 4;
// Deleted keys that a search steps over, which may lie in blocks that nobody wants.
constexpr uint64_t kDeletedKeysMax = 64;

std::atomic<size_t> all_bytes{0};  // relaxed: a figure

uint64_t NowNs() {
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1));
}

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

ParentKeys::ParentKeys(ParentKeys&& other) noexcept { *this = std::move(other); }

ParentKeys& ParentKeys::operator=(ParentKeys&& other) noexcept {
  Clear();
  text_.swap(other.text_);
  notes_.swap(other.notes_);
  std::swap(counted_, other.counted_);
  return *this;
}

void ParentKeys::Clear() {
  std::vector<char>().swap(text_);
  std::vector<Note>().swap(notes_);
  all_bytes.fetch_sub(std::exchange(counted_, 0), std::memory_order_relaxed);
}

void ParentKeys::Count() {
  const size_t bytes = text_.capacity() + notes_.capacity() * sizeof(Note);
  all_bytes.fetch_add(bytes - counted_, std::memory_order_relaxed);  // wraps where there are fewer
  counted_ = bytes;
}

size_t ParentKeys::bytes_of_all() { return all_bytes.load(std::memory_order_relaxed); }

// 1, 2, 4 and 8 in the quarters of kBytesMax, and beyond it none.
size_t ParentKeys::Stride() const {
  const size_t used = text_.size() + notes_.size() * sizeof(Note);
  return used >= kBytesMax ? 0 : size_t{1} << used / (kBytesMax / 4);
}

void ParentKeys::Add(std::span<const std::byte> block, Standing standing, uint8_t frequency) {
  const size_t stride = Stride();
  if (stride == 0) return;
  const size_t first = notes_.size(), text = text_.size();
  size_t seen = 0;
  const bool whole = VisitEntries(block, [&](std::string_view key) {
    if (seen++ % stride == 0) Add(key, {.standing = standing, .frequency = frequency});
  });
  if (!whole) {
    notes_.resize(first);
    text_.resize(text);
  }
  const auto entries = static_cast<uint16_t>(std::clamp<size_t>(seen / stride, 1, UINT16_MAX));
  for (size_t i = first; i < notes_.size(); ++i) notes_[i].parent.entries = entries;
  Count();
}

void ParentKeys::Add(std::string_view key, const Parent& parent) {
  notes_.push_back(
      {.at = static_cast<uint32_t>(text_.size()), .bytes = static_cast<uint16_t>(key.size()), .parent = parent});
  text_.insert(text_.end(), key.begin(), key.end());
}

void ParentKeys::Sort(bool reversed) {
  const auto text_of = [this](const Note& note) { return std::string_view(text_.data() + note.at, note.bytes); };
  std::ranges::sort(notes_, [&](const Note& a, const Note& b) {
    const int order = text_of(a).compare(text_of(b));
    if (order != 0) return reversed ? order > 0 : order < 0;
    return a.parent.standing > b.parent.standing;
  });
  const auto same = [&](const Note& a, const Note& b) { return text_of(a) == text_of(b); };
  notes_.erase(std::unique(notes_.begin(), notes_.end(), same), notes_.end());
}

void ParentKeys::MoveTail(size_t first, ParentKeys* to) const {
  ParentKeys tail;
  for (size_t i = first; i < size(); ++i) tail.Add(key(i), parent(i));
  tail.Count();
  *to = std::move(tail);
}

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
  std::string path;
  FileId file{0};
  const rocksdb::Comparator* comparator = nullptr;
  ParentKeys keys;
  uint64_t since_ns = 0;
};

namespace {

// none --NotesOfThisThread--> notes --the thread destroys its own objects--> none, for ever
thread_local constinit void* this_thread_notes = nullptr;
thread_local constinit bool this_thread_ends = false;

}  // namespace

// A database's file system as our thread sees it: each read is counted, and waits for its turn.
class ReadBack::File final : public rocksdb::FSRandomAccessFileOwnerWrapper {
 public:
  File(std::unique_ptr<rocksdb::FSRandomAccessFile> file, ReadBack* reader)
      : FSRandomAccessFileOwnerWrapper(std::move(file)), reader_(*reader) {}

  rocksdb::IOStatus Read(uint64_t offset, size_t n, const rocksdb::IOOptions& options, rocksdb::Slice* result,
                         char* scratch, rocksdb::IODebugContext* debug) const override {
    reader_.OnRead(n);
    return FSRandomAccessFileOwnerWrapper::Read(offset, n, options, result, scratch, debug);
  }
  rocksdb::IOStatus MultiRead(rocksdb::FSReadRequest* requests, size_t count, const rocksdb::IOOptions& options,
                              rocksdb::IODebugContext* debug) override {
    for (size_t i = 0; i < count; ++i) reader_.OnRead(requests[i].len);
    return FSRandomAccessFileOwnerWrapper::MultiRead(requests, count, options, debug);
  }
  // RocksDB then reads ahead with a Read of its own, which is counted.
  rocksdb::IOStatus Prefetch(uint64_t, size_t, const rocksdb::IOOptions&, rocksdb::IODebugContext*) override {
    return rocksdb::IOStatus::NotSupported();
  }

 private:
  ReadBack& reader_;
};

class ReadBack::Files final : public rocksdb::FileSystemWrapper {
 public:
  Files(const std::shared_ptr<rocksdb::FileSystem>& files, ReadBack* reader)
      : FileSystemWrapper(files), reader_(reader) {}
  const char* Name() const override { return "mezz.ReadBackFiles"; }
  rocksdb::IOStatus NewRandomAccessFile(const std::string& path, const rocksdb::FileOptions& options,
                                        std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
                                        rocksdb::IODebugContext* debug) override {
    std::unique_ptr<rocksdb::FSRandomAccessFile> opened;
    rocksdb::IOStatus status = target()->NewRandomAccessFile(path, options, &opened, debug);
    if (status.ok()) *file = std::make_unique<File>(std::move(opened), reader_);
    return status;
  }

 private:
  ReadBack* const reader_;
};

ReadBack::ReadBack(Cache cache) : cache_(std::move(cache)), id_(NextId()), counts_(*cache_.counters) {}

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
                                            .path = table.file_path,
                                            .file = FileIdOf(table.table_properties),
                                            .comparator = ComparatorOf(table.table_properties),
                                            .keys = std::move(notes.keys),
                                            .since_ns = NowNs()});
    if (item->comparator != nullptr) return Push(std::move(item));
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
  const bool old = NowNs() - item.since_ns > kAgeSecondsMax * kSecondNs;
  if (old || StopsReading(item)) {
    counts_.dropped.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  read_failed_ = false;
  try {
    ParentKeys& rest = item.stream->rest;
    for (size_t i = 0; i < rest.size(); ++i) item.keys.Add(rest.key(i), rest.parent(i));
    rest.Clear();
    item.keys.Sort(item.comparator == rocksdb::ReverseBytewiseComparator());
    if (lineage_ == nullptr) lineage_ = std::make_unique<ParentTable>();
    lineage_->Clear();
    worth_.BeginFile(item.file, item.database->worth);
    const size_t behind = ReadTable(item);
    item.keys.MoveTail(behind, &rest);
  } catch (...) {  // without memory
    read_failed_ = true;
  }
  (read_failed_ ? counts_.failed : counts_.whole).fetch_add(1, std::memory_order_relaxed);
}

// As the database's own tables, but for what nobody needs here. Index and filters are not cached: they are read for us
// alone. The cache is not ours to keep alive.
rocksdb::Options ReadBack::OptionsFor(const Item& item, rocksdb::Env* env) const {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = std::shared_ptr<rocksdb::Cache>(std::shared_ptr<void>(), cache_.cache);
  table.cache_index_and_filter_blocks = false;
  table.max_auto_readahead_size = 0;
  rocksdb::Options options;
  options.env = env;
  options.comparator = item.comparator;
  options.use_direct_reads = item.database->direct;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

// Returns the first key that lies behind the table's last.
size_t ReadBack::ReadTable(const Item& item) {
  const ParentKeys& keys = item.keys;
  const std::unique_ptr<rocksdb::Env> env =
      rocksdb::NewCompositeEnv(std::make_shared<Files>(item.database->files, this));
  rocksdb::SstFileReader table(OptionsFor(item, env.get()));
  if (!table.Open(item.path).ok()) {
    read_failed_ = true;
    return keys.size();
  }
  rocksdb::ReadOptions how;
  how.total_order_seek = true;
  how.max_skippable_internal_keys = kDeletedKeysMax;
  const uint64_t entries = std::max<uint64_t>(1, table.GetTableProperties()->num_entries);
  if (keys.size() * 100 >= entries * kPiecesPercentMin) how.readahead_size = kPieceBytes;
  const std::unique_ptr<rocksdb::Iterator> at(table.NewIterator(how));
  size_t known = 0;
  for (size_t i = 0; i < keys.size(); ++i) {
    for (; known < std::min(i + kKeysAhead, keys.size()); ++known)
      lineage_->Note(HashOfEntry(keys.key(known), /*salt=*/0), keys.parent(known));
    if (StopsReading(item)) return keys.size();
    const rocksdb::Slice key(keys.key(i).data(), keys.key(i).size());
    if (at->Valid() && item.comparator->Compare(at->key(), key) > 0) continue;  // it is no longer there
    at->Seek(key);
    if (at->Valid()) continue;
    if (at->status().ok()) return i;
    if (at->status().IsIOError()) {
      read_failed_ = true;
      return keys.size();
    }
    // A merge without its operator, a blob, many deletions: the block has been read all the same.
  }
  return keys.size();
}

Lineage ReadBack::LineageOf(std::span<const std::byte> block) {
  assert(OnThisThread());
  counts_.blocks.fetch_add(1, std::memory_order_relaxed);
  Lineage::Sum sum;
  if (HashEntries(block, /*salt=*/0, &hashes_)) {
    for (const uint64_t hash : hashes_) sum.Add(lineage_->Find(hash).value_or(Parent{}));
  }
  return sum.Result();
}

void ReadBack::OnRead(uint64_t bytes) {
  counts_.reads.fetch_add(1, std::memory_order_relaxed);
  counts_.bytes.fetch_add(bytes, std::memory_order_relaxed);
  const uint64_t now = NowNs();
  free_ns_ = std::max(free_ns_, now) + bytes * kSecondNs / kBytesPerSecond;
  if (free_ns_ < now + kBurstNs) return;
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::nanoseconds(free_ns_ - now),
                    [this] { return stop_.load(std::memory_order_relaxed); });
}

ReadBackCounts ReadBackCounters::Read() const {
  const auto read = [](const std::atomic<uint64_t>& count) { return count.load(std::memory_order_relaxed); };
  const uint64_t failed_now = read(failed);
  return {.reads = read(reads),
          .bytes = read(bytes),
          .files = read(whole) + failed_now,
          .blocks = read(blocks),
          .failed = failed_now,
          .dropped = read(dropped),
          .skipped = read(skipped)};
}

}  // namespace mezz
