// SPDX-License-Identifier: Apache-2.0
// The preload library as a program meets it.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <limits>
#include <sstream>
#include <thread>
#include <vector>

#include "integration/warming.h"
#include "rocksdb/convenience.h"
#include "rocksdb/memory_allocator.h"
#include "rocksdb/secondary_cache.h"
#include "rocksdb/utilities/transaction_db.h"
#include "rocksdb/version.h"
#include "tests/support/in_threads.h"
#include "tests/support/open_db.h"
#include "tests/support/preload_blocks.h"
#include "tests/support/seed.h"
#include "tests/support/small_db.h"
#include "tests/support/versioned_owner.h"

namespace mezz {
namespace {

using test::CountOf;
using test::ExitOfTest;
using test::InChild;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr size_t kDramBytes = test::kSmallLruBytes;
constexpr char kUri[] = "mezzanine://scm=64M@dram";

std::shared_ptr<rocksdb::Cache> MakeLru() { return test::MakeSmallLru(); }

// Reads everything twice through `cache`; 0 if every value was right.
int UseDatabase(std::shared_ptr<rocksdb::Cache> cache) {
  test::SmallDb db(std::move(cache));
  db.ReadAll();
  db.ReadAll();
  return ::testing::Test::HasFailure() ? 1 : 0;
}

class OwnAllocator final : public rocksdb::MemoryAllocator {
 public:
  void* Allocate(size_t bytes) override { return std::malloc(bytes); }
  void Deallocate(void* address) override { std::free(address); }
  const char* Name() const override { return "OwnAllocator"; }
};

bool HasScm(const rocksdb::Cache& cache) { return std::string(cache.Name()) != "LRUCache"; }

// One thread destroys a cache that has the SCM tier, while another makes caches until one has got it. The caches of a
// strict program end it if a medium cannot be opened.
int HandOver(int times) {
  const auto with_scm = [] {
    for (;;) {
      auto cache = MakeLru();
      test::InsertBlock(*cache, 1);
      if (HasScm(*cache)) return cache;
    }
  };
  std::shared_ptr<rocksdb::Cache> owner = with_scm();
  for (int i = 0; i < times; ++i) {
    std::thread closer([last = std::move(owner)]() mutable { last.reset(); });
    owner = with_scm();
    closer.join();
  }
  return 0;
}

// Threads use caches that get the SCM tier meanwhile, each its own keys. 0 if nobody ever read an older version.
int UseBesideTheOpening(int rounds) {
  const uint64_t seed = test::Seed();
  int lies = 0;
  for (int round = 0; round < rounds; ++round) {
    const auto cache = MakeLru();
    std::vector<test::Owner> owners;
    for (uint64_t i = 0; i < 3; ++i) owners.emplace_back(cache.get(), i, 1000, seed + round * 10 + i);
    test::InThreads(owners.size(), [&](uint64_t i) { owners[i].Run(12000); });
    for (const test::Owner& owner : owners) {
      if (owner.lie().empty()) continue;
      std::cerr << owner.lie() << std::endl;
      ++lies;
    }
    if (!HasScm(*cache)) ++lies;
  }
  return lies;
}

// A database of a program that says what it wants of its tables, and of nothing else that the cache gains by.
class PlainDb : public test::ScratchDb {
 public:
  PlainDb() : ScratchDb("mezz_plain_db_") {}
  explicit PlainDb(std::shared_ptr<rocksdb::Cache> cache, Warming warming = Warming::kDisable) : PlainDb() {
    options_.table_factory = test::TablesOf(std::move(cache), warming);
  }
  void WriteTwiceAndCompact() {
    for (int version = 0; version < 2; ++version) {
      for (int i = 0; i < 2000; ++i) {
        EXPECT_TRUE(db_->Put({}, std::to_string(10'000 + i), std::string(900, 'a')).ok());
      }
      EXPECT_TRUE(db_->Flush({}).ok());
    }
    EXPECT_TRUE(db_->CompactRange({}, nullptr, nullptr).ok());
  }
  Warming warming() const { return WarmingOf(db_->DefaultColumnFamily()); }
  Warming WarmingOf(rocksdb::ColumnFamilyHandle* family) const {
    return TableOptionsOf(db_->GetOptions(family).table_factory.get())->prepopulate_block_cache;
  }
  bool listens() const { return Listens(db_->GetDBOptions()); }
  static bool Listens(const rocksdb::DBOptions& options) {
    return options.listeners.size() == 1 && std::string(options.listeners[0]->Name()) == "MezzanineDeadFileListener";
  }
};

// Blocks in a cache that another one keeps from the SCM tier, after a database was written to that asks for `own`.
size_t BlocksWithoutScm(Warming own, bool compact) {
  const auto first = MakeLru();
  test::InsertBlock(*first, 1);
  EXPECT_TRUE(HasScm(*first));
  const auto second = rocksdb::NewLRUCache(16 << 20, /*num_shard_bits=*/0);
  PlainDb db(second, own);
  db.Open();
  db.Close();
  db.Open();  // again, with tables that were raised before
  const size_t before = second->GetUsage();
  if (compact) {
    db.WriteTwiceAndCompact();
  } else {
    for (int i = 0; i < 2000; ++i) EXPECT_TRUE(db.db_->Put({}, std::to_string(i), std::string(900, 'a')).ok());
    EXPECT_TRUE(db.db_->Flush({}).ok());
  }
  EXPECT_FALSE(HasScm(*second));
  return (second->GetUsage() - before) / 4096;
}

uint64_t SumOf(const std::string& report, const std::string& counter) {
  uint64_t sum = 0;
  std::istringstream lines(report);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(counter + ": ")) sum += std::stoull(line.substr(counter.size() + 2));
  }
  return sum;
}

class Preload : public test::PreloadTest {
 protected:
  Preload() : PreloadTest(kUri) {}
};

TEST_F(Preload, TheProgramsLruCacheGetsAnScmTier) {
  EXPECT_EXIT(_exit(UseDatabase(MakeLru())), ::testing::ExitedWithCode(0), "");
  EXPECT_EQ(reports(), 1);
  EXPECT_GT(SumOf(report(), "scm.put"), 1000u);
  EXPECT_GT(SumOf(report(), "scm.hit"), 1000u);
  EXPECT_EQ(SumOf(report(), "create.failed"), 0u);
  EXPECT_THAT(report(),
              HasSubstr(ROCKSDB_MAJOR < 8 ? "mezzanine://dram=2M;scm=" : "mezzanine://dram=2M;dram_cache=lru"));
}

TEST_F(Preload, TheDefaultCacheOfOptionsDoesNotTakeTheTier) {
  InChild([&] {
    const rocksdb::Options unused;  // makes a table factory with a block cache of its own
    UseDatabase(MakeLru());
  });
  EXPECT_GT(SumOf(report(), "scm.hit"), 1000u);
  EXPECT_THAT(report(), HasSubstr("mezzanine://dram=2M;"));
}

TEST_F(Preload, AProgramThatSetsNoCacheHasTheDefaultOne) {
  EXPECT_EXIT(_exit(UseDatabase(nullptr)), ::testing::ExitedWithCode(0), "");
  EXPECT_EQ(reports(), 1);
  EXPECT_GT(SumOf(report(), "dram.hit"), 1000u);
}

TEST_F(Preload, OneCacheOfAProcessHasTheTierAndTheNextGetsItAfterwards) {
  InChild("another cache of this process has the SCM tier", [&] {
    auto first = MakeLru();
    auto second = MakeLru();
    UseDatabase(first);
    UseDatabase(second);  // goes without
    first.reset();
    UseDatabase(MakeLru());
  });
  EXPECT_EQ(reports(), 2);
}

TEST_F(Preload, TheTierPassesOnToACacheThatHasGoneWithout) {
  InChild("goes without until that one has gone.*the LRUCache of 2 MiB has the SCM tier now", [&] {
    auto first = MakeLru();
    const auto second = MakeLru();
    test::InsertBlock(*first, 1);
    test::InsertBlock(*second, 1);
    EXPECT_TRUE(HasScm(*first));
    EXPECT_FALSE(HasScm(*second));
    first.reset();
    test::InsertBlock(*second, 2);
    EXPECT_TRUE(HasScm(*second));
    UseDatabase(second);
  });
  EXPECT_EQ(reports(), 2);
  EXPECT_GT(SumOf(report(), "scm.hit"), 1000u);
}

TEST_F(Preload, TheTierPassesOnPastCachesThatHaveGoneMeanwhile) {
  InChild([&] {
    std::shared_ptr<rocksdb::Cache> caches[4];
    for (auto& cache : caches) {
      cache = MakeLru();
      test::InsertBlock(*cache, 1);
    }
    caches[1].reset();  // had nothing
    caches[0].reset();  // had the tier
    test::InsertBlock(*caches[3], 2);
    test::InsertBlock(*caches[2], 2);
    EXPECT_TRUE(HasScm(*caches[3]));
    EXPECT_FALSE(HasScm(*caches[2]));
    caches[3].reset();
    test::InsertBlock(*caches[2], 3);
    EXPECT_TRUE(HasScm(*caches[2]));
    caches[2].reset();
    const auto late = MakeLru();
    test::InsertBlock(*late, 1);
    EXPECT_TRUE(HasScm(*late));
  });
  EXPECT_EQ(reports(), 4);
  EXPECT_THAT(report(), AllOf(HasSubstr("caches without this tier: 2 ("), HasSubstr("caches without this tier: 1 (")));
}

TEST_F(Preload, AProgramOfManyCachesIsToldHowManyGoWithout) {
  InChild("goes without until that one has gone; 15 caches without now", [&] {
    std::vector<std::shared_ptr<rocksdb::Cache>> caches;
    for (int i = 0; i < 16; ++i) {
      caches.push_back(MakeLru());
      test::InsertBlock(*caches.back(), 1);
    }
    exit(0);
  });
  EXPECT_THAT(report(), HasSubstr("\ncaches without this tier: 15 (LRUCache of 2 MiB, "));
  EXPECT_THAT(report(), HasSubstr("LRUCache of 2 MiB has it\n"));
  EXPECT_EQ(CountOf(report(), "report: "), 1) << "of the one that has it";
}

#if ROCKSDB_MAJOR >= 8

// Three caches, two of which have a database. The first, which opens the tier, goes before the others.
int ShareAmongThree() {
  int failed = 0;
  auto first = MakeLru();
  const auto second = MakeLru();
  const auto third = MakeLru();
  {
    test::SmallDb one(first, "one");
    test::SmallDb two(second, "two");
    for (int round = 0; round < 2; ++round) {
      one.ReadAll();
      two.ReadAll();
    }
    failed |= HasScm(*first) && HasScm(*second) ? 0 : 1;
  }
  first.reset();
  test::InsertBlock(*third, 1);
  failed |= HasScm(*third) ? 0 : 1;
  return failed | UseDatabase(second) | ExitOfTest();
}

TEST_F(Preload, EachCacheOfAProgramHasAShareUnderItsDatabasesPath) {
  setenv("MEZZANINE_CACHE", "mezzanine://scm=64M@dram;share=*:max=60%", 1);
  EXPECT_EXIT(exit(ShareAmongThree()), ::testing::ExitedWithCode(0),
              "LRUCache of 2 MiB shares the SCM tier as .*mezz_small_db_[0-9]*two");
  EXPECT_THAT(report(), AllOf(HasSubstr("two: scm "), HasSubstr("\nshare.(rest): scm "), HasSubstr("share.cache#")));
  EXPECT_THAT(report(), Not(HasSubstr("without this tier")));
}

// Threads make caches, use them and let go of them.
int ShareAmongMany() {
  test::InThreads(4, [&](uint64_t user) {
    for (uint64_t i = 0; i < 200; ++i) {
      const auto cache = MakeLru();
      for (uint64_t block = 0; block < 20; ++block) test::InsertBlock(*cache, (user * 200 + i) * 20 + block);
    }
  });
  return ExitOfTest();
}

TEST_F(Preload, CachesThatComeAndGoMayShareTheTierAllTheTime) {
  setenv("MEZZANINE_CACHE", "mezzanine://scm=64M@dram;share=*", 1);
  EXPECT_EXIT(exit(ShareAmongMany()), ::testing::ExitedWithCode(0), "");
}

#endif

TEST_F(Preload, ASharesNameIsItsDatabases) {
  setenv("MEZZANINE_CACHE", "mezzanine://scm=64M@dram;share=mine", 1);
  EXPECT_EXIT(exit(UseDatabase(MakeLru())), ::testing::ExitedWithCode(0),
              "share=mine: a program's own caches are named by their databases: use share=\\*");
}

// A medium that another process has, as one that is about to end.
class HeldMedium {
 public:
  explicit HeldMedium(const std::string& path)
      : path_(path), file_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    EXPECT_EQ(flock(file_, LOCK_EX), 0);
    setenv("MEZZANINE_CACHE", ("mezzanine://scm=16M@" + path).c_str(), 1);
  }
  ~HeldMedium() {
    close(file_);
    std::remove(path_.c_str());
  }
  void LetGo() const { EXPECT_EQ(flock(file_, LOCK_UN), 0); }

 private:
  const std::string path_;
  const int file_;
};

TEST_F(Preload, ARestartThatOverlapsTheOldProcessGetsTheTierOnceThatHasGone) {
  const HeldMedium medium(::testing::TempDir() + "/mezz_preload_held_" + std::to_string(getpid()));
  InChild("in use by .* asks again for 300 s .*has the SCM tier now, after ", [&] {
    const auto cache = MakeLru();
    const auto other = MakeLru();
    for (uint64_t id = 0; id < 100; ++id) test::InsertBlock(*cache, id);
    test::InsertBlock(*other, 1);
    EXPECT_FALSE(HasScm(*cache));
    medium.LetGo();
    for (uint64_t id = 0; !HasScm(*cache); ++id) test::InsertBlock(*cache, id);
    UseDatabase(cache);
  });
  EXPECT_EQ(reports(), 1);
  EXPECT_GT(SumOf(report(), "scm.hit"), 1000u);
}

TEST_F(Preload, AMediumThatOthersKeepIsAskedForNoLongerThanTheBoundSays) {
  const HeldMedium medium(::testing::TempDir() + "/mezz_preload_held_" + std::to_string(getpid()));
  setenv("MEZZANINE_WAIT", "50ms", 1);
  setenv("MEZZANINE_STRICT", "1", 1);
  EXPECT_EXIT(
      {
        const auto cache = MakeLru();
        for (uint64_t id = 0;; ++id) test::InsertBlock(*cache, id);
      },
      ::testing::ExitedWithCode(2), "asks again for 0.05 s .*asked for 0.05 s, and .* in use by .*the program ends");
  unsetenv("MEZZANINE_STRICT");
  setenv("MEZZANINE_WAIT", "0", 1);
  InChild("in use by .* goes on with its own cache", [&] {
    const auto cache = MakeLru();
    test::InsertBlock(*cache, 1);
    medium.LetGo();
    for (uint64_t id = 0; id < 1000; ++id) test::InsertBlock(*cache, id);
    EXPECT_FALSE(HasScm(*cache));
    exit(ExitOfTest());  // with the cache
  });
  EXPECT_THAT(report(), AllOf(HasSubstr("report: the program has ended"), HasSubstr("no SCM tier: the medium "),
                              HasSubstr("cache: LRUCache of 2 MiB")));
  setenv("MEZZANINE_WAIT", "soon", 1);
  EXPECT_EXIT(_exit(UseDatabase(MakeLru())), ::testing::ExitedWithCode(0),
              "MEZZANINE_WAIT=soon: accepted are 0 and a whole number with s or ms");
}

TEST_F(Preload, TheNextCacheOpensTheMediumOnlyWhenTheLastHasClosedIt) {
  const std::string medium = ::testing::TempDir() + "/mezz_preload_medium_" + std::to_string(getpid());
  setenv("MEZZANINE_CACHE", ("mezzanine://scm=16M@" + medium).c_str(), 1);
  setenv("MEZZANINE_STRICT", "1", 1);
  EXPECT_EXIT(_exit(HandOver(20)), ::testing::ExitedWithCode(0), "");
  std::remove(medium.c_str());
}

TEST_F(Preload, ThreadsMayUseACacheThatGetsTheTier) {
  setenv("MEZZANINE_CACHE", "mezzanine://scm=16M@dram", 1);
  EXPECT_EXIT(_exit(UseBesideTheOpening(4)), ::testing::ExitedWithCode(0), "");
  EXPECT_EQ(reports(), 4);
  EXPECT_GT(SumOf(report(), "scm.hit"), 1000u);
}

TEST_F(Preload, WithoutTheVariableNothingChanges) {
  unsetenv("MEZZANINE_CACHE");
  InChild("^$", [&] {
    const auto cache = MakeLru();
    EXPECT_STREQ(cache->Name(), "LRUCache");
    UseDatabase(cache);
  });
  EXPECT_EQ(reports(), 0);
}

TEST_F(Preload, TheBlocksOfTheProgramsCacheMayBeKeptOutOfCoreDumps) {
  setenv("MEZZANINE_CACHE", (std::string(kUri) + ";core_dump=none").c_str(), 1);
#if ROCKSDB_MAJOR >= 8
  InChild([&] {
    const auto cache = MakeLru();
    test::InsertBlock(*cache, 1);
    EXPECT_TRUE(HasScm(*cache));
    EXPECT_STREQ(cache->memory_allocator()->Name(), "MezzanineUndumpedAllocator");
  });
  InChild("core_dump=none: the LRUCache to wrap keeps its blocks where a dump finds them", [&] {
    const auto cache = rocksdb::NewLRUCache(2 << 20, 0, false, 0.5, std::make_shared<OwnAllocator>());
    test::InsertBlock(*cache, 1);
    EXPECT_FALSE(HasScm(*cache));
    EXPECT_STREQ(cache->memory_allocator()->Name(), "OwnAllocator");
  });
#else
  EXPECT_EXIT(_exit(UseDatabase(MakeLru())), ::testing::ExitedWithCode(0), "core_dump=none needs RocksDB 8.9");
#endif
}

TEST_F(Preload, ABadUriIsToldAndTheProgramGoesOn) {
  setenv("MEZZANINE_CACHE", "mezzanine://scm=64M@dram;speed=fast", 1);
  EXPECT_EXIT(_exit(UseDatabase(MakeLru())), ::testing::ExitedWithCode(0), "key \"speed\".*goes on with its own cache");
  EXPECT_EQ(reports(), 0);
}

TEST_F(Preload, ABadUriEndsAStrictProgramWhenItMakesACache) {
  setenv("MEZZANINE_CACHE", "mezzanine://scm=64M@dram;speed=fast", 1);
  setenv("MEZZANINE_STRICT", "1", 1);
  EXPECT_EXIT(
      {
        MakeLru();
        _exit(0);
      },
      ::testing::ExitedWithCode(2), "key \"speed\".*the program ends");
}

TEST_F(Preload, AMediumThatCannotBeUsedIsToldAndTheProgramGoesOn) {
  setenv("MEZZANINE_CACHE", ("mezzanine://scm=64M@" + ::testing::TempDir()).c_str(), 1);
  EXPECT_EXIT(_exit(UseDatabase(MakeLru())), ::testing::ExitedWithCode(0), "directory.*goes on with its own cache");
  setenv("MEZZANINE_STRICT", "1", 1);
  EXPECT_EXIT(_exit(UseDatabase(MakeLru())), ::testing::ExitedWithCode(2), "directory.*the program ends");
}

TEST_F(Preload, ACacheWithASecondaryCacheIsLeftAsItIs) {
  InChild("this LRUCache has a secondary cache already", [&] {
    rocksdb::CompressedSecondaryCacheOptions secondary;
    secondary.capacity = 16 << 20;
    rocksdb::LRUCacheOptions options;
    options.capacity = kDramBytes;
    options.secondary_cache = rocksdb::NewCompressedSecondaryCache(secondary);
    UseDatabase(rocksdb::NewLRUCache(options));
  });
  EXPECT_EQ(reports(), 0);
}

// Policy and hit bits are sized by the DRAM tier's capacity, and an exception of ours would end the program.
TEST_F(Preload, ACacheWithoutALimitIsTakenForTheMachinesMemory) {
  EXPECT_EXIT(_exit(UseDatabase(rocksdb::NewLRUCache(std::numeric_limits<size_t>::max() / 2, /*num_shard_bits=*/0))),
              ::testing::ExitedWithCode(0), "");
  EXPECT_EQ(reports(), 1);
}

TEST_F(Preload, NonsenseOptionsStillMakeNoCache) {
  EXPECT_EXIT(_exit(rocksdb::NewLRUCache(kDramBytes, /*num_shard_bits=*/20) == nullptr ? 0 : 1),
              ::testing::ExitedWithCode(0), "");
}

#if ROCKSDB_MAJOR < 8
TEST_F(Preload, TheHyperClockCacheOf78IsLeftAsItIs) {
  EXPECT_EXIT(_exit(UseDatabase(rocksdb::HyperClockCacheOptions(kDramBytes, 4096).MakeSharedCache())),
              ::testing::ExitedWithCode(0), "cannot tell what it evicts");
}
#else
TEST_F(Preload, TheProgramsHyperClockCacheGetsAnScmTier) {
  EXPECT_EXIT(_exit(UseDatabase(rocksdb::HyperClockCacheOptions(kDramBytes).MakeSharedCache())),
              ::testing::ExitedWithCode(0), "");
  EXPECT_GT(SumOf(report(), "scm.hit"), 1000u);
  EXPECT_GT(SumOf(report(), "served.in_place") + SumOf(report(), "promotion"), 1000u);
  EXPECT_THAT(report(), HasSubstr("mezzanine://dram=2M;scm="));
}

#if ROCKSDB_MAJOR * 100 + ROCKSDB_MINOR >= 907  // earlier ones do not tell a handle's key
// As uncache_aggressiveness drops the blocks of deleted files.
TEST_F(Preload, ABlockThatIsReleasedToBeErasedLeavesTheScmTierToo) {
  setenv("MEZZANINE_CACHE", "mezzanine://scm=64M@dram;policy=bidirectional", 1);
  InChild("200 blocks found, 0 came back", [&] {
    const auto cache = MakeLru();
    for (uint64_t id = 0; id < 2000; ++id) test::InsertBlock(*cache, id);
    const auto look_up = [&](uint64_t id) {
      return cache->Lookup(test::KeyOf(id), test::kHelpers[0], nullptr, rocksdb::Cache::Priority::LOW, nullptr);
    };
    int found = 0;
    int came_back = 0;
    for (uint64_t id = 0; id < 200; ++id) {
      rocksdb::Cache::Handle* const handle = look_up(id);  // promoted: now in both tiers
      if (handle == nullptr) continue;
      ++found;
      if (id % 2 == 0) {
        cache->Release(handle, /*erase_if_last_ref=*/true);
      } else {
        cache->Release(handle, /*useful=*/true, /*erase_if_last_ref=*/true);
      }
      if (rocksdb::Cache::Handle* const again = look_up(id)) {
        ++came_back;
        cache->Release(again);
      }
    }
    std::cerr << found << " blocks found, " << came_back << " came back" << std::endl;
    _exit(0);
  });
}
#endif

// NewTieredCache makes its primary with a maker that we hide, then sets an eviction callback on it.
TEST_F(Preload, ACacheThatRocksDBPutsASecondaryCacheOverStillTellsItWhatItEvicts) {
  InChild("has a secondary cache already", [&] {
    static int evicted = 0;
    const auto cache = MakeLru();
    cache->SetEvictionCallback([](const rocksdb::Slice&, rocksdb::Cache::Handle*, bool) {
      ++evicted;
      return false;
    });
    UseDatabase(cache);
    EXPECT_GE(evicted, 1000);
  });
  EXPECT_EQ(reports(), 0);
}
#endif

// --- the options of the program's databases ---

TEST_F(Preload, DatabasesAreOpenedToWarmTheCacheAndToTellOfDeletedFiles) {
  InChild([&] {
    PlainDb db(MakeLru());
    db.Open();
    EXPECT_EQ(db.warming(), kBestWarming);
    EXPECT_TRUE(db.listens());
    EXPECT_TRUE(db.options_.listeners.empty()) << "the program's options";
    db.WriteTwiceAndCompact();
    db.Close();
    db.Open();
    EXPECT_TRUE(db.listens()) << "one";
  });
}

TEST_F(Preload, TheReportSaysThatWarmingArrives) {
  InChild([&] {
    const auto cache = MakeLru();
    {
      PlainDb db(cache);
      db.Open();
      db.WriteTwiceAndCompact();
    }
  });
  EXPECT_THAT(report(),
              HasSubstr(kWarmsWithCompactions ? "\nheirs: on, warming arrives: " : " warms with flushes only"));
  EXPECT_EQ(SumOf(report(), "scm.file_forgotten"), 2u);
}

TEST_F(Preload, FamiliesThatAreCreatedLaterAndTablesFromStringsAreWarmedToo) {
  InChild([&] {
    PlainDb db;
    rocksdb::Options base;
    base.create_if_missing = true;
    EXPECT_EQ(
        rocksdb::GetOptionsFromString(base, "block_based_table_factory={block_cache=4M;block_size=8K}", &db.options_)
            .ToString(),
        "OK");
    db.Open();
    EXPECT_EQ(db.warming(), kBestWarming);
    const PlainDb other(MakeLru());
    rocksdb::ColumnFamilyHandle* family = nullptr;
    EXPECT_EQ(db.db_->CreateColumnFamily(other.options_, "later", &family).ToString(), "OK");
    EXPECT_EQ(db.WarmingOf(family), kBestWarming);
    db.handles_.push_back(family);
    db.Close();
  });
}

TEST_F(Preload, DatabasesWithTransactionsToo) {
  InChild([&] {
    PlainDb db(MakeLru());
    rocksdb::TransactionDB* transactions = nullptr;
    EXPECT_TRUE(rocksdb::TransactionDB::Open(db.options_, {}, db.path_, &transactions).ok());
    EXPECT_TRUE(PlainDb::Listens(transactions->GetDBOptions()));
    EXPECT_EQ(TableOptionsOf(transactions->GetOptions().table_factory.get())->prepopulate_block_cache, kBestWarming);
    delete transactions;
  });
}

TEST_F(Preload, WithoutHeirsTheOptionsAreTheProgramsOwn) {
  setenv("MEZZANINE_CACHE", (std::string(kUri) + ";heirs=off").c_str(), 1);
  InChild([&] {
    PlainDb db(MakeLru());
    db.Open();
    EXPECT_EQ(db.warming(), Warming::kDisable);
    EXPECT_FALSE(db.listens());
    db.WriteTwiceAndCompact();
  });
}

TEST_F(Preload, CachesThatAreNotOursAreNotWarmed) {
  unsetenv("MEZZANINE_CACHE");
  InChild("^$", [&] {
    PlainDb db(MakeLru());
    db.Open();
    EXPECT_EQ(db.warming(), Warming::kDisable);
    EXPECT_FALSE(db.listens());
  });
}

TEST_F(Preload, ADatabaseOfDramAloneIsNotWarmed) {
  InChild([&] {
    PlainDb db(MakeLru());
    db.options_.lowest_used_cache_tier = rocksdb::CacheTier::kVolatileTier;
    db.Open();
    EXPECT_EQ(db.warming(), Warming::kDisable);
  });
}

TEST_F(Preload, AnOpeningFailsAsItWouldWithoutUs) {
  InChild([&] {
    PlainDb db(MakeLru());
    db.options_.create_if_missing = false;
    EXPECT_THAT(db.TryOpen({{"default", db.options_}}).ToString(), HasSubstr("create_if_missing is false"));
  });
}

// What only the SCM tier's sake warms must not push out what a cache without it holds.
TEST_F(Preload, ACacheThatGoesWithoutScmIsWarmedAsTheProgramAskedAndNoMore) {
  EXPECT_EXIT(_exit(BlocksWithoutScm(Warming::kDisable, /*compact=*/true) < 20 ? ExitOfTest() : 1),
              ::testing::ExitedWithCode(0),
              "another cache of this process has the SCM tier, the LRUCache of 2 MiB, so the LRUCache of 16 MiB of "
              "[^ ]*mezz_plain_db_[0-9]* goes without");
  EXPECT_EXIT(_exit(BlocksWithoutScm(Warming::kFlushOnly, /*compact=*/false) > 400 ? ExitOfTest() : 1),
              ::testing::ExitedWithCode(0), "");
  if (kBestWarming == Warming::kFlushOnly) return;
  EXPECT_EXIT(_exit(BlocksWithoutScm(kBestWarming, /*compact=*/true) > 400 ? ExitOfTest() : 1),
              ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace mezz
