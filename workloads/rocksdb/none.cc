// SPDX-License-Identifier: Apache-2.0
// What mezz_trace and mezz_plan ask of this folder, built without RocksDB.
#include "workloads/rocksdb/query_trace.h"
#include "workloads/rocksdb/query_trace_reader.h"
#include "workloads/rocksdb/record.h"

namespace mezz {
namespace {

Status NeedsRocksDb(const char* what) {
  return Status::NotSupported(
      std::string(what) +
      " needs RocksDB, which this mezz_trace was built without; build it with -DMEZZ_WITH_ROCKSDB=ON");
}

}  // namespace

Status RecordTraces(const RecordOptions&, const std::atomic<bool>&, RecordReport*, Progress*) {
  return NeedsRocksDb("record");
}
std::string ToString(const BlockPacking&) { return ""; }
Status WriteQueryTrace(RequestSource*, uint64_t, const std::string&, const QueryTraceOptions&) {
  return NeedsRocksDb("generate");
}
void UseRocksdbQueryReader() {}  // the readers refuse query traces, and say why

}  // namespace mezz
