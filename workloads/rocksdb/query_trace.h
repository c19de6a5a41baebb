// SPDX-License-Identifier: Apache-2.0
// A whole query trace, for those who do not see RocksDB's headers.
#pragma once

#include <cstdint>
#include <string>

#include "cache/status.h"
#include "workloads/requests/request.h"

namespace mezz {

struct QueryTraceOptions {
  // Of every key: 8 or more. 0: as each request says, db_bench's 16 where it does not. A database loaded by db_bench
  // finds its keys again if this is its --key_size.
  uint32_t key_bytes = 0;
  uint32_t value_bytes = 100;  // where a request does not say
  // Requests a second, where they have no time of their own; 0: all at once. db_bench keeps to the times.
  uint64_t rate = 0;
};

// All of `source`, or `ops` of it if that is not 0, as a trace at `path`.
Status WriteQueryTrace(RequestSource* source, uint64_t ops, const std::string& path, const QueryTraceOptions& options);

}  // namespace mezz
