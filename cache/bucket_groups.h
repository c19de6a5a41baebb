// SPDX-License-Identifier: Apache-2.0
// How an index that grows spreads its keys: over groups of buckets, to each of which one bucket is added at a time.
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>

namespace mezz {

// Which member of its group a key belongs to, of 4 to 16 members. Consistent: where a member is added, a key either
// stays where it is or goes to the new one, and each of the others gives the same share. So groups that have grown and
// those that are still to grow differ by a quarter in what they take, at most, and two choices of a bucket even that
// out: with buckets split in two instead, those still to be split took twice the share and overflowed
// (docs/explanation/decisions.md).
class BucketGroups {
 public:
  static constexpr unsigned kMembersMin = 4, kMembersMax = 16;
  static constexpr unsigned kBits = 9;  // of a key's hash

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
