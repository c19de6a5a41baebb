// SPDX-License-Identifier: Apache-2.0
#include "integration/read_back_worth.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "tests/support/random.h"
#include "tests/support/seed.h"

namespace mezz {
namespace {

using Score = ReadBackWorth::Score;

BlockKey KeyOf(uint64_t file, uint64_t block) { return {.words = {file << 20, block}}; }

class ReadBackWorthTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kBlocks = 40'000;  // 625 samples

  // A file of which one block in `asked_one_in` is asked for; 0: none.
  void ReadFile(uint64_t file, uint64_t asked_one_in, const std::shared_ptr<Score>& of) {
    worth_.BeginFile(FileId{file}, of);
    for (uint64_t n = 0; n < kBlocks; ++n) worth_.NoteBlock(KeyOf(file, n));
    for (uint64_t n = 0; asked_one_in != 0 && n < kBlocks; n += asked_one_in) worth_.NoteHit(KeyOf(file, n));
  }
  unsigned PaidOf(int compactions, Score* score) {
    unsigned paid = 0;
    for (int i = 0; i < compactions; ++i) paid += worth_.Pays(score);
    return paid;
  }

  ReadBackWorth worth_;
  const std::shared_ptr<Score> score_ = std::make_shared<Score>();
};

TEST_F(ReadBackWorthTest, PaysUntilItIsKnownNotTo) {
  EXPECT_EQ(PaidOf(100, score_.get()), 100u);
  ReadFile(1, /*asked_one_in=*/0, score_);
  EXPECT_EQ(PaidOf(100, score_.get()), 100u) << "its blocks may be asked for yet";
  worth_.OnFileDeleted(FileId{1});
  EXPECT_EQ(PaidOf(10 * ReadBackWorth::kProbedOneIn, score_.get()), 10u);
}

TEST_F(ReadBackWorthTest, PaysWhereMoreThanAShareIsAskedFor) {
  for (uint64_t file = 1; file < 9; ++file) {
    ReadFile(file, /*asked_one_in=*/5, score_);
    worth_.OnFileDeleted(FileId{file});
  }
  EXPECT_EQ(PaidOf(100, score_.get()), 100u) << "20 %";
  for (uint64_t file = 9; file < 17; ++file) {
    ReadFile(file, /*asked_one_in=*/10, score_);
    worth_.OnFileDeleted(FileId{file});
  }
  EXPECT_EQ(PaidOf(80, score_.get()), 10u) << "10 %";
}

TEST_F(ReadBackWorthTest, AHitCountsOnceABlock) {
  ReadFile(1, 0, score_);
  for (int i = 0; i < 100; ++i) {
    for (uint64_t n = 0; n < kBlocks; n += 20) worth_.NoteHit(KeyOf(1, n));
  }
  worth_.OnFileDeleted(FileId{1});
  EXPECT_NEAR(score_->asked * 20.0, score_->sampled, score_->sampled / 2.0);
}

TEST_F(ReadBackWorthTest, HitsOfOtherBlocksDoNotCount) {
  ReadFile(1, 0, score_);
  for (uint64_t n = 0; n < kBlocks; ++n) worth_.NoteHit(KeyOf(2, n));
  worth_.OnFileDeleted(FileId{1});
  EXPECT_EQ(score_->asked, 0u);
  EXPECT_GT(score_->sampled, 0u);
}

TEST_F(ReadBackWorthTest, EachDatabaseIsJudgedByItself) {
  const auto other = std::make_shared<Score>();
  ReadFile(1, 0, score_);
  ReadFile(2, 2, other);
  worth_.OnFileDeleted(FileId{1});
  worth_.OnFileDeleted(FileId{2});
  EXPECT_EQ(PaidOf(80, score_.get()), 10u);
  EXPECT_EQ(PaidOf(80, other.get()), 80u);
}

TEST_F(ReadBackWorthTest, AFileThatLivesLongIsJudgedWhenItsPlaceIsNeeded) {
  ReadFile(1, 0, score_);
  const auto others = std::make_shared<Score>();
  for (uint64_t file = 2; file < 2 + ReadBackWorth::kFiles - 1; ++file) worth_.BeginFile(FileId{file}, others);
  EXPECT_EQ(score_->sampled, 0u);
  worth_.BeginFile(FileId{9999}, others);
  EXPECT_GT(score_->sampled, 0u);
}

TEST_F(ReadBackWorthTest, ALoadThatChangesIsLearntAnew) {
  for (uint64_t file = 1; file < 41; ++file) {
    ReadFile(file, 0, score_);
    worth_.OnFileDeleted(FileId{file});
  }
  EXPECT_LT(PaidOf(80, score_.get()), 80u);
  for (uint64_t file = 41; file < 46; ++file) {  // those that are probed
    ReadFile(file, 1, score_);
    worth_.OnFileDeleted(FileId{file});
  }
  EXPECT_EQ(PaidOf(80, score_.get()), 80u);
}

// Beside a thread that reads back, with samples that overwrite one another. What is counted is possible.
TEST_F(ReadBackWorthTest, BesideReadersItCountsNoMoreThanWasRead) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> users;
  for (uint64_t seed = 0; seed < 2; ++seed) {
    users.emplace_back([&, seed] {
      test::Random random(test::Seed() + seed);
      while (!stop.load(std::memory_order_relaxed))
        worth_.NoteHit(KeyOf(1 + random.Below(64), random.Below(4096) * 64));
    });
  }
  for (uint64_t round = 0; round < 300; ++round) {
    const uint64_t file = 1 + round % 64;
    worth_.BeginFile(FileId{file}, score_);
    for (uint64_t n = 0; n < 4096; ++n) worth_.NoteBlock(KeyOf(file, n * 64));
    if (round % 3 != 0) worth_.OnFileDeleted(FileId{file});
    ASSERT_LE(score_->asked, score_->sampled);
    static_cast<void>(worth_.Pays(score_.get()));
  }
  stop.store(true, std::memory_order_relaxed);
  for (std::thread& user : users) user.join();
}

}  // namespace
}  // namespace mezz
