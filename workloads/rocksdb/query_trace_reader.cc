// SPDX-License-Identifier: Apache-2.0
#include "workloads/rocksdb/query_trace_reader.h"

#include <fmt/format.h>

#include <deque>
#include <vector>

#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "rocksdb/trace_record.h"
#include "rocksdb/trace_record_result.h"
#include "rocksdb/utilities/replayer.h"
#include "rocksdb/write_batch.h"
#include "workloads/readers/rocksdb_query_trace.h"
#include "workloads/rocksdb/open_db.h"
#include "workloads/rocksdb/query_frames.h"
#include "workloads/rocksdb/query_keys.h"

namespace mezz {
namespace {

using Requests = std::deque<Request>;

Request RequestOf(Operation operation, uint32_t family, const rocksdb::Slice& key, uint64_t time_us) {
  return Request{.key = NumberOfQueryKey(key.ToStringView()),
                 .operation = operation,
                 .key_bytes = static_cast<uint32_t>(key.size()),
                 .time_us = time_us,
                 .column_family = family};
}

// Entries of a write batch.
class BatchEntries final : public rocksdb::WriteBatch::Handler {
 public:
  BatchEntries(uint64_t time_us, Requests* requests) : time_us_(time_us), requests_(requests) {}

  rocksdb::Status PutCF(uint32_t family, const rocksdb::Slice& key, const rocksdb::Slice& value) override {
    return Add(Operation::kPut, family, key, value.size());
  }
  rocksdb::Status PutEntityCF(uint32_t family, const rocksdb::Slice& key, const rocksdb::Slice& entity) override {
    return Add(Operation::kPut, family, key, entity.size());
  }
  rocksdb::Status PutBlobIndexCF(uint32_t family, const rocksdb::Slice& key, const rocksdb::Slice& value) override {
    return Add(Operation::kPut, family, key, value.size());
  }
  // Overrides from RocksDB 9 on.
  rocksdb::Status TimedPutCF(uint32_t family, const rocksdb::Slice& key, const rocksdb::Slice& value, uint64_t) {
    return Add(Operation::kPut, family, key, value.size());
  }
  rocksdb::Status DeleteCF(uint32_t family, const rocksdb::Slice& key) override {
    return Add(Operation::kDelete, family, key, 0);
  }
  rocksdb::Status SingleDeleteCF(uint32_t family, const rocksdb::Slice& key) override {
    return Add(Operation::kDelete, family, key, 0);
  }
  rocksdb::Status DeleteRangeCF(uint32_t family, const rocksdb::Slice& begin, const rocksdb::Slice&) override {
    return Add(Operation::kDelete, family, begin, 0);
  }
  rocksdb::Status MergeCF(uint32_t family, const rocksdb::Slice& key, const rocksdb::Slice& value) override {
    return Add(Operation::kMerge, family, key, value.size());
  }
  void LogData(const rocksdb::Slice&) override {}
  rocksdb::Status MarkBeginPrepare(bool) override { return rocksdb::Status::OK(); }
  rocksdb::Status MarkEndPrepare(const rocksdb::Slice&) override { return rocksdb::Status::OK(); }
  rocksdb::Status MarkNoop(bool) override { return rocksdb::Status::OK(); }
  rocksdb::Status MarkRollback(const rocksdb::Slice&) override { return rocksdb::Status::OK(); }
  rocksdb::Status MarkCommit(const rocksdb::Slice&) override { return rocksdb::Status::OK(); }
  rocksdb::Status MarkCommitWithTimestamp(const rocksdb::Slice&, const rocksdb::Slice&) override {
    return rocksdb::Status::OK();
  }

 private:
  rocksdb::Status Add(Operation operation, uint32_t family, const rocksdb::Slice& key, size_t value_bytes) {
    requests_->push_back(RequestOf(operation, family, key, time_us_));
    requests_->back().value_bytes = static_cast<uint32_t>(value_bytes);
    return rocksdb::Status::OK();
  }

  uint64_t time_us_;
  Requests* requests_;
};

// The requests of one record.
class RecordEntries final : public rocksdb::TraceRecord::Handler {
 public:
  explicit RecordEntries(Requests* requests) : requests_(requests) {}

  rocksdb::Status Handle(const rocksdb::WriteQueryTraceRecord& record,
                         std::unique_ptr<rocksdb::TraceRecordResult>*) override {
    BatchEntries entries(record.GetTimestamp(), requests_);
    const rocksdb::WriteBatch batch(record.GetWriteBatchRep().ToString());
    rocksdb::Status status = batch.Iterate(&entries);
    if (!status.ok()) requests_->clear();  // a batch is written whole or not at all
    return status;
  }
  rocksdb::Status Handle(const rocksdb::GetQueryTraceRecord& record,
                         std::unique_ptr<rocksdb::TraceRecordResult>*) override {
    requests_->push_back(
        RequestOf(Operation::kGet, record.GetColumnFamilyID(), record.GetKey(), record.GetTimestamp()));
    return rocksdb::Status::OK();
  }
  rocksdb::Status Handle(const rocksdb::IteratorSeekQueryTraceRecord& record,
                         std::unique_ptr<rocksdb::TraceRecordResult>*) override {
    requests_->push_back(
        RequestOf(Operation::kSeek, record.GetColumnFamilyID(), record.GetKey(), record.GetTimestamp()));
    requests_->back().scan_length = 1;
    return rocksdb::Status::OK();
  }
  rocksdb::Status Handle(const rocksdb::MultiGetQueryTraceRecord& record,
                         std::unique_ptr<rocksdb::TraceRecordResult>*) override {
    const std::vector<uint32_t> families = record.GetColumnFamilyIDs();
    const std::vector<rocksdb::Slice> keys = record.GetKeys();
    for (size_t i = 0; i < keys.size(); ++i) {
      requests_->push_back(RequestOf(Operation::kMultiGet, families[i], keys[i], record.GetTimestamp()));
    }
    return rocksdb::Status::OK();
  }

 private:
  Requests* requests_;
};

class RocksdbQueryReader final : public RequestSource {
 public:
  explicit RocksdbQueryReader(std::string path) : path_(std::move(path)) {}

  bool Next(Request* request) override {
    if (replayer_ == nullptr && status_.ok()) status_ = Rewind();
    while (requests_.empty()) {
      if (!status_.ok() || !NextRecord()) return false;
    }
    *request = requests_.front();
    requests_.pop_front();
    return true;
  }
  Status status() const override { return status_; }
  Position position() const override { return frames_ == nullptr ? Position() : frames_->position(); }
  std::string description() const override { return path_; }
  bool SkipDamaged() override {
    if (frames_ == nullptr || !frames_->SkipDamaged()) return false;
    status_ = Status::Ok();
    return true;
  }

  Status Rewind() override {
    requests_.clear();
    if (replayer_ == nullptr) MEZZ_RETURN_IF_ERROR(status_ = MakeReplayer());
    const rocksdb::Status prepared = replayer_->Prepare();  // resets the frames
    status_ = prepared.ok() || !frames_->status().ok() ? frames_->status() : FromReplayer(prepared);
    return status_;
  }

 private:
  // A replayer is had only from a database; an empty one in memory does.
  Status MakeReplayer() {
    memory_.reset(rocksdb::NewMemEnv(rocksdb::Env::Default()));
    rocksdb::Options options;
    options.env = memory_.get();
    options.create_if_missing = true;
    rocksdb::Status status = OpenDb(options, "/replayer", &db_);
    if (!status.ok()) return FromReplayer(status);
    auto frames = std::make_unique<QueryFrames>(path_);
    frames_ = frames.get();
    status = db_->NewDefaultReplayer({db_->DefaultColumnFamily()}, std::move(frames), &replayer_);
    return status.ok() ? Status::Ok() : FromReplayer(status);
  }

  bool NextRecord() {
    std::unique_ptr<rocksdb::TraceRecord> record;
    rocksdb::Status status = replayer_->Next(&record);
    if (status.ok()) {
      RecordEntries entries(&requests_);
      std::unique_ptr<rocksdb::TraceRecordResult> none;
      status = record->Accept(&entries, &none);
      if (!status.ok()) frames_->Fail(status.ToString());
    }
    status_ = frames_->status();
    if (!status_.ok()) return false;
    if (!status.ok()) {
      if (!status.IsIncomplete()) status_ = FromReplayer(status);
      return false;
    }
    NumberBatch();
    return true;
  }

  void NumberBatch() {
    auto left = static_cast<uint32_t>(requests_.size());
    for (Request& request : requests_) request.batch_left = --left;
  }

  Status FromReplayer(const rocksdb::Status& status) const {
    return Status::IoError(fmt::format("trace {}: RocksDB's replayer: {}", path_, status.ToString()));
  }

  std::string path_;
  std::unique_ptr<rocksdb::Env> memory_;
  std::unique_ptr<rocksdb::DB> db_;
  std::unique_ptr<rocksdb::Replayer> replayer_;
  QueryFrames* frames_ = nullptr;  // the replayer's
  Requests requests_;              // of the record read last
  Status status_;
};

}  // namespace

std::unique_ptr<RequestSource> MakeRocksdbQueryReader(std::string path) {
  return std::make_unique<RocksdbQueryReader>(std::move(path));
}

void UseRocksdbQueryReader() { UseRocksdbQueryReader(&MakeRocksdbQueryReader); }

}  // namespace mezz
