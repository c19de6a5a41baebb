// SPDX-License-Identifier: Apache-2.0
#include "integration/dead_file_listener.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cache/base/if_memory.h"
#include "integration/compaction_thread.h"
#include "integration/file_id.h"
#include "integration/heirs.h"
#include "integration/hybrid_cache.h"
#include "integration/read_back.h"
#include "integration/warming.h"
#include "rocksdb/db.h"
#include "rocksdb/env.h"

namespace mezz {
namespace {

constexpr char kListenerName[] = "MezzanineDeadFileListener";
constexpr auto kCompacted = rocksdb::TableFileCreationReason::kCompaction;

// The number in ".../000123.sst"; 0: there is none. Paths to one file differ between callbacks, by a slash for one.
uint64_t NumberIn(std::string_view path) {
  path.remove_prefix(path.find_last_of('/') + 1);
  uint64_t number = 0;
  std::from_chars(path.data(), path.data() + path.size(), number);
  return number;
}

// Without memory a file is not learnt of, which costs its dead blocks' space.
class DeadFileListener final : public rocksdb::EventListener {
 public:
  DeadFileListener(const char* name, FileEvents events) : name_(name), events_(std::move(events)) {}
  // A database that closes says nothing of the compactions that it breaks off.
  ~DeadFileListener() override {
    for (const auto& [db, jobs] : jobs_) Forget(jobs);
  }

  const char* Name() const override { return name_; }

  void OnTableFileCreated(const rocksdb::TableFileCreationInfo& info) override {
    if (!info.status.ok()) return ForgetNumber(info.db_name, NumberIn(info.file_path));
    if (ReadBack* const reader = ReaderOfHeirs(); reader != nullptr && info.reason == kCompacted)
      reader->OnFileWritten(DatabaseOf(info.db_name), info);
    const std::lock_guard lock(mutex_);
    IfThereIsMemory([&] {
      LearnLocked(info.db_name, info.file_path, info.table_properties);
      sessions_[info.db_name] = {info.table_properties.db_id, info.table_properties.db_session_id};
      if (info.reason != kCompacted) return;
      const auto jobs = jobs_.find(info.db_name);
      if (jobs == jobs_.end()) return;
      const auto job = jobs->second.find(info.job_id);
      if (job != jobs->second.end()) job->second.push_back(FileIdOf(info.table_properties));
    });
  }
  void OnFlushBegin(rocksdb::DB* db, const rocksdb::FlushJobInfo&) override { LearnSession(db); }
  void OnFlushCompleted(rocksdb::DB*, const rocksdb::FlushJobInfo& info) override {
    if (events_.flushed) events_.flushed(info.table_properties.raw_key_size + info.table_properties.raw_value_size);
  }
  // What is compacted may have been there when the database was opened.
  void OnCompactionBegin(rocksdb::DB* db, const rocksdb::CompactionJobInfo& info) override {
    events_.compaction_begins();
    LearnSession(db);
    BeginReadBack(db);
    const std::lock_guard lock(mutex_);
    IfThereIsMemory([&] {
      for (const auto& [path, table] : info.table_properties) LearnLocked(db->GetName(), path, *table);
      jobs_[db->GetName()][info.job_id].clear();
    });
  }
  // Whose outputs are not installed RocksDB may delete in hours.
  void OnCompactionCompleted(rocksdb::DB* db, const rocksdb::CompactionJobInfo& info) override {
    ReadBack::End();
    Jobs failed;
    {
      const std::lock_guard lock(mutex_);
      const auto jobs = jobs_.find(db->GetName());
      if (jobs == jobs_.end()) return;
      auto job = jobs->second.extract(info.job_id);
      if (!job || info.status.ok()) return;
      IfThereIsMemory([&] { failed.insert(std::move(job)); });
    }
    Forget(failed);
  }
  void OnSubcompactionBegin(const rocksdb::SubcompactionJobInfo&) override {
    events_.compaction_begins();
    if (ReadBack* const reader = ReaderOfHeirs()) reader->Begin();
  }
  // Under CompactFiles, of which nothing else is told, the thread is the caller's and has its own reads ahead.
  void OnSubcompactionCompleted(const rocksdb::SubcompactionJobInfo&) override {
    NoteCompactionEnd();
    ReadBack::End();
  }
  // A database that closes deletes its own handle, in each release, before what it reads files with may go.
  void OnColumnFamilyHandleDeletionStarted(rocksdb::ColumnFamilyHandle* handle) override {
    std::shared_ptr<ReadBack::Database> closed;
    {
      const std::lock_guard lock(mutex_);
      const auto found = open_.find(handle);
      if (found == open_.end()) return;
      closed = std::move(found->second.database);
      open_.erase(found);
    }
    if (ReadBack* const reader = ReaderOfHeirs()) reader->CloseDatabase(closed);
  }
  void OnTableFileDeleted(const rocksdb::TableFileDeletionInfo& info) override {
    FileId file{0};
    {
      const std::lock_guard lock(mutex_);
      const auto files = files_.find(info.db_name);
      if (files == files_.end()) return;
      const auto found = files->second.find(NumberIn(info.file_path));
      if (found == files->second.end()) return;
      file = found->second;
      files->second.erase(found);
    }
    Forget(file);
  }
  void OnBlobFileDeleted(const rocksdb::BlobFileDeletionInfo& info) override {
    ForgetNumber(info.db_name, NumberIn(info.file_path));
  }

 private:
  // What this session of the database has written under this number: a blob file, or a table that was not finished, of
  // which there are no properties. 0: there was none.
  void ForgetNumber(const std::string& db, uint64_t number) {
    FileId file{0};
    {
      const std::lock_guard lock(mutex_);
      const auto session = sessions_.find(db);
      if (session == sessions_.end() || number == 0) return;
      IfThereIsMemory([&] { file = FileIdOf(session->second.db_id, session->second.id, number); });
    }
    if (file != FileId{0}) Forget(file);
  }
  void Forget(FileId file) {
    events_.deleted(file);
    if (ReadBack* const reader = ReaderOfHeirs()) reader->OnFileDeleted(file);
  }

  ReadBack* ReaderOfHeirs() const { return events_.reader == nullptr ? nullptr : events_.reader(); }
  void BeginReadBack(rocksdb::DB* db) {
    ReadBack* const reader = ReaderOfHeirs();
    if (reader == nullptr) return;
    IfThereIsMemory([&] {
      auto database = std::make_shared<ReadBack::Database>();
      database->files = db->GetEnv()->GetFileSystem();
      database->direct = db->GetDBOptions().use_direct_io_for_flush_and_compaction;
      const std::lock_guard lock(mutex_);
      open_.try_emplace(db->DefaultColumnFamily(), Open{db->GetName(), std::move(database)});
    });
    reader->Begin();
  }
  std::shared_ptr<ReadBack::Database> DatabaseOf(const std::string& name) {
    const std::lock_guard lock(mutex_);
    for (const auto& [handle, open] : open_) {
      if (open.name == name) return open.database;
    }
    return nullptr;
  }

  struct Open {
    std::string name;
    std::shared_ptr<ReadBack::Database> database;
  };
  struct Session {
    std::string db_id;
    std::string id;
  };
  using Jobs = std::unordered_map<int, std::vector<FileId>>;  // by number: the tables that it has finished

  void Forget(const Jobs& jobs) {
    for (const auto& [job, files] : jobs) {
      for (const FileId file : files) Forget(file);
    }
  }

  // The first file of a session may be one that fails. What an earlier one compacted to no end is as dead.
  void LearnSession(rocksdb::DB* db) {
    Jobs broken_off;
    IfThereIsMemory([&] {
      Session session;
      if (!db->GetDbIdentity(session.db_id).ok() || !db->GetDbSessionId(session.id).ok()) return;
      const std::lock_guard lock(mutex_);
      Session& known = sessions_[db->GetName()];
      if (known.id != session.id) std::swap(broken_off, jobs_[db->GetName()]);
      known = std::move(session);
    });
    Forget(broken_off);
  }

  void LearnLocked(const std::string& db, const std::string& path, const rocksdb::TableProperties& table) {
    if (const uint64_t number = NumberIn(path); number != 0) files_[db][number] = FileIdOf(table);
  }

  const char* const name_;
  const FileEvents events_;  // keep the cache alive
  std::mutex mutex_;
  // By the database's path; guarded by mutex_.
  std::unordered_map<std::string, std::unordered_map<uint64_t, FileId>> files_;  // by number: tables that live
  std::unordered_map<std::string, Session> sessions_;                            // the latest
  std::unordered_map<std::string, Jobs> jobs_;                                   // compactions that run
  // Databases that have compacted, by their own handle of the default family; guarded by mutex_.
  std::unordered_map<const rocksdb::ColumnFamilyHandle*, Open> open_;
};

template <typename Cache>
Status Make(const std::shared_ptr<Cache>& cache, std::shared_ptr<rocksdb::EventListener>* listener) {
  HybridStats* const stats = cache == nullptr ? nullptr : GetHybridStats(cache.get());
  if (stats == nullptr) {
    return Status::InvalidArgument(fmt::format("a listener for deleted files needs a cache of Mezzanine, not {}",
                                               cache == nullptr ? "none" : cache->Name()));
  }
  *listener = MakeDeadFileListener([cache, stats] { return stats; });
  return Status::Ok();
}

}  // namespace

std::shared_ptr<rocksdb::EventListener> MakeDeadFileListener(std::function<HybridStats*()> stats) {
  const auto forget = [stats](FileId file) {
    if (HybridStats* const cache = stats()) cache->ForgetFile(file);
  };
  const auto flushed = [stats](uint64_t bytes) {
    if (HybridStats* const cache = stats()) cache->NoteFlush(bytes);
  };
  const auto reader = [stats] {
    HybridStats* const cache = stats();
    return cache == nullptr ? nullptr : cache->read_back();
  };
  return MakeFileListener(
      kListenerName,
      {.deleted = forget, .compaction_begins = &Heirs::ForgetParents, .flushed = flushed, .reader = reader});
}
std::shared_ptr<rocksdb::EventListener> MakeFileListener(const char* name, FileEvents events) {
  return std::make_shared<DeadFileListener>(name, std::move(events));
}
bool HasDeadFileListener(const rocksdb::DBOptions& options) {
  return std::ranges::any_of(options.listeners, [](const auto& listener) {
    return listener != nullptr && std::strcmp(listener->Name(), kListenerName) == 0;
  });
}

Status NewDeadFileListener(const std::shared_ptr<rocksdb::Cache>& cache,
                           std::shared_ptr<rocksdb::EventListener>* listener) {
  return Make(cache, listener);
}
Status NewDeadFileListener(const std::shared_ptr<rocksdb::SecondaryCache>& cache,
                           std::shared_ptr<rocksdb::EventListener>* listener) {
  return Make(cache, listener);
}

}  // namespace mezz
