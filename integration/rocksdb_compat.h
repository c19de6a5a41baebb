// SPDX-License-Identifier: Apache-2.0
// What differs between the RocksDB releases that integration/hybrid_cache.cc serves, 8.9 to 11.x, and what their
// CacheWrapper leaves to do.
#pragma once

#include <memory>
#include <span>

#include "cache/types.h"
#include "rocksdb/advanced_cache.h"
#include "rocksdb/perf_context.h"
#include "rocksdb/perf_level.h"
#include "rocksdb/statistics.h"
#include "rocksdb/version.h"

#define MEZZ_ROCKSDB_VERSION (ROCKSDB_MAJOR * 10000 + ROCKSDB_MINOR * 100 + ROCKSDB_PATCH)
#if MEZZ_ROCKSDB_VERSION < 80900
#error "hybrid_cache.cc needs RocksDB 8.9 or later; hybrid_cache_v7.cc serves 7.8"
#endif

namespace mezz {

// From 11.0 the typed create callbacks refuse any other source, wherever the bytes came from; earlier ones ignore it.
inline constexpr rocksdb::CacheTier kCreateSource = rocksdb::CacheTier::kVolatileTier;

// For the member of a CacheWrapper: memory_allocator() is not virtual, and null in a wrapper, but readers must allocate
// blocks where the wrapped cache will free them. Null if that has none.
inline std::shared_ptr<rocksdb::MemoryAllocator> WrappedAllocator(const std::shared_ptr<rocksdb::Cache>& wrapped) {
  if (wrapped->memory_allocator() == nullptr) return nullptr;
  return {wrapped, wrapped->memory_allocator()};
}

inline BlockRole ToBlockRole(rocksdb::CacheEntryRole role) {
  using Role = rocksdb::CacheEntryRole;
  switch (role) {
    case Role::kDataBlock:
      return BlockRole::kData;
    case Role::kIndexBlock:
      return BlockRole::kIndex;
    case Role::kFilterBlock:
    case Role::kFilterMetaBlock:
    case Role::kDeprecatedFilterBlock:
      return BlockRole::kFilter;
    case Role::kOtherBlock:  // dictionaries, and the rare range-deletion block
      return BlockRole::kDictionary;
    case Role::kBlobValue:
      return BlockRole::kBlob;
    default:
      return BlockRole::kOther;
  }
}

// How a block's file holds it, of what RocksDB hands to Insert: its bytes are empty where that is not compressed.
inline Image ImageOf(const rocksdb::Slice& compressed, rocksdb::CompressionType type) {
  if (type == rocksdb::kNoCompression) return {};
  return {.bytes = std::as_bytes(std::span(compressed.data(), compressed.size())), .type = static_cast<uint8_t>(type)};
}

// Calls visit(key) where the release can tell a handle's key: from 9.7 on.
template <typename Visit>
void ApplyToKey([[maybe_unused]] rocksdb::Cache& cache, [[maybe_unused]] rocksdb::Cache::Handle* handle,
                [[maybe_unused]] Visit visit) {
#if MEZZ_ROCKSDB_VERSION >= 90700
  cache.ApplyToHandle(&cache, handle,
                      [&visit](const rocksdb::Slice& key, rocksdb::Cache::ObjectPtr, size_t,
                               const rocksdb::Cache::CacheItemHelper*) { visit(key); });
#endif
}

// What RocksDB counts when a secondary cache answers.
inline void CountSecondaryHit(rocksdb::CacheEntryRole role, rocksdb::Statistics* stats) {
  if (rocksdb::GetPerfLevel() >= rocksdb::PerfLevel::kEnableCount) {
    rocksdb::get_perf_context()->secondary_cache_hit_count++;
  }
  if (stats == nullptr) return;
  stats->recordTick(rocksdb::SECONDARY_CACHE_HITS, 1);
  switch (role) {
    case rocksdb::CacheEntryRole::kFilterBlock:
      return stats->recordTick(rocksdb::SECONDARY_CACHE_FILTER_HITS, 1);
    case rocksdb::CacheEntryRole::kIndexBlock:
      return stats->recordTick(rocksdb::SECONDARY_CACHE_INDEX_HITS, 1);
    case rocksdb::CacheEntryRole::kDataBlock:
      return stats->recordTick(rocksdb::SECONDARY_CACHE_DATA_HITS, 1);
    default:
      return;
  }
}

}  // namespace mezz
