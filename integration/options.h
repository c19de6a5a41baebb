// SPDX-License-Identifier: Apache-2.0
// Everything the hybrid cache can be told, one judge, and the URI that spells it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "admission/policy.h"
#include "cache/options.h"
#include "cache/status.h"
#include "integration/machine.h"

namespace mezz {

// One look-up of a hundred blocks pays; a fleet's cache has enough blocks in it, a small one asks for more.
inline constexpr double kCurveRateDefault = 0.01;

enum class DramCacheKind { kHyperClock, kLru };
std::string_view ToString(DramCacheKind kind);
// HyperClockCache; LRUCache on RocksDB 7.8, whose HyperClockCache cannot tell anybody what it evicts.
extern const DramCacheKind kDefaultDramCache;
// How an SCM hit that is not promoted is answered.
enum class ServeMode {
  kAuto,     // in place where that is cheaper by block size, role and medium; a copy otherwise
  kInPlace,  // in place, unless too many segments are pinned
  kCopy,     // always a copy in DRAM
};
std::string_view ToString(ServeMode mode);

// Whether the RocksDB that this is built for tells a cache what a block is. Before 8 all are BlockRole::kOther; of
// later ones, what is kOther may not be demoted.
extern const bool kTellsRoles;

// Where blob values (BlobDB with blob_cache) may lie.
enum class BlobPlacement {
  kBoth,  // as data blocks
  kScm,   // in the SCM tier alone, and DRAM is left to the index, filter and key blocks that find them (TRocksDB)
};
std::string_view ToString(BlobPlacement blobs);

struct HybridCacheOptions {
  // RocksDB's keys name the same bytes for all time, so what a file or device holds comes back unless told otherwise.
  HybridCacheOptions() { scm.recovery = Recovery::kAuto; }

  // The DRAM tier: a stock RocksDB cache of this kind and size, made by us (or wrapped, see WrapCache).
  DramCacheKind dram_cache = kDefaultDramCache;  // 7.8: only kLru
  uint64_t dram_bytes = 0;
  // Instead of dram_bytes: all of the DRAM that the cache may take. The DRAM tier gets what our own structures leave
  // (dram_budget.h), and gives way as they grow. 0: they come on top of dram_bytes. A cache that exists already
  // (WrapCache) is resized.
  uint64_t dram_total_bytes = 0;
  // -1: a shard for every 2 MiB of HyperClockCache, 64 at most; RocksDB's choice for LRUCache.
  int dram_shard_bits = -1;
  // What that comes to for a HyperClockCache of dram_bytes.
  int HyperClockShardBits() const;
  bool strict_capacity_limit = false;

  // Where an earlier life is found again (ScmOptions::recovery): so many bytes of blocks are promoted at their first
  // SCM hit, without having earned it: those that lay in the DRAM tier when the cache was closed, and index, filter and
  // dictionary blocks. And when it is closed, so many bytes that the SCM tier lacks are written to it, within
  // kWarmSaveSeconds. At most the DRAM tier's size; nothing: that. 0: none of it.
  std::optional<uint64_t> warm_dram_bytes;
  // What it comes to.
  uint64_t WarmDramBytes() const;
  static constexpr uint64_t kWarmSaveSeconds = 5;

  ScmOptions scm;

  std::string policy = std::string(kDefaultPolicyName);
  // Bytes that the policy may have written to the medium in a second, in the long run; 0: no limit. For policies that
  // keep to it: the simple ones write what they write. Larger: more wear, and more blocks kept.
  uint64_t write_budget_bytes_per_second = 0;
  // Makes the policies by name, at the opening and whenever another is chosen; empty: mezz::MakePolicy. For policies of
  // your own, which must be thread-safe and go by the name they are asked for by.
  std::function<Status(std::string_view name, const PolicyOptions& options, std::unique_ptr<Policy>* policy)>
      policy_maker;
  ServeMode serve = ServeMode::kAuto;
  // kScm beside any policy: what the policy sends to DRAM of them goes to the SCM tier. From RocksDB 8.9 on, and not
  // under a stock cache.
  BlobPlacement blobs = BlobPlacement::kBoth;
  // What a flush or a compaction has written, and offers to the cache, is kept by what the cache knows of its parents
  // (admission/lineage.h). False: as RocksDB asks, in DRAM.
  bool heirs = true;
  // The cache keeps a sample of its look-ups, of which hit ratios at other sizes can be had (HybridStats::MakeCurve),
  // in 8 MiB of DRAM at most. Not under a stock cache, whose hits nobody tells us of.
  bool curve = false;
  // Of the blocks, at most so many are looked at. Larger: sure of smaller caches, and more of their hits pay for it.
  double curve_rate = kCurveRateDefault;
  // Where the curve is written when the cache goes and with each report, for mezz_plan; empty: nowhere. Needs `curve`.
  std::string curve_file;
  // Where the figures of the cache are to be had for monitoring (MetricsTarget): "unix:PATH", "tcp:127.0.0.1:PORT",
  // "file:PATH"; empty: nowhere. A socket or a file of this cache alone.
  std::string metrics;
  // Monotonic nanoseconds, for policies and for what a miss costs (pack=auto). Empty: std::chrono::steady_clock. For
  // tests.
  std::function<uint64_t()> now_ns;

  // Judges all of it without touching the medium, sizes by what the machine has. The only place that does.
  Status Validate(const Machine& machine = ThisMachine()) const;
  // As Validate, without the DRAM tier: for a cache under one that exists already.
  Status ValidateScmSide(const Machine& machine = ThisMachine()) const;
  // As ValidateScmSide, for mezzanine_scm://.
  Status ValidateScmSecondary(const Machine& machine = ThisMachine()) const;
  Status MakePolicy(std::string_view name, const PolicyOptions& made_with, std::unique_ptr<Policy>* made) const;
  // The URI that gives these options again.
  std::string ToUri() const;
  // The same for ParseScmSecondaryUri.
  std::string ToScmSecondaryUri() const;

 private:
  Status ValidateTotal(const Machine& machine) const;
};

inline constexpr std::string_view kHybridScheme = "mezzanine://";
inline constexpr std::string_view kScmSecondaryScheme = "mezzanine_scm://";

// Parses mezzanine://key=value;key=value...: the keys of option_table.h. Sizes take K, M, G, T (powers of two).
// Unknown, repeated or malformed keys are refused by name with the accepted ones, sizes that the machine does not have
// with what it has. mezzanine_scm:// takes the keys of the SCM tier and policy, none of the DRAM tier.
Status ParseHybridUri(std::string_view uri, HybridCacheOptions* options, const Machine& machine = ThisMachine());
Status ParseScmSecondaryUri(std::string_view uri, HybridCacheOptions* options, const Machine& machine = ThisMachine());
// As ParseHybridUri for a DRAM cache that exists already (WrapCache): its keys may be left out, and are not used. Its
// program did not ask for our memory, and must not die of it: bus_errors is contain unless the URI says otherwise, or
// the host has a handler of its own and `bus_errors` says so.
Status ParseWrapUri(std::string_view uri, HybridCacheOptions* options, const Machine& machine = ThisMachine(),
                    BusErrorMode bus_errors = BusErrorMode::kContain);

}  // namespace mezz
