// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cache/types.h"
#include "rocksdb/table_properties.h"

namespace mezz {

// The id with which the cache keys of all this table's blocks begin. FileId{0} if the table's properties do not tell it
// (tables written before RocksDB 6.24). The id is computed from the table's unique id. RocksDB promises to keep both
// that and the cache keys as they are, because persistent caches rely on them.
FileId FileIdOf(const rocksdb::TableProperties& table);

// The same for a table that this session of the database wrote under this number. For a blob file, give the session
// that reads it.
FileId FileIdOf(const std::string& db_id, const std::string& db_session_id, uint64_t file_number);

}  // namespace mezz
