// SPDX-License-Identifier: Apache-2.0
// See workloads/readers/oracle_general.cc. A record says when its object comes next, so all are kept until the end.
// libCacheSim drops requests of size 0 (ignore_size_zero_req), so none is written: an object has the first size that is
// not 0, and one without any the size that the options say.
#include <fmt/format.h>

#include <vector>

#include "admission/curves/key_map.h"
#include "workloads/readers/bytes.h"
#include "workloads/trace/writers.h"

namespace mezz {
namespace {

constexpr size_t kRecordBytes = 24;

class OracleGeneralWriter final : public TraceWriter {
 public:
  OracleGeneralWriter(std::unique_ptr<OutputFile> file, const WriterOptions& options)
      : file_(std::move(file)), path_(options.path), options_(options) {}

  Status Write(const Request& request) override {
    const uint64_t seconds = request.time_us / 1'000'000;
    if (seconds > UINT32_MAX) {
      return Status::InvalidArgument(fmt::format(
          "{} cannot be written: request {} is at {} s, and oracle_general counts to 2^32; use another --to", path_,
          records_.size() + 1, seconds));
    }
    if (records_.size() * sizeof(Record) + map_.bytes() > options_.memory_bytes_max) {
      return Status::NoSpace(fmt::format(
          "{} needs more than the {} MiB of --memory, because records of oracle_general point forward: raise it, or "
          "write a sample",
          path_, options_.memory_bytes_max >> 20));
    }
    const uint32_t known = map_.size();
    const uint32_t number = map_.Number(request.key);
    if (number == known) {
      last_.push_back(0);
      bytes_.push_back(0);
    }
    if (bytes_[number] == 0) bytes_[number] = request.value_bytes;
    const uint64_t position = records_.size() + 1;
    if (last_[number] != 0) records_[last_[number] - 1].next = static_cast<int64_t>(position);
    last_[number] = position;
    records_.push_back({request.key, static_cast<uint32_t>(seconds), request.value_bytes, -1});
    return Status::Ok();
  }

  Status Finish() override {
    for (const Record& record : records_) {
      const uint32_t known = record.bytes != 0 ? record.bytes : bytes_[map_.Number(record.object)];
      unknown_ += known == 0;
      char bytes[kRecordBytes];
      StoreAs(bytes, record.seconds);
      StoreAs(bytes + 4, record.object);
      StoreAs(bytes + 12, known == 0 ? options_.unknown_bytes : known);
      StoreAs(bytes + 16, static_cast<uint64_t>(record.next));
      MEZZ_RETURN_IF_ERROR(file_->Append({bytes, sizeof(bytes)}));
    }
    return file_->Finish();
  }
  std::vector<std::string> remarks() const override {
    if (unknown_ == 0) return {};
    return {
        fmt::format("{} requests have no size in the trace and are written with {} bytes, because libCacheSim "
                    "drops those of 0; --unit sets another size",
                    unknown_, options_.unknown_bytes)};
  }

 private:
  struct Record {
    uint64_t object;
    uint32_t seconds;
    uint32_t bytes;
    int64_t next;
  };

  const std::unique_ptr<OutputFile> file_;
  const std::string path_;
  const WriterOptions options_;
  uint64_t unknown_ = 0;  // requests of objects without a size
  std::vector<Record> records_;
  KeyMap map_;
  std::vector<uint64_t> last_;   // by the object's number: its last record, counted from 1
  std::vector<uint32_t> bytes_;  // by the object's number: its first size that is not 0
};

}  // namespace

std::unique_ptr<TraceWriter> MakeOracleGeneralWriter(std::unique_ptr<OutputFile> file, const WriterOptions& options) {
  return std::make_unique<OracleGeneralWriter>(std::move(file), options);
}

}  // namespace mezz
