// SPDX-License-Identifier: Apache-2.0
// Databases that share one cache, each with limits and figures of its own; whatever the RocksDB release.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "integration/database_shares.h"
#include "integration/hybrid_cache.h"
#include "integration/hybrid_core.h"
#include "tests/support/hybrid_fixture.h"
#include "tests/support/open_metrics.h"
#include "tests/support/payload.h"
#include "tests/support/small_db.h"
#include "tests/support/tier_fixture.h"

namespace mezz {
namespace {

using ::testing::HasSubstr;
using CachePtr = std::shared_ptr<rocksdb::Cache>;

constexpr uint64_t kDramBytes = 8 << 20;

class DatabasesTest : public ::testing::Test {
 protected:
  static HybridCacheOptions OptionsOf(uint64_t scm_bytes, const test::ScratchFile& file,
                                      MediumKind medium = MediumKind::kAnonymous) {
    HybridCacheOptions options = test::SmallOptions(medium, file, kDramBytes, scm_bytes);
    options.scm.pack = PackMode::kOff;
    options.policy = "dram_first";  // all that DRAM evicts
    return options;
  }
  static CachePtr Open(const HybridCacheOptions& options) {
    CachePtr cache;
    EXPECT_EQ(NewHybridCache(options, &cache).message(), "");
    return cache;
  }
  static CachePtr Share(const CachePtr& cache, std::string_view name, const DatabaseLimits& limits = {}) {
    CachePtr view;
    EXPECT_EQ(ForDatabase(cache, name, limits, &view).message(), "");
    return view;
  }
  static CounterSnapshot CountersOf(const CachePtr& cache) { return GetHybridStats(cache.get())->Counters(); }
  static uint64_t Misses(const CachePtr& cache) { return CountersOf(cache)[Event::kMiss]; }
  static DatabaseFigures FiguresOf(const CachePtr& cache, std::string_view name) {
    for (const DatabaseFigures& it : GetHybridStats(cache.get())->SharedBy()) {
      if (it.name == name) return it;
    }
    ADD_FAILURE() << name << " is not there";
    return {};
  }

  test::ScratchFile file_;
};

TEST_F(DatabasesTest, EachReadsWhatItWroteAndCountsForItself) {
  const CachePtr main = Open(OptionsOf(64 << 20, file_));
  const CachePtr a = Share(main, "a"), b = Share(main, "b");
  test::SmallDb db_a(a, "a"), db_b(b, "b"), db_rest(main, "rest");
  for (int round = 0; round < 3; ++round) {
    db_a.ReadAll();
    db_b.ReadAll();
  }
  db_rest.ReadAll();
  const CounterSnapshot of_a = CountersOf(a), of_b = CountersOf(b), of_all = CountersOf(main);
  const DatabaseFigures rest = FiguresOf(main, "");
  for (const Event event : {Event::kDramHit, Event::kMiss, Event::kInsert}) {
    EXPECT_GT(of_a[event], 0u) << ToString(event);
    EXPECT_EQ(of_a[event] + of_b[event] + rest.counters[event], of_all[event]) << ToString(event);
  }
  EXPECT_GT(of_a[Event::kScmHit], 0u);
  EXPECT_EQ(of_a[Event::kScmHit] + of_b[Event::kScmHit] + rest.counters[Event::kScmHit], of_all[Event::kScmHit]);
  EXPECT_LT(of_a[Event::kMiss], of_a[Event::kScmHit]) << "the second round finds it in SCM";
  EXPECT_GT(FiguresOf(main, "a").scm_bytes, 0u);
  EXPECT_GT(FiguresOf(main, "b").scm_bytes, 0u);
  const std::string report = GetHybridStats(main.get())->Report();
  EXPECT_THAT(report, HasSubstr("share.a: scm "));
  EXPECT_THAT(report, HasSubstr("share.(rest): scm "));
  EXPECT_THAT(MetricsText(GetHybridStats(main.get())->Metrics(), MetricsFormat::kOpenMetrics),
              HasSubstr("mezzanine_database_hit_total{database=\"a\",tier=\"scm\"}"));
  test::ExpectSound(main.get());
}

// The tier counts a hit before it is known whose it is.
TEST_F(DatabasesTest, WhatTheRestFoundIsCountedOnceItHasIt) {
  std::unique_ptr<HybridCore> core;
  ASSERT_TRUE(HybridCore::Open(OptionsOf(16 << 20, file_), &core).ok());
  core->GuardMoves();
  const auto none = [] { return uint64_t{0}; };
  core->OwnDramTier({.resize = [](uint64_t) {},
                     .bytes = none,
                     .pinned_bytes = none,
                     .capacity_bytes = none,
                     .add_counters = [&](CounterSnapshot* sum) { *sum += core->counters().Snapshot(); }});
  ShareId share = kNoShare;
  ASSERT_TRUE(core->databases()
                  .Add("view", {},
                       {.resize = {},
                        .bytes = none,
                        .pinned_bytes = none,
                        .capacity_bytes = none,
                        .add_counters = [](CounterSnapshot*) {}},
                       &share)
                  .ok());
  const auto of_rest = [&] { return core->databases().Figures().front().counters[Event::kScmHit]; };
  ASSERT_EQ(core->scm().Put(test::Key(1), BlockRole::kData, test::Payload(1, 0, 4000)), PutResult::kStored);
  EXPECT_TRUE(core->Find(test::Key(1), BlockRole::kData));
  EXPECT_EQ(of_rest(), 0u);
  core->databases().CountScmHitOfRest(BlockRole::kData);
  EXPECT_EQ(of_rest(), 1u);
}

TEST_F(DatabasesTest, WhatIsPinnedInDramIsThatOfAll) {
  const CachePtr main = Open(OptionsOf(64 << 20, file_));
  const CachePtr view = Share(main, "view");
  test::SmallDb db(view, "view");
  const std::unique_ptr<rocksdb::Iterator> reader = db.HoldFirst();
  const uint64_t pinned = view->GetPinnedUsage();
  EXPECT_GT(pinned, 0u);
  const test::OpenMetrics read =
      test::OpenMetricsReader::Read(MetricsText(GetHybridStats(main.get())->Metrics(), MetricsFormat::kOpenMetrics));
  EXPECT_EQ(read.at("mezzanine_dram_pinned_bytes"), static_cast<double>(main->GetPinnedUsage() + pinned));
}

TEST_F(DatabasesTest, AScanTakesNothingFromWhatAnotherReserves) {
  const CachePtr main = Open(OptionsOf(32 << 20, file_));
  const CachePtr kept = Share(main, "kept", {.scm = {.reserved_percent = 80}, .dram = {.reserved_percent = 40}});
  const CachePtr scan = Share(main, "scan");
  test::SmallDb db(kept, "kept"), other(scan, "scan");
  for (int round = 0; round < 2; ++round) db.ReadAll();
  const uint64_t before = Misses(kept);
  for (int round = 0; round < 4; ++round) other.ReadAll();
  EXPECT_GE(FiguresOf(main, "kept").dram_capacity_bytes, kDramBytes * 40 / 100 - 100);
  db.ReadAll();
  EXPECT_EQ(Misses(kept), before);
  test::ExpectSound(main.get());
}

TEST_F(DatabasesTest, AMaximumKeepsADatabaseFromTheRest) {
  const CachePtr main = Open(OptionsOf(64 << 20, file_));
  const CachePtr few = Share(main, "few", {.scm = {.max_percent = 10}, .dram = {.max_percent = 25}});
  test::SmallDb db(few, "few");
  for (int round = 0; round < 3; ++round) {
    db.ReadAll();
    const DatabaseFigures figures = FiguresOf(main, "few");
    EXPECT_LE(figures.scm_bytes, figures.scm_max_bytes + kSegmentBytesMin);
    EXPECT_LE(figures.dram_capacity_bytes, kDramBytes / 4);
  }
  EXPECT_TRUE(GetHybridStats(few.get())->SetDatabaseLimits({}).ok());
  for (int round = 0; round < 2; ++round) db.ReadAll();
  const uint64_t misses = Misses(few);
  db.ReadAll();
  EXPECT_EQ(Misses(few), misses) << "from then on it may have all of it";
  test::ExpectSound(main.get());
}

TEST_F(DatabasesTest, DramGoesWhereTheHitsAre) {
  const CachePtr main = Open(OptionsOf(64 << 20, file_));
  const CachePtr busy = Share(main, "busy"), idle = Share(main, "idle", {.dram = {.reserved_percent = 10}});
  const auto sum = [&] {
    uint64_t bytes = 0;
    for (const DatabaseFigures& it : GetHybridStats(main.get())->SharedBy()) bytes += it.dram_capacity_bytes;
    return bytes;
  };
  EXPECT_EQ(sum(), kDramBytes);
  const uint64_t at_first = FiguresOf(main, "busy").dram_capacity_bytes;
  test::SmallDb db(busy, "busy");
  for (int round = 0; round < 12; ++round) {
    db.ReadAll();
    EXPECT_LE(sum(), kDramBytes);
  }
  EXPECT_GT(FiguresOf(main, "busy").dram_capacity_bytes, at_first * 3 / 2);
  EXPECT_GE(FiguresOf(main, "idle").dram_capacity_bytes, kDramBytes / 10 - 100);
  EXPECT_EQ(main->GetCapacity(), kDramBytes) << "of all together";
  main->SetCapacity(kDramBytes / 2);
  EXPECT_LE(sum(), kDramBytes / 2);
  EXPECT_EQ(main->GetCapacity(), kDramBytes / 2);
}

TEST_F(DatabasesTest, TheUriGivesADatabaseItsShareOfTheCacheThatTheRestNames) {
  HybridCacheOptions options;
  const std::string uri = "mezzanine://dram=8M;scm=32M@PATH;segment=256K;prepare=open";
  const std::string shared = "mezzanine://dram=8M;scm=32M@dram;segment=256K";
  const auto open = [&](const std::string& share, CachePtr* cache) {
    HybridCacheOptions parsed;
    MEZZ_RETURN_IF_ERROR(ParseHybridUri(shared + ";share=" + share, &parsed));
    HybridCacheOptions again;
    EXPECT_TRUE(ParseHybridUri(parsed.ToUri(), &again).ok()) << parsed.ToUri();
    EXPECT_EQ(again.share, parsed.share);
    EXPECT_EQ(again.share_limits, parsed.share_limits);
    return NewHybridCache(parsed, cache);
  };
  CachePtr a, b, again;
  ASSERT_TRUE(open("orders:reserve=10%,max=40%", &a).ok());
  ASSERT_TRUE(open("users:priority=high,dram_reserve=20%,dram_max=50%", &b).ok());
  EXPECT_EQ(GetHybridStats(a.get())->SharedBy().size(), 3u);
  EXPECT_EQ(&GetHybridStats(a.get())->scm(), &GetHybridStats(b.get())->scm());
  EXPECT_EQ(FiguresOf(b, "orders").limits.scm.max_percent, 40u);
  EXPECT_EQ(FiguresOf(a, "users").limits.dram.max_percent, 50u);
  EXPECT_EQ(open("orders", &again).message(),
            "share=orders: another database of this cache has that name: use another, or close that one's cache first");
  EXPECT_EQ(again, nullptr);
  const ScmTier* const first = &GetHybridStats(a.get())->scm();
  a.reset();
  ASSERT_TRUE(open("orders", &a).ok()) << "the name is free again";
  EXPECT_EQ(&GetHybridStats(a.get())->scm(), first);
  a.reset();
  b.reset();
  for (const char* const bad : {":max=10%", "a:max", "a:max=101%", "a:max=10%,max=20%", "a:priority=urgent",
                                "a:reserve=-1%", "a:size=3", "a:", "a:max=0%"}) {
    EXPECT_THAT(open(bad, &a).message(), HasSubstr("share=")) << bad;
    EXPECT_EQ(a, nullptr) << bad;
  }
  EXPECT_THAT(open("a:reserve=60%,max=50%", &a).message(), HasSubstr("lower"));
  EXPECT_THAT(open("a:max=1%", &a).message(), HasSubstr("4 are the least"));
}

TEST_F(DatabasesTest, TheUriJoinsACacheThatWasOpenedForItself) {
  const std::string uri = "mezzanine://dram=8M;segment=256K;scm=32M@" + file_.path();
  HybridCacheOptions alone, shared;
  ASSERT_TRUE(ParseHybridUri(uri, &alone).ok());
  ASSERT_TRUE(ParseHybridUri(uri + ";share=late:max=50%", &shared).ok());
  const CachePtr main = Open(alone), late = Open(shared);
  EXPECT_EQ(&GetHybridStats(main.get())->scm(), &GetHybridStats(late.get())->scm());
  CachePtr again;
  EXPECT_EQ(NewHybridCache(alone, &again).code(), Status::Code::kBusy) << "its medium is taken";
}

TEST_F(DatabasesTest, AreRefusedWhereTheyCannotBe) {
  const CachePtr main = Open(OptionsOf(32 << 20, file_));
  CachePtr view;
  const auto why = [&](const CachePtr& of, std::string_view name, const DatabaseLimits& limits) {
    const Status status = ForDatabase(of, name, limits, &view);
    EXPECT_FALSE(status.ok());
    EXPECT_EQ(view, nullptr);
    return std::string(status.message());
  };
  EXPECT_THAT(why(rocksdb::NewLRUCache(1 << 20), "a", {}), HasSubstr("no hybrid cache"));
  EXPECT_THAT(why(main, "", {}), HasSubstr("no name"));
  EXPECT_THAT(why(main, "a", {.dram = {.reserved_percent = 95}}), HasSubstr("dram_reserve=95%"));
  EXPECT_THAT(why(main, "a", {.scm = {.reserved_percent = 95}}), HasSubstr("90% is the most"));
  EXPECT_EQ(GetHybridStats(main.get())->SharedBy().size(), 0u);
  const CachePtr b = Share(main, "b", {.dram = {.reserved_percent = 50}});
  EXPECT_THAT(why(b, "a", {.dram = {.reserved_percent = 50}}), HasSubstr("100%"));
  EXPECT_FALSE(GetHybridStats(b.get())->SetDatabaseLimits({.dram = {.reserved_percent = 91}}).ok());
  EXPECT_EQ(FiguresOf(main, "b").limits.dram.reserved_percent, 50u);
  EXPECT_FALSE(GetHybridStats(main.get())->SetDatabaseLimits({}).ok());
  EXPECT_EQ(GetHybridStats(main.get())->SharedBy().size(), 2u);
}

TEST_F(DatabasesTest, NamesThatDifferHaveSeriesThatDiffer) {
  const CachePtr main = Open(OptionsOf(32 << 20, file_));
  const CachePtr first = Share(main, "caf\xE9"), second = Share(main, "caf\xE8"), third = Share(main, R"(caf\xE9)");
  const test::OpenMetrics read =
      test::OpenMetricsReader::Read(MetricsText(GetHybridStats(main.get())->Metrics(), MetricsFormat::kOpenMetrics));
  EXPECT_THAT(read.violations, ::testing::IsEmpty());
  const std::vector<std::string>& series = read.families.at("mezzanine_database_scm_bytes").series;
  EXPECT_EQ(std::set<std::string>(series.begin(), series.end()).size(), 4u);
}

TEST_F(DatabasesTest, WhatIsDividedIsTheTotalWhateverAViewWasTold) {
  const CachePtr main = Open(OptionsOf(32 << 20, file_));
  main->SetCapacity(0);
  const CachePtr view = Share(main, "view");
  EXPECT_EQ(view->GetCapacity(), 0u);
  main->SetCapacity(kDramBytes);
  view->SetCapacity(1 << 30);
  EXPECT_LE(view->GetCapacity(), kDramBytes);
  EXPECT_EQ(main->GetCapacity(), kDramBytes);
}

// Whatever locks the parent's threads hold.
TEST_F(DatabasesTest, AForkedChildLetsGoOfThem) {
  CachePtr main = Open(OptionsOf(32 << 20, file_));
  CachePtr view = Share(main, "view");
  rocksdb::Cache* const resized = main.get();
  std::atomic<bool> stop{false};
  std::thread resizer([&] {
    for (uint64_t i = 0; !stop.load(); ++i) resized->SetCapacity(kDramBytes - (i % 2 << 20));
  });
  int status = 0;
  for (int i = 0; i < 100 && status == 0; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      (void)main->GetCapacity();
      (void)GetHybridStats(main.get())->SharedBy();
      view.reset();
      main.reset();
      _exit(0);
    }
    EXPECT_EQ(waitpid(child, &status, 0), child);
  }
  EXPECT_EQ(status, 0) << "a child waited for a lock of its parent's";
  stop.store(true);
  resizer.join();
}

TEST_F(DatabasesTest, ADatabaseThatClosesLeavesTheOthersAlone) {
  CachePtr main = Open(OptionsOf(64 << 20, file_));
  CachePtr a = Share(main, "a"), b = Share(main, "b");
  auto db_a = std::make_unique<test::SmallDb>(a, "a");
  test::SmallDb db_b(b, "b");
  main.reset();
  for (int round = 0; round < 2; ++round) db_a->ReadAll();
  const uint64_t hits = CountersOf(a)[Event::kScmHit];
  EXPECT_GT(hits, 0u);
  db_a.reset();
  a.reset();
  for (int round = 0; round < 2; ++round) db_b.ReadAll();
  EXPECT_EQ(GetHybridStats(b.get())->SharedBy().size(), 2u);
  a = Share(b, "a");
  EXPECT_GT(FiguresOf(b, "a").scm_bytes, 0u) << "what it left is its own again";
  test::ExpectSound(b.get());
}

TEST_F(DatabasesTest, WhatAnIdleOneHoldsInDramIsNotMoreThanItsPart) {
  HybridCacheOptions options = OptionsOf(64 << 20, file_);
  options.dram_cache = kDefaultDramCache;
  const CachePtr main = Open(options);
  const CachePtr first = Share(main, "first"), second = Share(main, "second");
  test::SmallDb db(first, "first"), other(second, "second");
  for (test::SmallDb* const reads : {&db, &other}) {
    for (int round = 0; round < 8; ++round) reads->ReadAll();
    uint64_t bytes = 0;
    for (const DatabaseFigures& it : GetHybridStats(main.get())->SharedBy()) bytes += it.dram_bytes;
    EXPECT_LE(bytes, kDramBytes * 9 / 8);
  }
}

TEST_F(DatabasesTest, WhatOnlyDramHeldIsThereWhenADatabaseComesBack) {
  const CachePtr main = Open(OptionsOf(64 << 20, file_));
  CachePtr view = Share(main, "view", {.dram = {.reserved_percent = 90}});
  auto db = std::make_unique<test::SmallDb>(view, "view");
  db->ReadAll();
  const uint64_t before = FiguresOf(main, "view").scm_bytes, held = FiguresOf(main, "view").dram_bytes;
  EXPECT_GT(held, kDramBytes / 2);
  view.reset();
  db.reset();
  EXPECT_GT(GetHybridStats(main.get())->scm().figures().usage_bytes(), before + held / 2);
}

TEST_F(DatabasesTest, ComeAndGoAndChangeWhileOthersRead) {
  const CachePtr main = Open(OptionsOf(48 << 20, file_));
  const CachePtr a = Share(main, "a"), b = Share(main, "b");
  test::SmallDb db_a(a, "a"), db_b(b, "b");
  std::atomic<bool> stop{false};
  std::vector<std::thread> readers;
  for (test::SmallDb* const db : {&db_a, &db_b}) {
    readers.emplace_back([db, &stop] {
      while (!stop.load()) db->ReadAll();
    });
  }
  for (unsigned i = 0; i < 60; ++i) {
    const CachePtr other =
        Share(main, "other", {.scm = {.reserved_percent = i % 30}, .dram = {.reserved_percent = i % 30}});
    EXPECT_TRUE(GetHybridStats(a.get())->SetDatabaseLimits({.scm = {.reserved_percent = i % 20}, .dram = {}}).ok());
    main->SetCapacity(kDramBytes - (i % 3 << 20));
    (void)GetHybridStats(b.get())->SharedBy();
    (void)GetHybridStats(main.get())->Counters();
  }
  stop.store(true);
  for (std::thread& reader : readers) reader.join();
  test::ExpectSound(main.get());
}

TEST_F(DatabasesTest, ARestartGivesEachNameItsBlocks) {
  const HybridCacheOptions options = OptionsOf(64 << 20, file_, MediumKind::kFile);
  uint64_t bytes = 0;
  {
    const CachePtr main = Open(options);
    const CachePtr a = Share(main, "a"), b = Share(main, "b");
    test::SmallDb db(a, "a"), other(b, "b");
    db.ReadAll();
    other.ReadAll();
    bytes = FiguresOf(main, "a").scm_bytes;
    EXPECT_GT(bytes, 0u);
  }
  const CachePtr main = Open(options);
  const CachePtr a = Share(main, "a");
  GetHybridStats(main.get())->scm().WaitUntilRecovered();
  EXPECT_GE(FiguresOf(main, "a").scm_bytes, bytes);
  EXPECT_GT(FiguresOf(main, "").scm_bytes, 0u) << "nobody has claimed the other's";
}

}  // namespace
}  // namespace mezz
