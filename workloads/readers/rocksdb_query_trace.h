// SPDX-License-Identifier: Apache-2.0
// RocksDB's query traces are read by RocksDB's own replayer, which this library does not link. A program that does
// hands the reader in, once, before it opens traces: replay/rocksdb_query_reader.h.
#pragma once

#include <memory>
#include <string>

#include "workloads/requests/request.h"

namespace mezz {

std::unique_ptr<RequestSource> MakeRocksdbQueryTrace(std::string path);

// Not thread-safe.
void UseRocksdbQueryReader(std::unique_ptr<RequestSource> (*make)(std::string path));

}  // namespace mezz
