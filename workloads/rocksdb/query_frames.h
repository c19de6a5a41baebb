// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "cache/status.h"
#include "rocksdb/trace_reader_writer.h"
#include "workloads/readers/compressed_file.h"
#include "workloads/readers/rocksdb_record.h"
#include "workloads/requests/request.h"

namespace mezz {

// Hands RocksDB's replayer the records of a query trace, compressed or not. RocksDB's decoder trusts what it is given,
// to the point of crashing: so each record is checked here first, and damage is an error that names file, offset and
// field. Single-threaded.
class QueryFrames final : public rocksdb::TraceReader {
 public:
  explicit QueryFrames(std::string path) : path_(std::move(path)) {}

  rocksdb::Status Read(std::string* record) override;
  rocksdb::Status Reset() override;
  rocksdb::Status Close() override;

  // What went wrong, at the record read last; a trace that ends without the mark at its end is an unfinished recording.
  const Status& status() const { return status_; }
  // The record read last is damaged in a way only its decoding shows.
  void Fail(std::string_view message) { Fail(Lost::kRecord, message); }
  // As RequestSource's.
  bool SkipDamaged();
  RequestSource::Position position() const {
    return file_ == nullptr ? RequestSource::Position()
                            : RequestSource::Position{file_->file_position(), file_->file_bytes()};
  }

 private:
  // By the damage that status_ tells of.
  enum class Lost {
    kRecord,
    kRest,  // it is not known where the next record begins
    kAll,   // of the header: nothing can be read
  };

  bool ReadBytes(size_t bytes, std::string* to, std::string_view what);
  bool Check(const RocksdbRecordHead& head, std::string_view payload);
  bool CheckHeader(const RocksdbRecordHead& head, std::string_view payload);
  bool Fail(Lost lost, std::string_view message);  // always false

  std::string path_;
  std::unique_ptr<CompressedFile> file_;
  Status status_;
  Lost lost_ = Lost::kAll;
  uint64_t record_at_ = 0;  // of the record read last, in the decompressed content
  int version_ = 0;         // 0: the header is to come
  bool ended_ = false;
};

}  // namespace mezz
