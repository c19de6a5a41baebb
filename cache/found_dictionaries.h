// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "cache/log_scan.h"
#include "cache/media/medium.h"
#include "cache/pack/dictionaries.h"
#include "cache/segment_log.h"

namespace mezz {

// The dictionaries that an earlier life left on a medium, from when they are found until they serve again. Of each slot
// the youngest counts. Older ones have no records, and must not be mistaken for it.
//
// One thread uses it; the static functions are thread-safe.
class FoundDictionaries {
 public:
  // What a segment holds of them.
  struct InSegment {
    std::vector<uint64_t> records;                         // where they lie
    std::array<uint16_t, Dictionaries::kSlots> numbers{};  // of each slot the highest number that a record names
  };
  // Scans a segment, and adds what it holds to `found`. REQUIRES: nobody writes to it.
  static void Scan(const LogScan& scan, const SegmentLog::Fill& fill, InSegment* found);

  // Owns nothing. If `dictionaries` is null, nothing else may be called.
  FoundDictionaries(const Medium& medium, SegmentLog* log, Dictionaries* dictionaries)
      : medium_(medium), log_(*log), dictionaries_(dictionaries) {}

  // Reads those of a segment, which is younger than all that were read before. `kept`: the segment stays. A dictionary
  // of another one is written anew later.
  void Read(const InSegment& found, bool kept);
  // Adds one that was read, which lies at `place`. It is younger than all before.
  void Add(std::unique_ptr<const Dictionary> dictionary, uint64_t place);
  // A bit for each slot that has one.
  uint8_t slots() const;
  // Records may name numbers of the slot up to this one, which are never given out again: the next life would find that
  // record, and unpack it with the wrong dictionary.
  void NoteNumber(unsigned slot, uint16_t number) { highest_[slot] = std::max(highest_[slot], number); }
  void NoteNumbers(const InSegment& found);
  // Restores the dictionaries. One whose segment was given up meanwhile is written anew later.
  void Restore();

 private:
  struct Found {
    std::unique_ptr<const Dictionary> dictionary;
    uint64_t place = 0;  // 0: its segment was given up
    size_t order = 0;    // higher for a younger one
  };

  const Medium& medium_;
  SegmentLog& log_;
  Dictionaries* const dictionaries_;
  std::array<uint16_t, Dictionaries::kSlots> highest_{};
  std::array<Found, Dictionaries::kSlots> youngest_;
  size_t read_ = 0;
};

}  // namespace mezz
