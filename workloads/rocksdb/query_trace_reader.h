// SPDX-License-Identifier: Apache-2.0
// RocksDB's query traces (DB::StartTrace, db_bench --trace_file), versions 0.1 and 0.2, as requests, decoded by
// RocksDB's own replayer.
//
// Each operation is a request: a Get, each key of a MultiGet, each entry of a write batch (a SingleDelete or the first
// key of a DeleteRange is a delete), a Seek or SeekForPrev. RocksDB's replayer counts a MultiGet and a write batch as
// one: it counts the requests whose batch_left is 0, and empty batches, which are no request. A seek reads one entry,
// as it does in RocksDB's replayer: traces say nothing of the Next() that followed. query_keys.h says what becomes of
// the keys.
#pragma once

#include <memory>
#include <string>

#include "workloads/requests/request.h"

namespace mezz {

std::unique_ptr<RequestSource> MakeRocksdbQueryReader(std::string path);

// Lets OpenTrace() read them. Call it once, before.
void UseRocksdbQueryReader();

}  // namespace mezz
