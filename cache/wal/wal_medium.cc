// SPDX-License-Identifier: Apache-2.0
#include "cache/wal/wal_medium.h"

#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

#include "cache/types.h"
#include "cache/wal/wal_checksums.h"

namespace mezz {
namespace {

using wal_layout::ChunkHeader;
using wal_layout::EpochLine;
using wal_layout::ExtentHeader;
using wal_layout::kEpochAt;
using wal_layout::MakeSuperblock;
using wal_layout::Superblock;

}  // namespace

std::string ToString(const WalUuid& uuid) { return fmt::format("{:016x}{:016x}", uuid[0], uuid[1]); }

WalMedium::WalMedium(std::unique_ptr<Medium> medium, const wal_layout::Geometry& geometry, const Settings& settings)
    : medium_(std::move(medium)),
      watch_({medium_->base(), medium_->bytes()}),
      geometry_(geometry),
      settings_(settings) {
  assert(geometry.extent_bytes % kLineBytes == 0 && geometry.extent_bytes > sizeof(ExtentHeader));
  assert(geometry.ExtentAt(geometry.extents()) <= medium_->bytes());
  if (settings.model != MediumModelName::kNone) throttle_ = std::make_unique<Throttle>(GetMediumModel(settings.model));
}

void WalMedium::Identify(const WalUuid& uuid) {
  uuid_ = uuid;
  seed_ = XXH3_64bits(uuid.data(), sizeof(uuid));
}

// The superblock is written last: until its UUID is there, the medium holds nothing. It is written in three steps, each
// durable before the next: the magic; all but the UUID; the UUID and the checksum. So what a cut of power leaves can be
// recognised (open_wal.cc).
void WalMedium::Format() {
  WalUuid uuid{};
  while (uuid[0] == 0 || uuid[1] == 0) {
    if (getrandom(uuid.data(), sizeof(uuid), 0) != static_cast<ssize_t>(sizeof(uuid))) uuid = {};
  }
  EpochLine epoch{};
  Put(kEpochAt, &epoch, sizeof(epoch));
  DrainAndFlush(kEpochAt, sizeof(epoch));
  Superblock magic{};
  std::memcpy(magic.magic, wal_layout::kMagic, sizeof(magic.magic));
  for (const Superblock& superblock : {magic, MakeSuperblock(geometry_, {}), MakeSuperblock(geometry_, uuid)}) {
    Put(0, &superblock, sizeof(superblock));
    DrainAndFlush(0, sizeof(superblock));
  }
}

void WalMedium::Put(uint64_t at, const void* from, size_t bytes) {
  assert(at % kLineBytes == 0 && bytes % kLineBytes == 0 && at + bytes <= medium_->bytes());
  if (!medium_->Stream(medium_->base() + at, from, bytes)) broken_.store(true, std::memory_order_release);
}

void WalMedium::Flush(uint64_t at, uint64_t bytes) {
  if (settings_.write_back == nullptr) return;
  static const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t begin = at / page * page;
  // The kernel tells of a page that it could not write once: it does not do for one operation to hear of it.
  if (settings_.write_back(medium_->base() + begin, at + bytes - begin) != 0)
    broken_.store(true, std::memory_order_release);
}

void WalMedium::DrainAndFlush(uint64_t at, uint64_t bytes) {
  Drain();
  Flush(at, bytes);
}

void WalMedium::PutChunk(const WalFile::Extent& extent, uint64_t at, std::span<const std::byte> bytes) {
  assert(!bytes.empty() && at + sizeof(ChunkHeader) + bytes.size() <= geometry_.extent_bytes);
  const auto count = static_cast<uint32_t>(bytes.size());
  ChunkHeader header{};
  header.bytes = count;
  header.checksum = wal_layout::ChunkChecksum(bytes, wal_layout::ChunkSeed(seed_, extent.generation, at, count));
  uint64_t to = geometry_.ExtentAt(extent.number) + at;

  std::array<std::byte, kLineBytes> line{};
  const size_t first = std::min(bytes.size(), kLineBytes - sizeof(header));
  std::memcpy(line.data(), &header, sizeof(header));
  std::memcpy(line.data() + sizeof(header), bytes.data(), first);
  Put(to, line.data(), kLineBytes);
  bytes = bytes.subspan(first);
  to += kLineBytes;
  // Whole lines go straight from the caller's memory.
  const size_t whole = bytes.size() / kLineBytes * kLineBytes;
  if (whole != 0) Put(to, bytes.data(), whole);
  bytes = bytes.subspan(whole);
  to += whole;
  if (bytes.empty()) return;
  line = {};
  std::memcpy(line.data(), bytes.data(), bytes.size());
  Put(to, line.data(), kLineBytes);
}

void WalMedium::PutExtentHeader(const WalFile::Extent& extent, uint64_t file, uint32_t ordinal) {
  ExtentHeader header{};
  header.generation = extent.generation;
  header.file = file;
  header.start = extent.start;
  header.ordinal = ordinal;
  header.extent = extent.number;
  header.checksum = wal_layout::ChecksumBehind(reinterpret_cast<const std::byte*>(&header), sizeof(header), seed_);
  Put(geometry_.ExtentAt(extent.number), &header, sizeof(header));
}

}  // namespace mezz
