// SPDX-License-Identifier: Apache-2.0
// For scripts: writes a generated workload as a query trace, and counts the operations of any trace.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

#include "workloads/generators/generators.h"
#include "workloads/readers/open_trace.h"
#include "workloads/rocksdb/query_trace_reader.h"
#include "workloads/rocksdb/query_trace_writer.h"

namespace mezz {
namespace {

Status Write(const std::string& generator, uint64_t keys, uint64_t ops, const std::string& path) {
  std::unique_ptr<RequestSource> source;
  MEZZ_RETURN_IF_ERROR(MakeGenerator({.name = generator.substr(4), .keys = keys, .ops = ops}, &source));
  return WriteQueryTrace(source.get(), ops, path, {});
}

Status Count(const std::string& path) {
  std::unique_ptr<RequestSource> source;
  MEZZ_RETURN_IF_ERROR(OpenTrace(path, "", &source));
  std::map<Operation, uint64_t> counts;
  for (Request request; source->Next(&request);) ++counts[request.operation];
  for (const auto& [operation, count] : counts) {
    std::printf("%s %llu\n", std::string(ToString(operation)).c_str(), static_cast<unsigned long long>(count));
  }
  return source->status();
}

}  // namespace
}  // namespace mezz

int main(int argc, char** argv) {
  mezz::UseRocksdbQueryReader();
  mezz::Status status = mezz::Status::InvalidArgument("usage: write gen:NAME KEYS OPS FILE | count FILE");
  const std::string_view verb = argc > 1 ? argv[1] : "";
  if (verb == "write" && argc == 6) {
    status = mezz::Write(argv[2], std::strtoull(argv[3], nullptr, 10), std::strtoull(argv[4], nullptr, 10), argv[5]);
  }
  if (verb == "count" && argc == 3) status = mezz::Count(argv[2]);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.message().c_str());
  return status.ok() ? 0 : 1;
}
