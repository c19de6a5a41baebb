// SPDX-License-Identifier: Apache-2.0
// The caches that --caches names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cache/options.h"
#include "cache/status.h"

namespace mezz {

// What stands behind a name in --caches.
enum class CacheKind {
  kHcc,  // stock, DRAM only
  kLru,
  kHccCompressed,  // stock, with a CompressedSecondaryCache of SCM size, not compressing
  kLruCompressed,
  kHccCompressedLz4,  // the same, compressing
  kLruCompressedLz4,
  kHccCompressedZstd,
  kLruCompressedZstd,
  kTiered,    // NewTieredCache
  kNaiveScm,  // stock LRUCache over a file-backed memkind allocator, DRAM + SCM bytes
  kAllDram,   // HCC of DRAM + SCM bytes: the large server
  kAllDramLru,
  kHybrid,           // ours
  kScmSecondaryLru,  // our SCM tier under a stock cache
  kScmSecondaryHcc,
  kPageCache,  // buffered reads and a small block cache, in a cgroup of DRAM + SCM bytes
};

// What RocksDB puts into the block cache unasked: BlockBasedTableOptions::prepopulate_block_cache.
enum class Warming {
  kBest,                // as much as the release can; what the cache makes of it is its own matter
  kNone,                // "+nowarm"
  kFlush,               // "+warmflush": what flushes write
  kFlushAndCompaction,  // "+warm": what compactions write, too; RocksDB 11.1 and later
};

// Which of several media a cache has.
enum class OfSeveral { kAll, kStriped, kFirst, kLast };

struct CacheSpec {
  std::string name;  // as it was asked for; the second of the same name gets "#2"
  CacheKind kind = CacheKind::kHcc;
  std::string policy;            // kHybrid, kScmSecondary*: the one named, else --policy. kTiered: the admission policy
  std::optional<PackMode> pack;  // kHybrid: "hybrid+lz4". Empty: as --pack says
  bool keep_dead = false;        // kHybrid: "hybrid+keep_dead" is not told which files were deleted
  bool pack_stage = true;        // kHybrid: "hybrid+nostage" packs what compactions write before they go on
  bool heirs = true;             // kHybrid: "hybrid+noheirs" takes what RocksDB warms it with as that asks
  // kHybrid: "hybrid+striped" has them in no order; "hybrid+first_medium" has that one alone, with the bytes of all.
  OfSeveral media = OfSeveral::kAll;
  Warming warming = Warming::kNone;  // of its databases; kHybrid that says nothing: kBest, as UseHybridCache has it
  // Of its own tiers: "hcc@256M", "hybrid@256M+1G". 0: as --dram and --scm say.
  uint64_t dram_bytes = 0;
  uint64_t scm_bytes = 0;
};

// Splits "hcc,lru+warm,hybrid:scm_first+warmflush@64M+1G": a name, ":POLICY", one suffix of Warming, and "@SIZES"; all
// but the name may be left out. Refuses unknown and empty names, listing the known.
Status ParseCaches(const std::string& text, const std::string& default_policy, std::vector<CacheSpec>* caches);

}  // namespace mezz
