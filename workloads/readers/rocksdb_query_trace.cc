// SPDX-License-Identifier: Apache-2.0
#include "workloads/readers/rocksdb_query_trace.h"

#include <fmt/format.h>

namespace mezz {
namespace {

std::unique_ptr<RequestSource> (*query_reader)(std::string path) = nullptr;

class Unreadable final : public RequestSource {
 public:
  explicit Unreadable(std::string path) : path_(std::move(path)) {}
  bool Next(Request*) override { return false; }
  Status status() const override {
    return Status::NotSupported(
        fmt::format("trace {}: this is a RocksDB query trace, which this program was built without RocksDB to read; "
                    "use a mezz_replay or mezz_trace built with it",
                    path_));
  }
  Status Rewind() override { return status(); }
  std::string description() const override { return path_; }

 private:
  std::string path_;
};

}  // namespace

void UseRocksdbQueryReader(std::unique_ptr<RequestSource> (*make)(std::string path)) { query_reader = make; }

std::unique_ptr<RequestSource> MakeRocksdbQueryTrace(std::string path) {
  if (query_reader == nullptr) return std::make_unique<Unreadable>(std::move(path));
  return query_reader(std::move(path));
}

}  // namespace mezz
