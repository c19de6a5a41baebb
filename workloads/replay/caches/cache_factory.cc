// SPDX-License-Identifier: Apache-2.0
#include "workloads/replay/caches/cache_factory.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "integration/dead_file_listener.h"
#include "integration/rocksdb_release.h"
#include "rocksdb/version.h"
#include "workloads/replay/caches/open_databases.h"

#define MEZZ_ROCKSDB_AT_LEAST(major, minor) \
  (ROCKSDB_MAJOR > (major) || (ROCKSDB_MAJOR == (major) && ROCKSDB_MINOR >= (minor)))

namespace mezz {
namespace {

using rocksdb::Cache;
using rocksdb::SecondaryCache;

// memkind held 86 % of a file's bytes as 4-5 KB blocks, less after churn. The peer gets the room it needs, so that its
// capacity is what LRU counts and not what its allocator wastes.
constexpr double kMemkindRoom = 1.5;

// Of all of RocksDB's caches: their tables and entries count towards their capacity. (Its default too.)
constexpr rocksdb::CacheMetadataChargePolicy kChargePolicy = rocksdb::kFullChargeCacheMetadata;

// Of page_cache, whose block cache is to be small: the page cache holds the same blocks.
constexpr uint64_t kPageCacheShare = 8;
constexpr uint64_t kPageCacheMin = 1 << 20;

// Each HyperClockCache has as many shards as our DRAM tier of the same --dram, whatever its own size: by RocksDB's
// choice it would have fewer, and threads would meet on them.
std::shared_ptr<Cache> MakeHcc(const ReplayOptions& o, uint64_t bytes) {
#if MEZZ_ROCKSDB_AT_LEAST(8, 6)
  const size_t estimated_entry_charge = 0;  // the table grows with what comes
#else
  const size_t estimated_entry_charge = o.expected_block_bytes();
#endif
  rocksdb::HyperClockCacheOptions hcc(bytes, estimated_entry_charge, o.hybrid.HyperClockShardBits());
  hcc.metadata_charge_policy = kChargePolicy;
  return hcc.MakeSharedCache();
}

std::shared_ptr<Cache> MakeLru(const ReplayOptions& o, uint64_t bytes, std::shared_ptr<SecondaryCache> secondary,
                               std::shared_ptr<rocksdb::MemoryAllocator> allocator = nullptr) {
  rocksdb::LRUCacheOptions lru;
  lru.capacity = bytes;
  lru.num_shard_bits = o.hybrid.dram_shard_bits;
  lru.metadata_charge_policy = kChargePolicy;
  lru.secondary_cache = std::move(secondary);
  lru.memory_allocator = std::move(allocator);
#if MEZZ_ROCKSDB_AT_LEAST(8, 1)
  return lru.MakeSharedCache();
#else
  return rocksdb::NewLRUCache(lru);
#endif
}

// Null where the release's HyperClockCache takes no second tier.
std::shared_ptr<Cache> MakeHccOver(const ReplayOptions& o, std::shared_ptr<SecondaryCache> secondary) {
#if MEZZ_ROCKSDB_AT_LEAST(8, 9)
  rocksdb::HyperClockCacheOptions hcc(o.dram_bytes(), 0, o.hybrid.HyperClockShardBits());
  hcc.metadata_charge_policy = kChargePolicy;
  hcc.secondary_cache = std::move(secondary);
  return hcc.MakeSharedCache();
#else
  (void)o;
  (void)secondary;
  return nullptr;
#endif
}

std::shared_ptr<Cache> MakeOver(const ReplayOptions& o, bool lru, std::shared_ptr<SecondaryCache> secondary) {
  return lru ? MakeLru(o, o.dram_bytes(), std::move(secondary)) : MakeHccOver(o, std::move(secondary));
}

// The stock cache over our SCM tier: within --dram with what we take.
std::shared_ptr<Cache> MakeOverOurs(const ReplayOptions& o, bool lru, const HybridStats& stats,
                                    std::shared_ptr<SecondaryCache> ours) {
  ReplayOptions left = o;
  if (!lru) left.hybrid.dram_shard_bits = o.hybrid.HyperClockShardBits();  // as over all of it
  left.hybrid.dram_bytes -= std::min(o.dram_bytes() / 2, stats.Dram().total());
  return MakeOver(left, lru, std::move(ours));
}

rocksdb::CompressionType CompressionOf(CacheKind kind) {
  switch (kind) {
    case CacheKind::kHccCompressedLz4:
    case CacheKind::kLruCompressedLz4:
      return rocksdb::kLZ4Compression;
    case CacheKind::kHccCompressedZstd:
    case CacheKind::kLruCompressedZstd:
      return rocksdb::kZSTD;
    default:
      return rocksdb::kNoCompression;
  }
}

std::shared_ptr<SecondaryCache> MakeCompressed(const ReplayOptions& o, CacheKind kind) {
  rocksdb::CompressedSecondaryCacheOptions compressed;
  compressed.capacity = o.scm_bytes();
  compressed.metadata_charge_policy = kChargePolicy;
  compressed.compression_type = CompressionOf(kind);
  return rocksdb::NewCompressedSecondaryCache(compressed);
}

// RocksDB's adapter takes the second tier's share of the capacity by entries of 256 KiB in the primary. By chance some
// of many shards get more of them than they hold, and then cache nothing: one shard has all that is left.
int TieredShardBits(const ReplayOptions& o, const std::string& policy) {
  const bool reserves = policy != "three_queue";
  return o.hybrid.dram_shard_bits < 0 && reserves ? 0 : o.hybrid.HyperClockShardBits();
}

// Under three_queue the second tier of SCM size is what RocksDB calls non-volatile; stock RocksDB has none, so the same
// uncompressed second tier stands in for one.
std::shared_ptr<Cache> MakeTiered(const ReplayOptions& o, const std::string& policy) {
#if MEZZ_ROCKSDB_AT_LEAST(9, 3)
  const uint64_t total = o.dram_bytes() + o.scm_bytes();
  rocksdb::HyperClockCacheOptions dram(0, 0, TieredShardBits(o, policy));
  rocksdb::TieredCacheOptions tiered;
  tiered.cache_opts = &dram;
  tiered.cache_type = rocksdb::PrimaryCacheType::kCacheTypeHCC;
  tiered.adm_policy = policy == "placeholder"   ? rocksdb::TieredAdmissionPolicy::kAdmPolicyPlaceholder
                      : policy == "three_queue" ? rocksdb::TieredAdmissionPolicy::kAdmPolicyThreeQueue
                                                : rocksdb::TieredAdmissionPolicy::kAdmPolicyAllowAll;
  tiered.comp_cache_opts.compression_type = rocksdb::kNoCompression;
  tiered.total_capacity = total;
  tiered.compressed_secondary_ratio = static_cast<double>(o.scm_bytes()) / static_cast<double>(total);
  if (policy == "three_queue") {
    tiered.total_capacity = o.dram_bytes();
    tiered.compressed_secondary_ratio = 0;
    tiered.nvm_sec_cache = MakeCompressed(o, CacheKind::kTiered);
  }
  return rocksdb::NewTieredCache(tiered);
#else
  (void)o;
  (void)policy;
  return nullptr;
#endif
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// The model of a peer's medium: where each of several media has its own, the first one's.
void UseModel(const ReplayOptions& o, BuiltCache* built) {
  const MediumModelName name = o.hybrid.scm.Models().front();
  if (name == MediumModelName::kNone) return;
  built->emulated = true;
  built->throttle = std::make_shared<Throttle>(GetMediumModel(name));
  built->medium += fmt::format(", model {}", ToString(name));
}

Status BuildNaiveScm(const ReplayOptions& o, BuiltCache* built) {
  if (!MemkindAllocator::available()) {
    built->unavailable = "built without memkind";
    return Status::Ok();
  }
  if (o.hybrid.scm.path.empty()) {
    built->unavailable = "needs --medium=file";
    return Status::Ok();
  }
  const std::string folder = FolderOf(o.hybrid.scm.path);
  const uint64_t bytes = o.dram_bytes() + o.scm_bytes();
  const auto room = static_cast<uint64_t>(static_cast<double>(bytes) * kMemkindRoom) + (64 << 20);
  struct statvfs fs {};
  if (statvfs(folder.c_str(), &fs) != 0) {
    return Status::InvalidArgument(fmt::format("--scm_path={}: its folder cannot be used", o.hybrid.scm.path));
  }
  if (fs.f_bavail * fs.f_frsize < room) {
    return Status::NoSpace(fmt::format("--caches=naive_scm needs {} MiB in {}, which has {} MiB free", room >> 20,
                                       folder, fs.f_bavail * fs.f_frsize >> 20));
  }
  built->medium = fmt::format("memkind file in {}", folder);
  UseModel(o, built);
  MEZZ_RETURN_IF_ERROR(MemkindAllocator::Create(folder, room, built->throttle, &built->allocator));
  built->cache = MakeLru(o, bytes, nullptr, built->allocator);
  return Status::Ok();
}

bool FileExists(const std::string& path) {
  struct stat info {};
  return lstat(path.c_str(), &info) == 0;
}

// Of the files that a tier lies on.
std::vector<std::string*> PathsOf(ScmOptions* scm) {
  std::vector<std::string*> paths;
  if (scm->members.empty() && scm->medium == MediumKind::kFile) paths.push_back(&scm->path);
  for (ScmMember& member : scm->members) {
    if (member.medium == MediumKind::kFile) paths.push_back(&member.path);
  }
  return paths;
}

std::vector<std::string> NewFilesOf(ScmOptions* scm) {
  std::vector<std::string> files;
  for (const std::string* const path : PathsOf(scm)) {
    if (!FileExists(*path)) files.push_back(*path);
  }
  return files;
}

// The options of one of several caches of ours.
HybridCacheOptions OurOptions(const ReplayOptions& o, const CacheSpec& spec, unsigned ordinal, Progress* progress) {
  HybridCacheOptions ours = o.OursFor(spec);
  for (std::string* const path : PathsOf(&ours.scm)) {
    if (ordinal > 0) *path += fmt::format(".{}", ordinal);
  }
  if (ordinal > 0 && !ours.curve_file.empty()) ours.curve_file += fmt::format(".{}", ordinal);
  progress->Phase(fmt::format("preparing the SCM tier of {}", spec.name), /*announce=*/false);
  ours.scm.prepare = Prepare::kBeforeOpen;  // windows are compared: no first one may be spent on it
  ours.scm.on_prefault = [progress](const PrefaultProgress& p) { progress->Update(p.bytes_done, p.bytes_total); };
  return ours;
}

// `cache` is of ours, a secondary one or not.
template <typename Cache>
Status Watch(const std::shared_ptr<Cache>& cache, const CacheSpec& spec, BuiltCache* built) {
  built->stats = GetHybridStats(cache.get());
  return spec.keep_dead ? Status::Ok() : NewDeadFileListener(cache, &built->listener);
}

std::string MediumText(const ScmTier& scm) {
  const std::string models = scm.options().ModelText();
  return scm.options().IsEmulated() ? fmt::format("{}, model {}", scm.medium().info().description, models)
                                    : scm.medium().info().description;
}

}  // namespace

bool UsesScmFile(const CacheSpec& spec) {
  return spec.kind == CacheKind::kHybrid || spec.kind == CacheKind::kScmSecondaryLru ||
         spec.kind == CacheKind::kScmSecondaryHcc;
}

BuiltCache& BuiltCache::operator=(BuiltCache&& other) noexcept {
  std::swap(spec, other.spec);
  std::swap(unavailable, other.unavailable);
  std::swap(cache, other.cache);
  std::swap(second_tier, other.second_tier);
  std::swap(stats, other.stats);
  std::swap(listener, other.listener);
  std::swap(allocator, other.allocator);
  std::swap(throttle, other.throttle);
  std::swap(medium, other.medium);
  std::swap(emulated, other.emulated);
  std::swap(buffered, other.buffered);
  std::swap(dram_shards_usual, other.dram_shards_usual);
  std::swap(secondary_, other.secondary_);
  std::swap(files_to_remove_, other.files_to_remove_);
  return *this;
}

BuiltCache::~BuiltCache() {
  listener.reset();
  cache.reset();
  secondary_.reset();
  allocator.reset();
  for (const std::string& file : files_to_remove_) unlink(file.c_str());
}

unsigned BuiltCache::dram_shards() const {
  constexpr std::string_view kField = "num_shard_bits :";
  const std::string options = cache == nullptr ? "" : cache->GetPrintableOptions();
  const size_t at = options.find(kField);
  return at == std::string::npos ? 0 : 1u << std::strtoul(options.c_str() + at + kField.size(), nullptr, 10);
}

Status BuildByKind(const ReplayOptions& o, const CacheSpec& spec, unsigned ordinal, Progress* progress,
                   BuiltCache* built) {
  const auto use_stock_second_tier = [&] {
    built->second_tier = SecondTier::kStock;
    built->medium = "DRAM";
    UseModel(o, built);
  };
  HybridCacheOptions ours;
  const auto open_ours = [&] {
    ours = OurOptions(o, spec, ordinal, progress);
    built->files_to_remove_ = NewFilesOf(&ours.scm);
    built->second_tier = SecondTier::kOurs;
  };
  switch (spec.kind) {
    case CacheKind::kHcc:
    case CacheKind::kAllDram:
      built->cache = MakeHcc(o, o.dram_bytes() + (spec.kind == CacheKind::kAllDram ? o.scm_bytes() : 0));
      break;
    case CacheKind::kLru:
    case CacheKind::kAllDramLru:
      built->cache = MakeLru(o, o.dram_bytes() + (spec.kind == CacheKind::kAllDramLru ? o.scm_bytes() : 0), nullptr);
      break;
    case CacheKind::kHccCompressed:
    case CacheKind::kHccCompressedLz4:
    case CacheKind::kHccCompressedZstd:
      use_stock_second_tier();
      built->cache = MakeHccOver(o, MakeCompressed(o, spec.kind));
      break;
    case CacheKind::kLruCompressed:
    case CacheKind::kLruCompressedLz4:
    case CacheKind::kLruCompressedZstd:
      use_stock_second_tier();
      built->cache = MakeLru(o, o.dram_bytes(), MakeCompressed(o, spec.kind));
      break;
    case CacheKind::kTiered:
      use_stock_second_tier();
      built->cache = MakeTiered(o, spec.policy);
      if (TieredShardBits(o, spec.policy) != o.hybrid.HyperClockShardBits())
        built->dram_shards_usual = 1u << o.hybrid.HyperClockShardBits();
      break;
    case CacheKind::kPageCache:
      built->cache = MakeLru(o, std::max(o.dram_bytes() / kPageCacheShare, kPageCacheMin), nullptr);
      built->buffered = true;
      built->medium = "DRAM and the page cache";
      break;
    case CacheKind::kNaiveScm:
      built->second_tier = SecondTier::kWholeCache;
      built->emulated = true;
      MEZZ_RETURN_IF_ERROR(BuildNaiveScm(o, built));
      break;
    case CacheKind::kHybrid:
      open_ours();
      MEZZ_RETURN_IF_ERROR(NewHybridCache(ours, &built->cache));
      MEZZ_RETURN_IF_ERROR(Watch(built->cache, spec, built));
      break;
    case CacheKind::kScmSecondaryLru:
    case CacheKind::kScmSecondaryHcc:
      if (spec.kind == CacheKind::kScmSecondaryHcc && !MEZZ_ROCKSDB_AT_LEAST(8, 9)) break;
      open_ours();
      MEZZ_RETURN_IF_ERROR(NewScmSecondaryCache(ours, &built->secondary_));
      MEZZ_RETURN_IF_ERROR(Watch(built->secondary_, spec, built));
      built->cache = MakeOverOurs(o, spec.kind == CacheKind::kScmSecondaryLru, *built->stats, built->secondary_);
      break;
  }
  return Status::Ok();
}

Status BuildCache(const ReplayOptions& options, const CacheSpec& spec, unsigned ordinal, Progress* progress,
                  BuiltCache* built) {
  const ReplayOptions o = options.SizedFor(spec);
  built->spec = spec;
  if (spec.kind == CacheKind::kPageCache && o.flash != nullptr) {
    built->unavailable = fmt::format("with --flash={} the files lie in the page cache themselves", o.flash->name);
    return Status::Ok();
  }
  if (spec.warming == Warming::kFlushAndCompaction && !kWarmsWithCompactions) {
    built->unavailable = fmt::format("RocksDB {} warms with flushes only: +warmflush", RocksDbVersion());
    return Status::Ok();
  }
  MEZZ_RETURN_IF_ERROR(BuildByKind(o, spec, ordinal, progress, built));
  if (built->stats != nullptr) {
    built->medium = MediumText(built->stats->scm());
    built->emulated = built->stats->scm().medium().info().emulated || built->stats->scm().options().IsEmulated();
  }
  if (built->cache == nullptr && built->unavailable.empty()) {
    built->unavailable = fmt::format("RocksDB {}.{}.{} has none", ROCKSDB_MAJOR, ROCKSDB_MINOR, ROCKSDB_PATCH);
  }
  return Status::Ok();
}

}  // namespace mezz
