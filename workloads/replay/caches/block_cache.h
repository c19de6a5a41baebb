// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "cache/types.h"
#include "rocksdb/cache.h"
#include "rocksdb/version.h"
#if ROCKSDB_MAJOR >= 8
#include "rocksdb/advanced_cache.h"
#endif

namespace mezz {

// A block cache, used as RocksDB's table readers use it: the same kind of keys, helpers that can save and make a block,
// the same priority by role, and a handle for as long as the block is read. One interface over RocksDB 7.8 and 8.9
// to 11.x. A block is charged its payload where it lies in DRAM, and nothing where it is served in place.
class BlockCache {
 public:
  explicit BlockCache(std::shared_ptr<rocksdb::Cache> cache) : cache_(std::move(cache)) {}

  // A block in use. Release it before the next look-up of many, or it cannot be evicted.
  class Held {
   public:
    Held() = default;
    Held(rocksdb::Cache* cache, rocksdb::Cache::Handle* handle) : cache_(cache), handle_(handle) {}
    Held(Held&& other) noexcept : cache_(other.cache_), handle_(std::exchange(other.handle_, nullptr)) {}
    Held& operator=(Held&&) = delete;
    ~Held() {
      if (handle_ != nullptr) cache_->Release(handle_);
    }
    explicit operator bool() const { return handle_ != nullptr; }
    std::span<const std::byte> bytes() const;

   private:
    rocksdb::Cache* cache_ = nullptr;
    rocksdb::Cache::Handle* handle_ = nullptr;
  };

  // Empty: a miss.
  Held Lookup(const BlockKey& key, BlockRole role);
  // After a miss. Empty if the cache refused the block: it is full, and strict.
  Held Insert(const BlockKey& key, BlockRole role, std::span<const std::byte> bytes);

 private:
  const std::shared_ptr<rocksdb::Cache> cache_;
};

}  // namespace mezz
