// SPDX-License-Identifier: Apache-2.0
#include "cache/base/stripe.h"

#include <gtest/gtest.h>

#include <barrier>
#include <set>
#include <thread>
#include <vector>

namespace mezz {
namespace {

// What every one of `threads` threads, alive at once, has as its stripe.
std::multiset<size_t> StripesOf(size_t threads) {
  std::vector<size_t> stripes(threads);
  std::barrier all_have_one(static_cast<ptrdiff_t>(threads));
  {
    std::vector<std::jthread> running;
    for (size_t t = 0; t < threads; ++t) {
      running.emplace_back([&, t] {
        stripes[t] = StripeOfThisThread();
        EXPECT_EQ(StripeOfThisThread(), stripes[t]);
        all_have_one.arrive_and_wait();
      });
    }
  }
  return {stripes.begin(), stripes.end()};
}

TEST(Stripe, IsAThreadsOwnWhileThereAreEnoughAndComesBackWhenItEnds) {
  StripeOfThisThread();  // one is ours
  for (int round = 0; round < 100; ++round) {
    const auto stripes = StripesOf(kSharedStripe - 1);
    EXPECT_EQ(std::set<size_t>(stripes.begin(), stripes.end()).size(), stripes.size()) << "round " << round;
    EXPECT_FALSE(stripes.contains(kSharedStripe)) << "round " << round;
  }
}

TEST(Stripe, ManyThreadsShareTheLast) {
  StripeOfThisThread();
  const auto stripes = StripesOf(20);
  EXPECT_EQ(stripes.count(kSharedStripe), 20 - (kSharedStripe - 1));
  for (size_t own = 0; own < kSharedStripe; ++own) EXPECT_LE(stripes.count(own), 1u);
}

TEST(Stripe, WhatAThreadCountedIsThereForTheNextOwner) {
  std::atomic<uint64_t> words[kStripes] = {};
  constexpr uint64_t kRounds = 200;
  for (uint64_t round = 0; round < kRounds; ++round) {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&] {
        const size_t stripe = StripeOfThisThread();
        for (int i = 0; i < 10; ++i) AddInStripe(stripe, words[stripe], uint64_t{1});
      });
    }
  }
  uint64_t sum = 0;
  for (const auto& word : words) sum += word.load(std::memory_order_relaxed);
  EXPECT_EQ(sum, kRounds * 3 * 10);
}

TEST(Stripe, ThoseWhoShareOneLoseNothing) {
  constexpr uint64_t kAdds = 1'000'000;
  std::atomic<uint64_t> word{0};
  std::barrier start(2);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 2; ++t) {
      threads.emplace_back([&] {
        start.arrive_and_wait();
        for (uint64_t i = 0; i < kAdds; ++i) AddInStripe(kSharedStripe, word, uint64_t{1});
      });
    }
  }
  EXPECT_EQ(word.load(std::memory_order_relaxed), 2 * kAdds);
}

}  // namespace
}  // namespace mezz
