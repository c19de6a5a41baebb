// SPDX-License-Identifier: Apache-2.0
#include "workloads/replay/caches/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "workloads/generators/generators.h"
#include "workloads/readers/loaded_trace.h"

namespace mezz {
namespace {

constexpr std::string_view kCompressions[] = {"none", "lz4", "zstd"};

constexpr unsigned kThreadsMax = 1024;
constexpr unsigned kDbsMax = 256;
constexpr unsigned kWindowsMax = 1000;
// Less is a slip: a request a quarter of an hour; a second of the trace in eleven days.
constexpr double kRateMin = 1e-3, kRateMax = 1e9;
constexpr double kTimeScaleMin = 1e-6, kTimeScaleMax = 1e9;
constexpr uint32_t kValueBytesMax = 16 << 20;
constexpr uint32_t kBlockBytesMin = 512;
constexpr uint32_t kBlockBytesMax = 16 << 20;
constexpr uint64_t kWriteBufferMin = 64 << 10, kWriteBufferMax = uint64_t{1} << 30;

Status OutOfRange(std::string_view flag, double value, std::string_view range) {
  return Status::InvalidArgument(fmt::format("--{}={} is out of range; it goes from {}", flag, value, range));
}

// What says how a database looks.
Status RefuseDatabaseOptions(const ReplayOptions& o) {
  const ReplayOptions defaults;
  const auto judge = [](std::string_view flag, const auto& value, const auto& unset) {
    if (value == unset) return Status::Ok();
    return Status::InvalidArgument(
        fmt::format("--{}={} is for --mode=db: a trace of blocks needs no database; drop it", flag, value));
  };
  MEZZ_RETURN_IF_ERROR(judge("dbs", o.dbs, defaults.dbs));
  MEZZ_RETURN_IF_ERROR(judge("block_bytes", o.block_bytes, defaults.block_bytes));
  MEZZ_RETURN_IF_ERROR(judge("compression", o.compression, defaults.compression));
  MEZZ_RETURN_IF_ERROR(judge("value_bytes", o.value_bytes, defaults.value_bytes));
  MEZZ_RETURN_IF_ERROR(judge("index_in_cache", o.index_in_cache, defaults.index_in_cache));
  MEZZ_RETURN_IF_ERROR(judge("write_buffer", o.write_buffer_bytes, defaults.write_buffer_bytes));
  return judge("put_share", o.put_share, defaults.put_share);
}

// Recording takes time, so what is recorded is not compared.
Status ValidateBlockTrace(const ReplayOptions& o, std::string_view name, const std::string& path) {
  if (path.empty()) return Status::Ok();
  const std::string flag = fmt::format("--{}={}", name, path);
  if (o.mode == ReplayMode::kBlock)
    return Status::InvalidArgument(flag + " is for --mode=db: a trace of blocks is one already; drop it");
  if (o.caches.size() != 1 || o.dbs != 1) {
    return Status::InvalidArgument(
        fmt::format("{} records one database over one cache, and --caches names {}, --dbs {}; name one", flag,
                    o.caches.size(), o.dbs));
  }
  return Status::Ok();
}

Status ValidateBlockMode(const ReplayOptions& o) {
  if (o.unit_bytes < kUnitBytesMin || o.unit_bytes > kUnitBytesMax) {
    return OutOfRange("unit", o.unit_bytes, fmt::format("{} to {}", kUnitBytesMin, kUnitBytesMax));
  }
  if (o.is_generator() && o.ops == 0) return Status::InvalidArgument("--ops=0: an endless trace fits no memory");
  if (o.seconds > 0) {
    return Status::InvalidArgument(fmt::format(
        "--seconds={} is for --mode=db: a trace of blocks is run to its end; say how far with --ops", o.seconds));
  }
  return RefuseDatabaseOptions(o);
}

Status CheckOpenLoop(std::string_view flag, double value, double min, double max) {
  if (value == 0 || (value >= min && value <= max)) return Status::Ok();
  return OutOfRange(flag, value, fmt::format("{} to {}, or is 0 for a closed loop", min, max));
}

Status ValidateLoop(const ReplayOptions& o) {
  MEZZ_RETURN_IF_ERROR(CheckOpenLoop("rate", o.rate, kRateMin, kRateMax));
  MEZZ_RETURN_IF_ERROR(CheckOpenLoop("timestamps", o.timestamps, kTimeScaleMin, kTimeScaleMax));
  if (o.rate > 0 && o.timestamps > 0) {
    return Status::InvalidArgument("--rate and --timestamps both say when requests are due; use one of them");
  }
  if (o.timestamps > 0 && o.is_generator()) {
    return Status::InvalidArgument(fmt::format("--timestamps={}: {} has no times; use --rate", o.timestamps, o.trace));
  }
  return Status::Ok();
}

Status ValidateWorkload(const ReplayOptions& o) {
  if (o.trace.empty()) {
    return Status::InvalidArgument(fmt::format("--trace is missing; name a file or one of {}", KnownGenerators()));
  }
  if (o.seconds > 0 && !o.is_generator()) {
    return Status::InvalidArgument("--seconds needs an endless workload; use it with --trace=gen:NAME or drop it");
  }
  if (o.mode == ReplayMode::kDatabase && o.value_bytes == 0 &&
      !(o.is_generator() && GeneratorHasSizes(o.generator()))) {
    return Status::InvalidArgument(
        fmt::format("--value_bytes=0 means sizes from the workload, but {} has none; name a size", o.trace));
  }
  if (o.put_share != 0 && !o.is_generator()) {
    return Status::InvalidArgument(
        fmt::format("--put_share={} is for --mode=db with --trace=gen:uniform or gen:zipf", o.put_share));
  }
  if (!o.is_generator()) return Status::Ok();
  if (!o.format.empty()) return Status::InvalidArgument("--format is for trace files; drop it with --trace=gen:NAME");
  return o.generator_options(0, 1).Validate();
}

// As RocksDB chooses for an LRUCache: one for every 512 KiB, 64 at most.
int LruShardBits(uint64_t bytes) {
  return std::min(static_cast<int>(std::bit_width(std::max<uint64_t>(bytes >> 19, 1))) - 1, 6);
}

}  // namespace

GeneratorOptions ReplayOptions::generator_options(unsigned stream, unsigned streams) const {
  return {.name = generator(),
          .keys = keys,
          .scale = scale,
          .ops = ops,
          .skew = skew,
          .put_share = put_share,
          .seed = seed,
          .stream = stream,
          .streams = streams};
}

ValueOptions ReplayOptions::value_options() const {
  const bool blocks = mode == ReplayMode::kBlock;
  return {.sample = values,
          .ratio = value_ratio,
          .block_bytes = expected_block_bytes(),
          .value_bytes = blocks ? unit_bytes : value_bytes,
          .block_flag = blocks ? "--unit" : "--block_bytes"};
}

uint64_t ReplayOptions::memtable_bytes() const {
  constexpr uint64_t kShare = 64, kMin = 1 << 20, kMax = 64 << 20;
  if (write_buffer_bytes != 0) return write_buffer_bytes;
  return std::clamp((dram_bytes() + scm_bytes()) / kShare, kMin, kMax);
}

bool ReplayOptions::has_common_sizes() const {
  return std::ranges::any_of(caches, [](const CacheSpec& spec) { return spec.dram_bytes == 0; });
}

ReplayOptions ReplayOptions::SizedFor(const CacheSpec& spec) const {
  ReplayOptions sized = *this;
  if (spec.dram_bytes > 0) sized.hybrid.dram_bytes = spec.dram_bytes;
  if (spec.scm_bytes > 0) sized.hybrid.scm.capacity_bytes = spec.scm_bytes;
  if (spec.media == OfSeveral::kStriped) {
    for (ScmMember& member : sized.hybrid.scm.members) member.level = Level::kFast;
  } else if ((spec.media != OfSeveral::kAll || spec.scm_bytes > 0) && !sized.hybrid.scm.members.empty()) {
    const uint64_t bytes = sized.hybrid.scm.capacity_bytes;
    const size_t last = sized.hybrid.scm.members.size() - 1;
    sized.hybrid.scm = sized.hybrid.scm.OfMember(spec.media == OfSeveral::kLast ? last : 0);
    sized.hybrid.scm.capacity_bytes = bytes;
  }
  if (spec.pack) sized.hybrid.scm.pack = *spec.pack;
  if (!spec.heirs) sized.hybrid.heirs = false;
  if (!spec.pack_stage) sized.hybrid.scm.pack_stage_bytes = 0;
  return sized;
}

HybridCacheOptions ReplayOptions::OursFor(const CacheSpec& spec) const {
  HybridCacheOptions ours = SizedFor(spec).hybrid;
  if (spec.kind != CacheKind::kTiered) ours.policy = spec.policy;  // whose policies are RocksDB's
  if (spec.kind != CacheKind::kHybrid) {
    ours.curve = false;
    ours.curve_file.clear();
    return ours;
  }
  // Its DRAM tier is smaller than what the others have, but not in fewer shards.
  if (ours.dram_shard_bits < 0) {
    const bool lru = ours.dram_cache == DramCacheKind::kLru;
    ours.dram_shard_bits = lru ? LruShardBits(ours.dram_bytes) : ours.HyperClockShardBits();
  }
  ours.dram_total_bytes = std::exchange(ours.dram_bytes, 0);
  return ours;
}

Status ReplayOptions::Validate() const {
  MEZZ_RETURN_IF_ERROR(ValidateWorkload(*this));
  MEZZ_RETURN_IF_ERROR(ValidateLoop(*this));
  if (mode == ReplayMode::kBlock) MEZZ_RETURN_IF_ERROR(ValidateBlockMode(*this));
  if (caches.empty()) return Status::InvalidArgument("--caches is empty; name at least one cache");
  MEZZ_RETURN_IF_ERROR(ValidateBlockTrace(*this, "block_trace", block_trace));
  MEZZ_RETURN_IF_ERROR(ValidateBlockTrace(*this, "lineage_trace", lineage_trace));
  if (db_dir.empty()) return Status::InvalidArgument("--db is missing; name the folder the databases go to");
  if (dbs == 0 || dbs > kDbsMax) return OutOfRange("dbs", dbs, fmt::format("1 to {}", kDbsMax));
  if (threads == 0 || threads > kThreadsMax) return OutOfRange("threads", threads, fmt::format("1 to {}", kThreadsMax));
  if (!(warmup >= 0 && warmup < 1)) return OutOfRange("warmup", warmup, "0 up to, not including, 1");
  if (warmup_settle && warmup_ops > 0) {
    return Status::InvalidArgument("--warmup=settle and --warmup_ops both say when warm-up ends; use one of them");
  }
  if (warmup_ops > 0 && seconds > 0) {
    return Status::InvalidArgument("--warmup_ops counts requests, --seconds does not; use --warmup=SHARE or settle");
  }
  if (repeats == 0 || repeats > kWindowsMax) return OutOfRange("repeats", repeats, fmt::format("1 to {}", kWindowsMax));
  if (cold_windows > kWindowsMax) return OutOfRange("cold_windows", cold_windows, fmt::format("0 to {}", kWindowsMax));
  if (!(seconds >= 0 && seconds <= 86400)) return OutOfRange("seconds", seconds, "0 to 86400");
  if (value_bytes > kValueBytesMax)
    return OutOfRange("value_bytes", value_bytes, fmt::format("1 to {}", kValueBytesMax));
  if (block_bytes < kBlockBytesMin || block_bytes > kBlockBytesMax) {
    return OutOfRange("block_bytes", block_bytes, fmt::format("{} to {}", kBlockBytesMin, kBlockBytesMax));
  }
  if (std::ranges::find(kCompressions, compression) == std::end(kCompressions)) {
    return Status::InvalidArgument(fmt::format("--compression={} is not known; it is none, lz4 or zstd", compression));
  }
  if (write_buffer_bytes != 0 && (write_buffer_bytes < kWriteBufferMin || write_buffer_bytes > kWriteBufferMax)) {
    return OutOfRange("write_buffer", static_cast<double>(write_buffer_bytes),
                      fmt::format("{} to {} bytes, or is 0: as suits the cache", kWriteBufferMin, kWriteBufferMax));
  }
  for (const CacheSpec& spec : caches) MEZZ_RETURN_IF_ERROR(OursFor(spec).Validate());
  Values opened;
  return Values::Open(value_options(), &opened);
}

}  // namespace mezz
