// SPDX-License-Identifier: Apache-2.0
// See workloads/readers/rocksdb_block_csv.cc and mezz_csv.h for the columns.
#include <fmt/format.h>

#include "admission/curves/operation.h"
#include "workloads/readers/mezz_csv.h"
#include "workloads/readers/rocksdb_block_types.h"
#include "workloads/trace/writers.h"

namespace mezz {
namespace {

class RocksdbBlockCsvWriter final : public TraceWriter {
 public:
  explicit RocksdbBlockCsvWriter(std::unique_ptr<OutputFile> file) : file_(std::move(file)) {}

  Status Write(const Request& r) override {
    // The analyzer rebuilds a block's key out of id and offset, and never ends if the size it reads leaves them no
    // room.
    constexpr unsigned kUserGet = 1, kBlockKeyBytes = 21;
    const uint32_t level = r.level < 0 ? UINT32_MAX : static_cast<uint32_t>(r.level);
    blobs_ += r.role == BlockRole::kBlob;
    line_.clear();
    fmt::format_to(std::back_inserter(line_), "{},{},{},{},{},,{},0,{},{},0,0,0,{},0,0,0,0,{},0,0\n", r.time_us, r.key,
                   TraceTypeOf(r.role), r.value_bytes, r.column_family, level, kUserGet, r.no_insert ? 1 : 0,
                   r.recorded == Recorded::kHit ? 1 : 0, kBlockKeyBytes);
    return file_->Append({line_.data(), line_.size()});
  }
  Status Finish() override { return file_->Finish(); }
  std::vector<std::string> remarks() const override {
    if (blobs_ == 0) return {};
    return {fmt::format("{} requests for blobs are written as data, because the format has no blobs", blobs_)};
  }

 private:
  const std::unique_ptr<OutputFile> file_;
  fmt::memory_buffer line_;
  uint64_t blobs_ = 0;
};

class MezzCsvWriter final : public TraceWriter {
 public:
  MezzCsvWriter(std::unique_ptr<OutputFile> file, double sample_rate) : file_(std::move(file)) {
    if (sample_rate < 1) fmt::format_to(std::back_inserter(line_), "# sample_rate={}\n", sample_rate);
    fmt::format_to(std::back_inserter(line_), "{}\n", kMezzCsvHeader);
  }

  Status Write(const Request& r) override {
    constexpr std::string_view kRecordedNames[] = {"unknown", "miss", "hit"};
    fmt::format_to(std::back_inserter(line_), "{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", r.key,
                   ToString(r.operation), r.key_bytes, r.value_bytes, r.scan_length, r.batch_left, r.extent_bytes,
                   r.time_us, ToString(r.role), r.client, r.column_family, static_cast<int>(r.level),
                   kRecordedNames[static_cast<size_t>(r.recorded)], r.no_insert ? 1 : 0);
    return FlushLine();
  }
  Status Finish() override {
    MEZZ_RETURN_IF_ERROR(FlushLine());
    return file_->Finish();
  }

 private:
  Status FlushLine() {
    const Status appended = file_->Append({line_.data(), line_.size()});
    line_.clear();
    return appended;
  }

  const std::unique_ptr<OutputFile> file_;
  fmt::memory_buffer line_;
};

}  // namespace

std::unique_ptr<TraceWriter> MakeRocksdbBlockCsvWriter(std::unique_ptr<OutputFile> file, const WriterOptions&) {
  return std::make_unique<RocksdbBlockCsvWriter>(std::move(file));
}
std::unique_ptr<TraceWriter> MakeMezzCsvWriter(std::unique_ptr<OutputFile> file, const WriterOptions& options) {
  return std::make_unique<MezzCsvWriter>(std::move(file), options.sample_rate);
}

}  // namespace mezz
