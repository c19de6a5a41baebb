// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "admission/growing_table.h"
#include "cache/types.h"

namespace mezz {

// The hash by which a ghost knows a key. It is not well mixed; Ghost mixes it.
inline uint64_t HashOf(const BlockKey& key) { return key.words[0] * 0x9e3779b97f4a7c15ull + key.words[1]; }

// The same, of which every bit is good. The seed is mixed in: of blocks in a row one seed alone would take those beside
// another's.
inline uint64_t MixedHashOf(const BlockKey& key, uint64_t seed) {
  uint64_t hash = HashOf(key) + seed * 0x9e3779b97f4a7c15ull;
  hash ^= hash >> 32;
  hash *= 0xd6e8feb86659fd93ull;
  hash ^= hash >> 32;
  hash *= 0xd6e8feb86659fd93ull;
  return hash ^ hash >> 32;
}

// Remembers keys without their blocks: a bounded set of 16-bit fingerprints that forgets the oldest first. An entry
// takes 2.1 bytes, and all memory is allocated by the constructor. Each operation touches one cache line and takes no
// lock.
//
// A line holds the last 31 keys that hash to it, in a ring: 31 lanes of 16 bits, and one that counts. So a key is found
// if it was among the last `entries` / 2 insertions, except for one key in 3,000 whose line was crowded. It is
// forgotten after about `entries` insertions, give or take a fifth. A key that was never inserted is found once in
// 2,100 look-ups of a full set.
//
// The line is eight atomic words of four lanes each. Lanes: 0 is empty; a fingerprint is never 0.
//
//   empty --Insert: CAS--> fingerprint --Take, or Insert of the same key: CAS--> empty
//                          fingerprint --Insert, 31 insertions later: CAS--> another fingerprint
//
// Lane 31 is the ring's hand. It grows by one with each Insert (fetch_add), so each inserter has a lane of its own
// until 31 others have come. The CAS is on a word of four lanes; a change of a neighbour makes it try again. All of it
// is relaxed, as a fingerprint publishes nothing. An inserted copy is taken once: of two threads that Take one key at
// once, one gets it. A Take or an Insert beside an Insert of the same key may leave a copy behind, or remove the new
// one.
//
// Thread-safe. Not copyable.
class Ghost {
 public:
  // Holds `entries` keys, rounded up to whole lines of 31. Sets whose hashes have different `seed`s err independently.
  // It can be doubled `doublings_max` times.
  explicit Ghost(size_t entries, uint64_t seed = 0, unsigned doublings_max = 0);

  // Inserts the key as the latest, wherever it was before.
  void Insert(uint64_t hash);
  bool Contains(uint64_t hash) const;
  // Removes the key. True: it was there.
  bool Take(uint64_t hash);

  // Doubles the set, as GrowingTable::Double. Keys that it remembers now it finds for as long as before.
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
    uint64_t fingerprint;  // repeated in every lane of a word
  };
  Place PlaceOf(uint64_t hash) const;
  static bool Remove(const Place& place);

  const uint64_t seed_;
  GrowingTable<Line> table_;
};

}  // namespace mezz
