// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rocksdb {
class DB;
class Status;
}  // namespace rocksdb

namespace mezz {

// How the data blocks of a database pack: by LZ4, and by zstd at level 3, as an SCM tier packs them (cache/pack).
struct BlockPacking {
  struct Ratios {
    double mean = 0;             // bytes of all blocks over what they pack to
    std::vector<double> blocks;  // of each, ascending
    // REQUIRES: some blocks.
    double Quantile(double share) const {
      return blocks[static_cast<size_t>(share * static_cast<double>(blocks.size() - 1) + 0.5)];
    }
  };

  uint64_t blocks = 0;       // looked at; 0: the database has none
  uint64_t block_bytes = 0;  // mean
  Ratios lz4;
  Ratios zstd;
};

// A data block as RocksDB builds it from sorted entries: keys without what they share with the one before, restart
// points every sixteen entries, and their table at the end. (Of RocksDB's own blocks the sequence numbers differ.)
class DataBlock {
 public:
  void Add(std::string_view key, std::string_view value);
  size_t bytes() const { return block_.size() + 4 * restarts_.size() + 4; }
  // The whole block. Starts anew with the next Add.
  std::string Finish();

 private:
  std::string block_;
  std::string last_key_;
  std::vector<uint32_t> restarts_;
  uint32_t entries_ = 0;
};

// Packs one block from each of `keys` on, in the default column family. Blocks are as large as the family's table
// options say. Fills no cache. An error is the database's.
rocksdb::Status SampleBlockPacking(rocksdb::DB* db, const std::vector<std::string>& keys, BlockPacking* packing);

// One line for people.
std::string ToString(const BlockPacking& packing);
// A file for mezz_sim's and mezz_plan's --pack_ratio: a line for each block. With one ratio for all, each record would
// take the same number of lines of the medium, which is more or less than the mean of those that vary.
std::string RatiosFile(const BlockPacking::Ratios& ratios);

}  // namespace mezz
