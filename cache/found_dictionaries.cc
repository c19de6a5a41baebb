// SPDX-License-Identifier: Apache-2.0
#include "cache/found_dictionaries.h"

#include <algorithm>
#include <utility>

#include "cache/pack/dictionary.h"
#include "cache/pack/packer.h"

namespace mezz {
namespace {

bool IsNumber(uint64_t number) { return number != 0 && number <= UINT16_MAX; }

}  // namespace

void FoundDictionaries::Scan(const LogScan& scan, const SegmentLog::Fill& fill, InSegment* found) {
  scan.Walk(fill, [&](uint64_t offset, const record::Header& header) {
    uint64_t number = 0;
    if ((header.flags & layout::kRecordDictionary) != 0) {
      found->records.push_back(offset);
      number = Dictionary::NumberIn(header.key);
    } else if (const auto prefix = Packer::PrefixOf(header)) {
      number = prefix->dictionary;
    }
    if (!IsNumber(number)) return;
    uint16_t& highest = found->numbers[Dictionaries::SlotOf(static_cast<uint16_t>(number))];
    highest = std::max(highest, static_cast<uint16_t>(number));
  });
}

void FoundDictionaries::Read(const InSegment& found, bool kept) {
  for (const uint64_t offset : found.records) {
    record::Header header;
    if (!CopyBytes({medium_.base() + offset, sizeof(header)}, &header)) continue;
    const uint64_t number = Dictionary::NumberIn(header.key);
    if (!IsNumber(number)) continue;
    Found& youngest = youngest_[Dictionaries::SlotOf(static_cast<uint16_t>(number))];
    auto read = Dictionary::Read(record::HeaderAt(medium_, offset), dictionaries_->authenticator());
    // Of one that was being written anew when power was cut the older copy is whole: it is written anew once more.
    if (read == nullptr && youngest.dictionary != nullptr && youngest.dictionary->number() == number) {
      youngest.place = 0;
      continue;
    }
    youngest = {.dictionary = std::move(read), .place = kept ? offset : 0, .order = ++read_};
  }
}

void FoundDictionaries::Add(std::unique_ptr<const Dictionary> dictionary, uint64_t place) {
  Found& found = youngest_[Dictionaries::SlotOf(dictionary->number())];
  found = {.dictionary = std::move(dictionary), .place = place, .order = ++read_};
}

uint8_t FoundDictionaries::slots() const {
  unsigned slots = 0;
  for (unsigned slot = 0; slot < youngest_.size(); ++slot)
    slots |= youngest_[slot].dictionary != nullptr ? 1u << slot : 0;
  return static_cast<uint8_t>(slots);
}

void FoundDictionaries::NoteNumbers(const InSegment& found) {
  for (unsigned slot = 0; slot < highest_.size(); ++slot) NoteNumber(slot, found.numbers[slot]);
}

void FoundDictionaries::Restore() {
  std::ranges::sort(youngest_, {}, &Found::order);  // so that the youngest of a role is the live one
  for (Found& found : youngest_) {
    if (found.dictionary == nullptr) continue;
    const unsigned slot = Dictionaries::SlotOf(found.dictionary->number());
    dictionaries_->Restore(std::move(found.dictionary), found.place);
    if (found.place != 0 && !log_.awaiting().Has(log_.SegmentAt(found.place))) dictionaries_->LosePlace(slot);
  }
  for (unsigned slot = 0; slot < highest_.size(); ++slot) dictionaries_->SkipNumbers(slot, highest_[slot]);
}

}  // namespace mezz
