// SPDX-License-Identifier: Apache-2.0
// dram_total: one budget for the DRAM tier and for our own structures.
#include "integration/dram_budget.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "cache/base/text.h"
#include "integration/option_table.h"
#include "rocksdb/version.h"
#include "tests/support/hybrid_fixture.h"
#include "tests/support/scripted_policy.h"

namespace mezz {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr uint64_t kTotal = 8 << 20;
constexpr uint64_t kStep = DramBudget::kStepBytes;

class DramTotal : public test::HybridTest, public ::testing::WithParamInterface<PackMode> {
 protected:
  HybridCacheOptions Options(uint64_t total = kTotal) const {
    HybridCacheOptions options = OptionsOf(/*dram_bytes=*/0, 64 << 20);
    options.dram_cache = kDefaultDramCache;
    options.dram_shard_bits = -1;
    options.dram_total_bytes = total;
    options.scm.pack = GetParam();
    return options;
  }
  // All of our DRAM is within `total`, and nothing of it is left lying about.
  void ExpectDivided(uint64_t total) const {
    const uint64_t structures = stats_->Dram().total();
    EXPECT_LE(structures + cache_->GetCapacity(), total);
    EXPECT_GE(structures + cache_->GetCapacity() + (uint64_t{1} << 20), total);
  }
};

TEST_P(DramTotal, IsTheTierAndAllOfOurOwn) {
  Make(Options());
  ExpectDivided(kTotal);
  EXPECT_LT(cache_->GetCapacity(), kTotal - stats_->scm().figures().dram().index);
  const std::string report = cache_->GetPrintableOptions();
  EXPECT_THAT(report, HasSubstr("dram_total=8M;"));
  EXPECT_THAT(report, Not(HasSubstr(";dram=")));
  EXPECT_THAT(report, HasSubstr("dram.total_bytes: 8388608\n"));
  EXPECT_THAT(report, HasSubstr("dram.tier_bytes: " + std::to_string(cache_->GetCapacity())));
  EXPECT_THAT(report, HasSubstr("dram.beside_tier_bytes: " + std::to_string(stats_->Dram().total())));
}

TEST_P(DramTotal, BoundsWhatTheStructuresTakeOnceTheyAreMade) {
  const HybridCacheOptions options = Options();
  DramUse needed;
  ASSERT_TRUE(DramNeeded(options, &needed).ok());
  Make(options);
  const DramUse use = stats_->Dram();
  EXPECT_LE(use.index, needed.index);
  EXPECT_LE(use.segments, needed.segments);
  EXPECT_LE(use.policies, needed.policies);
  EXPECT_LE(use.hit_bits, needed.hit_bits);
  EXPECT_LE(use.packing, needed.packing);
  EXPECT_LE(use.rest, needed.rest);
  EXPECT_GE(use.total() + (uint64_t{1} << 20), needed.total());
}

TEST_P(DramTotal, ATooSmallOneIsRefusedSayingWhatWouldDo) {
  const Status refused = NewHybridCache(Options(300 << 10), &cache_);
  EXPECT_EQ(refused.code(), Status::Code::kInvalidArgument);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("dram_total=300K is too small: for scm=64M, block=4K"));
  EXPECT_THAT(std::string(refused.message()), HasSubstr(fmt::format("pack={} our", ToString(GetParam()))));
  const std::string message(refused.message());
  const std::string give = "give at least ";
  const size_t from = message.find(give);
  ASSERT_NE(from, std::string::npos) << message;
  const std::string size = message.substr(from + give.size(), message.find(',', from) - from - give.size());
  uint64_t enough = 0;
  ASSERT_TRUE(ParseBytes("size", size, &enough).ok()) << message;
  Make(Options(enough));
  ExpectDivided(enough);
}

TEST_P(DramTotal, AnotherPolicyIsPaidForByTheTier) {
  Make(Options());
  const size_t before = cache_->GetCapacity();
  const uint64_t first = stats_->Dram().policies;
  ASSERT_TRUE(stats_->SetPolicy("placeholder").ok());
  EXPECT_GT(stats_->Dram().policies, first);
  ExpectDivided(kTotal);
  const size_t with_two = cache_->GetCapacity();
  EXPECT_LE(with_two, before);
  ASSERT_TRUE(stats_->SetPolicy("adaptive").ok());
  EXPECT_EQ(cache_->GetCapacity(), with_two) << "it was kept, and paid for";
}

TEST_P(DramTotal, APolicyThatHasNoRoomIsRefused) {
  DramUse needed;
  ASSERT_TRUE(DramNeeded(Options(), &needed).ok());
  HybridCacheOptions options = Options(RoundUp(needed.total(), kStep) + (64 << 10) + kStep);
  test::Script script;
  script.dram_bytes = kTotal;
  test::UseScript(&options, &script);
  options.policy = "dram_first";
  Make(options);
  const size_t before = cache_->GetCapacity();
  const Status refused = stats_->SetPolicy("scripted");
  EXPECT_EQ(refused.code(), Status::Code::kNoSpace);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("needs 8 MiB of DRAM, and dram_total="));
  EXPECT_EQ(stats_->PolicyName(), "dram_first");
  EXPECT_EQ(cache_->GetCapacity(), before);
}

TEST_P(DramTotal, SetCapacitySetsTheTierAndTheTotalFollows) {
  Make(Options());
  cache_->SetCapacity(4 << 20);
  EXPECT_EQ(cache_->GetCapacity(), size_t{4} << 20);
  const uint64_t structures = stats_->Dram().total();
  ASSERT_TRUE(stats_->SetPolicy("placeholder").ok());
  const uint64_t more = stats_->Dram().total() - structures;
  EXPECT_LE(cache_->GetCapacity() + more, (size_t{4} << 20) + (1 << 20));
  EXPECT_THAT(stats_->Report(), HasSubstr("dram.tier_bytes: " + std::to_string(cache_->GetCapacity())));
}

TEST_P(DramTotal, ATierThatIsSwitchedOffStaysOffUntilItIsSetAgain) {
  Make(Options());
  cache_->SetCapacity(0);
  ASSERT_TRUE(stats_->SetPolicy("dram_first").ok());
  ASSERT_TRUE(stats_->SetPolicy("adaptive").ok());
  EXPECT_EQ(cache_->GetCapacity(), 0u);
  EXPECT_THAT(stats_->Report(), HasSubstr("dram.tier_bytes: 0\n"));
  cache_->SetCapacity(4 << 20);
  EXPECT_EQ(cache_->GetCapacity(), size_t{4} << 20);
}

INSTANTIATE_TEST_SUITE_P(Packing, DramTotal, ::testing::Values(PackMode::kOff, PackMode::kLz4, PackMode::kZstd),
                         [](const auto& of) { return std::string(ToString(of.param)); });

class DramTotalUri : public test::HybridTest {};

TEST_F(DramTotalUri, ExcludesDramWhereverItStands) {
  HybridCacheOptions options;
  for (const char* uri :
       {"mezzanine://dram=64M;dram_total=64M;scm=64M@dram", "mezzanine://dram_total=64M;dram=64M;scm=64M@dram"}) {
    EXPECT_THAT(std::string(ParseHybridUri(uri, &options).message()), HasSubstr("dram and dram_total contradict"));
    EXPECT_THAT(std::string(ParseWrapUri(uri, &options).message()), HasSubstr("dram and dram_total contradict"));
  }
  EXPECT_THAT(std::string(ParseHybridUri("mezzanine://scm=64M@dram", &options).message()),
              HasSubstr("dram is missing"));
  EXPECT_THAT(std::string(ParseScmSecondaryUri("mezzanine_scm://dram_total=1G;scm=64M@dram", &options).message()),
              HasSubstr("the key \"dram_total\""));
}

TEST_F(DramTotalUri, IsReadPrintedAndJudged) {
  HybridCacheOptions options;
  const Status read = ParseHybridUri("mezzanine://dram_total=64M;scm=256M@dram", &options);
  ASSERT_TRUE(read.ok()) << read.message();
  EXPECT_EQ(options.dram_total_bytes, uint64_t{64} << 20);
  EXPECT_EQ(options.dram_bytes, 0u);
  EXPECT_THAT(options.ToUri(), HasSubstr("mezzanine://dram_total=64M;"));
  using Parse = Status (*)(std::string_view, HybridCacheOptions*, const Machine&);
  constexpr Parse kParseWrapUri = [](std::string_view uri, HybridCacheOptions* parsed, const Machine& machine) {
    return ParseWrapUri(uri, parsed, machine);
  };
  for (const Parse parse : {Parse{&ParseHybridUri}, kParseWrapUri}) {
    EXPECT_THAT(std::string(parse("mezzanine://dram_total=1M;scm=1G@dram", &options, {}).message()),
                HasSubstr("dram_total=1M is too small"));
    const Machine small = {.memory_bytes = uint64_t{4} << 30};
    EXPECT_THAT(std::string(parse("mezzanine://dram_total=8G;scm=1G@dram", &options, small).message()),
                HasSubstr("lower dram_total"));
  }
  options.dram_bytes = 1 << 20;
  options.dram_total_bytes = 1 << 20;
  EXPECT_THAT(std::string(options.Validate().message()), HasSubstr("contradict each other"));
}

TEST_F(DramTotalUri, AStockCacheOverUsIsNotOursToResize) {
  HybridCacheOptions options = OptionsOf(/*dram_bytes=*/0, 16 << 20);
  options.dram_total_bytes = 64 << 20;
  std::shared_ptr<rocksdb::SecondaryCache> made;
  EXPECT_THAT(std::string(NewScmSecondaryCache(options, &made).message()), HasSubstr("dram_total="));
}

#if ROCKSDB_MAJOR >= 8
TEST_F(DramTotalUri, AWrappedCacheIsResized) {
  HybridCacheOptions options = OptionsOf(/*dram_bytes=*/0, 64 << 20);
  options.dram_total_bytes = kTotal;
  rocksdb::LRUCacheOptions lru;
  lru.capacity = 1 << 20;
  Wrap(lru.MakeSharedCache(), options);
  EXPECT_GT(cache_->GetCapacity(), kTotal / 2);
  EXPECT_LE(cache_->GetCapacity() + stats_->Dram().total(), kTotal);
}

// What is charged for at the opening and not taken yet is the tier's, and no part of another total.
TEST_F(DramTotalUri, AWrappedCacheKeepsItsTotal) {
  HybridCacheOptions options = OptionsOf(/*dram_bytes=*/0, 64 << 20);
  options.dram_total_bytes = 2 * kTotal;
  options.curve = true;
  rocksdb::LRUCacheOptions lru;
  lru.capacity = 1 << 20;
  Wrap(lru.MakeSharedCache(), options);
  EXPECT_THAT(stats_->Report(), HasSubstr(fmt::format("dram.total_bytes: {}\n", 2 * kTotal)));
  EXPECT_GT(cache_->GetCapacity() + stats_->Dram().total() + DramBudget::kSlackBytes + kStep, 2 * kTotal);
  options.scm.capacity_bytes = 1;
  const auto stock = lru.MakeSharedCache();
  EXPECT_FALSE(WrapCache(stock, options, &cache_).ok());
  EXPECT_EQ(stock->GetCapacity(), lru.capacity) << "who is refused changes nothing";
}

// Hit bits are kept for a HyperClockCache: for what the total leaves it, not for what it was made for.
TEST_F(DramTotalUri, AWrappedHyperClockCacheIsResizedWithItsHitBits) {
  HybridCacheOptions options = OptionsOf(/*dram_bytes=*/0, 64 << 20);
  options.dram_total_bytes = kTotal;
  Wrap(rocksdb::HyperClockCacheOptions(uint64_t{1} << 30, /*_estimated_entry_charge=*/0).MakeSharedCache(), options);
  const DramUse use = stats_->Dram();
  EXPECT_GT(use.hit_bits, 0u);
  EXPECT_LE(cache_->GetCapacity() + use.total(), kTotal);
}
#endif

TEST(DramBudget, ChargesInStepsAndGivesBackWhatIsWorthIt) {
  DramBudget budget;
  budget.Open(100 * kStep, 90 * kStep);
  uint64_t tier = 90 * kStep;
  const auto resize = [&](uint64_t bytes) { tier = bytes; };
  budget.Follow(10 * kStep, resize);
  EXPECT_EQ(tier, 90 * kStep);
  budget.Follow(10 * kStep + 1, resize);
  EXPECT_EQ(tier, 89 * kStep);
  budget.Follow(7 * kStep, resize);
  EXPECT_EQ(tier, 89 * kStep) << "not more than the slack";
  budget.Follow(6 * kStep, resize);
  EXPECT_EQ(tier, 94 * kStep);
  budget.Follow(11 * kStep, resize);
  EXPECT_EQ(tier, 89 * kStep);
  budget.SetTier(20 * kStep, 11 * kStep, resize);
  EXPECT_EQ(tier, 20 * kStep);
  EXPECT_EQ(budget.total(), 31 * kStep);
  budget.Follow(12 * kStep, resize);
  EXPECT_EQ(tier, 19 * kStep);
  budget.Follow(1000 * kStep, resize);
  EXPECT_GT(tier, 0u) << "a tier of nothing would serve nobody";
  constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();
  budget.SetTier(0, 12 * kStep, resize);
  EXPECT_EQ(tier, 0u);
  for (const uint64_t structures : {1000 * kStep, kStep}) {
    budget.Follow(structures, resize);
    EXPECT_EQ(tier, 0u) << "it was switched off";
  }
  budget.SetTier(20 * kStep, 12 * kStep, resize);
  budget.Follow(13 * kStep, resize);
  EXPECT_EQ(tier, 19 * kStep);
  budget.SetTier(kNoLimit, 12 * kStep, resize);
  EXPECT_EQ(tier, kNoLimit);
  budget.Follow(13 * kStep, resize);
  EXPECT_GT(tier, kNoLimit / 2) << "the sum has no room for what is beside it";
}

TEST(DramBudget, WithoutATotalNothingIsCharged) {
  DramBudget budget;
  budget.Follow(uint64_t{1} << 40, [](uint64_t) { FAIL(); });
  uint64_t tier = 0;
  budget.SetTier(5, 0, [&](uint64_t bytes) { tier = bytes; });
  EXPECT_EQ(tier, 5u);
  EXPECT_FALSE(budget.limited());
}

// Whatever the threads do, the tier ends with what the total leaves.
TEST(DramBudget, OneThreadAtATimeResizes) {
  DramBudget budget;
  budget.Open(1000 * kStep, 990 * kStep);
  std::atomic<int> inside{0};
  std::atomic<uint64_t> structures{10 * kStep};
  uint64_t tier = 990 * kStep;  // not atomic: the budget orders it
  const auto resize = [&](uint64_t bytes) {
    EXPECT_EQ(inside.fetch_add(1, std::memory_order_relaxed), 0);
    tier = bytes;
    inside.fetch_sub(1, std::memory_order_relaxed);
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 300; ++i) {
        budget.Follow(structures.fetch_add(kStep / 4, std::memory_order_relaxed) + kStep / 4, resize);
        if (t == 0 && i % 50 == 0) budget.SetTier(500 * kStep, structures.load(std::memory_order_relaxed), resize);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  budget.Follow(structures.load(std::memory_order_relaxed), resize);
  budget.SetTier(100 * kStep, structures.load(std::memory_order_relaxed), resize);
  EXPECT_EQ(tier, 100 * kStep);
  budget.Follow(structures.load(std::memory_order_relaxed) + kStep, resize);
  EXPECT_EQ(tier, 99 * kStep);
}

}  // namespace
}  // namespace mezz
