// SPDX-License-Identifier: Apache-2.0
#include "integration/lineage_recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <iterator>
#include <mutex>
#include <span>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "admission/curves/lineage_csv.h"
#include "cache/base/background_file.h"
#include "cache/types.h"
#include "integration/block_entries.h"
#include "integration/compaction_thread.h"
#include "integration/warming.h"
#include "rocksdb/version.h"
#if ROCKSDB_MAJOR > 8 || (ROCKSDB_MAJOR == 8 && ROCKSDB_MINOR >= 9)
#include "integration/rocksdb_compat.h"
#endif

namespace mezz {

#ifndef MEZZ_ROCKSDB_VERSION

Status LineageRecorder::Open(const LineageRecorderOptions&, std::shared_ptr<rocksdb::Cache>,
                             std::unique_ptr<LineageRecorder>*) {
  return Status::NotSupported("blocks are recorded with their parents from RocksDB 8.9 on, and this is an earlier one");
}

#else

namespace {

using rocksdb::Slice;

constexpr size_t kNodeBytes = 64;  // what a map's entry takes beside its own

uint64_t SteadyUs() {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

// A block as its bytes came by.
struct SeenBlock {
  BlockRole role;
  uint32_t bytes;
  std::vector<uint64_t> keys;  // hashes; none: they cannot be read
};

// The file, and what is known of the blocks in it. Thread-safe.
class Recording {
 public:
  Recording(const LineageRecorderOptions& options, std::unique_ptr<BackgroundFile> file)
      : options_(options), file_(std::move(file)) {
    Append(fmt::format("{}\n", kLineageCsvHeader));
  }

  // A hint: what is called after the end does nothing.
  bool goes_on() const { return goes_on_.load(std::memory_order_relaxed); }

  void LookUp(const BlockKey& key, bool by_compaction) {
    const std::lock_guard lock(mutex_);
    const auto found = blocks_.find(key);
    if (found == blocks_.end()) {
      if (!by_compaction) awaited_.insert(key);  // it has its line once its bytes come
    } else if (by_compaction) {
      NoteParent(found->second);
      Write(ToString(BlockEventKind::kCompactionLookUp), found->second);
    } else {
      Write(kUserLookUpName, found->second);
    }
  }

  void Inserted(const BlockKey& key, SeenBlock seen) {
    const std::lock_guard lock(mutex_);
    if (awaited_.erase(key) != 0) Write(kUserLookUpName, Learn(key, std::move(seen)));
  }

  void Flushed(const BlockKey& key, SeenBlock seen) {
    const std::lock_guard lock(mutex_);
    Write(ToString(BlockEventKind::kFlushed), Learn(key, std::move(seen)));
  }

  void Compacted(const BlockKey& key, SeenBlock seen) {
    const std::lock_guard lock(mutex_);
    const Block& block = Learn(key, std::move(seen));
    Write(ToString(BlockEventKind::kCompacted), block, ParentsOf(block));
  }

  void Deleted(FileId file) {
    const std::lock_guard lock(mutex_);
    const auto found = files_.find(file);
    if (found == files_.end()) return;
    Append(fmt::format("{},{},,,,{},\n", ToString(BlockEventKind::kFileDeleted), found->second.number, NowUs()));
    for (const BlockKey& key : found->second.blocks) {
      const auto block = blocks_.find(key);
      memory_bytes_ -= BytesOf(block->second);
      blocks_.erase(block);
    }
    files_.erase(found);
  }

  // The calling thread begins another compaction.
  void ForgetParents() {
    const std::lock_guard lock(mutex_);
    const auto forgotten = parents_.extract(std::this_thread::get_id());
    if (!forgotten.empty()) memory_bytes_ -= BytesOf(forgotten.mapped());
  }

  Status Finish() {
    const std::lock_guard lock(mutex_);
    goes_on_.store(false, std::memory_order_relaxed);
    MEZZ_RETURN_IF_ERROR(file_->Finish());
    if (ended_by_.empty()) return Status::Ok();
    return Status::NoSpace(fmt::format("the recording {} ended early: {}", options_.path, ended_by_));
  }

 private:
  struct Block : SeenBlock {
    uint64_t number;  // KeyInFile
  };
  struct File {
    uint32_t number;
    std::vector<BlockKey> blocks;
  };
  struct HashOfKey {
    size_t operator()(const BlockKey& key) const { return key.words[0] * 0x9e3779b97f4a7c15ull ^ key.words[1]; }
  };
  // By key, the numbers of the blocks in which a thread's compaction has found it: two where it has two versions.
  using Parents = std::unordered_map<uint64_t, std::vector<uint64_t> >;

  static size_t BytesOf(const Block& block) {
    return sizeof(Block) + 2 * sizeof(BlockKey) + kNodeBytes + block.keys.size() * sizeof(uint64_t);
  }
  static size_t BytesOf(const Parents& parents) { return parents.size() * 2 * kNodeBytes; }

  Block& Learn(const BlockKey& key, SeenBlock&& seen) {
    const auto [block, fresh] = blocks_.try_emplace(key);
    if (!fresh) return block->second;
    const auto [file, first] = files_.try_emplace(key.file());
    if (first) file->second.number = files_seen_++;
    const auto number = static_cast<uint32_t>(file->second.blocks.size());
    block->second = {std::move(seen), KeyInFile(file->second.number, number)};
    file->second.blocks.push_back(key);
    memory_bytes_ += BytesOf(block->second);
    return block->second;
  }

  void NoteParent(const Block& block) {
    Parents& parents = parents_[std::this_thread::get_id()];
    const size_t before = BytesOf(parents);
    for (const uint64_t key : block.keys) {
      std::vector<uint64_t>& of_key = parents[key];
      if (std::ranges::find(of_key, block.number) == of_key.end()) of_key.push_back(block.number);
    }
    memory_bytes_ += BytesOf(parents) - before;
  }

  // Empty: another thread has read them, or nobody. Keys that stood in the same blocks are one share.
  std::string ParentsOf(const Block& block) {
    static const std::vector<uint64_t> kNothing;
    const auto found = parents_.find(std::this_thread::get_id());
    if (found == parents_.end()) return "";
    std::vector<std::pair<const std::vector<uint64_t>*, uint32_t> > shares;
    for (const uint64_t key : block.keys) {
      const auto of_key = found->second.find(key);
      const std::vector<uint64_t>* const in = of_key == found->second.end() ? &kNothing : &of_key->second;
      const auto share = std::ranges::find_if(shares, [in](const auto& each) { return *each.first == *in; });
      if (share == shares.end()) {
        shares.emplace_back(in, 1);
      } else {
        ++share->second;
      }
    }
    std::string text;
    for (const auto& [in, keys] : shares) {
      fmt::format_to(std::back_inserter(text), "{}{}:", text.empty() ? "" : " ", keys);
      for (size_t i = 0; i < in->size(); ++i) text += (i == 0 ? "" : "+") + NameOf((*in)[i]);
    }
    return text;
  }

  static std::string NameOf(uint64_t number) { return fmt::format("{}.{}", FileOfKey(number), number & UINT32_MAX); }

  void Write(std::string_view event, const Block& block, const std::string& parents = "") {
    const std::string keys = block.keys.empty() ? "" : std::to_string(block.keys.size());
    Append(fmt::format("{},{},{},{},{},{},{}\n", event, NameOf(block.number), ToString(block.role), block.bytes, keys,
                       NowUs(), parents));
  }

  void Append(const std::string& line) {
    if (!goes_on()) return;
    if (memory_bytes_ + awaited_.size() * kNodeBytes > options_.memory_bytes_max)
      return EndBy(fmt::format("it is to take no more than {} MiB of memory", options_.memory_bytes_max >> 20));
    file_bytes_ += line.size();
    if (file_bytes_ > options_.file_bytes_max)
      return EndBy(fmt::format("its file is to have no more than {} MiB", options_.file_bytes_max >> 20));
    if (!file_->Append(line))
      EndBy(fmt::format("{} MiB of it were waiting for the disk", options_.waiting_bytes_max >> 20));
  }
  void EndBy(std::string reason) {
    ended_by_ = std::move(reason);
    goes_on_.store(false, std::memory_order_relaxed);
  }

  uint64_t NowUs() const { return SteadyUs() - start_us_; }

  const LineageRecorderOptions options_;
  const uint64_t start_us_ = SteadyUs();
  std::atomic<bool> goes_on_{true};  // falls once, under mutex_; relaxed: who reads an old value does work in vain
  std::mutex mutex_;                 // guards all that follows
  const std::unique_ptr<BackgroundFile> file_;
  uint64_t file_bytes_ = 0;
  std::string ended_by_;                                   // empty: nothing, yet
  std::unordered_map<BlockKey, Block, HashOfKey> blocks_;  // of files that live
  std::unordered_map<FileId, File> files_;
  std::unordered_map<std::thread::id, Parents> parents_;
  std::unordered_set<BlockKey, HashOfKey> awaited_;  // looked up by users, and not seen yet
  uint32_t files_seen_ = 0;
  uint64_t memory_bytes_ = 0;  // of blocks_, files_ and parents_
};

class RecordingCache final : public rocksdb::CacheWrapper {
 public:
  RecordingCache(std::shared_ptr<rocksdb::Cache> cache, std::shared_ptr<Recording> recording)
      : CacheWrapper(std::move(cache)), recording_(std::move(recording)) {
    memory_allocator_ = WrappedAllocator(target_);
  }

  const char* Name() const override { return "MezzanineRecordingCache"; }

  Handle* Lookup(const Slice& key, const CacheItemHelper* helper, CreateContext* context, Priority priority,
                 rocksdb::Statistics* stats) override {
    if (Records(key, helper)) recording_->LookUp(BlockKey::FromBytes(key.data()), OnCompactionThread());
    return target_->Lookup(key, helper, context, priority, stats);
  }

  rocksdb::Status Insert(const Slice& key, ObjectPtr obj, const CacheItemHelper* helper, size_t charge, Handle** handle,
                         Priority priority, const Slice& compressed, rocksdb::CompressionType type) override {
    if (Records(key, helper)) Note(BlockKey::FromBytes(key.data()), obj, helper, handle, priority);
    return target_->Insert(key, obj, helper, charge, handle, priority, compressed, type);
  }

  // The base class's look up at once, through our Lookup.
  void StartAsyncLookup(AsyncLookupHandle& handle) override { Cache::StartAsyncLookup(handle); }
  void WaitAll(AsyncLookupHandle* handles, size_t count) override { Cache::WaitAll(handles, count); }

 private:
  bool Records(const Slice& key, const CacheItemHelper* helper) const {
    return recording_->goes_on() && helper != nullptr && helper->IsSecondaryCacheCompatible() &&
           key.size() == BlockKey::kBytes;
  }

  // Readers take a handle. Flushes insert what they write at LOW priority, compactions at BOTTOM; blobs are inserted at
  // BOTTOM, and only as flushes write them.
  void Note(const BlockKey& key, ObjectPtr obj, const CacheItemHelper* helper, Handle** handle, Priority priority) {
    std::vector<std::byte> bytes(helper->size_cb(obj));
    if (bytes.empty() || !helper->saveto_cb(obj, 0, bytes.size(), reinterpret_cast<char*>(bytes.data())).ok()) return;
    SeenBlock seen{.role = ToBlockRole(helper->role), .bytes = static_cast<uint32_t>(bytes.size()), .keys = {}};
    if (seen.role == BlockRole::kData) HashEntries(bytes, /*salt=*/0, &seen.keys);
    if (handle != nullptr) return recording_->Inserted(key, std::move(seen));
    if (priority != Priority::BOTTOM || seen.role == BlockRole::kBlob) return recording_->Flushed(key, std::move(seen));
    NoteCompactionOutput();
    recording_->Compacted(key, std::move(seen));
  }

  const std::shared_ptr<Recording> recording_;
};

class RecorderOfCache final : public LineageRecorder {
 public:
  RecorderOfCache(std::shared_ptr<rocksdb::Cache> cache, std::shared_ptr<Recording> recording)
      : recording_(std::move(recording)),
        cache_(std::make_shared<RecordingCache>(std::move(cache), recording_)),
        listener_(MakeFileListener("MezzanineLineageListener",
                                   {.deleted = [to = recording_](FileId file) { to->Deleted(file); },
                                    .compaction_begins = [to = recording_] { to->ForgetParents(); }})) {}

  std::shared_ptr<rocksdb::Cache> cache() const override { return cache_; }
  std::shared_ptr<rocksdb::EventListener> listener() const override { return listener_; }
  Status Finish() override { return recording_->Finish(); }

 private:
  const std::shared_ptr<Recording> recording_;
  const std::shared_ptr<rocksdb::Cache> cache_;
  const std::shared_ptr<rocksdb::EventListener> listener_;
};

}  // namespace

Status LineageRecorder::Open(const LineageRecorderOptions& options, std::shared_ptr<rocksdb::Cache> cache,
                             std::unique_ptr<LineageRecorder>* recorder) {
  std::unique_ptr<BackgroundFile> file;
  MEZZ_RETURN_IF_ERROR(BackgroundFile::Create(options.path, options.waiting_bytes_max, &file));
  *recorder =
      std::make_unique<RecorderOfCache>(std::move(cache), std::make_shared<Recording>(options, std::move(file)));
  return Status::Ok();
}

#endif

}  // namespace mezz
