// SPDX-License-Identifier: Apache-2.0
#include "cache/wal/wal_store.h"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cstring>
#include <utility>

#include "cache/types.h"
#include "cache/wal/wal_checksums.h"
#include "cache/wal/wal_recoverer.h"

namespace mezz {
namespace {

using wal_layout::ChecksumBehind;
using wal_layout::ChunkHeader;
using wal_layout::Entry;
using wal_layout::ExtentHeader;
using wal_layout::kNameBytesMax;
using wal_layout::kSerialBits;
using wal_layout::kSlotBytes;

constexpr uint64_t kChunksAt = sizeof(ExtentHeader);
constexpr size_t kZerosBytes = 64 << 10;

uint64_t NowSeconds() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(since).count());
}

// How many bytes still fit as one chunk after `used` bytes of an extent.
uint64_t RoomBehind(uint64_t used, uint64_t extent_bytes) {
  return used + sizeof(ChunkHeader) >= extent_bytes ? 0 : extent_bytes - used - sizeof(ChunkHeader);
}

}  // namespace

Status WalStore::Open(std::unique_ptr<Medium> medium, bool existing, const Geometry& geometry, const Settings& settings,
                      std::shared_ptr<WalStore>* store) {
  std::shared_ptr<WalStore> made(new WalStore(std::move(medium), geometry, settings));
  if (!existing) made->medium_.Format();
  WalRecoverer recoverer(*made);
  MEZZ_RETURN_IF_ERROR(recoverer.Recover());
  *store = std::move(made);
  return Status::Ok();
}

uint64_t WalStore::NextSerialLocked() {
  ++serial_;
  assert((serial_ & ((uint64_t{1} << kSerialBits) - 1)) != 0);
  return serial_;
}

bool WalStore::TakeExtents(size_t count, std::vector<WalFile::Extent>* taken) {
  const std::lock_guard lock(mutex_);
  if (free_extents_.size() < count) return false;
  for (size_t i = 0; i < count; ++i) {
    taken->push_back({.number = free_extents_.front(), .generation = NextSerialLocked(), .start = 0});
    free_extents_.pop_front();
  }
  return true;
}

void WalStore::GiveBack(const std::vector<WalFile::Extent>& extents) {
  const std::lock_guard lock(mutex_);
  for (const WalFile::Extent& extent : extents) free_extents_.push_back(extent.number);
}

WalOutcome WalStore::Append(WalFile& file, std::span<const std::byte> bytes) {
  assert(file.store_ == this);
  if (const WalOutcome health = medium_.Health(); health != WalOutcome::kOk || bytes.empty()) return health;
  const uint64_t extent_bytes = geometry().extent_bytes;
  const uint64_t tail_room = file.extents_.empty() ? 0 : RoomBehind(file.tail_used_, extent_bytes);
  const uint64_t behind_tail = bytes.size() - std::min<uint64_t>(bytes.size(), tail_room);
  const uint64_t whole_room = RoomBehind(kChunksAt, extent_bytes);
  std::vector<WalFile::Extent> taken;
  if (!TakeExtents((behind_tail + whole_room - 1) / whole_room, &taken)) return WalOutcome::kFull;

  uint64_t length = file.length_.load(std::memory_order_relaxed);
  uint64_t charged = 0;
  std::vector<std::pair<uint64_t, uint64_t>> dirty;
  const auto put = [&](const WalFile::Extent& extent, uint64_t at, uint64_t room) {
    const auto part = bytes.first(std::min<uint64_t>(bytes.size(), room));
    medium_.PutChunk(extent, at, part);
    bytes = bytes.subspan(part.size());
    length += part.size();
    file.tail_used_ = at + RoundUp(sizeof(ChunkHeader) + part.size(), kLineBytes);
    charged += file.tail_used_ - at;
    if (medium_.has_page_cache()) dirty.emplace_back(geometry().ExtentAt(extent.number), file.tail_used_);
  };
  if (tail_room != 0) put(file.extents_.back(), file.tail_used_, tail_room);
  for (size_t i = 0; i < taken.size(); ++i) {
    taken[i].start = length;
    medium_.PutExtentHeader(taken[i], file.id_, static_cast<uint32_t>(file.extents_.size() + i));
    put(taken[i], kChunksAt, whole_room);
  }
  assert(bytes.empty());
  // Each append, not only each sync, ends in a drain: a later sync may come from another thread, whose drain does
  // nothing about these stores, and readers must not see a length before the bytes.
  medium_.Drain();
  if (medium_.Health() != WalOutcome::kOk) {  // not all of it arrived: the file stays as long as it was
    GiveBack(taken);
    return WalOutcome::kIoError;
  }
  medium_.ChargeWrite(charged);
  if (!taken.empty() || !dirty.empty()) {
    const std::lock_guard lock(file.mutex_);
    file.extents_.insert(file.extents_.end(), taken.begin(), taken.end());
    for (const auto& range : dirty) {
      if (file.dirty_.empty() || file.dirty_.back().first != range.first) file.dirty_.push_back(range);
      file.dirty_.back().second = range.second;
    }
  }
  file.modified_seconds_.store(NowSeconds(), std::memory_order_relaxed);
  file.length_.store(length, std::memory_order_release);
  return WalOutcome::kOk;
}

WalOutcome WalStore::Sync(WalFile& file) {
  assert(file.store_ == this);
  medium_.Drain();
  if (!medium_.has_page_cache()) return medium_.Health();
  const std::lock_guard one(file.sync_mutex_);
  std::vector<std::pair<uint64_t, uint64_t>> dirty;
  {
    const std::lock_guard lock(file.mutex_);
    dirty.swap(file.dirty_);
  }
  for (const auto& [at, bytes] : dirty) medium_.Flush(at, bytes);
  return medium_.Health();
}

WalOutcome WalStore::CheckEntryLocked(std::string_view name, size_t spare) const {
  if (const WalOutcome health = medium_.Health(); health != WalOutcome::kOk) return health;
  if (name.empty() || name.size() > kNameBytesMax) return WalOutcome::kNameTooLong;
  return free_slots_.size() <= spare ? WalOutcome::kDirectoryFull : WalOutcome::kOk;
}

void WalStore::PutEntryLocked(std::string_view name, WalFile* file) {
  assert(!free_slots_.empty() && name.size() <= kNameBytesMax);
  file->slot_ = free_slots_.back();
  free_slots_.pop_back();
  file->name_ = name;
  file->modified_seconds_.store(NowSeconds(), std::memory_order_relaxed);
  alignas(kLineBytes) std::array<std::byte, kSlotBytes> slot{};
  Entry entry{};
  entry.version = NextSerialLocked();
  entry.file = file->id_;
  entry.modified_seconds = file->modified_seconds();
  entry.name_bytes = static_cast<uint32_t>(name.size());
  std::memcpy(slot.data(), &entry, sizeof(entry));
  std::memcpy(slot.data() + sizeof(entry), name.data(), name.size());
  entry.checksum = ChecksumBehind(slot.data(), sizeof(entry) + name.size(), medium_.seed());
  std::memcpy(slot.data(), &entry, sizeof(entry));
  const uint64_t at = geometry().SlotAt(file->slot_);
  medium_.Put(at, slot.data(), RoundUp(sizeof(entry) + name.size(), kLineBytes));
  medium_.DrainAndFlush(at, kSlotBytes);
}

void WalStore::EraseSlotLocked(uint32_t slot) {
  static constexpr std::array<std::byte, kLineBytes> kNothing{};
  const uint64_t at = geometry().SlotAt(slot);
  medium_.Put(at, kNothing.data(), kNothing.size());
  medium_.DrainAndFlush(at, kLineBytes);
  free_slots_.push_back(slot);
}

// Drops a file. Its extents are free once its entry is durably gone and no FilePtr is left. If they were free before,
// another file's bytes could lie there when a crash brings the entry back.
void WalStore::DropLocked(const FilePtr& file) {
  EraseSlotLocked(file->slot_);
  file->slot_ = WalFile::kNoSlot;
}

WalOutcome WalStore::Create(std::string_view name, FilePtr* file) {
  FilePtr replaced;  // outlives the lock: its destructor takes it
  const std::lock_guard lock(mutex_);
  if (const WalOutcome outcome = CheckEntryLocked(name, /*spare=*/1); outcome != WalOutcome::kOk) return outcome;
  FilePtr made(new WalFile(this, NextSerialLocked()));
  PutEntryLocked(name, made.get());
  FilePtr& named = files_[std::string(name)];
  replaced = std::exchange(named, made);
  if (replaced != nullptr) DropLocked(replaced);
  *file = std::move(made);
  return medium_.Health();
}

WalStore::FilePtr WalStore::Find(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto found = files_.find(name);
  return found == files_.end() ? nullptr : found->second;
}

WalOutcome WalStore::Rename(std::string_view from, std::string_view to) {
  FilePtr replaced;  // outlives the lock
  const std::lock_guard lock(mutex_);
  const auto found = files_.find(from);
  if (found == files_.end()) return WalOutcome::kNotFound;
  if (from == to) return WalOutcome::kOk;
  if (const WalOutcome outcome = CheckEntryLocked(to, /*spare=*/0); outcome != WalOutcome::kOk) return outcome;
  FilePtr file = std::move(found->second);
  files_.erase(found);
  const uint32_t old_slot = file->slot_;
  PutEntryLocked(to, file.get());
  EraseSlotLocked(old_slot);
  replaced = std::exchange(files_[std::string(to)], std::move(file));
  if (replaced != nullptr) DropLocked(replaced);
  return medium_.Health();
}

WalOutcome WalStore::Remove(std::string_view name) {
  FilePtr removed;  // outlives the lock
  const std::lock_guard lock(mutex_);
  const auto found = files_.find(name);
  if (found == files_.end()) return WalOutcome::kNotFound;
  removed = std::move(found->second);
  files_.erase(found);
  DropLocked(removed);
  return medium_.Health();
}

std::vector<std::string> WalStore::List(std::string_view prefix) const {
  std::vector<std::string> names;
  const std::lock_guard lock(mutex_);
  for (auto it = files_.lower_bound(prefix); it != files_.end() && it->first.starts_with(prefix); ++it)
    names.push_back(it->first);
  return names;
}

// A shorter file is a copy under the same name. The old chunks stay until the copy is whole, so that a crash finds
// them.
WalOutcome WalStore::Truncate(FilePtr* file, uint64_t length) {
  const FilePtr old = *file;
  const uint64_t kept = std::min(length, old->length());
  FilePtr made = old;
  if (length < old->length()) {
    const std::lock_guard lock(mutex_);
    made.reset(new WalFile(this, NextSerialLocked()));
  }
  std::vector<char> buffer(kZerosBytes);
  WalFile::Cursor cursor;
  for (uint64_t at = made->length(); at < length;) {
    size_t got = std::min<uint64_t>(buffer.size(), length - at);
    std::ranges::fill(buffer, 0);
    if (at < kept && !old->Read(at, std::min<uint64_t>(got, kept - at), buffer.data(), &got, &cursor)) break;
    const WalOutcome outcome = Append(*made, std::as_bytes(std::span(buffer.data(), got)));
    if (outcome != WalOutcome::kOk) return outcome;
    at += got;
  }
  if (const WalOutcome outcome = Sync(*made); outcome != WalOutcome::kOk || made == old) return outcome;
  const std::lock_guard lock(mutex_);
  if (old->slot_ != WalFile::kNoSlot) {
    if (const WalOutcome outcome = CheckEntryLocked(old->name_, /*spare=*/0); outcome != WalOutcome::kOk)
      return outcome;
    PutEntryLocked(old->name_, made.get());
    DropLocked(old);
    files_[old->name_] = made;  // `old` lives on in this function
  }
  *file = std::move(made);
  return medium_.Health();
}

std::string WalStore::NameTrouble() const {
  const std::string trouble = medium().NameTrouble();
  if (trouble.empty()) return {};
  if (medium().IsNameless()) {
    return "has lost its file, which was removed or replaced: flush the databases before they are closed, or the "
           "writes that only these logs have are lost";
  }
  return "was renamed: give the file its name back before the databases are opened again, or they refuse to open "
         "without their logs";
}

uint64_t WalStore::free_bytes() const {
  const std::lock_guard lock(mutex_);
  return free_extents_.size() * RoomBehind(kChunksAt, geometry().extent_bytes);
}

uint64_t WalStore::LongestFile() const { return geometry().extents() * RoomBehind(kChunksAt, geometry().extent_bytes); }

}  // namespace mezz
