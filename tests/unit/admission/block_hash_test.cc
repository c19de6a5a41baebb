// SPDX-License-Identifier: Apache-2.0
#include "admission/block_hash.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

namespace mezz {
namespace {

// Keys as RocksDB makes them: of the blocks of a file in their order, large or small, and of many files.
struct Keys {
  const char* of;
  std::function<BlockKey(uint64_t)> at;
};
const std::vector<Keys> kKeysOfFiles = {
    {"a file of small blocks",
     [](uint64_t i) {
       return BlockKey{{0x6d657a7a74726163ull, i}};
     }},
    {"a file of large blocks",
     [](uint64_t i) {
       return BlockKey{{0x6d657a7a74726163ull, 977 ^ i << 10}};
     }},
    {"the first blocks of files",
     [](uint64_t i) {
       return BlockKey{{i << 32 | 5, 0}};
     }},
    {"some blocks of each file",
     [](uint64_t i) {
       return BlockKey{{i / 50 << 40, i % 50 << 12}};
     }},
};

constexpr uint64_t kKeyCount = 1 << 20;

// As many keys as chance would have in each of so many classes: chi-square within five deviations of its mean.
void ExpectEven(const Keys& keys, uint64_t classes, const std::function<uint64_t(uint64_t)>& class_of) {
  std::vector<uint64_t> counts(classes, 0);
  for (uint64_t i = 0; i < kKeyCount; ++i) ++counts[class_of(BlockHash(keys.at(i)))];
  const double mean = static_cast<double>(kKeyCount) / static_cast<double>(classes);
  double chi = 0;
  for (const uint64_t count : counts) chi += (static_cast<double>(count) - mean) * (static_cast<double>(count) - mean);
  const auto freedom = static_cast<double>(classes - 1);
  EXPECT_NEAR(chi / mean, freedom, 5 * std::sqrt(2 * freedom)) << keys.of;
}

TEST(BlockHash, SpreadsItsHighestBitsWhichChooseASample) {
  for (const Keys& keys : kKeysOfFiles) ExpectEven(keys, 4096, [](uint64_t hash) { return hash >> 52; });
}

// The place of a hit bit is by the highest, its word and a sample by the lower ones.
TEST(BlockHash, HasHighestBitsThatSayNothingOfTheOthers) {
  for (const Keys& keys : kKeysOfFiles) {
    ExpectEven(keys, 64 * 64, [](uint64_t hash) { return hash >> 58 << 6 | (hash & 63); });
    ExpectEven(keys, 64 * 5, [](uint64_t hash) { return (hash >> 58) * 5 + ((hash & UINT32_MAX) * 5 >> 32); });
    ExpectEven(keys, 64 * 64, [](uint64_t hash) { return hash >> 58 << 6 | (hash >> 26 & 63); });
  }
}

// Blocks that follow each other are in a sample, or not, each by itself: where the last one sampled was so many blocks
// before says nothing. A hash of one multiplication picks them at a few even distances.
TEST(BlockHash, PicksBlocksOfAFileAtUnevenDistances) {
  constexpr uint64_t kMost = UINT64_MAX / 64;
  for (const Keys& keys : kKeysOfFiles) {
    std::vector<uint64_t> gaps(256, 0);
    uint64_t picked = 0;
    uint64_t last = 0;
    for (uint64_t i = 0; i < kKeyCount; ++i) {
      if (BlockHash(keys.at(i)) > kMost) continue;
      ++gaps[std::min<uint64_t>(i - last, gaps.size() - 1)];
      last = i;
      ++picked;
    }
    for (size_t gap = 1; gap + 1 < gaps.size(); ++gap) {
      const double expected = static_cast<double>(picked) / 64 * std::pow(63.0 / 64, static_cast<double>(gap) - 1);
      ASSERT_NEAR(static_cast<double>(gaps[gap]), expected, 5 * std::sqrt(expected) + 5) << keys.of << ", gap " << gap;
    }
  }
}

}  // namespace
}  // namespace mezz
