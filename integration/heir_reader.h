// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "admission/lineage.h"
#include "integration/paced_files.h"
#include "integration/parent_keys.h"
#include "integration/read_back_counts.h"
#include "rocksdb/cache.h"
#include "rocksdb/comparator.h"
#include "rocksdb/env.h"
#include "rocksdb/options.h"

namespace mezz {

// Reads a table at the keys of parents. RocksDB reads and checks each block, and inserts it into the cache, which asks
// LineageOf.
//
// A table of which many keys are wanted is read in pieces of kPieceBytes, any other block by block. If RocksDB writes
// tables through the page cache, reads use it too, because it still holds them.
//
// Only the thread that reads heirs back uses it.
class HeirReader {
 public:
  static constexpr size_t kPieceBytes = 256 << 10;
  // A table is read in pieces if at least this percentage of its keys are keys of parents.
  static constexpr unsigned kPiecesPercentMin = 20;

  struct Table {
    std::shared_ptr<rocksdb::FileSystem> files;
    bool direct = false;  // true if tables are written past the page cache
    std::string path;
    const rocksdb::Comparator* comparator = nullptr;
  };

  // Both must outlive this.
  HeirReader(rocksdb::Cache* cache, ReadBackCounters& counts, ReadPace::Wait wait)
      : cache_(cache), counts_(counts), pace_(counts, std::move(wait)) {}

  // Reads the table at these keys, which are sorted, until `stops()`. Returns the first key that lies behind the
  // table's last, or nothing if the table could not be read to the end.
  std::optional<size_t> Read(const Table& table, const ParentKeys& keys, const std::function<bool()>& stops);
  // What is known of the parents of a block that has been read and is being inserted.
  Lineage LineageOf(std::span<const std::byte> block);

 private:
  rocksdb::Options OptionsFor(const Table& table, rocksdb::Env* env) const;

  rocksdb::Cache* const cache_;
  ReadBackCounters& counts_;
  ReadPace pace_;
  std::unique_ptr<ParentTable> parents_;  // of the table that is being read; null before the first
  std::vector<uint64_t> hashes_;
};

}  // namespace mezz
