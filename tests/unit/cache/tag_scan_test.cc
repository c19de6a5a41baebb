// SPDX-License-Identifier: Apache-2.0
#include "cache/tag_scan.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/support/tier_fixture.h"

namespace mezz {
namespace {

// What the index asks for: a tag of 25 bits above 39 others.
constexpr unsigned kTagShift = 39;
constexpr uint32_t kTags = 1u << (64 - kTagShift);

class TagScan : public ::testing::Test {
 protected:
  alignas(kLineBytes) Atomic<uint64_t> words_[tag_scan::kWords] = {};
};

TEST_F(TagScan, FindsExactlyTheWordsOfTheTag) {
  std::mt19937_64 random(test::Seed());
  for (int round = 0; round < 20'000; ++round) {
    const auto tag = static_cast<uint32_t>(random() % kTags);
    uint32_t expected = 0;
    for (size_t i = 0; i < tag_scan::kWords; ++i) {
      uint64_t word = random();
      if (random() % 4 == 0) word = uint64_t{tag} << kTagShift | (word & ((uint64_t{1} << kTagShift) - 1));
      if (random() % 4 == 0) word = uint64_t{tag ^ 1u << random() % 25} << kTagShift;  // a near miss
      if (word >> kTagShift == tag) expected |= 1u << i;
      words_[i].store(word, std::memory_order_relaxed);
    }
    ASSERT_EQ(tag_scan::Loop(words_, kTagShift, tag), expected);
    ASSERT_EQ(tag_scan::Find(words_, kTagShift, tag), expected);
  }
}

TEST_F(TagScan, AnEmptyWordHasTagZero) {
  EXPECT_EQ(tag_scan::Find(words_, kTagShift, 0), 0xffffu);
  EXPECT_EQ(tag_scan::Find(words_, kTagShift, kTags - 1), 0u);
}

}  // namespace
}  // namespace mezz
