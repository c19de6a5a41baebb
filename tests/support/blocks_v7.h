// SPDX-License-Identifier: Apache-2.0
// Cached strings, as RocksDB 7.8 would hand blocks to a cache.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "rocksdb/cache.h"

namespace mezz::test {

// Counts the living, so that a test sees a leak or a double delete.
struct BlockV7 {
  explicit BlockV7(std::string text) : bytes(std::move(text)) { ++alive; }
  ~BlockV7() { --alive; }
  BlockV7(const BlockV7&) = delete;
  BlockV7& operator=(const BlockV7&) = delete;

  const std::string bytes;
  static inline std::atomic<int> alive{0};
};

inline size_t SizeOfBlock(void* object) { return static_cast<BlockV7*>(object)->bytes.size(); }
// As RocksDB's own: whole or not at all.
inline rocksdb::Status SaveBlock(void* object, size_t offset, size_t bytes, void* to) {
  if (offset != 0 || bytes != SizeOfBlock(object)) return rocksdb::Status::InvalidArgument("a piece was asked for");
  static_cast<BlockV7*>(object)->bytes.copy(static_cast<char*>(to), bytes);
  return rocksdb::Status::OK();
}
inline void DeleteBlock(const rocksdb::Slice&, void* object) { delete static_cast<BlockV7*>(object); }
inline rocksdb::Status CreateBlock(const void* bytes, size_t size, void** object, size_t* charge) {
  *object = new BlockV7(std::string(static_cast<const char*>(bytes), size));
  *charge = size;
  return rocksdb::Status::OK();
}
inline const rocksdb::Cache::CacheItemHelper kBlockHelper(&SizeOfBlock, &SaveBlock, &DeleteBlock);

// 16 bytes, as RocksDB's keys are.
inline std::string KeyV7(uint64_t id) {
  std::string key(16, 'k');
  std::memcpy(key.data() + 8, &id, sizeof(id));
  return key;
}

}  // namespace mezz::test
