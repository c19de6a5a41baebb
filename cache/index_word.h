// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <concepts>
#include <cstdint>

#include "cache/tag_notes.h"

namespace mezz {

// One word of the index: where a record lies, and its heat.
//
//   63          39 38                          3   2    1  0
//   [   tag 25   ][  line 36 (64-byte units)   ][dram][heat ]
//
// 0 is the empty word: line 0 holds the superblock, never a record.
// `dram`: the DRAM tier holds the block too, as far as the tier was told. In a segment of an earlier life, while there
// is no heat, it means that the DRAM tier held the block when that life ended.
// `heat`: hits since the record was written or last spared, 3 at most.
class IndexWord {
 public:
  static constexpr unsigned kHeatMax = 3;
  static constexpr unsigned kTagBits = TagNotes::kTagBits;
  static constexpr unsigned kTagShift = 64 - kTagBits;
  static constexpr unsigned kLineBits = 36;

  constexpr IndexWord() = default;
  constexpr explicit IndexWord(uint64_t raw) : raw_(raw) {}
  static constexpr IndexWord Make(uint32_t tag, uint64_t line, bool dram, unsigned heat) {
    assert(tag < 1u << kTagBits && line < uint64_t{1} << kLineBits && heat <= kHeatMax);
    return IndexWord(uint64_t{tag} << kTagShift | line << 3 | uint64_t{dram} << 2 | heat);
  }

  constexpr uint64_t raw() const { return raw_; }
  constexpr bool empty() const { return raw_ == 0; }
  constexpr uint32_t tag() const { return static_cast<uint32_t>(raw_ >> kTagShift); }
  constexpr uint64_t line() const { return raw_ >> 3 & ((uint64_t{1} << kLineBits) - 1); }
  constexpr bool dram() const { return (raw_ & 4) != 0; }
  constexpr unsigned heat() const { return raw_ & 3; }
  constexpr IndexWord with(bool dram, unsigned heat) const {
    assert(heat <= kHeatMax);
    return IndexWord((raw_ & ~uint64_t{7}) | uint64_t{dram} << 2 | heat);
  }
  // Whether both words name the same record, whatever its heat.
  constexpr bool SameRecord(IndexWord other) const { return (raw_ ^ other.raw_) < 8; }

 private:
  uint64_t raw_ = 0;
};

// What the index knows of a key: a hash for each of its two buckets, and the tag that its word carries.
struct KeyHash {
  uint64_t choice[2];
  uint32_t tag;
};

// What a RecordReader found the record of a word to be.
enum class Verdict : uint8_t { kThisKey, kAnotherKey, kDamaged };

// Reads records for the index, which knows only words. A reader stands for one key.
//   Pin     keeps the record's bytes as they are until Unpin. False: its segment holds no records any more. The word's
//           slot must show that by now, as words leave the index before their segment goes (SegmentLog).
//   Judge   REQUIRES: the record is pinned, and its word was seen in its slot after that.
template <typename T>
concept RecordReader = requires(T& reader, IndexWord word) {
  { reader.Pin(word) } -> std::same_as<bool>;
  reader.Unpin(word);
  { reader.Judge(word) } -> std::same_as<Verdict>;
};
// A reader that accepts the records of every key. Prefetch: the record's header will be read soon, if its word is still
// there.
template <typename T>
concept AnyRecordReader = RecordReader<T> && requires(T& reader, IndexWord word) {
  reader.Prefetch(word);
};

}  // namespace mezz
