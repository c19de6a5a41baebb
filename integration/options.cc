// SPDX-License-Identifier: Apache-2.0
#include "integration/options.h"

#include <algorithm>
#include <bit>

#include "cache/base/invalid.h"
#include "cache/base/steady_clock.h"
#include "cache/base/text.h"
#include "fmt/format.h"
#include "integration/dram_budget.h"
#include "integration/media_text.h"
#include "integration/memory_fit.h"
#include "integration/metrics_target.h"
#include "integration/option_table.h"
#include "integration/rocksdb_release.h"
#include "integration/warming.h"
#include "rocksdb/version.h"

namespace mezz {

namespace {

#if ROCKSDB_MAJOR < 8
constexpr bool kHyperClockTellsEvictions = false;
#else
constexpr bool kHyperClockTellsEvictions = true;
#endif

constexpr bool kHandsImages = ROCKSDB_MAJOR > 8 || (ROCKSDB_MAJOR == 8 && ROCKSDB_MINOR >= 7);
constexpr bool kReadersTakeAllocators = ROCKSDB_MAJOR >= 8;  // and what makes a block of what SCM held, too
constexpr int kShardBitsMax = 19;                            // RocksDB makes no cache with more
// A shard of fewer blocks cannot keep what is in use, and hundreds of thousands of shards take more than they hold.
constexpr uint64_t kBlocksOfShardMin = 16;
constexpr uint64_t kRateMax = kCapacityBytesMax;  // bytes a second

// A path is one value of the URI, so it must not hold what ends a value.
Status CheckPath(std::string_view key, const std::string& path) {
  const auto is_control = [](char c) { return c >= 0 && c < ' '; };
  const auto bad = std::ranges::find_if(path, [&](char c) { return c == ';' || is_control(c); });
  if (bad == path.end()) return Status::Ok();
  const char* what = *bad == ';' ? "';', which ends a value" : "a control character";
  std::string shown = path;
  std::ranges::replace_if(shown, is_control, '?');
  return Invalid("{}={} contains {}: choose another path", key, shown, what);
}

// Nor, as one of several, what begins the next.
Status CheckMediumPath(const std::string& path) {
  MEZZ_RETURN_IF_ERROR(CheckPath("path", path));
  const size_t lost = FindLostMedium(path);
  if (lost == path.size()) return Status::Ok();
  return Invalid("path={} contains \"{}\", which begins another medium, or would: choose another path", path,
                 path.substr(lost, path.find('@', lost) + 1 - lost));
}

Status NeedsRelease(std::string_view option, std::string_view release, std::string_view why) {
  return Status::NotSupported(
      fmt::format("{} needs RocksDB {} or later, and this is {}, which {}", option, release, kRocksDbRelease, why));
}

// Whatever becomes of it: a DRAM tier that exists has its shards.
Status CheckShardBits(int bits) {
  if (bits >= -1 && bits <= kShardBitsMax) return Status::Ok();
  return Invalid("shard_bits={}: must be 0 to {}, or -1 for a choice by size", bits, kShardBitsMax);
}

Status CheckShards(const HybridCacheOptions& options) {
  const int bits = options.dram_shard_bits;
  MEZZ_RETURN_IF_ERROR(CheckShardBits(bits));
  const uint64_t shard_bytes_min = kBlocksOfShardMin * options.scm.expected_block_bytes;
  if (bits <= 0 || options.dram_bytes >> bits >= shard_bytes_min) return Status::Ok();
  const uint64_t shards_max = std::max<uint64_t>(1, options.dram_bytes / shard_bytes_min);
  return Invalid(
      "shard_bits={} cuts dram={} into shards of {}, less than {} blocks of block={}: use shard_bits={} or "
      "fewer, or -1 "
      "for a choice by size",
      bits, SizeText(options.dram_bytes), HumanBytes(options.dram_bytes >> bits), kBlocksOfShardMin,
      SizeText(options.scm.expected_block_bytes), std::bit_width(shards_max) - 1);
}

Status CheckCurve(const HybridCacheOptions& options) {
  if (!(options.curve_rate > 0 && options.curve_rate <= 1)) {
    return Invalid("curve_rate={} is no share of the blocks: use one above 0, and at most 1 (all)", options.curve_rate);
  }
  if (!options.curve_file.empty() && !options.curve) {
    return Invalid("curve_file={} needs curve=on: without it there is nothing to write", options.curve_file);
  }
  return CheckPath("curve", options.curve_file);
}

Status CheckMetrics(const HybridCacheOptions& options) {
  MetricsTarget target;
  return options.metrics.empty() ? Status::Ok() : ParseMetricsTarget(options.metrics, &target);
}

Status CheckWarmDram(const HybridCacheOptions& options) {
  const uint64_t bytes = options.warm_dram_bytes.value_or(0);
  if (bytes == 0) return Status::Ok();
  if (options.scm.EffectiveRecovery() == Recovery::kDiscard) {
    return Invalid(
        "warm_dram={} needs recovery=warm or require: with scm=@{} and recovery={} nothing of an earlier "
        "process is found again",
        SizeText(bytes), options.scm.MediumText(), ToString(options.scm.recovery));
  }
  if (options.dram_bytes != 0 && bytes > options.dram_bytes) {
    return Invalid(
        "warm_dram={} is more than the DRAM tier can hold: use at most {} here, or leave it out for all of "
        "the tier",
        SizeText(bytes), SizeText(options.dram_bytes));
  }
  return Status::Ok();
}

// All of it but whether a total suffices.
Status CheckScmSide(const HybridCacheOptions& options, const Machine& machine) {
  const ScmOptions& scm = options.scm;
  MEZZ_RETURN_IF_ERROR(CheckMediumPath(scm.path));
  for (const ScmMember& member : scm.members) MEZZ_RETURN_IF_ERROR(CheckMediumPath(member.path));
  MEZZ_RETURN_IF_ERROR(CheckPath("verify_key_file", scm.verify_key_file));
  if (scm.medium != MediumKind::kFile && !scm.path.empty()) {
    return Invalid("path={} contradicts medium={}: a path needs medium=file", scm.path, ToString(scm.medium));
  }
  MEZZ_RETURN_IF_ERROR(scm.Validate());
  if (scm.pack == PackMode::kImage && !kHandsImages)
    return NeedsRelease("pack=image", "8.7", "hands no cache a block as its file holds it: use pack=lz4, zstd or auto");
  if (scm.core_dump == CoreDump::kNone && !kReadersTakeAllocators)
    return NeedsRelease("core_dump=none", "8.9",
                        "copies what SCM held into memory of its own: use core_dump=dram, and keep dumps out by "
                        "/proc/PID/coredump_filter");
  if (options.blobs == BlobPlacement::kScm && !kTellsRoles)
    return NeedsRelease("blobs=scm", "8.9",
                        "tells no cache what is a blob value: leave it out, or give blob_cache a cache of its own");
  MEZZ_RETURN_IF_ERROR(CheckScmSideFits(scm, machine));
  if (options.write_budget_bytes_per_second > kRateMax) {
    return Invalid("write_budget={} is more than any medium takes: use at most {} (bytes a second), or 0 for none",
                   SizeText(options.write_budget_bytes_per_second), SizeText(kRateMax));
  }
  MEZZ_RETURN_IF_ERROR(CheckCurve(options));
  MEZZ_RETURN_IF_ERROR(CheckWarmDram(options));
  MEZZ_RETURN_IF_ERROR(CheckMetrics(options));
  std::unique_ptr<Policy> made;
  MEZZ_RETURN_IF_ERROR(options.MakePolicy(options.policy, {}, &made));
  return CheckTotalFits(options.dram_total_bytes, machine);
}

// The DRAM tier by itself: whether it fits is another question.
Status CheckDramTier(const HybridCacheOptions& options) {
  MEZZ_RETURN_IF_ERROR(CheckShards(options));
  if (options.dram_cache == DramCacheKind::kHyperClock && !kHyperClockTellsEvictions)
    return NeedsRelease("dram_cache=hcc", "8.9",
                        "has a HyperClockCache that cannot tell what it evicts: use dram_cache=lru");
  return Status::Ok();
}

}  // namespace

constexpr DramCacheKind kDefaultDramCache =
    kHyperClockTellsEvictions ? DramCacheKind::kHyperClock : DramCacheKind::kLru;

const bool kTellsRoles = ROCKSDB_MAJOR >= 8;

HybridCacheOptions::HybridCacheOptions() {
  scm.recovery = Recovery::kAuto;
  if (kWarmsWithCompactions) scm.pack_stage_bytes = kUsualPackStageBytes;
}

uint64_t HybridCacheOptions::NowNs() const { return now_ns ? now_ns() : SteadyNs(); }

// Every SCM hit takes and returns a standalone handle, and with each HyperClockCache updates its shard's usage twice.
// RocksDB's choice of at least 32 MiB a shard makes that one word for all threads of a small DRAM tier; LRUCache gets
// a shard for every 512 KiB.
int HybridCacheOptions::HyperClockShardBits() const {
  constexpr uint64_t kBytesMin = 2 << 20;
  constexpr int kBitsMax = 6;  // RocksDB's own bound
  if (dram_shard_bits >= 0) return dram_shard_bits;
  const uint64_t shards = std::max<uint64_t>(dram_bytes / kBytesMin, 1);
  return std::min(static_cast<int>(std::bit_width(shards)) - 1, kBitsMax);
}

uint64_t HybridCacheOptions::WarmDramBytes() const {
  if (scm.recovery == Recovery::kDiscard || !scm.Remembers()) return 0;
  return std::min(warm_dram_bytes.value_or(dram_bytes), dram_bytes);
}

Status HybridCacheOptions::ValidateScmSide(const Machine& machine) const {
  MEZZ_RETURN_IF_ERROR(CheckShardBits(dram_shard_bits));
  MEZZ_RETURN_IF_ERROR(CheckScmSide(*this, machine));
  HybridCacheOptions divided = *this;
  return DivideDram(&divided);
}

Status HybridCacheOptions::ValidateScmSecondary(const Machine& machine) const {
  if (scm.pack == PackMode::kImage) {
    return Status::NotSupported(
        "pack=image: a secondary cache cannot unpack blocks as their files hold them: use pack=lz4, zstd or auto");
  }
  if (scm.core_dump == CoreDump::kNone) {
    return Status::NotSupported(
        "core_dump=none: a secondary cache does not make the cache above it; give that a MemoryAllocator whose memory "
        "dumps leave out, and use core_dump=dram");
  }
  if (curve || !curve_file.empty())
    return Status::NotSupported("curve: a secondary cache is not told what its cache finds; leave it out");
  if (blobs == BlobPlacement::kScm)
    return Status::NotSupported("blobs=scm: a secondary cache does not decide what enters its cache; leave it out");
  return ValidateScmSide(machine);
}

Status HybridCacheOptions::MakePolicy(std::string_view name, const PolicyOptions& made_with,
                                      std::unique_ptr<Policy>* made) const {
  return policy_maker ? policy_maker(name, made_with, made) : mezz::MakePolicy(name, made_with, made);
}

Status HybridCacheOptions::Validate(const Machine& machine) const {
  if (dram_total_bytes != 0) return ValidateTotal(machine);
  if (dram_bytes == 0) {
    return Status::InvalidArgument("dram=0: the DRAM tier needs at least one byte, for example dram=256M");
  }
  MEZZ_RETURN_IF_ERROR(CheckDramTier(*this));
  MEZZ_RETURN_IF_ERROR(CheckScmSide(*this, machine));
  return CheckDramFits(*this, machine);
}

// As with dram, once what it is has been found.
Status HybridCacheOptions::ValidateTotal(const Machine& machine) const {
  if (dram_bytes != 0) return TotalContradictsDram(*this);
  MEZZ_RETURN_IF_ERROR(CheckScmSide(*this, machine));
  HybridCacheOptions divided = *this;
  MEZZ_RETURN_IF_ERROR(DivideDram(&divided));
  MEZZ_RETURN_IF_ERROR(CheckDramTier(divided));
  return CheckDramFits(divided, machine);
}

}  // namespace mezz
