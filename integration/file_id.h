// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cache/types.h"
#include "rocksdb/table_properties.h"

namespace mezz {

// What the keys of all blocks of this table begin with. FileId{0}: its properties do not tell (tables written before
// RocksDB 6.24). It follows from the table's unique id, which RocksDB promises to keep as it is, and so are the keys:
// persistent caches rely on them.
FileId FileIdOf(const rocksdb::TableProperties& table);

// And those of the file that this session of the database wrote under this number, a table; or of a blob file: the
// session that reads it.
FileId FileIdOf(const std::string& db_id, const std::string& db_session_id, uint64_t file_number);

}  // namespace mezz
