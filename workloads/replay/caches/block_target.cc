// SPDX-License-Identifier: Apache-2.0
#include "workloads/replay/caches/block_target.h"

#include <fmt/format.h>

#include "admission/curves/block_key.h"

namespace mezz {
namespace {

constexpr RoleSlot SlotOf(BlockRole role) {
  if (role == BlockRole::kIndex) return RoleSlot::kIndex;
  return role == BlockRole::kFilter ? RoleSlot::kFilter : RoleSlot::kData;
}

}  // namespace

BlockTarget::BlockTarget(const BlockFile* file, const BuiltCache& cache, const BlockTargetSettings& settings)
    : file_(*file),
      settings_(settings),
      in_place_(cache.second_tier == SecondTier::kWholeCache),
      cache_(cache.cache),
      peer_(cache, settings.mean_block_bytes) {}

void BlockTarget::Begin() { perf_ = BlockCounts::Start(); }

bool BlockTarget::Execute(const Request& request) {
  if (!Access(request)) return false;
  const BlockCounts now = Counts();
  peer_.ChargeSinceLast(now);
  published_.Publish(now);
  return true;
}

bool BlockTarget::Access(const Request& request) {
  const BlockKey key = BlockKeyOf(request.key ^ settings_.salt);
  RoleCounts& counts = roles_[static_cast<size_t>(SlotOf(request.role))];
  const uint64_t second_before = perf_->secondary_cache_hit_count;
  if (const BlockCache::Held held = cache_.Lookup(key, request.role)) {
    ++counts.hits;
    if (in_place_ || perf_->secondary_cache_hit_count != second_before) ++counts.second_hits;
    return Check(request, held);
  }
  ++counts.flash_reads;
  flash_bytes_ += request.value_bytes;
  return ReadAndInsert(key, request);
}

bool BlockTarget::ReadAndInsert(const BlockKey& key, const Request& request) {
  const uint64_t place = file_.PlaceOf(request.key, request.value_bytes);
  if (request.value_bytes > buffer_bytes_) {
    buffer_bytes_ = BlockFile::Sectors(request.value_bytes) * BlockFile::kSectorBytes;
    buffer_ = BlockFile::MakeBuffer(buffer_bytes_);
  }
  const std::span<const std::byte> bytes(buffer_.get(), request.value_bytes);
  const Status read = file_.Read(place, bytes.size(), buffer_.get());
  if (!read.ok()) return Fail(request, read.message());
  if (!Matches(place, bytes)) return Fail(request, "the file of blocks is not what was written; remove it");
  const BlockCache::Held held = cache_.Insert(key, request.role, bytes);
  return !held || Check(request, held);
}

bool BlockTarget::Check(const Request& request, const BlockCache::Held& held) {
  const bool right = held.bytes().size() == request.value_bytes &&
                     Matches(file_.PlaceOf(request.key, request.value_bytes), held.bytes());
  return right || Fail(request, "the cache handed out wrong bytes: it must not be used");
}

// Whether these are the bytes at `place`: all of them with --verify, else the first and the last sector's, which tell
// one block from another. To read a large block whole would take longer than to find it.
bool BlockTarget::Matches(uint64_t place, std::span<const std::byte> bytes) const {
  constexpr size_t kSector = BlockFile::kSectorBytes;
  if (settings_.verify || bytes.size() <= 2 * kSector) return file_.Matches(place, bytes);
  const size_t last = (bytes.size() - 1) / kSector * kSector;
  return file_.Matches(place, bytes.first(kSector)) && file_.Matches(place + last, bytes.subspan(last));
}

// What RocksDB's table readers would count, nobody else does here.
BlockCounts BlockTarget::Counts() const {
  BlockCounts counts = BlockCounts::Of(*perf_);
  for (const RoleCounts& role : roles_) {
    counts.hits += role.hits;
    counts.flash_reads += role.flash_reads;
  }
  counts.flash_bytes = flash_bytes_;
  return counts;
}

void BlockTarget::AddTo(WindowResult* result) const {
  for (size_t i = 0; i < kRoleSlots; ++i) result->roles[i] += roles_[i];
  result->second_hits_by_role = true;
}

bool BlockTarget::Fail(const Request& request, const std::string& what) {
  error_ = fmt::format("block {}: {}", request.key, what);
  return false;
}

}  // namespace mezz
