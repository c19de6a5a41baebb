// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "admission/curves/block_key.h"
#include "rocksdb/db.h"

namespace mezz {

// The databases that share a cache. A key belongs to one of them, by its hash: so a scan sees only that one's keys.
class Databases {
 public:
  void Add(std::unique_ptr<rocksdb::DB> db) { all_.push_back(std::move(db)); }
  void Close() { all_.clear(); }

  // While there is one.
  rocksdb::DB* Of(uint64_t key) const { return all_[NumberOf(key)].get(); }
  size_t NumberOf(uint64_t key) const { return static_cast<size_t>((MixWord(key) >> 32) * all_.size() >> 32); }
  const std::vector<std::unique_ptr<rocksdb::DB>>& all() const { return all_; }

 private:
  std::vector<std::unique_ptr<rocksdb::DB>> all_;
};

}  // namespace mezz
