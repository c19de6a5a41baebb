// SPDX-License-Identifier: Apache-2.0
#include "cache/wal/wal_recoverer.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <set>
#include <utility>

#include "cache/wal/wal_checksums.h"

namespace mezz {
namespace {

using wal_layout::ChecksumBehind;
using wal_layout::ChunkChecksum;
using wal_layout::ChunkHeader;
using wal_layout::ChunkSeed;
using wal_layout::Entry;
using wal_layout::EpochLine;
using wal_layout::kEpochAt;
using wal_layout::kNameBytesMax;
using wal_layout::kSerialBits;
using wal_layout::Superblock;
using wal_layout::SuperblockChecksum;

constexpr std::array<std::byte, kLineBytes> kNothing{};

}  // namespace

Status WalRecoverer::Recover() {
  MEZZ_RETURN_IF_ERROR(ReadSuperblock());
  std::vector<Slot> slots = ReadDirectory();
  ReadExtents();
  StartEpoch();
  EraseTorn();

  // The newest first: of two that claim one file, or one name, the newer is what a rename or a replacement made.
  std::ranges::sort(slots, std::ranges::greater(), [](const Slot& slot) { return slot.entry.version; });
  std::vector<bool> used(medium_.geometry().slots, false);
  std::set<uint64_t> ids;
  for (const Slot& slot : slots) {
    if (ids.contains(slot.entry.file) || store_.files_.contains(slot.name)) {
      store_.EraseSlotLocked(slot.number);
      store_.free_slots_.pop_back();
      continue;
    }
    ids.insert(slot.entry.file);
    used[slot.number] = true;
    WalStore::FilePtr file(new WalFile(&store_, slot.entry.file));
    file->name_ = slot.name;
    file->slot_ = slot.number;
    file->modified_seconds_.store(slot.entry.modified_seconds, std::memory_order_relaxed);
    RecoverFile(*file);
    ++store_.recovery_.files;
    store_.recovery_.bytes += file->length();
    store_.recovery_.damaged += file->damaged() ? 1 : 0;
    store_.files_[slot.name] = std::move(file);
  }
  for (uint32_t slot = medium_.geometry().slots; slot-- > 0;) {
    if (!used[slot]) store_.free_slots_.push_back(slot);
  }
  for (uint32_t extent = 0; extent < taken_.size(); ++extent) {
    if (!taken_[extent]) store_.free_extents_.push_back(extent);
  }
  // What a killed process left in the page cache is taken for durable from now on.
  medium_.Flush(0, medium_.geometry().capacity_bytes);
  if (medium_.Health() != WalOutcome::kOk) return Status::IoError("cannot be written back by the kernel");
  return Status::Ok();
}

Status WalRecoverer::ReadSuperblock() {
  Superblock superblock;
  std::memcpy(&superblock, At(0), sizeof(superblock));
  const wal_layout::Geometry& geometry = medium_.geometry();
  if (superblock.checksum != SuperblockChecksum(superblock) || superblock.extent_bytes != geometry.extent_bytes ||
      superblock.slots != geometry.slots || superblock.capacity_bytes != geometry.capacity_bytes) {
    return Status::IoError("has a superblock that is damaged, and perhaps logs behind it: it is left as it is");
  }
  medium_.Identify({superblock.uuid[0], superblock.uuid[1]});
  return Status::Ok();
}

std::vector<WalRecoverer::Slot> WalRecoverer::ReadDirectory() {
  std::vector<Slot> slots;
  for (uint32_t i = 0; i < medium_.geometry().slots; ++i) {
    const std::byte* const at = At(medium_.geometry().SlotAt(i));
    Slot slot{.entry = {}, .number = i, .name = {}};
    std::memcpy(&slot.entry, at, sizeof(slot.entry));
    if (slot.entry.name_bytes == 0 || slot.entry.name_bytes > kNameBytesMax ||
        slot.entry.checksum != ChecksumBehind(at, sizeof(Entry) + slot.entry.name_bytes, medium_.seed())) {
      NoteTorn(medium_.geometry().SlotAt(i));
      continue;
    }
    slot.name.assign(reinterpret_cast<const char*>(at + sizeof(Entry)), slot.entry.name_bytes);
    serial_max_ = std::max({serial_max_, slot.entry.version, slot.entry.file});
    slots.push_back(std::move(slot));
  }
  return slots;
}

void WalRecoverer::ReadExtents() {
  const uint32_t extents = medium_.geometry().extents();
  taken_.assign(extents, false);
  for (uint32_t i = 0; i < extents; ++i) {
    ExtentHeader header;
    std::memcpy(&header, At(medium_.geometry().ExtentAt(i)), sizeof(header));
    if (header.extent != i ||
        header.checksum != ChecksumBehind(At(medium_.geometry().ExtentAt(i)), sizeof(header), medium_.seed())) {
      NoteTorn(medium_.geometry().ExtentAt(i));
      continue;
    }
    serial_max_ = std::max({serial_max_, header.generation, header.file});
    const auto [other, first] = by_file_[header.file].emplace(header.ordinal, header);
    if (!first && other->second.generation < header.generation) other->second = header;
  }
}

// Starts an epoch. It is durable before a serial number of it is used, so anything that a crash leaves half-written has
// a number that is never given out again.
void WalRecoverer::StartEpoch() {
  EpochLine line;
  std::memcpy(&line, At(kEpochAt), sizeof(line));
  line.epoch = std::max(line.epoch, serial_max_ >> kSerialBits) + 1;
  medium_.Put(kEpochAt, &line, sizeof(line));
  medium_.DrainAndFlush(kEpochAt, sizeof(line));
  store_.serial_ = line.epoch << kSerialBits;
}

bool WalRecoverer::IsChunk(const ExtentHeader& header, uint64_t at, uint32_t* bytes) const {
  const uint64_t extent_bytes = medium_.geometry().extent_bytes;
  if (at + sizeof(ChunkHeader) >= extent_bytes) return false;
  const std::byte* const chunk = At(medium_.geometry().ExtentAt(header.extent) + at);
  ChunkHeader head;
  std::memcpy(&head, chunk, sizeof(head));
  if (head.bytes == 0 || head.bytes > extent_bytes - at - sizeof(head)) return false;
  *bytes = head.bytes;
  return head.checksum == ChunkChecksum({chunk + sizeof(head), head.bytes},
                                        ChunkSeed(medium_.seed(), header.generation, at, head.bytes));
}

WalRecoverer::Walk WalRecoverer::WalkChunks(const ExtentHeader& header, uint64_t end) const {
  Walk walk{.position = header.start, .at = sizeof(ExtentHeader), .chunks = 0};
  for (uint32_t bytes = 0; walk.position < end && IsChunk(header, walk.at, &bytes); ++walk.chunks) {
    walk.position += bytes;
    walk.at += RoundUp(sizeof(ChunkHeader) + bytes, kLineBytes);
  }
  return walk;
}

bool WalRecoverer::ChunkBehind(const ExtentHeader& header, uint64_t at) const {
  uint32_t bytes = 0;
  for (at += kLineBytes; at < medium_.geometry().extent_bytes; at += kLineBytes) {
    if (IsChunk(header, at, &bytes)) return true;
  }
  return false;
}

void WalRecoverer::NoteTorn(uint64_t at) {
  if (std::memcmp(At(at), kNothing.data(), kNothing.size()) != 0) torn_.push_back(at);
}

void WalRecoverer::EraseTorn() {
  for (const uint64_t at : torn_) medium_.Put(at, kNothing.data(), kNothing.size());
  medium_.Drain();
}

void WalRecoverer::EraseExtent(uint32_t extent) {
  medium_.Put(medium_.geometry().ExtentAt(extent), kNothing.data(), kNothing.size());
  medium_.DrainAndFlush(medium_.geometry().ExtentAt(extent), kLineBytes);
}

// Notes damage. A page cache writes its pages in any order until a sync, so there a crash may leave holes at a log's
// end, which are no damage.
void WalRecoverer::TellDamage(WalFile& file) { file.damaged_ = !medium_.has_page_cache(); }

// Recovers a file. Its extents follow one another as long as each begins where the one before ends. What lies after a
// gap is of an append that a crash cut short, and must not belong to the file when it grows again.
void WalRecoverer::RecoverFile(WalFile& file) {
  const auto found = by_file_.find(file.id_);
  if (found == by_file_.end()) return;
  const auto& extents = found->second;
  uint64_t length = 0;
  bool ended = false;
  for (auto it = extents.begin(); it != extents.end(); ++it) {
    const ExtentHeader& header = it->second;
    ended = ended || header.ordinal != file.extents_.size() || header.start != length;
    if (ended) {
      // More than one chunk: an append before the last had come this far, and what is missing was drained.
      if (WalkChunks(header, std::numeric_limits<uint64_t>::max()).chunks > 1) TellDamage(file);
      EraseExtent(header.extent);
      ++store_.recovery_.dropped_extents;
      continue;
    }
    const auto next = std::next(it);
    const uint64_t end = next == extents.end() ? std::numeric_limits<uint64_t>::max() : next->second.start;
    const Walk walk = WalkChunks(header, end);
    if (walk.position != end && ChunkBehind(header, walk.at)) TellDamage(file);
    length = walk.position;
    file.extents_.push_back({.number = header.extent, .generation = header.generation, .start = header.start});
    taken_[header.extent] = true;
  }
  file.length_.store(length, std::memory_order_relaxed);
  file.tail_used_ = medium_.geometry().extent_bytes;
}

}  // namespace mezz
