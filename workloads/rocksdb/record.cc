// SPDX-License-Identifier: Apache-2.0
#include "workloads/rocksdb/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include "cache/base/write_file.h"
#include "integration/lineage_recorder.h"
#include "integration/warming.h"
#include "rocksdb/cache.h"
#include "rocksdb/convenience.h"
#include "rocksdb/db.h"
#include "rocksdb/trace_reader_writer.h"
#include "rocksdb/utilities/options_util.h"
#include "workloads/generators/generators.h"
#include "workloads/readers/open_trace.h"
#include "workloads/requests/tracked_source.h"
#include "workloads/rocksdb/open_db.h"
#include "workloads/rocksdb/query_trace_writer.h"
#include "workloads/rocksdb/values.h"

namespace mezz {
namespace {

constexpr uint32_t kValueBytes = 100;  // where a request does not say
constexpr std::string_view kGenerated = "gen:";
constexpr size_t kPackedBlocksMax = 1000;

Status CheckNew(std::string_view flag, const std::string& path) {
  std::error_code error;
  if (path.empty() || !std::filesystem::exists(path, error)) return Status::Ok();
  return Status::ForeignFile(fmt::format("--{}={}: it exists; remove it, or name another file", flag, path));
}

// LZ4's, zstd's; none if none are asked for.
std::vector<std::string> RatiosPaths(const RecordOptions& o) {
  if (o.pack_ratios.empty()) return {};
  return {o.pack_ratios + ".lz4", o.pack_ratios + ".zstd"};
}

Status WriteRatios(const RecordOptions& o, const BlockPacking& packing) {
  const std::vector<std::string> paths = RatiosPaths(o);
  if (paths.empty()) return Status::Ok();
  MEZZ_RETURN_IF_ERROR(WriteFileAtomically(paths[0], RatiosFile(packing.lz4)));
  return WriteFileAtomically(paths[1], RatiosFile(packing.zstd));
}

// The database as its own options say, but for the block cache.
class RecordedDb {
 public:
  ~RecordedDb() {
    for (rocksdb::ColumnFamilyHandle* family : families_) (void)db_->DestroyColumnFamilyHandle(family);
  }

  Status Open(const RecordOptions& o) {
    rocksdb::ConfigOptions config;
    config.ignore_unknown_options = true;  // of another release
    rocksdb::DBOptions options;
    std::vector<rocksdb::ColumnFamilyDescriptor> families;
    std::shared_ptr<rocksdb::Cache> cache = rocksdb::NewLRUCache(o.cache_bytes);
    if (!o.lineage_trace.empty()) {
      MEZZ_RETURN_IF_ERROR(LineageRecorder::Open({.path = o.lineage_trace}, cache, &recorder_));
      cache = recorder_->cache();
    }
    const std::string name = fmt::format("--db={}", o.db);
    MEZZ_RETURN_IF_ERROR(
        FromRocksDb(rocksdb::LoadLatestOptions(config, o.db, &options, &families, &cache), name + " has no options"));
    options.create_if_missing = false;
    if (recorder_ != nullptr) Warm(&options, families);
    return FromRocksDb(OpenFamilies(!o.writes, options, o.db, families, &families_, &db_), name + " cannot be opened");
  }

  rocksdb::DB* operator->() const { return db_.get(); }
  rocksdb::DB* get() const { return db_.get(); }
  LineageRecorder* recorder() const { return recorder_.get(); }  // null: none was asked for

 private:
  // So that what is written comes to be recorded.
  void Warm(rocksdb::DBOptions* options, const std::vector<rocksdb::ColumnFamilyDescriptor>& families) {
    options->listeners.push_back(recorder_->listener());
    for (const rocksdb::ColumnFamilyDescriptor& family : families) {
      if (auto* const table = TableOptionsOf(family.options.table_factory.get()))
        table->prepopulate_block_cache = kBestWarming;
    }
  }

  std::unique_ptr<LineageRecorder> recorder_;
  std::vector<rocksdb::ColumnFamilyHandle*> families_;
  std::unique_ptr<rocksdb::DB> db_;
};

// Up to `max` keys, evenly spread over the database: every key until there are too many, then every second, every
// fourth, ...
Status SampleKeys(const RecordedDb& db, uint64_t max, const std::atomic<bool>& stop, std::vector<std::string>* keys) {
  rocksdb::ReadOptions options;
  options.fill_cache = false;
  const std::unique_ptr<rocksdb::Iterator> it(db->NewIterator(options));
  uint64_t stride = 1;
  uint64_t number = 0;
  for (it->SeekToFirst(); it->Valid() && !stop.load(std::memory_order_relaxed); it->Next(), ++number) {
    if (number % stride != 0) continue;
    if (keys->size() == max) {
      for (size_t i = 0; 2 * i < keys->size(); ++i) (*keys)[i].swap((*keys)[2 * i]);
      keys->resize((keys->size() + 1) / 2);
      stride *= 2;
      if (number % stride != 0) continue;
    }
    keys->push_back(it->key().ToString());
  }
  return FromRocksDb(it->status(), "reading the keys");
}

std::vector<std::string> EvenlySpread(const std::vector<std::string>& keys, size_t max) {
  std::vector<std::string> spread;
  const size_t count = std::min(keys.size(), max);
  for (size_t i = 0; i < count; ++i) spread.push_back(keys[i * keys.size() / count]);
  return spread;
}

bool IsWrite(Operation operation) {
  return operation == Operation::kPut || operation == Operation::kDelete || operation == Operation::kMerge;
}

class Recording {
 public:
  Recording(const RecordOptions& options, const RecordedDb& db, const std::vector<std::string>& keys,
            RecordReport* report)
      : options_(options), db_(db), keys_(keys), report_(report) {}

  Status Start() {
    // Not DB::StartTrace: RocksDB 7.8 leaves out the seeks of a database that is opened read-only.
    if (!options_.query_trace.empty()) {
      MEZZ_RETURN_IF_ERROR(QueryTraceWriter::Create(options_.query_trace, {.value_bytes = kValueBytes}, &queries_));
    }
    if (options_.block_trace.empty()) return Status::Ok();
    std::unique_ptr<rocksdb::TraceWriter> writer;
    const std::string creating = "creating " + options_.block_trace;
    MEZZ_RETURN_IF_ERROR(FromRocksDb(
        rocksdb::NewFileTraceWriter(rocksdb::Env::Default(), rocksdb::EnvOptions(), options_.block_trace, &writer),
        creating));
    return FromRocksDb(db_->StartBlockCacheTrace(rocksdb::TraceOptions(), std::move(writer)),
                       "starting the block-cache trace");
  }

  Status Finish() const {
    if (queries_ != nullptr) MEZZ_RETURN_IF_ERROR(queries_->Finish());
    if (db_.recorder() != nullptr) MEZZ_RETURN_IF_ERROR(db_.recorder()->Finish());
    return options_.block_trace.empty() ? Status::Ok()
                                        : FromRocksDb(db_->EndBlockCacheTrace(), "ending the block-cache trace");
  }

  Status Do(const Request& request) {
    const std::string& key = keys_[request.key % keys_.size()];
    if (IsWrite(request.operation) && !options_.writes) {
      ++report_->writes_left_out;
      return Status::Ok();
    }
    MEZZ_RETURN_IF_ERROR(Trace(request, key));
    switch (request.operation) {
      case Operation::kGet:
        return Get(key);
      case Operation::kMultiGet:
        batch_.emplace_back(key);
        return request.batch_left > 0 ? Status::Ok() : MultiGet();
      case Operation::kSeek:
        return Seek(key, request.scan_length);
      default:
        return Write(request, key);
    }
  }

 private:
  Status Trace(const Request& request, const std::string& key) const {
    if (queries_ == nullptr) return Status::Ok();
    Request traced = request;
    traced.time_us = rocksdb::Env::Default()->NowMicros();
    traced.column_family = 0;
    // As it is done below: writes one by one, and merges as puts, for which any database is good.
    if (traced.operation == Operation::kMerge) traced.operation = Operation::kPut;
    if (IsWrite(traced.operation)) traced.batch_left = 0;
    return queries_->Add(traced, key);
  }

  Status Get(const std::string& key) {
    ++report_->reads;
    const rocksdb::Status status = db_->Get({}, db_->DefaultColumnFamily(), key, &value_);
    return Found(status);
  }
  Status MultiGet() {
    report_->reads += batch_.size();
    std::vector<std::string> values;
    for (const rocksdb::Status& status : db_->MultiGet({}, std::exchange(batch_, {}), &values)) {
      MEZZ_RETURN_IF_ERROR(Found(status));
    }
    return Status::Ok();
  }
  Status Found(const rocksdb::Status& status) {
    if (!status.IsNotFound()) return FromRocksDb(status, "reading");
    ++report_->not_found;
    return Status::Ok();
  }
  Status Seek(const std::string& key, uint32_t entries) const {
    ++report_->seeks;
    const std::unique_ptr<rocksdb::Iterator> it(db_->NewIterator({}));
    it->Seek(key);
    for (uint32_t i = 1; i < entries && it->Valid(); ++i) it->Next();
    return FromRocksDb(it->status(), "scanning");
  }
  Status Write(const Request& request, const std::string& key) {
    ++report_->writes;
    if (request.operation == Operation::kDelete) return FromRocksDb(db_->Delete({}, key), "deleting");
    Values().Fill(request.key, request.value_bytes > 0 ? request.value_bytes : kValueBytes, &value_);
    return FromRocksDb(db_->Put({}, key, value_), "putting");
  }

  const RecordOptions& options_;
  const RecordedDb& db_;
  const std::vector<std::string>& keys_;
  RecordReport* report_;
  std::unique_ptr<QueryTraceWriter> queries_;  // null: not asked for
  std::vector<rocksdb::Slice> batch_;
  std::string value_;
};

Status OpenWorkload(const RecordOptions& o, uint64_t keys, std::unique_ptr<RequestSource>* source) {
  if (!o.workload.starts_with(kGenerated)) return OpenTrace(o.workload, o.format, source);
  return MakeGenerator({.name = o.workload.substr(kGenerated.size()), .keys = keys, .ops = o.ops, .seed = o.seed},
                       source);
}

}  // namespace

Status RecordOptions::Validate() const {
  if (db.empty()) return Status::InvalidArgument("--db is missing; name the folder of a RocksDB database");
  if (workload.empty()) return Status::InvalidArgument("--workload is missing; name a trace or gen:NAME");
  const std::array<std::pair<std::string_view, const std::string&>, 3> traces = {
      {{"query_trace", query_trace}, {"block_trace", block_trace}, {"lineage_trace", lineage_trace}}};
  if (std::ranges::all_of(traces, [](const auto& trace) { return trace.second.empty(); })) {
    return Status::InvalidArgument(
        "--query_trace, --block_trace and --lineage_trace are all missing; name at least one file");
  }
  for (const auto& [flag, path] : traces) {
    MEZZ_RETURN_IF_ERROR(CheckNew(flag, path));
    for (const auto& [other, other_path] : traces) {
      if (flag < other && path == other_path && !path.empty())
        return Status::InvalidArgument(fmt::format("--{} and --{} both name {}", flag, other, path));
    }
  }
  if (ops == 0) return Status::InvalidArgument("--ops=0 records nothing; it goes from 1");
  if (keys_max < 2) return Status::InvalidArgument(fmt::format("--keys_max={} is too few; it goes from 2", keys_max));
  for (const std::string& path : RatiosPaths(*this)) {
    MEZZ_RETURN_IF_ERROR(CheckNew("pack_ratios", path));
    if (path == query_trace || path == block_trace || path == lineage_trace)
      return Status::InvalidArgument(
          fmt::format("--pack_ratios={} would write {}, which a trace is to be", pack_ratios, path));
  }
  if (!workload.starts_with(kGenerated)) return Status::Ok();
  return GeneratorOptions{.name = workload.substr(kGenerated.size())}.Validate();
}

Status RecordTraces(const RecordOptions& options, const std::atomic<bool>& stop, RecordReport* report,
                    Progress* progress) {
  MEZZ_RETURN_IF_ERROR(options.Validate());
  RecordedDb db;
  MEZZ_RETURN_IF_ERROR(db.Open(options));
  std::vector<std::string> keys;
  MEZZ_RETURN_IF_ERROR(SampleKeys(db, options.keys_max, stop, &keys));
  if (keys.empty() && stop.load(std::memory_order_relaxed)) return Status::Ok();
  if (keys.empty()) return Status::InvalidArgument(fmt::format("--db={} holds no keys", options.db));
  report->keys = keys.size();
  MEZZ_RETURN_IF_ERROR(FromRocksDb(SampleBlockPacking(db.get(), EvenlySpread(keys, kPackedBlocksMax), &report->packing),
                                   "sampling blocks"));
  MEZZ_RETURN_IF_ERROR(WriteRatios(options, report->packing));
  std::unique_ptr<RequestSource> source;
  MEZZ_RETURN_IF_ERROR(OpenWorkload(options, keys.size(), &source));
  source = TrackProgress(std::move(source), progress);
  Recording recording(options, db, keys, report);
  MEZZ_RETURN_IF_ERROR(recording.Start());
  Request request;
  uint64_t done = 0;
  Status status;
  bool in_batch = false;  // which is recorded whole
  while (status.ok() && (in_batch || (done < options.ops && !stop.load(std::memory_order_relaxed))) &&
         source->Next(&request)) {
    status = recording.Do(request);
    in_batch = request.batch_left > 0;
    ++done;
  }
  report->complete = !stop.load(std::memory_order_relaxed);
  // What was recorded up to an error is a finished trace, too.
  const Status finished = recording.Finish();
  MEZZ_RETURN_IF_ERROR(status);
  MEZZ_RETURN_IF_ERROR(finished);
  return source->status();
}

}  // namespace mezz
