// SPDX-License-Identifier: Apache-2.0
#include "integration/options.h"

#include <algorithm>
#include <limits>

#include "fmt/format.h"
#include "rocksdb/version.h"

namespace mezz {

namespace {

#if ROCKSDB_MAJOR < 8
constexpr bool kHyperClockTellsEvictions = false;
#else
constexpr bool kHyperClockTellsEvictions = true;
#endif

constexpr int kShardBitsMax = 19;  // RocksDB makes no cache with more

// A path is one value of the URI, so it must not hold what ends a value.
Status CheckPath(const std::string& path) {
  const auto bad = std::find_if(path.begin(), path.end(), [](char c) { return c == ';' || (c >= 0 && c < ' '); });
  if (bad == path.end()) return Status::Ok();
  const char* what = *bad == ';' ? "';', which ends a value" : "a control character";
  std::string shown = path;
  std::replace_if(
      shown.begin(), shown.end(), [](char c) { return c >= 0 && c < ' '; }, '?');
  return Status::InvalidArgument(fmt::format("scm_path={} contains {}: choose another path", shown, what));
}

}  // namespace

constexpr DramCacheKind kDefaultDramCache =
    kHyperClockTellsEvictions ? DramCacheKind::kHyperClock : DramCacheKind::kLru;

std::string_view ToString(DramCacheKind kind) { return kind == DramCacheKind::kLru ? "lru" : "hcc"; }

std::string_view ToString(ServeMode mode) {
  switch (mode) {
    case ServeMode::kAuto:
      return "auto";
    case ServeMode::kInPlace:
      return "in_place";
    case ServeMode::kCopy:
      return "copy";
  }
  return "?";
}

Status HybridCacheOptions::ValidateScmSide() const {
  MEZZ_RETURN_IF_ERROR(CheckPath(scm.path));
  if (scm.medium != MediumKind::kFile && !scm.path.empty()) {
    return Status::InvalidArgument(
        fmt::format("scm_path={} contradicts medium={}: a path needs medium=file", scm.path, ToString(scm.medium)));
  }
  MEZZ_RETURN_IF_ERROR(scm.Validate());
  std::unique_ptr<Policy> made;
  return MakePolicy(policy, {}, &made);
}

Status HybridCacheOptions::MakePolicy(std::string_view name, const PolicyOptions& made_with,
                                      std::unique_ptr<Policy>* made) const {
  return policy_maker ? policy_maker(name, made_with, made) : mezz::MakePolicy(name, made_with, made);
}

Status HybridCacheOptions::Validate() const {
  if (dram_bytes == 0) {
    return Status::InvalidArgument("dram=0: the DRAM tier needs at least one byte, for example dram=256M");
  }
  if (dram_bytes > std::numeric_limits<size_t>::max() / 2) {
    return Status::InvalidArgument(fmt::format("dram={}: larger than this machine can address", dram_bytes));
  }
  if (dram_shard_bits < -1 || dram_shard_bits > kShardBitsMax) {
    return Status::InvalidArgument(
        fmt::format("shard_bits={}: must be 0 to {}, or -1 for RocksDB's choice", dram_shard_bits, kShardBitsMax));
  }
  if (dram_cache == DramCacheKind::kHyperClock && !kHyperClockTellsEvictions) {
    return Status::NotSupported(fmt::format(
        "dram_cache=hcc needs RocksDB 8.9 or later, and this is {}.{}.{}, whose HyperClockCache cannot tell what it "
        "evicts: use dram_cache=lru",
        ROCKSDB_MAJOR, ROCKSDB_MINOR, ROCKSDB_PATCH));
  }
  return ValidateScmSide();
}

}  // namespace mezz
