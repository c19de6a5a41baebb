// SPDX-License-Identifier: Apache-2.0
// Caches and blocks for tests of the preload library, over either of RocksDB's cache interfaces.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "rocksdb/cache.h"
#include "rocksdb/version.h"

#if ROCKSDB_MAJOR >= 8
#include "tests/support/hybrid_blocks.h"
#else
#include "tests/support/blocks_v7.h"
#endif

namespace mezz::test {

inline constexpr size_t kSmallLruBytes = 2 << 20;

inline std::shared_ptr<rocksdb::Cache> MakeSmallLru() {
  rocksdb::LRUCacheOptions options;
  options.capacity = kSmallLruBytes;
  options.num_shard_bits = 0;
  return rocksdb::NewLRUCache(options);
}

// A block of 4000 bytes that the SCM tier can hold.
inline void InsertBlock(rocksdb::Cache& cache, uint64_t id) {
#if ROCKSDB_MAJOR >= 8
  auto* const block = TestBlock::New(Content(id, 0, 4000), cache.memory_allocator());
  EXPECT_TRUE(cache.Insert(KeyOf(id), block, kHelpers[0], block->charge()).ok());
#else
  auto* const block = new BlockV7(std::string(4000, 'x'));
  EXPECT_TRUE(cache.Insert(KeyV7(id), block, &kBlockHelper, 4000).ok());
#endif
}

}  // namespace mezz::test
