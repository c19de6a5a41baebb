// SPDX-License-Identifier: Apache-2.0
#include "cache/tombstones.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <mutex>
#include <tuple>
#include <utility>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "cache/header_checksum.h"
#include "cache/log_scan.h"

namespace mezz {
namespace {

using layout::Tombstone;
using Stored = SuperblockKeeper::Stored;

// The checksum of a tombstone in the fill of its segment with this sequence.
uint32_t ChecksumOf(const Tombstone& tombstone, uint64_t sequence) {
  return static_cast<uint32_t>(
      XXH3_64bits_withSeed(&tombstone, offsetof(Tombstone, checksum), layout::kChecksumSeed ^ sequence));
}

// The sequence with this low half that is nearest to `near`.
uint64_t WholeSequence(uint32_t low, uint64_t near) {
  return near + static_cast<uint64_t>(int64_t{static_cast<int32_t>(low - static_cast<uint32_t>(near))});
}

// The lines filled at a position. Positions of one log with the same next sequence are in the order of this number.
uint64_t FilledLines(const std::array<layout::OpenSegment, layout::kLanesMax>& open) {
  uint64_t lines = 0;
  for (const layout::OpenSegment& segment : open) lines += segment.line;
  return lines;
}

auto WordsOf(const BlockKey& key) { return std::tie(key.words[0], key.words[1]); }

}  // namespace

// --- read ------------------------------------------------------------------------------------------------------------

std::optional<ErasedKeys> ErasedKeys::Read(std::span<const std::byte> medium, const layout::Superblock& superblock,
                                           std::span<const SegmentId> bad) {
  ErasedKeys keys;
  if (superblock.tombstone_segments == 0) return keys;
  keys.segment_bytes_ = superblock.segment_bytes;
  const LogScan scan(medium, superblock);
  for (uint32_t id = 0; id < scan.end(); ++id) {
    if (std::ranges::count(bad, SegmentId{id}) != 0) continue;
    if (const auto fill = scan.OpenTombstones(SegmentId{id}))
      keys.segments_.push_back({.id = fill->segment, .sequence = fill->sequence, .tail = fill->tail});
  }
  std::ranges::sort(keys.segments_, {}, &Segment::sequence);
  size_t counted = 0;
  for (Segment& segment : keys.segments_) {
    const uint64_t read = keys.tombstones_;
    if (!keys.ReadSegment(medium, superblock.segment_bytes, &segment)) return std::nullopt;
    // One that was opened, and whose opener died before the superblock knew it, has none: it must not stand for another
    // one, which may not be read.
    counted += bad.empty() || keys.tombstones_ != read ? 1 : 0;
  }
  if (counted < superblock.tombstone_segments) return std::nullopt;
  keys.KeepTheLastOfEachKey();
  return keys;
}

// Reads the tombstones of a segment. False: one is damaged. The last one may be torn: its Erase has then not returned.
bool ErasedKeys::ReadSegment(std::span<const std::byte> medium, uint64_t segment_bytes, Segment* segment) {
  const uint64_t end = (Raw(segment->id) + uint64_t{1}) * segment_bytes;
  bool ended = false;
  for (uint64_t at = segment->tail; at + sizeof(Tombstone) <= end; at += sizeof(Tombstone)) {
    Tombstone tombstone;
    if (!CopyBytes(medium.subspan(at, sizeof(tombstone)), &tombstone)) return false;
    const bool whole = tombstone.checksum == ChecksumOf(tombstone, segment->sequence);
    if (whole && ended) return false;
    ended |= !whole;
    if (!whole) continue;
    segment->tail = at + sizeof(Tombstone);
    ++tombstones_;
    Erased& erased = erased_.emplace_back();
    erased.key = tombstone.key;
    erased.next_sequence = WholeSequence(tombstone.next_sequence, segment->sequence);
    std::ranges::copy(tombstone.open, erased.open.begin());
  }
  return true;
}

void ErasedKeys::KeepTheLastOfEachKey() {
  std::ranges::sort(erased_, [](const Erased& a, const Erased& b) {
    if (a.key != b.key) return WordsOf(a.key) < WordsOf(b.key);
    if (a.next_sequence != b.next_sequence) return a.next_sequence > b.next_sequence;
    return FilledLines(a.open) > FilledLines(b.open);
  });
  const auto same = [](const Erased& a, const Erased& b) { return a.key == b.key; };
  erased_.erase(std::unique(erased_.begin(), erased_.end(), same), erased_.end());
}

bool ErasedKeys::Cover(const BlockKey& key, uint64_t sequence, uint64_t offset) const {
  const auto found = std::ranges::lower_bound(
      erased_, key, [](const BlockKey& a, const BlockKey& b) { return WordsOf(a) < WordsOf(b); }, &Erased::key);
  if (found == erased_.end() || found->key != key || sequence >= found->next_sequence) return false;
  const uint64_t line = offset % segment_bytes_ / kLineBytes;
  return std::ranges::none_of(found->open, [&](const layout::OpenSegment& open) {
    return open.sequence == static_cast<uint32_t>(sequence) && line >= open.line;
  });
}

// --- write -----------------------------------------------------------------------------------------------------------

Tombstones::Tombstones(const Medium& medium, SegmentLog* log, SuperblockKeeper* keeper, Counters* counters,
                       Emulation* emulation)
    : medium_(medium),
      log_(log),
      keeper_(keeper),
      counters_(counters),
      emulation_(emulation),
      begin_(keeper->Now().sequence_begin) {
  segments_.reserve(MostSegments());
}

// The most segments at one time: a new one is opened before the oldest goes.
size_t Tombstones::MostSegments() const { return KeptOf(log_->segments()) + 1; }

Stored Tombstones::Adopt(const ErasedKeys& found) {
  const std::lock_guard lock(mutex_);
  assert(segments_.empty());
  segments_.reserve(found.segments().size() + MostSegments());
  segments_ = found.segments();
  for (const ErasedKeys::Segment& segment : segments_) log_->tombstone_segments().Adopt(segment.id, segment.sequence);
  const auto count = static_cast<uint32_t>(segments_.size());
  if (keeper_->Now().tombstone_segments == count) return Stored::kLasts;
  return keeper_->Change([count](layout::Superblock* superblock) { superblock->tombstone_segments = count; });
}

Tombstones::Added Tombstones::Add(const BlockKey& key, const LogPosition& position) {
  const std::lock_guard lock(mutex_);
  if (position.next_sequence <= begin_) return Added::kDone;  // nothing of before is found again
  if (!HasRoomLocked()) {
    if (const auto failed = OpenSegmentLocked()) return *failed;
  }
  ErasedKeys::Segment& segment = segments_.back();
  alignas(kLineBytes) Tombstone tombstone{};
  tombstone.key = key;
  tombstone.next_sequence = static_cast<uint32_t>(position.next_sequence);
  std::ranges::copy(position.open, tombstone.open);
  tombstone.checksum = ChecksumOf(tombstone, segment.sequence);
  const bool stored = medium_.Stream(medium_.base() + segment.tail, &tombstone, sizeof(tombstone));
  medium_.Drain();
  if (emulation_ != nullptr) emulation_->ChargeWrite(segment.tail, sizeof(tombstone));
  counters_->Add(Event::kScmWrittenBytes, BlockRole::kOther, sizeof(tombstone));
  const bool held = stored && HoldsLocked(tombstone);
  if (!held) log_->faults().Note(segment.id);
  segment.tail += sizeof(tombstone);
  ++written_;
  return held ? Added::kDone : Added::kFailed;
}

// Whether the medium holds this tombstone as the last one. A later life could not tell one that did not arrive from one
// that was never written, nor a segment whose header did not arrive from one that was never opened.
bool Tombstones::HoldsLocked(const Tombstone& tombstone) const {
  const ErasedKeys::Segment& segment = segments_.back();
  if (emulation_ != nullptr) emulation_->ChargeLines(segment.tail, 1);
  Tombstone read;
  if (!CopyBytes({medium_.base() + segment.tail, sizeof(read)}, &read) ||
      std::memcmp(&read, &tombstone, sizeof(read)) != 0)
    return false;
  if (segment.tail != log_->FirstRecord(segment.id)) return true;
  layout::SegmentHeader header;
  return CopyBytes({medium_.base() + segment.tail - sizeof(header), sizeof(header)}, &header) &&
         header.magic == layout::kTombstonesMagic && header.sequence == segment.sequence &&
         header.checksum == record::SegmentHeaderChecksum(header);
}

// Whether the last segment has room. One that was adopted may lie where the medium is not ready yet.
bool Tombstones::HasRoomLocked() const {
  if (segments_.empty()) return false;
  const ErasedKeys::Segment& last = segments_.back();
  const uint64_t end = (Raw(last.id) + uint64_t{1}) * log_->segment_bytes();
  return last.tail + sizeof(Tombstone) <= end && log_->space().IsProvided(last.id) &&
         !log_->space().IsWithdrawn(last.id);
}

// Opens a segment. The superblock counts it before it has a tombstone, so that a header that is damaged later is
// missed. Empty: there is room now.
std::optional<Tombstones::Added> Tombstones::OpenSegmentLocked() {
  const auto id = log_->tombstone_segments().Open();
  if (!id) return Added::kNoRoom;
  segments_.push_back({.id = *id, .sequence = log_->Sequence(*id), .tail = log_->FirstRecord(*id)});
  const Stored counted = keeper_->Change([&](layout::Superblock* superblock) {
    superblock->tombstone_segments = static_cast<uint32_t>(segments_.size());
  });
  if (counted == Stored::kNowhere) {  // one that nobody counts may not hold any
    segments_.pop_back();
    log_->tombstone_segments().Close(*id);
    return Added::kFailed;
  }
  if (TrimLocked(log_->space().limit()) == Stored::kNowhere) return Added::kFailed;
  return std::nullopt;
}

Stored Tombstones::TrimLocked(uint32_t segments) {
  while (segments_.size() > KeptOf(segments)) {
    if (DropOldestLocked() == Stored::kNowhere) return Stored::kNowhere;
  }
  return Stored::kLasts;
}

// Drops the oldest segment. All that wrote to it took their positions before the next segment was opened.
Stored Tombstones::DropOldestLocked() {
  assert(segments_.size() > 1);
  const ErasedKeys::Segment oldest = segments_.front();
  const uint64_t begin = std::max(begin_, segments_[1].sequence);
  log_->SealBelow(begin);  // what is put from now on is to be found again
  const Stored stored = keeper_->Change([&](layout::Superblock* superblock) {
    superblock->sequence_begin = begin;
    superblock->tombstone_segments = static_cast<uint32_t>(segments_.size() - 1);
  });
  if (stored == Stored::kNowhere) return stored;
  begin_ = begin;
  log_->kept_dictionaries().LeaveBehind(begin);
  segments_.erase(segments_.begin());
  log_->tombstone_segments().Close(oldest.id);
  return stored;
}

Stored Tombstones::EraseBelow(uint64_t sequence) {
  const std::lock_guard lock(mutex_);
  if (sequence <= begin_ && segments_.empty()) return Stored::kLasts;
  const uint64_t begin = std::max(begin_, sequence);
  const Stored stored = keeper_->Change([&](layout::Superblock* superblock) {
    superblock->sequence_begin = begin;
    superblock->tombstone_segments = 0;
  });
  if (stored == Stored::kNowhere) return stored;
  begin_ = begin;
  log_->kept_dictionaries().LeaveBehind(begin);
  for (const ErasedKeys::Segment& segment : segments_) log_->tombstone_segments().Close(segment.id);
  segments_.clear();
  return stored;
}

uint64_t Tombstones::written() const {
  const std::lock_guard lock(mutex_);
  return written_;
}

Stored Tombstones::TrimTo(uint32_t segments) {
  const std::lock_guard lock(mutex_);
  return TrimLocked(segments);
}

}  // namespace mezz
