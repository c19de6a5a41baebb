// SPDX-License-Identifier: Apache-2.0
#include "integration/dead_file_listener.h"

#include <fmt/format.h>

#include <charconv>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "cache/base/if_memory.h"
#include "integration/file_id.h"
#include "integration/heirs.h"
#include "integration/hybrid_cache.h"
#include "rocksdb/db.h"

namespace mezz {
namespace {

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
  DeadFileListener(std::shared_ptr<void> cache, HybridStats* stats) : cache_(std::move(cache)), stats_(*stats) {}

  const char* Name() const override { return "MezzanineDeadFileListener"; }

  void OnTableFileCreated(const rocksdb::TableFileCreationInfo& info) override {
    if (!info.status.ok()) return ForgetUnfinished();
    const std::lock_guard lock(mutex_);
    IfThereIsMemory([&] {
      LearnLocked(info.db_name, info.file_path, info.table_properties);
      sessions_[info.db_name] = {info.table_properties.db_id, info.table_properties.db_session_id};
    });
  }
  // What is compacted may have been there when the database was opened.
  void OnCompactionBegin(rocksdb::DB* db, const rocksdb::CompactionJobInfo& info) override {
    Heirs::ForgetParents();
    const std::lock_guard lock(mutex_);
    IfThereIsMemory([&] {
      for (const auto& [path, table] : info.table_properties) LearnLocked(db->GetName(), path, *table);
    });
  }
  void OnSubcompactionBegin(const rocksdb::SubcompactionJobInfo&) override { Heirs::ForgetParents(); }
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
    stats_.ForgetFile(file);
  }
  void OnBlobFileDeleted(const rocksdb::BlobFileDeletionInfo& info) override {
    FileId file{0};
    {
      const std::lock_guard lock(mutex_);
      const auto session = sessions_.find(info.db_name);
      if (session == sessions_.end()) return;
      IfThereIsMemory(
          [&] { file = BlobFileIdOf(session->second.db_id, session->second.id, NumberIn(info.file_path)); });
    }
    stats_.ForgetFile(file);
  }

 private:
  // On the thread that was to write the file.
  void ForgetUnfinished() {
    if (const FileId file = Heirs::TakeOutput(); file != FileId{0}) stats_.ForgetFile(file);
  }

  struct Session {
    std::string db_id;
    std::string id;
  };

  void LearnLocked(const std::string& db, const std::string& path, const rocksdb::TableProperties& table) {
    if (const uint64_t number = NumberIn(path); number != 0) files_[db][number] = FileIdOf(table);
  }

  const std::shared_ptr<void> cache_;  // keeps stats_ alive
  HybridStats& stats_;
  std::mutex mutex_;
  // By the database's path; both guarded by mutex_.
  std::unordered_map<std::string, std::unordered_map<uint64_t, FileId>> files_;  // by number: tables that live
  std::unordered_map<std::string, Session> sessions_;                            // the latest
};

template <typename Cache>
Status Make(const std::shared_ptr<Cache>& cache, std::shared_ptr<rocksdb::EventListener>* listener) {
  HybridStats* const stats = cache == nullptr ? nullptr : GetHybridStats(cache.get());
  if (stats == nullptr) {
    return Status::InvalidArgument(fmt::format("a listener for deleted files needs a cache of Mezzanine, not {}",
                                               cache == nullptr ? "none" : cache->Name()));
  }
  *listener = std::make_shared<DeadFileListener>(cache, stats);
  return Status::Ok();
}

}  // namespace

Status NewDeadFileListener(const std::shared_ptr<rocksdb::Cache>& cache,
                           std::shared_ptr<rocksdb::EventListener>* listener) {
  return Make(cache, listener);
}
Status NewDeadFileListener(const std::shared_ptr<rocksdb::SecondaryCache>& cache,
                           std::shared_ptr<rocksdb::EventListener>* listener) {
  return Make(cache, listener);
}

}  // namespace mezz
