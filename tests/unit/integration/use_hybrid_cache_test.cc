// SPDX-License-Identifier: Apache-2.0
// One call prepares a program's options, and the report tells whether what databases write reaches the cache.
#include "integration/use_hybrid_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "integration/warming.h"
#include "rocksdb/convenience.h"
#include "tests/support/hybrid_db.h"

namespace mezz::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

using TableOptions = rocksdb::BlockBasedTableOptions;

class UseHybridCacheTest : public HybridDbTest {
 protected:
  static constexpr int kKeys = 1000;
  static constexpr uint64_t kDramBytes = 256 << 10, kScmBytes = 12 << 20;

  void SetUp() override {
    MakeCache();
    options_.create_missing_column_families = true;
    options_.disable_auto_compactions = true;
  }

  void MakeCache(bool heirs = true) {
    HybridCacheOptions options = OptionsOf(kDramBytes, kScmBytes);
    options.heirs = heirs;
    Make(options);
  }
  // Two tables of all keys become one.
  void WriteTwiceAndCompact() {
    for (const char version : {'a', 'b'}) {
      for (int i = 0; i < kKeys; ++i) {
        ASSERT_TRUE(db_->Put({}, "key" + std::to_string(100'000 + i), std::string(900, version)).ok());
      }
      ASSERT_TRUE(db_->Flush({}).ok());
    }
    ASSERT_TRUE(db_->CompactRange({}, nullptr, nullptr).ok());
  }
  void ReadAll() {
    std::string value;
    for (int i = 0; i < kKeys; ++i) {
      ASSERT_TRUE(db_->Get({}, "key" + std::to_string(100'000 + i), &value).ok());
      ASSERT_EQ(value, std::string(900, 'b'));
    }
  }
  static TableOptions TableOf(const rocksdb::ColumnFamilyOptions& family) {
    return *TableOptionsOf(family.table_factory.get());
  }
  std::string Report() const { return stats_->Report(); }
};

TEST_F(UseHybridCacheTest, TablesAreWarmedWithAllThatTheReleaseCan) {
  TableOptions table;
  table.no_block_cache = true;
  std::string did;
  ASSERT_EQ(UseHybridCache(cache_, &table, &did).message(), "");
  EXPECT_EQ(table.block_cache, cache_);
  EXPECT_FALSE(table.no_block_cache);
  EXPECT_EQ(table.prepopulate_block_cache, kBestWarming);
  EXPECT_THAT(did, HasSubstr(std::string(kBestWarmingName)));
}

// By RocksDB's own words, which the option files have.
TEST_F(UseHybridCacheTest, TheBestIsWhatThisRocksDBKnows) {
  TableOptions table;
  const auto knows = [&](const std::string& name) {
    return rocksdb::GetBlockBasedTableOptionsFromString({}, TableOptions(), "prepopulate_block_cache=" + name, &table)
        .ok();
  };
  ASSERT_TRUE(knows(std::string(kBestWarmingName)));
  EXPECT_EQ(table.prepopulate_block_cache, kBestWarming);
  EXPECT_EQ(knows("kFlushAndCompaction"), kWarmsWithCompactions);
}

TEST_F(UseHybridCacheTest, AStrongerSettingStays) {
  const auto stronger = static_cast<Warming>(static_cast<int>(kBestWarming) + 1);
  TableOptions table;
  table.prepopulate_block_cache = stronger;
  ASSERT_TRUE(UseHybridCache(cache_, &table).ok());
  EXPECT_EQ(table.prepopulate_block_cache, stronger);
}

TEST_F(UseHybridCacheTest, WithoutHeirsWarmingIsTheProgramsOwn) {
  MakeCache(/*heirs=*/false);
  options_.table_factory = TablesOf(cache_, Warming::kFlushOnly);
  std::string did;
  ASSERT_TRUE(UseHybridCache(cache_, &options_, &did).ok());
  EXPECT_EQ(TableOf(options_).prepopulate_block_cache, Warming::kFlushOnly);
  EXPECT_EQ(TableOf(options_).block_cache, cache_);
  EXPECT_THAT(did, HasSubstr("heirs=off"));
  EXPECT_THAT(Report(), HasSubstr("\nheirs: off\n"));
}

TEST_F(UseHybridCacheTest, ADatabaseOfDramAloneIsNotWarmed) {
  options_.lowest_used_cache_tier = rocksdb::CacheTier::kVolatileTier;
  std::string did;
  ASSERT_TRUE(UseHybridCache(cache_, &options_, &did).ok());
  EXPECT_EQ(TableOf(options_).prepopulate_block_cache, Warming::kDisable);
  EXPECT_THAT(did, HasSubstr("lowest_used_cache_tier"));
}

TEST_F(UseHybridCacheTest, FactoriesThatOthersShareStayAsTheyAre) {
  const rocksdb::Options before = options_;
  ASSERT_TRUE(UseHybridCache(cache_, &options_).ok());
  EXPECT_EQ(TableOf(before).prepopulate_block_cache, Warming::kDisable);
  EXPECT_NE(TableOf(before).block_cache, cache_);
}

TEST_F(UseHybridCacheTest, OtherTableOptionsAreKept) {
  TableOptions table;
  table.block_size = 12345;
  options_.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  ASSERT_TRUE(UseHybridCache(cache_, &options_).ok());
  EXPECT_EQ(TableOf(options_).block_size, 12345u);
}

TEST_F(UseHybridCacheTest, TheCacheIsToldOfDeletedFilesByOneListener) {
  ASSERT_TRUE(UseHybridCache(cache_, &options_).ok());
  ASSERT_TRUE(UseHybridCache(cache_, &options_).ok());
  EXPECT_EQ(options_.listeners.size(), 1u);
  Open();
  WriteTwiceAndCompact();
  EXPECT_EQ(Count(Event::kScmFileForgotten), 2u);
}

TEST_F(UseHybridCacheTest, ADatabaseThatListensIsLeftAsItIs) {
  CacheHooks hooks;
  hooks.listener = [&](const std::shared_ptr<rocksdb::Cache>&) { return MakeDeadFileListener([&] { return stats_; }); };
  const Families families = {{"default", options_}, {"other", options_}};
  const auto with = WithListeners(options_, families, hooks);
  ASSERT_NE(with, nullptr);
  EXPECT_EQ(with->listeners.size(), 1u) << "one for the cache that both share";
  EXPECT_EQ(WithListeners(*with, families, hooks), nullptr);
}

TEST_F(UseHybridCacheTest, EachFamilyIsPrepared) {
  Families families = {{"default", options_}, {"other", rocksdb::ColumnFamilyOptions()}};
  rocksdb::DBOptions db = options_;
  ASSERT_EQ(UseHybridCache(cache_, &db, &families).message(), "");
  EXPECT_EQ(db.listeners.size(), 1u);
  for (const auto& family : families) {
    EXPECT_EQ(TableOf(family.options).prepopulate_block_cache, kBestWarming) << family.name;
    EXPECT_EQ(TableOf(family.options).block_cache, cache_) << family.name;
  }
}

TEST_F(UseHybridCacheTest, RefusesACacheThatIsNotOursAndChangesNothing) {
  TableOptions table;
  for (const auto& cache : {rocksdb::NewLRUCache(1 << 20), std::shared_ptr<rocksdb::Cache>()}) {
    EXPECT_THAT(UseHybridCache(cache, &table).message(), HasSubstr("NewHybridCache"));
    EXPECT_THAT(UseHybridCache(cache, &options_).message(), HasSubstr(cache == nullptr ? "no cache" : "LRUCache"));
  }
  EXPECT_EQ(table.block_cache, nullptr);
  EXPECT_EQ(table.prepopulate_block_cache, Warming::kDisable);
  EXPECT_TRUE(options_.listeners.empty());
}

TEST_F(UseHybridCacheTest, RefusesTablesWithoutBlocksAndChangesNothing) {
  Families families = {{"default", options_}, {"plain", rocksdb::ColumnFamilyOptions()}};
  families[1].options.table_factory.reset(rocksdb::NewPlainTableFactory());
  rocksdb::DBOptions db = options_;
  EXPECT_THAT(UseHybridCache(cache_, &db, &families).message(), AllOf(HasSubstr("\"plain\""), HasSubstr("PlainTable")));
  EXPECT_TRUE(db.listeners.empty());
  EXPECT_NE(TableOf(families[0].options).block_cache, cache_);
}

TEST_F(UseHybridCacheTest, WhatIsWrittenReachesTheCacheAndTheReportSaysSo) {
  ASSERT_TRUE(UseHybridCache(cache_, &options_).ok());
  Open();
  EXPECT_THAT(Report(), Not(HasSubstr("warming arrives")));
  WriteTwiceAndCompact();
  ReadAll();
  if (kWarmsWithCompactions) {
    EXPECT_THAT(Report(), HasSubstr("\nheirs: on, warming arrives: "));
    EXPECT_GT(stats_->Decisions().of(DecisionPoint::kWarm, Action::kToScm), 100u);
  } else {
    EXPECT_THAT(Report(), AllOf(HasSubstr("\nheirs: on, RocksDB " + rocksdb::GetRocksVersionAsString() +
                                          " warms with flushes only"),
                                Not(HasSubstr("(0 blocks"))));
    EXPECT_GT(Count(Event::kInsert), 2u * kKeys / 8);
  }
}

TEST_F(UseHybridCacheTest, TheReportSaysWhatToDoWhereCompactionsAreNotOffered) {
  if (!kWarmsWithCompactions) GTEST_SKIP() << "this RocksDB cannot";
  for (const Warming warming : {Warming::kDisable, Warming::kFlushOnly}) {
    options_.table_factory = TablesOf(cache_, warming);
    Open();
    WriteTwiceAndCompact();
    EXPECT_THAT(Report(), AllOf(HasSubstr("\nheirs: on, but compactions looked up "),
                                HasSubstr("set prepopulate_block_cache=kFlushAndCompaction")));
    Close();
  }
}

TEST_F(UseHybridCacheTest, TheReportSaysWhatToDoAboutADatabaseOfDramAlone) {
  if (!kWarmsWithCompactions) GTEST_SKIP() << "this RocksDB says something else";
  options_.lowest_used_cache_tier = rocksdb::CacheTier::kVolatileTier;
  ASSERT_TRUE(UseHybridCache(cache_, &options_).ok());
  Open();
  WriteTwiceAndCompact();
  ReadAll();
  EXPECT_THAT(Report(), HasSubstr("set lowest_used_cache_tier=kNonVolatileBlockTier"));
}

TEST(WarmingText, TellsOneThingAtATime) {
  EXPECT_EQ(WarmingText({.heirs = false, .flushed = 1, .compacted = 1}), "off");
  if (!kWarmsWithCompactions) return;
  EXPECT_EQ(WarmingText({}), "on, nothing was flushed or compacted that the cache was told of");
  EXPECT_THAT(WarmingText({.flushed = 5, .read_by_compactions = 63}), HasSubstr("5 blocks of flushes; nothing was"));
  EXPECT_THAT(WarmingText({.flushed = 5, .read_by_compactions = 64}), HasSubstr("looked up 64 blocks and none"));
  EXPECT_THAT(WarmingText({.compacted = 7, .read_by_compactions = 64}), HasSubstr("7 of compactions"));
  EXPECT_THAT(WarmingText({.flushed = 5, .without_scm = 3}), HasSubstr("3 blocks came from a database"));
}

}  // namespace
}  // namespace mezz::test
