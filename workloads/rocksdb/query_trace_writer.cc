// SPDX-License-Identifier: Apache-2.0
// RocksDB makes such records only while it serves them (DB::StartTrace), stamped with the time of day. Requests have
// times of their own, so the records are put together here and given to its TraceWriter. The layout is that of
// trace_replay/trace_replay.h; the batches are RocksDB's own.
#include "workloads/rocksdb/query_trace_writer.h"

#include <fmt/format.h>

#include <filesystem>
#include <limits>

#include "rocksdb/env.h"
#include "rocksdb/version.h"
#include "workloads/readers/rocksdb_record.h"
#include "workloads/rocksdb/open_db.h"
#include "workloads/rocksdb/query_keys.h"
#include "workloads/rocksdb/values.h"

namespace mezz {
namespace {

// What a payload says it holds: bit by bit, in the order of the fields.
constexpr uint64_t kHasWriteBatch = 1u << 1;
constexpr uint64_t kHasGet = 1u << 2 | 1u << 3;
constexpr uint64_t kHasSeek = 1u << 4 | 1u << 5;
constexpr uint64_t kHasMultiGet = 1u << 8 | 1u << 9 | 1u << 10;

template <typename T>
void AppendFixed(std::string* to, T value) {
  char bytes[sizeof(T)];
  StoreAs(bytes, value);
  to->append(bytes, sizeof(T));
}

void AppendBytes(std::string* to, std::string_view bytes) {
  size_t length = bytes.size();
  for (; length >= 0x80; length >>= 7) to->push_back(static_cast<char>(length | 0x80));
  to->push_back(static_cast<char>(length));
  to->append(bytes);
}

std::string KeyedPayload(uint64_t map, uint32_t family, std::string_view key) {
  std::string payload;
  AppendFixed(&payload, map);
  AppendFixed(&payload, family);
  AppendBytes(&payload, key);
  return payload;
}

std::string Header() {
  return fmt::format("{}\tTrace Version: 0.2\tRocksDB Version: {}.{}\tFormat: Timestamp OpType Payload\n",
                     kRocksdbTraceMagic, ROCKSDB_MAJOR, ROCKSDB_MINOR);
}

}  // namespace

Status QueryTraceWriter::Create(const std::string& path, const QueryTraceOptions& options,
                                std::unique_ptr<QueryTraceWriter>* writer) {
  if (options.key_bytes != 0 && options.key_bytes < kQueryKeyBytesMin) {
    return Status::InvalidArgument(
        fmt::format("--key_bytes={} is too few; a key has {} at least", options.key_bytes, kQueryKeyBytesMin));
  }
  std::unique_ptr<QueryTraceWriter> created(new QueryTraceWriter("trace " + path, options));
  std::error_code error;
  if (std::filesystem::exists(path, error)) {
    return Status::ForeignFile(created->name_ + ": it exists; remove it, or name another file");
  }
  MEZZ_RETURN_IF_ERROR(
      FromRocksDb(rocksdb::NewFileTraceWriter(rocksdb::Env::Default(), rocksdb::EnvOptions(), path, &created->writer_),
                  created->name_));
  *writer = std::move(created);
  return Status::Ok();
}

Status QueryTraceWriter::Add(const Request& request) {
  const uint32_t key_bytes = options_.key_bytes > 0  ? options_.key_bytes
                             : request.key_bytes > 0 ? request.key_bytes
                                                     : static_cast<uint32_t>(kQueryKeyBytesDefault);
  return Add(request, QueryKeyOfNumber(request.key, key_bytes));
}

Status QueryTraceWriter::Add(const Request& request, std::string_view key) {
  const uint64_t own_time_us = options_.rate > 0 ? requests_ * 1'000'000 / options_.rate : 0;
  const uint64_t time_us = request.time_us > 0 ? request.time_us : own_time_us;
  if (requests_++ == 0) MEZZ_RETURN_IF_ERROR(WriteRecord(time_us, kRocksdbBegin, Header()));
  switch (request.operation) {
    case Operation::kGet:
      return WriteRecord(time_us, kRocksdbGet, KeyedPayload(kHasGet, request.column_family, key));
    case Operation::kSeek:
      return WriteRecord(time_us, kRocksdbSeek, KeyedPayload(kHasSeek, request.column_family, key));
    case Operation::kMultiGet:
      return AddMultiGet(request, key, time_us);
    case Operation::kPut:
    case Operation::kDelete:
    case Operation::kMerge:
      return AddWrite(request, key, time_us);
  }
  return Status::Ok();
}

Status QueryTraceWriter::AddWrite(const Request& request, std::string_view key, uint64_t time_us) {
  Values().Fill(request.key, request.value_bytes > 0 ? request.value_bytes : options_.value_bytes, &value_);
  // The batch's own verbs take handles, which need a database, for all families but the first: there is none here.
  if (request.column_family != 0) {
    return Status::NotSupported(
        fmt::format("{}: writes to column family {} cannot be written out; only those to the first can", name_,
                    request.column_family));
  }
  rocksdb::Status status;
  if (request.operation == Operation::kPut) status = batch_.Put(key, value_);
  if (request.operation == Operation::kMerge) status = batch_.Merge(key, value_);
  if (request.operation == Operation::kDelete) status = batch_.Delete(key);
  MEZZ_RETURN_IF_ERROR(FromRocksDb(status, name_));
  if (request.batch_left > 0) return Status::Ok();
  std::string payload;
  AppendFixed(&payload, kHasWriteBatch);
  AppendBytes(&payload, batch_.Data());
  batch_.Clear();
  return WriteRecord(time_us, kRocksdbWrite, payload);
}

Status QueryTraceWriter::AddMultiGet(const Request& request, std::string_view key, uint64_t time_us) {
  AppendFixed(&families_, request.column_family);
  AppendBytes(&keys_, key);
  ++multiget_size_;
  if (request.batch_left > 0) return Status::Ok();
  std::string payload;
  AppendFixed(&payload, kHasMultiGet);
  AppendFixed(&payload, std::exchange(multiget_size_, 0));
  AppendBytes(&payload, std::exchange(families_, {}));
  AppendBytes(&payload, std::exchange(keys_, {}));
  return WriteRecord(time_us, kRocksdbMultiGet, payload);
}

Status QueryTraceWriter::WriteRecord(uint64_t time_us, uint8_t type, std::string_view payload) {
  if (payload.size() > std::numeric_limits<uint32_t>::max()) {
    return Status::InvalidArgument(fmt::format("{}: a batch of {} bytes is too large", name_, payload.size()));
  }
  std::string record;
  AppendFixed(&record, time_us);
  record.push_back(static_cast<char>(type));
  AppendFixed(&record, static_cast<uint32_t>(payload.size()));
  record.append(payload);
  last_time_us_ = time_us;
  if (type != kRocksdbBegin && type != kRocksdbEnd) ++records_;
  return FromRocksDb(writer_->Write(record), name_);
}

Status QueryTraceWriter::Finish() {
  if (requests_ == 0) MEZZ_RETURN_IF_ERROR(WriteRecord(0, kRocksdbBegin, Header()));
  if (batch_.Count() > 0 || multiget_size_ > 0) {
    return Status::InvalidArgument(fmt::format("{}: its last batch is incomplete", name_));
  }
  MEZZ_RETURN_IF_ERROR(WriteRecord(last_time_us_, kRocksdbEnd, ""));
  return FromRocksDb(writer_->Close(), name_);
}

Status WriteQueryTrace(RequestSource* source, uint64_t ops, const std::string& path, const QueryTraceOptions& options) {
  std::unique_ptr<QueryTraceWriter> writer;
  MEZZ_RETURN_IF_ERROR(QueryTraceWriter::Create(path, options, &writer));
  Request request;
  for (uint64_t done = 0; (ops == 0 || done < ops) && source->Next(&request); ++done) {
    // A batch is not cut in two.
    if (ops != 0 && done + request.batch_left >= ops) request.batch_left = static_cast<uint32_t>(ops - done - 1);
    MEZZ_RETURN_IF_ERROR(writer->Add(request));
  }
  MEZZ_RETURN_IF_ERROR(source->status());
  return writer->Finish();
}

}  // namespace mezz
