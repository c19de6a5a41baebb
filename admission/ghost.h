// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "admission/growing_table.h"
#include "cache/types.h"

namespace mezz {

// What a ghost knows a key by. Spreads nothing by itself: Ghost mixes it.
inline uint64_t HashOf(const BlockKey& key) { return key.words[0] * 0x9e3779b97f4a7c15ull + key.words[1]; }

// Remembers keys without their blocks: a bounded set of 16-bit fingerprints that forgets the oldest first. 2.1 bytes an
// entry, all allocated when it is made; each operation touches one cache line and takes no lock.
//
// A line holds the last 31 keys of those that hash to it, in a ring: 31 lanes of 16 bits, and one that counts. So a key
// is found if it was among the last `entries` / 2 insertions (of 3,000 such keys one is not, because others crowded its
// line), and forgotten after about `entries` (give or take a fifth). A key that was never inserted is found once in
// 2,100 look-ups of a full set.
//
// The line is eight atomic words of four lanes each. Lanes: 0 is empty; a fingerprint is never 0.
//
//   empty --Insert: CAS--> fingerprint --Take, or Insert of the same key: CAS--> empty
//                          fingerprint --Insert, 31 insertions later: CAS--> another fingerprint
//
// Lane 31 is the ring's hand: it grows by one with each Insert (fetch_add), so each inserter has a lane of its own
// until 31 others come by. CAS is by the word; a neighbour's change makes it try again. All of it is relaxed: a
// fingerprint publishes nothing. Each inserted copy is taken once: two that Take one key at once do not both get it. A
// Take or an Insert that runs beside an Insert of the same key may leave a copy behind, or remove the new one.
//
// Thread-safe. Not copyable.
class Ghost {
 public:
  // As many entries as are worth remembering, rounded up to whole lines of 31. `seed`: of its hash. Sets with different
  // seeds err independently.
  // It can be doubled so many times.
  explicit Ghost(size_t entries, uint64_t seed = 0, unsigned doublings_max = 0);

  // As the latest, wherever it stood before.
  void Insert(uint64_t hash);
  bool Contains(uint64_t hash) const;
  // Removes it; true if it was there.
  bool Take(uint64_t hash);

  // As GrowingTable::Double: what it remembers now it finds for as long as before.
  bool Double() { return table_.Double(); }

  size_t entries() const { return table_.lines() * kLanes; }
  size_t dram_bytes() const { return sizeof(*this) + table_.bytes(); }

 private:
  static constexpr unsigned kLanes = 31;
  static constexpr unsigned kLanesOfWord = 4;
  static constexpr unsigned kLaneBits = 16;

  struct alignas(64) Line {
    std::array<std::atomic<uint64_t>, 8> words{};
  };
  static_assert(sizeof(Line) == 64);

  struct Place {
    Line* line;
    uint64_t fingerprint;  // in every lane of a word
  };
  Place PlaceOf(uint64_t hash) const;
  static bool Remove(const Place& place);

  const uint64_t seed_;
  GrowingTable<Line> table_;
};

}  // namespace mezz
