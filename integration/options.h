// SPDX-License-Identifier: Apache-2.0
// All options of the hybrid cache, the one function that validates them, and the URI that spells them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "admission/policy.h"
#include "cache/options.h"
#include "cache/shares.h"
#include "cache/status.h"
#include "integration/machine.h"

namespace mezz {

// The look-ups of one block in a hundred are sampled. For a large cache these are enough blocks; a small one needs a
// higher rate.
inline constexpr double kCurveRateDefault = 0.01;

enum class DramCacheKind { kHyperClock, kLru };
template <>
inline constexpr Words<2> kWordsOf<DramCacheKind> = {"hcc", "lru"};
// HyperClockCache, but LRUCache on RocksDB 7.8, whose HyperClockCache does not tell what it evicts.
extern const DramCacheKind kDefaultDramCache;
// How an SCM hit that is not promoted is answered.
enum class ServeMode {
  kAuto,     // in place if that is cheaper for the block's size, role and medium; else a copy
  kInPlace,  // in place, unless too many segments are pinned
  kCopy,     // always a copy in DRAM
};
template <>
inline constexpr Words<3> kWordsOf<ServeMode> = {"auto", "in_place", "copy"};

// Whether the RocksDB that this is built for tells a cache the role of a block. Before RocksDB 8 all blocks are
// BlockRole::kOther. From 8 on, a block that is kOther may not be demoted.
extern const bool kTellsRoles;

// Where blob values (BlobDB with blob_cache) may lie.
enum class BlobPlacement {
  kBoth,  // in both tiers, as data blocks
  kScm,   // in the SCM tier only; DRAM is left to the index, filter and key blocks that find them (TRocksDB)
};
template <>
inline constexpr Words<2> kWordsOf<BlobPlacement> = {"both", "scm"};

// What a database may have of the cache that it shares with others (ForDatabase, hybrid_cache.h).
struct DatabaseLimits {
  ShareLimits scm = {};  // of the SCM tier: shares.h
  // Of the DRAM tier, which is divided anew every few thousand misses: each database gets its reserve, and what is left
  // goes by hits, in either tier, since the last time. A database of high priority counts twice, one of low half. A
  // database whose DRAM tier is a cache of its own (preload) has that, and no limits here.
  ShareLimits dram = {};

  friend bool operator==(const DatabaseLimits&, const DatabaseLimits&) = default;
};

inline constexpr std::string_view kEachDatabase = "*";

struct HybridCacheOptions {
  // RocksDB's keys name the same bytes for all time. So by default the blocks that a file or device holds are found
  // again. Where compactions offer what they write, they do not wait until it is packed.
  HybridCacheOptions();

  // The DRAM tier: a stock RocksDB cache of this kind and size, made by us (or wrapped, see WrapCache).
  DramCacheKind dram_cache = kDefaultDramCache;  // on RocksDB 7.8 only kLru
  uint64_t dram_bytes = 0;
  // All of the DRAM that the cache may take, to be given instead of dram_bytes. The DRAM tier gets what our own
  // structures leave (dram_budget.h), and shrinks when they grow. 0 means that the structures come on top of
  // dram_bytes. WrapCache resizes the existing cache to fit.
  uint64_t dram_total_bytes = 0;
  // The DRAM tier has 2^dram_shard_bits shards. -1 means one shard for every 2 MiB of a HyperClockCache, at most 64,
  // and RocksDB's own choice for an LRUCache.
  int dram_shard_bits = -1;
  // The shard bits for a HyperClockCache of dram_bytes, -1 resolved.
  int HyperClockShardBits() const;
  bool strict_capacity_limit = false;

  // How many bytes of blocks may go back to DRAM after a restart that finds them again (ScmOptions::recovery). Such a
  // block is promoted at its first SCM hit, whatever the policy says. Eligible are the blocks that lay in the DRAM tier
  // when the cache was closed, and index, filter and dictionary blocks. When the cache is closed, up to so many bytes
  // that the SCM tier lacks are written to it, within kWarmSaveSeconds. The DRAM tier's size is the maximum, and the
  // default if no value is set. 0 switches both off.
  std::optional<uint64_t> warm_dram_bytes;
  // The value in effect, in bytes.
  uint64_t WarmDramBytes() const;
  static constexpr uint64_t kWarmSaveSeconds = 5;

  ScmOptions scm;

  std::string policy = std::string(kDefaultPolicyName);
  // How many bytes a second the policy may write to the medium in the long run; 0 means no limit. Simple policies
  // ignore it. A larger budget means more wear and more blocks kept.
  uint64_t write_budget_bytes_per_second = 0;
  // Makes a policy by its name, when the cache is opened and when another policy is set. Empty means mezz::MakePolicy.
  // Set it for policies of your own. They must be thread-safe, and their name() must be the name that was asked for.
  std::function<Status(std::string_view name, const PolicyOptions& options, std::unique_ptr<Policy>* policy)>
      policy_maker;
  ServeMode serve = ServeMode::kAuto;
  // With kScm, blob values that the policy sends to DRAM go to the SCM tier instead, under any policy. From RocksDB 8.9
  // on, and not under a stock cache.
  BlobPlacement blobs = BlobPlacement::kBoth;
  // True: where a block goes that a flush or a compaction has written, and RocksDB offers, depends on what the cache
  // knows of its parents (admission/lineage.h). False: it goes to DRAM, as RocksDB asks.
  bool heirs = true;
  // The bytes of the stage in use, in which blocks that RocksDB has written wait to be packed.
  uint64_t PackStageBytes() const { return heirs ? scm.pack_stage_bytes : 0; }
  // Keeps a sample of the look-ups, from which hit ratios at other sizes are computed (HybridStats::MakeCurve). It
  // takes at most 8 MiB of DRAM. Not under a stock cache, which does not tell us its hits.
  bool curve = false;
  // The share of the blocks that is sampled, at most. A larger share makes the curve of a small cache exact enough, and
  // more hits bear the cost.
  double curve_rate = kCurveRateDefault;
  // The file to which the curve is written, for mezz_plan, with each report and when the cache is destroyed. Empty
  // means none. Needs `curve`.
  std::string curve_file;
  // Where the cache's figures are served for monitoring (MetricsTarget): "unix:PATH", "tcp:127.0.0.1:PORT" or
  // "file:PATH". Empty means nowhere. Each cache needs a socket or a file of its own.
  std::string metrics;
  // The name of the database that the cache is for, if several share one: NewHybridCache then gives it a cache by
  // ForDatabase. The first one of a process opens the cache that they share, if no cache of that URI is open; others
  // whose options have the same URI but for this join it. What is no part of the URI (functions) is the first one's.
  // Empty: a cache for itself. kEachDatabase: of a program's own caches (preload), each is one, named by its database's
  // path.
  std::string share;
  DatabaseLimits share_limits;
  // Returns monotonic nanoseconds, for policies and for the cost of a miss (pack=auto). Empty means
  // std::chrono::steady_clock. For tests.
  std::function<uint64_t()> now_ns;
  uint64_t NowNs() const;

  // Validates all options without touching the medium; sizes are judged by what `machine` has. No other place does so.
  Status Validate(const Machine& machine = ThisMachine()) const;
  // Validates all options except those of the DRAM tier, for a DRAM cache that exists already.
  Status ValidateScmSide(const Machine& machine = ThisMachine()) const;
  // Validates the options of mezzanine_scm://, which has no DRAM tier.
  Status ValidateScmSecondary(const Machine& machine = ThisMachine()) const;
  Status MakePolicy(std::string_view name, const PolicyOptions& made_with, std::unique_ptr<Policy>* made) const;
  // The URI that ParseHybridUri reads back to these options.
  std::string ToUri() const;
  // The URI that ParseScmSecondaryUri reads back to these options.
  std::string ToScmSecondaryUri() const;

 private:
  Status ValidateTotal(const Machine& machine) const;
};

inline constexpr std::string_view kHybridScheme = "mezzanine://";
inline constexpr std::string_view kScmSecondaryScheme = "mezzanine_scm://";

// Parses mezzanine://key=value;key=value...: the keys of option_table.h. Sizes take K, M, G, T (powers of two).
// Unknown, repeated or malformed keys are refused by name, with the accepted ones. A size that the machine does not
// have is refused, with what it has. mezzanine_scm:// takes the keys of the SCM tier and the policy, but none of the
// DRAM tier.
Status ParseHybridUri(std::string_view uri, HybridCacheOptions* options, const Machine& machine = ThisMachine());
Status ParseScmSecondaryUri(std::string_view uri, HybridCacheOptions* options, const Machine& machine = ThisMachine());
// ParseHybridUri for a DRAM cache that exists already (WrapCache). The keys of the DRAM tier may be left out, and are
// not used. The program did not ask for our memory and must not die of it. So bus_errors is contain, unless the URI
// says otherwise. A host with a handler of its own passes another default as `bus_errors`.
Status ParseWrapUri(std::string_view uri, HybridCacheOptions* options, const Machine& machine = ThisMachine(),
                    BusErrorMode bus_errors = BusErrorMode::kContain);

}  // namespace mezz
