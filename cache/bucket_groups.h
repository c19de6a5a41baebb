// SPDX-License-Identifier: Apache-2.0
// How a growing index spreads its keys over groups of buckets. A group grows by one bucket at a time.
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>

namespace mezz {

// Computes which of the 4 to 16 members of its group a key belongs to. When a member is added, a key stays where it is
// or moves to the new one, and each of the others gives up the same share of its keys. So groups that have grown and
// groups that have not differ by at most a quarter in the keys of a bucket, and the choice between two buckets evens
// that out. (Buckets split in two did worse: those not yet split took twice the share, and overflowed:
// docs/explanation/decisions.md.)
class BucketGroups {
 public:
  static constexpr unsigned kMembersMin = 4, kMembersMax = 16;
  static constexpr unsigned kBits = 9;  // bits of a key's hash that are used

  static unsigned MemberOf(uint64_t bits, unsigned members) {
    assert(members >= kMembersMin && members <= kMembersMax);
    return kTable[members - kMembersMin][bits & (kKeys - 1)];
  }

 private:
  static constexpr size_t kKeys = size_t{1} << kBits;
  using Row = std::array<uint8_t, kKeys>;
  using Table = std::array<Row, kMembersMax - kMembersMin + 1>;

  static constexpr Table Make() {
    Table table{};
    std::array<size_t, kMembersMax> keys{};
    for (size_t key = 0; key < kKeys; ++key) {
      table[0][key] = static_cast<uint8_t>(key % kMembersMin);
      ++keys[key % kMembersMin];
    }
    for (unsigned members = kMembersMin; members < kMembersMax; ++members) {
      Row& row = table[members + 1 - kMembersMin];
      row = table[members - kMembersMin];
      for (; keys[members] < kKeys / (members + 1); ++keys[members]) {
        unsigned fullest = 0;
        for (unsigned i = 1; i < members; ++i) {
          if (keys[i] > keys[fullest]) fullest = i;
        }
        size_t key = 0;
        while (row[key] != fullest) ++key;
        row[key] = static_cast<uint8_t>(members);
        --keys[fullest];
      }
    }
    return table;
  }

  static const Table kTable;
};

inline constexpr BucketGroups::Table BucketGroups::kTable = BucketGroups::Make();

}  // namespace mezz
