// SPDX-License-Identifier: Apache-2.0
// Media that a fuzzer's bytes change: a few hundred of them say where, so that a mutation of theirs is a small change
// of a medium, and checksums can be made right again behind it: else nearly every change would end at a checksum.
#pragma once

#include <zdict.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "cache/header_checksum.h"
#include "cache/log_scan.h"
#include "cache/pack/packer.h"
#include "cache/snapshot.h"
#include "cache/superblock.h"
#include "cache/tombstones.h"
#include "tests/support/core_fixture.h"

namespace mezz::test {

inline constexpr uint64_t kFuzzSegmentBytes = 8 << 10;  // the log's own limit is a power of two
inline constexpr uint32_t kFuzzSegments = 8;
inline constexpr uint64_t kFuzzBytes = kFuzzSegments * kFuzzSegmentBytes;
inline constexpr uint64_t kFuzzKeys = 12;
inline constexpr uint64_t kFuzzHashSeed = 5;
inline constexpr uint64_t kFuzzIndexBlocks = 60;

inline ScmOptions FuzzOptions() {
  ScmOptions options;
  options.capacity_bytes = kFuzzBytes;
  options.segment_bytes = kFuzzSegmentBytes;
  options.recovery = Recovery::kWarm;
  options.pack = PackMode::kZstd;
  return options;
}

// What a medium may hold before it is changed, and what was put there.
class FuzzMedia {
 public:
  using Image = std::vector<std::byte>;
  // The last three are kWithDictionaries, but with a snapshot of the index, with tombstones, and with both.
  enum class Kind : uint8_t { kEmpty, kRaw, kPacked, kWithDictionaries, kClosed, kErased, kClosedAndErased };
  static constexpr size_t kKinds = 7;
  struct Made {
    Image image;
    std::vector<uint64_t> places;  // of tombstones, of each line of a snapshot, and of records
  };

  FuzzMedia() {
    for (size_t kind = 0; kind < kKinds; ++kind) made_[kind] = Make(static_cast<Kind>(kind));
  }
  const Made& made(Kind kind) const { return made_[static_cast<size_t>(kind)]; }
  // Those bytes were stored under that key; or it is a dictionary's, which nobody asks for.
  bool WasPut(const BlockKey& key, std::span<const std::byte> stored) const {
    return key.words[0] == layout::kDictionaryKey ||
           put_.contains({key.words[0], key.words[1], XXH3_64bits(stored.data(), stored.size())});
  }

 private:
  class Log {
   public:
    explicit Log(Dictionaries* dictionaries)
        : dictionaries_(dictionaries), superblock_(SuperblockOf(FuzzOptions())), medium_(kFuzzBytes) {
      superblock_.format_id = 9;
      superblock_.sequence_end = 1;
      keeper_ = std::make_unique<SuperblockKeeper>(medium_, superblock_);
      log_ = std::make_unique<SegmentLog>(medium_, kFuzzBytes, kFuzzSegmentBytes, 9, &counters_, guard_, dictionaries);
      (void)log_->sequences().TakeFrom([this] { return keeper_->ReserveSequences(); },
                                       SuperblockKeeper::kSequencesAtOnce);
      reader_.emplace(medium_, log_.get(), &counters_);
      tombstones_.emplace(medium_, log_.get(), keeper_.get(), &counters_, nullptr);
      log_->Provide(kFuzzSegments);
    }
    SegmentLog::Reservation Reserve(unsigned lane, uint64_t bytes) {
      for (;;) {
        if (const auto where = log_->Reserve(lane, bytes)) return *where;
        if (!log_->Advance(lane, bytes, SegmentLog::For::kReclaim)) Reclaim();
      }
    }
    void Put(const BlockKey& key, std::span<const std::byte> stored, uint8_t flags, unsigned lane, bool fails = false,
             uint16_t dictionary = 0) {
      const auto where = Reserve(lane, layout::RecordBytes(stored.size()));
      const auto fill = [&](size_t at, size_t n, std::byte* to) {
        std::memcpy(to, stored.data() + at, n);
        return !fails;
      };
      record::Write(medium_, where.place, key, BlockRole::kData, stored.size(), fill, flags);
      if (!fails) {
        if (dictionary != 0) log_->kept_dictionaries().Keep(where.segment, dictionary);
        const KeyHash hash = index_.Hash(key);
        KeyReader of_key(*reader_, key);
        index_.Publish(hash, IndexWord::Make(hash.tag, where.place.offset / kLineBytes, false, 1), of_key,
                       [&](IndexWord word) { return log_->Sequence(reader_->SegmentOf(word)); });
      }
      log_->Leave(where);
    }
    void Write(const Dictionary& dictionary) {
      const auto where = Reserve(log_->proven_lane(), dictionary.RecordBytes(nullptr));
      dictionaries_->Write(dictionary, medium_, where.place, nullptr, &counters_);
      log_->Leave(where);
    }
    void Erase(const BlockKey& key) {
      KeyReader of_key(*reader_, key);
      index_.Erase(index_.Hash(key), of_key, [](IndexWord) {});
      const LogPosition position = log_->Position();
      while (tombstones_->Add(key, position) != Tombstones::Added::kDone) Reclaim();
    }
    void Close() {
      layout::Superblock next = keeper_->Now();
      ++next.generation;
      const auto place = WriteSnapshot({medium_, log_.get(), &index_, dictionaries_, FuzzOptions().pack}, next);
      (void)keeper_->Change([&](layout::Superblock* superblock) {
        superblock->flags |= layout::kClosedCleanly;
        superblock->snapshot_segment = place.value().segment;
        superblock->snapshot_chunks = place.value().chunks;
      });
    }
    unsigned proven_lane() const { return log_->proven_lane(); }
    Made Take() const {
      Made made;
      made.image.assign(medium_.base(), medium_.base() + kFuzzBytes);
      const layout::Superblock now = keeper_->Now();
      const auto add_lines = [&](uint64_t begin, uint64_t end) {
        for (uint64_t at = begin; at < end; at += kLineBytes) made.places.push_back(at);
      };
      if (now.snapshot_segment != 0) {
        const uint64_t at = now.snapshot_segment * kFuzzSegmentBytes;
        const auto& chunk = *reinterpret_cast<const layout::SnapshotChunk*>(medium_.base() + at);
        add_lines(at, at + sizeof(chunk) + chunk.content_bytes);
      }
      const auto erased = ErasedKeys::Read(made.image, now);
      for (const ErasedKeys::Segment& tombstones : erased->segments())
        add_lines(log_->FirstRecord(tombstones.id), tombstones.tail);
      const LogScan scan(made.image, now);
      for (uint32_t id = 0; id < scan.end(); ++id) {
        if (const auto fill = scan.Open(SegmentId{id}))
          scan.Walk(*fill, [&](uint64_t offset, const record::Header&) { made.places.push_back(offset); });
      }
      return made;
    }

   private:
    void Reclaim() {
      const SegmentId victim = log_->TakeVictim().segment.value();
      index_.RemoveIf([&](IndexWord word) { return reader_->SegmentOf(word) == victim; });
      log_->StartDraining(victim);
    }

    Dictionaries* const dictionaries_;
    layout::Superblock superblock_;
    HeapMedium medium_;
    Counters counters_;
    ForkGuard guard_;
    Index index_{kFuzzIndexBlocks, kFuzzHashSeed};
    std::unique_ptr<SuperblockKeeper> keeper_;
    std::unique_ptr<SegmentLog> log_;
    std::optional<LogReader> reader_;
    std::optional<Tombstones> tombstones_;
  };

  Made Make(Kind kind) {
    Wakeup wakeup;
    Counters counters;
    Dictionaries dictionaries(&wakeup);
    Log log(&dictionaries);
    if (kind >= Kind::kWithDictionaries) {
      dictionaries.Publish(Dictionary::Make(Trained(), 3, BlockRole::kData));
      log.Write(*dictionaries.live(BlockRole::kData));
    }
    Packer packer(Codec::kZstd, &counters, &dictionaries);
    for (uint64_t n = 0; n < (kind == Kind::kEmpty ? 0 : 36); ++n) {
      const unsigned lane = n % 5 == 0 ? log.proven_lane() : 0;
      const BlockKey key = Key(n % kFuzzKeys + 1);
      const size_t bytes = 700 + n % 7 * 200;
      const auto block = kind == Kind::kRaw ? Payload(n % kFuzzKeys + 1, n, bytes) : TextPayload(n, n, bytes);
      if (n % 9 == 0) packer.UseCodec(n % 2 == 0 ? Codec::kLz4 : Codec::kZstd);
      const auto packed = kind == Kind::kRaw
                              ? PackedBlock()
                              : packer.Pack(BlockRole::kData, block, record::PayloadChecksum(std::span(block)));
      const bool is_packed = packed.outcome() == PackedBlock::Outcome::kPacked;
      const auto stored = is_packed ? packed.bytes() : std::span<const std::byte>(block);
      put_.insert({key.words[0], key.words[1], XXH3_64bits(stored.data(), stored.size())});
      log.Put(key, stored, is_packed ? layout::kRecordPacked : 0, lane, n % 11 == 10, packed.dictionary());
      if (kind >= Kind::kErased && n % 6 == 5) log.Erase(Key(n * 5 % kFuzzKeys + 1));
    }
    if (kind == Kind::kClosed || kind == Kind::kClosedAndErased) log.Close();
    return log.Take();
  }
  static std::vector<std::byte> Trained() {
    std::vector<std::byte> samples, bytes(1024);
    std::vector<size_t> sizes;
    for (uint64_t n = 0; n < 64; ++n) {
      const auto block = TextPayload(n, 7, 1000);
      samples.insert(samples.end(), block.begin(), block.end());
      sizes.push_back(block.size());
    }
    bytes.resize(ZDICT_trainFromBuffer(bytes.data(), bytes.size(), samples.data(), sizes.data(), 64));
    return bytes;
  }

  std::array<Made, kKinds> made_;
  std::set<std::array<uint64_t, 3>> put_;
};

// One medium, as the bytes say. The first is the Kind (2 bits, and the highest one), which checksums are made right
// (2), whether records get the sequence of their segment (1), whether the rest is no list of edits but the medium
// itself (1), and whether who takes it over writes to it (1).
class EditedMedium {
 public:
  enum class Seal : uint8_t { kNothing, kHeaders, kPayloadsToo };

  EditedMedium(const FuzzMedia& media, std::span<const uint8_t> input, std::byte* bytes) : input_(input), at_(bytes) {
    const uint8_t mode = Byte();
    const size_t kind = std::min<size_t>((mode & 3) | (mode >> 5 & 4), FuzzMedia::kKinds - 1);
    const FuzzMedia::Made& made = media.made(static_cast<FuzzMedia::Kind>(kind));
    seal_ = static_cast<Seal>(std::min(mode >> 2 & 3, 2));
    stamp_ = (mode & 16) != 0;
    works_on_ = (mode & 64) != 0;
    std::memcpy(at_, made.image.data(), kFuzzBytes);
    if ((mode & 32) != 0) {
      const size_t n = std::min<size_t>(input_.size(), kFuzzBytes);
      if (n != 0) std::memcpy(at_, input_.data(), n);
    } else {
      for (int edits = 0; !input_.empty() && edits < 64; ++edits) Edit(made);
    }
    if (seal_ != Seal::kNothing) SealAll();
  }
  // So long is what a program that looks at it gets.
  size_t length() const { return length_; }
  // Payloads were forged: checksums tell nothing of who put them.
  bool forged() const { return seal_ == Seal::kPayloadsToo; }
  bool works_on() const { return works_on_; }

 private:
  static uint64_t StartOf(uint64_t segment) {
    return segment == 0 ? layout::kSuperblockSpace : segment * kFuzzSegmentBytes;
  }
  uint8_t Byte() {
    const uint8_t byte = input_.empty() ? 0 : input_.front();
    input_ = input_.subspan(input_.empty() ? 0 : 1);
    return byte;
  }
  uint64_t Word(int bytes) {
    uint64_t word = 0;
    for (int i = 0; i < bytes; ++i) word |= uint64_t{Byte()} << (8 * i);
    return word;
  }
  void Set(uint64_t at) {
    const int width = 1 << (Byte() & 3);
    const uint64_t value = Word(width);
    if (at + static_cast<uint64_t>(width) <= kFuzzBytes) std::memcpy(at_ + at, &value, static_cast<size_t>(width));
  }
  void Edit(const FuzzMedia::Made& made) {
    switch (Byte() % 7) {
      case 0: {
        const uint64_t at = Word(3) % kFuzzBytes;
        for (uint64_t n = std::min<uint64_t>(Byte() % 65, kFuzzBytes - at), i = 0; i < n; ++i)
          at_[at + i] = static_cast<std::byte>(Byte());
        return;
      }
      case 1: {
        const uint64_t copy = (Byte() & 1) * layout::kSuperblockCopyAt;
        return Set(copy + Byte() % sizeof(layout::Superblock));
      }
      case 2: {
        const uint64_t segment = Byte() % kFuzzSegments;
        return Set(StartOf(segment) + Byte() % kLineBytes);
      }
      case 3: {
        const uint64_t number = Word(2);
        const uint64_t within = Byte() % (sizeof(record::Header) + sizeof(layout::PackedPrefix));
        const uint64_t otherwise = StartOf(number % kFuzzSegments) + kLineBytes;
        return Set((made.places.empty() ? otherwise : made.places[number % made.places.size()]) + within);
      }
      case 4: {
        const uint64_t from = Word(2) % (kFuzzBytes / kLineBytes), to = Word(2) % (kFuzzBytes / kLineBytes);
        const uint64_t lines = std::min<uint64_t>(Byte(), kFuzzBytes / kLineBytes - std::max(from, to));
        std::memmove(at_ + to * kLineBytes, at_ + from * kLineBytes, lines * kLineBytes);
        return;
      }
      case 5: {
        const uint64_t from = Byte() % kFuzzSegments, to = Byte() % kFuzzSegments;
        std::memmove(at_ + StartOf(to), at_ + StartOf(from), kFuzzSegmentBytes - layout::kSuperblockSpace);
        layout::SegmentHeader header;
        std::memcpy(&header, at_ + StartOf(to), sizeof(header));
        header.segment = static_cast<uint32_t>(to);
        header.sequence += Byte();
        std::memcpy(at_ + StartOf(to), &header, sizeof(header));
        return;
      }
      default:
        length_ = Word(3) % (kFuzzBytes + 1);
    }
  }
  void SealAll() {
    for (const uint64_t copy : {uint64_t{0}, layout::kSuperblockCopyAt}) {
      layout::Superblock superblock;
      std::memcpy(&superblock, at_ + copy, sizeof(superblock));
      superblock = Sealed(superblock);
      std::memcpy(at_ + copy, &superblock, sizeof(superblock));
    }
    for (uint32_t segment = 0; segment < kFuzzSegments; ++segment) {
      auto& header = *reinterpret_cast<layout::SegmentHeader*>(at_ + StartOf(segment));
      const uint64_t end = (segment + 1) * kFuzzSegmentBytes;
      if (header.magic == layout::kSnapshotMagic) {
        SealChunk(StartOf(segment));
        continue;
      }
      header.checksum = record::SegmentHeaderChecksum(header);
      if (header.magic == layout::kTombstonesMagic) {
        SealTombstones(StartOf(segment) + kLineBytes, end, header.sequence);
      } else {
        SealRecords(StartOf(segment) + kLineBytes, end, header.sequence);
      }
    }
  }
  void SealRecords(uint64_t at, uint64_t end, uint64_t sequence) {
    while (at + kLineBytes <= end) {
      auto& one = *reinterpret_cast<record::Header*>(at_ + at);
      const uint64_t bytes = layout::RecordBytes(one.payload_bytes);
      if (stamp_) one.sequence = static_cast<uint32_t>(sequence);
      if (forged() && bytes <= end - at)
        one.payload_checksum = record::PayloadChecksum(record::PayloadOf(one)) ^ layout::KeyFold(one.key);
      one.checksum = record::HeaderChecksum(one);
      if (bytes > end - at) break;
      at += bytes;
    }
  }
  // To the first line that was never written.
  void SealTombstones(uint64_t at, uint64_t end, uint64_t sequence) {
    for (; at + sizeof(layout::Tombstone) <= end; at += sizeof(layout::Tombstone)) {
      auto& one = *reinterpret_cast<layout::Tombstone*>(at_ + at);
      if (one.key == BlockKey{} && one.checksum == 0) break;
      one.checksum = static_cast<uint32_t>(
          XXH3_64bits_withSeed(&one, offsetof(layout::Tombstone, checksum), layout::kChecksumSeed ^ sequence));
    }
  }
  void SealChunk(uint64_t at) {
    auto& chunk = *reinterpret_cast<layout::SnapshotChunk*>(at_ + at);
    const uint64_t bytes = std::min(chunk.content_bytes, kFuzzSegmentBytes - sizeof(chunk));
    chunk.content_checksum = XXH3_64bits_withSeed(&chunk + 1, bytes, layout::kChecksumSeed);
    chunk.checksum = XXH3_64bits_withSeed(&chunk, offsetof(layout::SnapshotChunk, checksum), layout::kChecksumSeed);
  }

  std::span<const uint8_t> input_;
  std::byte* const at_;
  Seal seal_ = Seal::kNothing;
  bool stamp_ = false, works_on_ = false;
  size_t length_ = kFuzzBytes;
};

}  // namespace mezz::test
