// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cache/status.h"
#include "rocksdb/trace_reader_writer.h"
#include "rocksdb/write_batch.h"
#include "workloads/requests/request.h"
#include "workloads/rocksdb/query_trace.h"

namespace mezz {

// Writes a RocksDB query trace, version 0.2: what `db_bench --benchmarks=replay --trace_file` and our reader take.
// Single-threaded. A MultiGet or a write batch is one record, written when its last request was given. What a query
// trace cannot say is lost: how many entries a seek reads, block roles and levels, and what was recorded of hits.
class QueryTraceWriter {
 public:
  // Refuses a `path` that exists.
  static Status Create(const std::string& path, const QueryTraceOptions& options,
                       std::unique_ptr<QueryTraceWriter>* writer);

  // The request's key is its number: query_keys.h.
  Status Add(const Request& request);
  // The same with a key of the caller's; key_bytes means nothing then.
  Status Add(const Request& request, std::string_view key);
  // The mark at the end; without it a trace is an unfinished recording.
  Status Finish();

  uint64_t records() const { return records_; }

 private:
  QueryTraceWriter(std::string name, const QueryTraceOptions& options) : name_(std::move(name)), options_(options) {}

  Status AddWrite(const Request& request, std::string_view key, uint64_t time_us);
  Status AddMultiGet(const Request& request, std::string_view key, uint64_t time_us);
  Status WriteRecord(uint64_t time_us, uint8_t type, std::string_view payload);

  const std::string name_;  // "trace PATH"
  QueryTraceOptions options_;
  std::unique_ptr<rocksdb::TraceWriter> writer_;
  rocksdb::WriteBatch batch_;
  std::string families_;  // of a MultiGet that goes on
  std::string keys_;
  uint32_t multiget_size_ = 0;
  std::string value_;
  uint64_t requests_ = 0;
  uint64_t records_ = 0;
  uint64_t last_time_us_ = 0;
};

}  // namespace mezz
