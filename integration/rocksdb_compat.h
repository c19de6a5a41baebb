// SPDX-License-Identifier: Apache-2.0
// The differences between the RocksDB releases that integration/hybrid_cache.cc serves, 8.9 to 11.x, and what their
// CacheWrapper leaves to us.
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

// The typed create callbacks of 11.0 and later refuse any other source, wherever the bytes came from. Earlier ones
// ignore the source.
inline constexpr rocksdb::CacheTier kCreateSource = rocksdb::CacheTier::kVolatileTier;

// The allocator to give to a CacheWrapper; null if the wrapped cache has none. memory_allocator() is not virtual, and
// null in a wrapper, but readers must allocate blocks where the wrapped cache will free them.
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

// The block as its file holds it, made of what RocksDB passes to Insert. Empty if the file holds it uncompressed.
inline Image ImageOf(const rocksdb::Slice& compressed, rocksdb::CompressionType type) {
  if (type == rocksdb::kNoCompression) return {};
  return {.bytes = std::as_bytes(std::span(compressed.data(), compressed.size())), .type = static_cast<uint8_t>(type)};
}

// Calls visit(key) with the handle's key, if the release can tell it, as 9.7 and later do.
template <typename Visit>
void ApplyToKey([[maybe_unused]] rocksdb::Cache& cache, [[maybe_unused]] rocksdb::Cache::Handle* handle,
                [[maybe_unused]] Visit visit) {
#if MEZZ_ROCKSDB_VERSION >= 90700
  cache.ApplyToHandle(&cache, handle,
                      [&visit](const rocksdb::Slice& key, rocksdb::Cache::ObjectPtr, size_t,
                               const rocksdb::Cache::CacheItemHelper*) { visit(key); });
#endif
}

// Counts what RocksDB counts when a secondary cache answers.
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
