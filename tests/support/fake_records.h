// SPDX-License-Identifier: Apache-2.0
// An index of records that have no medium.
#pragma once

#include <functional>
#include <unordered_map>
#include <utility>

#include "cache/index.h"
#include "tests/support/tier_fixture.h"

namespace mezz::test {

// Records that exist only in this table: which key lies at which line, and what befell it.
class FakeRecords {
 public:
  struct Reader {
    bool Pin(IndexWord word) {
      if (records.gone == word.line()) return false;
      ++records.pins;
      if (records.on_pin) std::exchange(records.on_pin, nullptr)(word);
      return true;
    }
    void Unpin(IndexWord) { --records.pins; }
    Verdict Judge(IndexWord word) {
      if (records.damaged == word.line()) return Verdict::kDamaged;
      return records.key_at[word.line()] == key ? Verdict::kThisKey : Verdict::kAnotherKey;
    }
    FakeRecords& records;
    uint64_t key;
  };

  explicit FakeRecords(uint64_t blocks, Index::Size size = Index::Size::kFixed) : index(blocks, Seed(), size) {}

  KeyHash Hash(uint64_t key) { return index.Hash(Key(key)); }
  Index::Published Publish(uint64_t key, uint64_t line, unsigned heat = 0) {
    key_at[line] = key;
    Reader reader{*this, key};
    const KeyHash hash = Hash(key);
    return index.Publish(hash, IndexWord::Make(hash.tag, line, false, heat), reader,
                         [this](IndexWord word) { return AgeOf(word); });
  }
  // The line of the key's record; 0: none.
  uint64_t Find(uint64_t key) {
    Reader reader{*this, key};
    const auto entry = index.Find(Hash(key), reader);
    if (!entry) return 0;
    reader.Unpin(entry.word);
    return entry.word.line();
  }
  bool Erase(uint64_t key) {
    Reader reader{*this, key};
    return index.Erase(Hash(key), reader, [](IndexWord) {});
  }
  // Takes every record.
  struct AnyReader : Reader {
    void Prefetch(IndexWord) {}
    Verdict Judge(IndexWord word) { return records.damaged == word.line() ? Verdict::kDamaged : Verdict::kThisKey; }
  };
  // How many words are gone.
  unsigned Grow() {
    unsigned forgotten = 0;
    while (index.WantsToGrow()) forgotten += Split();
    return forgotten;
  }
  unsigned Split() {
    AnyReader reader{{*this, 0}};
    BlockKey key;
    return index.Split(
        reader,
        [&](IndexWord word) -> const BlockKey& {
          if (on_split_step) on_split_step();
          return key = Key(key_at[word.line()]);
        },
        [this](IndexWord word) { return AgeOf(word); });
  }
  uint64_t AgeOf(IndexWord word) const { return word.line() >= kept_from ? Index::kKept : word.line(); }
  Index::Entry EntryOf(uint64_t key) { return index.FindLine(Hash(key), Find(key)); }

  Index index;
  std::unordered_map<uint64_t, uint64_t> key_at;
  uint64_t kept_from = UINT64_MAX;  // the lines from here on are kept
  uint64_t damaged = 0;             // a line
  uint64_t gone = 0;                // a line in a segment that holds nothing
  int pins = 0;
  std::function<void()> on_split_step;    // for each word that a split looks at, before it judges it
  std::function<void(IndexWord)> on_pin;  // once, between the look at a slot and the look after the pin
};

}  // namespace mezz::test
