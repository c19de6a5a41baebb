// SPDX-License-Identifier: Apache-2.0
// The short form of recovery_fuzzer, for any compiler: the corpus that it left, and random changes of that.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "tests/fuzz/recovery_target.h"
#include "tests/support/seed.h"

namespace mezz {
namespace {

using Input = std::vector<uint8_t>;

std::vector<Input> Corpus() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(MEZZ_FUZZ_CORPUS)) files.push_back(entry.path());
  std::ranges::sort(files);
  std::vector<Input> corpus;
  for (const auto& path : files) {
    std::ifstream file(path, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return corpus;
}

void Change(Input* input, const std::vector<Input>& corpus, std::mt19937_64& random) {
  for (auto changes = 1 + random() % 4; changes > 0; --changes) {
    const size_t at = input->empty() ? 0 : random() % input->size();
    switch (random() % 4) {
      case 0:
        if (!input->empty()) (*input)[at] = static_cast<uint8_t>(random());
        break;
      case 1:
        if (!input->empty()) (*input)[at] ^= static_cast<uint8_t>(1u << random() % 8);
        break;
      case 2:
        input->insert(input->begin() + static_cast<std::ptrdiff_t>(at), static_cast<uint8_t>(random()));
        break;
      default:
        const Input& other = corpus[random() % corpus.size()];
        input->resize(at);
        input->insert(input->end(), other.begin() + static_cast<std::ptrdiff_t>(std::min(at, other.size())),
                      other.end());
    }
  }
}

// For a file of the corpus: the round alone tells nothing once the corpus has grown.
std::string Hex(const Input& input) { return fmt::format("{:02x}", fmt::join(input, "")); }

TEST(RecoveryFuzz, NoMediumIsMisread) {
  const uint64_t seed = test::Seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const std::vector<Input> corpus = Corpus();
  ASSERT_FALSE(corpus.empty());
  test::RecoveryTarget target;
  for (size_t i = 0; i < corpus.size(); ++i) ASSERT_EQ(target.Run(corpus[i]), "") << "file " << i << " of the corpus";
  for (int round = 0; round < 2000; ++round) {
    Input input = corpus[random() % corpus.size()];
    Change(&input, corpus, random);
    ASSERT_EQ(target.Run(input), "") << "round " << round << ", input " << Hex(input);
  }
  const auto& reached = target.reached();
  EXPECT_GT(reached.recovered, 500u);
  EXPECT_GT(reached.blocks, 1000u);
  EXPECT_GT(reached.unpacked, 100u);
  EXPECT_GT(reached.dictionaries, 100u);
  EXPECT_GT(reached.damaged, 10u);
  EXPECT_GT(reached.snapshots, 50u);
  EXPECT_GT(reached.useless_snapshots, 50u);
  EXPECT_GT(reached.erased, 50u);
  EXPECT_GT(reached.lost_tombstones, 5u);
}

}  // namespace
}  // namespace mezz
