// SPDX-License-Identifier: Apache-2.0
#include "workloads/replay/caches/open_databases.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

#include "integration/rocksdb_release.h"
#include "rocksdb/convenience.h"
#include "rocksdb/db.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/merge_operator.h"
#include "rocksdb/table.h"
#include "rocksdb/trace_reader_writer.h"
#include "rocksdb/version.h"
#include "workloads/rocksdb/open_db.h"

namespace mezz {
namespace {

// A merge leaves what a put would have left, so that values can be checked whatever was merged.
class NewestOperand final : public rocksdb::AssociativeMergeOperator {
 public:
  const char* Name() const override { return "mezz.NewestOperand"; }
  bool Merge(const rocksdb::Slice&, const rocksdb::Slice*, const rocksdb::Slice& value, std::string* merged,
             rocksdb::Logger*) const override {
    merged->assign(value.data(), value.size());
    return true;
  }
};

void Warm(Warming warming, rocksdb::BlockBasedTableOptions* table) {
  using Prepopulate = rocksdb::BlockBasedTableOptions::PrepopulateBlockCache;
  if (warming == Warming::kBest) warming = kWarmsWithCompactions ? Warming::kFlushAndCompaction : Warming::kFlush;
  if (warming == Warming::kFlush) table->prepopulate_block_cache = Prepopulate::kFlushOnly;
#if ROCKSDB_MAJOR > 11 || (ROCKSDB_MAJOR == 11 && ROCKSDB_MINOR >= 1)
  if (warming == Warming::kFlushAndCompaction) table->prepopulate_block_cache = Prepopulate::kFlushAndCompaction;
#endif
}

// Pages that an earlier run left belong to nobody's memory limit.
void ForgetPages(const std::string& folder) {
  std::error_code error;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, error)) {
    const int fd = open(entry.path().c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) continue;
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    close(fd);
  }
}

}  // namespace

std::string RocksDbVersion() { return rocksdb::GetRocksVersionAsString(/*with_patch=*/true); }

rocksdb::Options DatabaseOptions(const ReplayOptions& o, std::shared_ptr<rocksdb::Cache> cache, Warming warming) {
  rocksdb::BlockBasedTableOptions table;
  Warm(warming, &table);
  table.block_size = o.block_bytes;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  table.cache_index_and_filter_blocks = o.index_in_cache && cache != nullptr;
  table.block_cache = std::move(cache);
  table.no_block_cache = table.block_cache == nullptr;
  rocksdb::Options options;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  options.compression = o.compression == "lz4"    ? rocksdb::kLZ4Compression
                        : o.compression == "zstd" ? rocksdb::kZSTD
                                                  : rocksdb::kNoCompression;
  options.use_direct_reads = true;
  options.use_direct_io_for_flush_and_compaction = true;
  options.max_background_jobs = 2;
  options.merge_operator = std::make_shared<NewestOperand>();
  options.write_buffer_size = o.memtable_bytes();
  options.info_log_level = rocksdb::WARN_LEVEL;
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  return options;
}

Status OpenDatabases(const ReplayOptions& o, const rocksdb::Options& options, const std::string& folder,
                     Databases* dbs) {
  for (unsigned number = 0; number < o.dbs; ++number) {
    const std::string path = fmt::format("{}/{}", folder, number);
    std::unique_ptr<rocksdb::DB> db;
    MEZZ_RETURN_IF_ERROR(FromRocksDb(OpenDb(options, path, &db), "opening " + path));
    dbs->Add(std::move(db));
  }
  return Status::Ok();
}

Status OpenClone(const ReplayOptions& options, const std::string& path, const std::shared_ptr<rocksdb::Cache>& cache,
                 const CloneReads& reads, Databases* dbs,
                 const std::vector<std::shared_ptr<rocksdb::EventListener>>& listeners) {
  rocksdb::Options opened = DatabaseOptions(options, cache, reads.warming);
  opened.listeners = listeners;
  opened.use_direct_reads = !reads.buffered;
  if (reads.env != nullptr) opened.env = reads.env;
  if (reads.buffered) ForgetPages(path);
  return OpenDatabases(options, opened, path, dbs);
}

void AwaitBackgroundWork(rocksdb::DB* db, const std::atomic<bool>& stop) {
  constexpr auto kLook = std::chrono::milliseconds(1);
  constexpr int kIdleLooks = 2;  // a job that ends, and what it has made due, may lie between two questions of one look
  using Properties = rocksdb::DB::Properties;
  const auto number = [db](const std::string& property) {
    uint64_t value = 0;
    return db->GetIntProperty(property, &value) ? value : 0;
  };
  for (int idle = 0; idle < kIdleLooks && !stop.load(std::memory_order_relaxed); std::this_thread::sleep_for(kLook)) {
    const bool failed = number(Properties::kBackgroundErrors) != 0;
    // In the order in which work moves on, so that none is overlooked on its way.
    const uint64_t flush_due = number(Properties::kMemTableFlushPending);
    const uint64_t flushes = number(Properties::kNumRunningFlushes);
    const uint64_t compaction_due = number(Properties::kCompactionPending);
    const uint64_t compactions = number(Properties::kNumRunningCompactions);
    const bool works = flushes + compactions != 0 || (!failed && flush_due + compaction_due != 0);
    idle = works ? 0 : idle + 1;
  }
}

Status StartBlockTrace(const std::string& path, const Databases& dbs) {
  std::error_code error;
  if (std::filesystem::exists(path, error)) {
    return Status::ForeignFile(fmt::format("--block_trace={}: it exists; remove it, or name another file", path));
  }
  std::unique_ptr<rocksdb::TraceWriter> writer;
  MEZZ_RETURN_IF_ERROR(
      FromRocksDb(rocksdb::NewFileTraceWriter(rocksdb::Env::Default(), rocksdb::EnvOptions(), path, &writer),
                  "creating --block_trace=" + path));
  return FromRocksDb(dbs.all().front()->StartBlockCacheTrace(rocksdb::TraceOptions(), std::move(writer)),
                     "starting --block_trace=" + path);
}

Status EndBlockTrace(const std::string& path, const Databases& dbs) {
  return FromRocksDb(dbs.all().front()->EndBlockCacheTrace(), "ending --block_trace=" + path);
}

}  // namespace mezz
