// SPDX-License-Identifier: Apache-2.0
#include "cache/snapshot.h"

#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstring>
#include <memory>
#include <utility>

#include "cache/header_checksum.h"
#include "cache/log_scan.h"
#include "cache/media/wipe.h"
#include "cache/pack/dictionary.h"
#include "cache/reserved_fills.h"
#include "cache/restorable_segments.h"

namespace mezz {
namespace {

using layout::SnapshotChunk;
using layout::SnapshotFill;
using layout::SnapshotHead;

static_assert(std::size(SnapshotHead{}.dictionaries) == Dictionaries::kSlots);

// One in this many segments may be given up for the snapshot, beside the free ones that a reopened log needs meanwhile.
constexpr uint32_t kGivenUpOneIn = 32;

uint64_t ChunkContentMax(uint64_t segment_bytes) { return segment_bytes - sizeof(SnapshotChunk); }

uint64_t ChunkChecksum(const SnapshotChunk& chunk) {
  return XXH3_64bits_withSeed(&chunk, offsetof(SnapshotChunk, checksum), layout::kChecksumSeed);
}

// Writes the contents into one segment after the other.
class ChunkWriter {
 public:
  ChunkWriter(const Medium& medium, uint64_t segment_bytes, const layout::Superblock& next,
              std::vector<SegmentId> segments)
      : medium_(medium),
        segment_bytes_(segment_bytes),
        superblock_(next),
        segments_(std::move(segments)),
        buffer_(std::make_unique<Buffer>()) {
    XXH3_64bits_reset_withSeed(&checksum_, layout::kChecksumSeed);
  }

  // What an older fill left is no segment from now on, whenever the writing stops.
  void EraseHeaders() {
    for (const SegmentId id : segments_) stored_ &= Wipe(medium_, Raw(id) * segment_bytes_, kLineBytes);
  }

  void Append(const void* from, uint64_t bytes) {
    assert(bytes % sizeof(uint64_t) == 0);
    for (const auto* at = static_cast<const std::byte*>(from); bytes != 0;) {
      const uint64_t room =
          std::min(sizeof(buffer_->bytes) - buffered_, ChunkContentMax(segment_bytes_) - content_bytes_ - buffered_);
      const uint64_t taken = std::min(bytes, room);
      std::memcpy(buffer_->bytes + buffered_, at, taken);
      buffered_ += taken;
      at += taken;
      bytes -= taken;
      if (buffered_ == sizeof(buffer_->bytes)) Flush();
      if (content_bytes_ + buffered_ == ChunkContentMax(segment_bytes_)) EndChunk(/*last=*/false);
    }
  }

  // Nothing: the medium did not take all of it.
  std::optional<SnapshotPlace> Finish() {
    EndChunk(/*last=*/true);
    if (!stored_) return std::nullopt;
    return SnapshotPlace{Raw(segments_.front()), number_};
  }

 private:
  struct Buffer {
    alignas(kLineBytes) std::byte bytes[64 << 10];
  };

  std::byte* StartOf(SegmentId id) const { return medium_.base() + Raw(id) * segment_bytes_; }

  void Flush() {
    if (buffered_ == 0) return;
    XXH3_64bits_update(&checksum_, buffer_->bytes, buffered_);
    const uint64_t lines = RoundUp(buffered_, kLineBytes);
    std::memset(buffer_->bytes + buffered_, 0, lines - buffered_);
    stored_ &=
        medium_.Stream(StartOf(segments_[number_]) + sizeof(SnapshotChunk) + content_bytes_, buffer_->bytes, lines);
    content_bytes_ += buffered_;
    buffered_ = 0;
  }

  // The last one may be empty: Append does not know that nothing follows.
  void EndChunk(bool last) {
    Flush();
    const SegmentId id = segments_[number_];
    alignas(kLineBytes) SnapshotChunk chunk{};
    chunk.magic = layout::kSnapshotMagic;
    chunk.format_id = superblock_.format_id;
    chunk.generation = superblock_.generation;
    chunk.version = layout::kSnapshotVersion;
    chunk.number = number_;
    chunk.next = last ? 0 : Raw(segments_[number_ + 1]);
    chunk.segment = Raw(id);
    chunk.content_bytes = content_bytes_;
    chunk.content_checksum = XXH3_64bits_digest(&checksum_);
    chunk.checksum = ChunkChecksum(chunk);
    stored_ &= medium_.Stream(StartOf(id), &chunk, sizeof(chunk));
    stored_ &= medium_.Persist(StartOf(id), sizeof(chunk) + RoundUp(content_bytes_, kLineBytes));
    ++number_;
    content_bytes_ = 0;
    XXH3_64bits_reset_withSeed(&checksum_, layout::kChecksumSeed);
  }

  const Medium& medium_;
  const uint64_t segment_bytes_;
  const layout::Superblock& superblock_;
  const std::vector<SegmentId> segments_;
  std::unique_ptr<Buffer> buffer_;
  uint64_t buffered_ = 0;       // less than the buffer, and a whole number of lines where it is flushed but at the end
  uint64_t content_bytes_ = 0;  // of this chunk, flushed
  uint32_t number_ = 0;
  bool stored_ = true;
  XXH3_state_t checksum_;
};

// The fills of the log that stay, and the segments where the snapshot may lie.
struct Room {
  std::vector<SegmentLog::Fill> kept;
  std::vector<SegmentId> segments;
};

std::optional<Room> FindRoom(const SnapshotOf& of, uint64_t sequence_begin, uint64_t chunks) {
  const SegmentLog& log = *of.log;
  const uint32_t segments = log.segments() - log.tombstone_segments().count();
  if (chunks > log.lanes() + 1 + log.segments() / kGivenUpOneIn) return std::nullopt;
  const uint64_t spare = SegmentsBeside(log, chunks);
  Room room;
  for (const Level level : {Level::kSlow, Level::kFast}) {
    for (uint32_t id = 0; id < log.segments() && room.segments.size() < chunks; ++id) {
      if (log.LevelOf(SegmentId{id}) != level || log.BeginsMedium(SegmentId{id}) ||
          log.space().IsWithdrawn(SegmentId{id}))
        continue;
      const auto state = log.state(SegmentId{id});  // free: it is ready, too
      if (state == SegmentLog::State::kFree || state == SegmentLog::State::kParked)
        room.segments.push_back(SegmentId{id});
    }
  }
  const auto has_dictionary = [&](SegmentId id) {
    for (unsigned slot = 0; of.dictionaries != nullptr && slot < Dictionaries::kSlots; ++slot) {
      const uint64_t place = of.dictionaries->place(slot);
      if (place != 0 && log.SegmentAt(place) == id) return true;
    }
    return false;
  };
  room.kept = log.Fills();
  std::erase_if(room.kept, [&](const auto& fill) { return fill.sequence < sequence_begin; });
  ReservedFills reserved(log, room.kept);
  size_t kept = room.kept.size();
  std::erase_if(room.kept, [&](const SegmentLog::Fill& fill) {
    const bool useful =
        room.segments.size() < chunks && !log.BeginsMedium(fill.segment) && log.space().IsProvided(fill.segment);
    if ((!useful && segments - kept >= spare) || has_dictionary(fill.segment) || !reserved.GiveUp(fill.segment))
      return false;
    if (useful) room.segments.push_back(fill.segment);
    --kept;
    return true;
  });
  if (room.segments.size() < chunks || segments - kept < spare) return std::nullopt;
  return room;
}

// Describes the dictionaries. False: one that records need cannot be read again.
bool DescribeDictionaries(const SnapshotOf& of, const std::vector<SegmentLog::Fill>& fills,
                          const RestorableSegments& kept, SnapshotHead* head) {
  if (of.dictionaries == nullptr) return true;
  head->has_dictionaries = 1;
  uint8_t needed = 0;
  for (const SegmentLog::Fill& fill : fills) needed |= fill.dictionaries;
  for (unsigned slot = 0; slot < Dictionaries::kSlots; ++slot) {
    SnapshotHead::DictionarySlot& described = head->dictionaries[slot];
    described.last_number = of.dictionaries->last_number(slot);
    const auto held = of.dictionaries->Take(slot);
    uint64_t place = held ? of.dictionaries->place(slot) : 0;
    if (place != 0 && !kept.Has(place)) place = 0;  // erased with all
    if (place == 0 && (needed >> slot & 1) != 0) return false;
    described.place = place;
    described.live = place != 0 && of.dictionaries->live(held->role()) == &*held ? 1 : 0;
  }
  return true;
}

uint64_t OffsetOf(IndexWord word) { return word.line() * kLineBytes; }

// The word as the next life should find it. A mark of an earlier life on a block that nobody asked for in this life
// goes, as DRAM did not hold the block in this life.
IndexWord Unmarked(const SegmentLog& log, IndexWord word) {
  const bool old_mark = word.dram() && word.heat() == 0 && log.IsAdopted(log.SegmentAt(OffsetOf(word)));
  return old_mark ? word.with(/*dram=*/false, /*heat=*/0) : word;
}

}  // namespace

std::optional<SnapshotPlace> WriteSnapshot(const SnapshotOf& of, const layout::Superblock& next) {
  of.log->SealAll();
  const Index::Shape shape = of.index->shape();
  const uint64_t slots = of.index->slots();
  const uint64_t bytes_max =
      sizeof(SnapshotHead) + of.log->segments() * sizeof(SnapshotFill) + slots * sizeof(uint64_t);
  const uint64_t chunk_max = ChunkContentMax(of.log->segment_bytes());
  // One more where the contents end with a chunk: EndChunk.
  auto room = FindRoom(of, next.sequence_begin, bytes_max / chunk_max + 1);
  if (!room) return std::nullopt;
  SnapshotHead head{};
  const RestorableSegments kept(*of.log, room->kept);
  if (!DescribeDictionaries(of, room->kept, kept, &head)) return std::nullopt;
  head.fills = static_cast<uint32_t>(room->kept.size());
  head.pack = static_cast<uint8_t>(of.pack);
  head.groups = shape.groups;
  head.members = shape.members;
  head.growth = shape.growth;
  head.slots = slots;
  for (uint64_t slot = 0; slot < slots; ++slot) {
    const IndexWord word = of.index->At(slot).word;
    if (!word.empty() && kept.Has(OffsetOf(word))) ++head.records;
  }
  ChunkWriter writer(of.medium, of.log->segment_bytes(), next, std::move(room->segments));
  writer.EraseHeaders();
  writer.Append(&head, sizeof(head));
  for (const SegmentLog::Fill& fill : room->kept) {
    SnapshotFill described{};
    described.sequence = fill.sequence;
    described.tail = fill.tail;
    described.dead = fill.dead;
    described.segment = Raw(fill.segment);
    described.dictionaries = fill.dictionaries;
    writer.Append(&described, sizeof(described));
  }
  for (uint64_t slot = 0; slot < slots; ++slot) {
    const IndexWord word = of.index->At(slot).word;
    const uint64_t raw = !word.empty() && kept.Has(OffsetOf(word)) ? Unmarked(*of.log, word).raw() : 0;
    writer.Append(&raw, sizeof(raw));
  }
  return writer.Finish();
}

// --- read ------------------------------------------------------------------------------------------------------------

SnapshotReader::SnapshotReader(std::span<const std::byte> medium, const layout::Superblock& superblock)
    : medium_(medium), superblock_(superblock), segments_(LogScan(medium, superblock).end()) {}

std::string SnapshotReader::Check() {
  std::string wrong = CheckHead();
  for (size_t i = first_unchecked_; wrong.empty() && i < chunks_.size(); ++i) wrong = CheckChunk(i);
  return wrong;
}

std::string SnapshotReader::CheckHead() {
  assert(superblock_.snapshot_segment != 0);
  chunks_.clear();
  bytes_ = 0;
  uint32_t segment = superblock_.snapshot_segment;
  for (uint32_t number = 0; number < superblock_.snapshot_chunks; ++number) {
    uint32_t next = 0;
    if (std::string wrong = FindChunk(segment, number, &next); !wrong.empty()) return wrong;
    if ((next == 0) != (number + 1 == superblock_.snapshot_chunks)) return "does not end where it should";
    segment = next;
  }
  return ReadHead();
}

std::string SnapshotReader::FindChunk(uint32_t segment, uint32_t number, uint32_t* next) {
  if (segment == 0 || segment >= segments_) return "leaves the medium";
  const std::byte* const start = medium_.data() + segment * superblock_.segment_bytes;
  SnapshotChunk chunk;
  if (!CopyBytes({start, sizeof(chunk)}, &chunk)) return "cannot be read";
  if (chunk.magic != layout::kSnapshotMagic || chunk.checksum != ChunkChecksum(chunk)) return "is damaged";
  if (chunk.version != layout::kSnapshotVersion)
    return fmt::format("has version {} and this program knows only version {}", chunk.version,
                       layout::kSnapshotVersion);
  if (chunk.format_id != superblock_.format_id || chunk.generation != superblock_.generation)
    return "is of an earlier life";
  if (chunk.number != number || chunk.segment != segment || chunk.content_bytes % sizeof(uint64_t) != 0 ||
      chunk.content_bytes > ChunkContentMax(superblock_.segment_bytes))
    return "contradicts itself";
  chunks_.push_back({.segment = SegmentId{segment},
                     .content = {start + sizeof(chunk), chunk.content_bytes},
                     .checksum = chunk.content_checksum,
                     .words = {}});
  bytes_ += chunk.content_bytes;
  *next = chunk.next;
  return {};
}

std::string SnapshotReader::CheckChunk(size_t number) const {
  const Chunk& chunk = chunks_[number];
  uint64_t sum = 0;
  const auto add_up = [&] {
    sum = XXH3_64bits_withSeed(chunk.content.data(), chunk.content.size(), layout::kChecksumSeed);
  };
  if (!BusErrors::Try(add_up)) return "cannot be read";
  return sum != chunk.checksum ? "is damaged" : "";
}

std::string SnapshotReader::ReadHead() {
  constexpr std::string_view kContradiction = "contradicts itself";
  fills_.clear();
  if (chunks_.empty() || chunks_.front().content.size() < sizeof(head_)) return std::string(kContradiction);
  if (std::string wrong = CheckChunk(0); !wrong.empty()) return wrong;
  first_unchecked_ = 1;
  if (!CopyBytes(chunks_.front().content.first(sizeof(head_)), &head_)) return "cannot be read";
  const uint64_t behind_head = bytes_ - sizeof(head_);
  if (head_.fills > segments_ || head_.fills * sizeof(SnapshotFill) > behind_head ||
      (behind_head - head_.fills * sizeof(SnapshotFill)) / sizeof(uint64_t) != head_.slots)
    return std::string(kContradiction);
  fills_.resize(head_.fills);
  auto* to = reinterpret_cast<std::byte*>(fills_.data());
  uint64_t left = fills_.size() * sizeof(SnapshotFill), skip = sizeof(head_), slot = 0;
  for (size_t number = 0; number < chunks_.size(); ++number) {
    Chunk& chunk = chunks_[number];
    std::span<const std::byte> content = chunk.content.subspan(std::exchange(skip, 0));
    const uint64_t taken = std::min(left, content.size());
    if (taken != 0 && number == first_unchecked_) {
      if (std::string wrong = CheckChunk(number); !wrong.empty()) return wrong;
      ++first_unchecked_;
    }
    if (!CopyBytes(content.first(taken), to)) return "cannot be read";
    to += taken;
    left -= taken;
    content = content.subspan(taken);
    chunk.words = {reinterpret_cast<const uint64_t*>(content.data()), content.size() / sizeof(uint64_t)};
    chunk.first_slot = std::exchange(slot, slot + chunk.words.size());
  }
  return {};
}

}  // namespace mezz
