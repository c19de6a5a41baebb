// SPDX-License-Identifier: Apache-2.0
// The SCM tier under RocksDB's stock caches, on every release.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "integration/hybrid_cache.h"
#include "rocksdb/version.h"
#include "tests/support/hybrid_fixture.h"
#include "tests/support/sanitizer.h"
#include "tests/support/small_db.h"
#include "tests/support/versioned_cache.h"

#if ROCKSDB_MAJOR >= 8
#include "rocksdb/advanced_cache.h"
#endif

namespace mezz {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr size_t kScmBytes = 64 << 20;

HybridCacheOptions Anonymous(std::string policy) {
  HybridCacheOptions options;
  options.scm.medium = MediumKind::kAnonymous;
  options.scm.capacity_bytes = kScmBytes;
  options.policy = std::move(policy);
  return options;
}

std::shared_ptr<rocksdb::SecondaryCache> MustMake(const HybridCacheOptions& options) {
  std::shared_ptr<rocksdb::SecondaryCache> cache;
  EXPECT_EQ(NewScmSecondaryCache(options, &cache).message(), "");
  return cache;
}

struct Setup {
  std::string policy;
  bool hyper_clock;
  bool strict;
};

class ScmSecondaryCacheUnder : public ::testing::TestWithParam<Setup> {
 protected:
  static std::shared_ptr<rocksdb::Cache> DramOver(std::shared_ptr<rocksdb::SecondaryCache> secondary) {
    constexpr size_t kDramBytes = 2 << 20;
#if ROCKSDB_MAJOR >= 8
    if (GetParam().hyper_clock) {
      rocksdb::HyperClockCacheOptions dram(kDramBytes);
      dram.strict_capacity_limit = GetParam().strict;
      dram.secondary_cache = std::move(secondary);
      return dram.MakeSharedCache();
    }
#endif
    rocksdb::LRUCacheOptions dram;
    dram.capacity = kDramBytes;
    dram.num_shard_bits = 0;
    dram.strict_capacity_limit = GetParam().strict;
    dram.secondary_cache = std::move(secondary);
    return rocksdb::NewLRUCache(dram);
  }
};

TEST_P(ScmSecondaryCacheUnder, ServesWhatDramEvictsAndWritesEachBlockOnce) {
  const auto secondary = MustMake(Anonymous(GetParam().policy));
  HybridStats* const stats = GetHybridStats(secondary.get());
  ASSERT_NE(stats, nullptr);
  {
    test::SmallDb db(DramOver(secondary));
    for (int round = 0; round < 3; ++round) db.ReadAll();
  }
  const CounterSnapshot counters = stats->Counters();
  EXPECT_GT(counters[Event::kScmHit], 10'000u / test::kStressShare);
  EXPECT_EQ(counters[Event::kScmHit], counters[Event::kPromotion] + counters[Event::kServedCopied]);
  EXPECT_EQ(counters[Event::kDemotion], counters[Event::kScmPut]);
  EXPECT_EQ(counters[Event::kScmReplaced], 0u) << "a block was written that was there already";
  EXPECT_EQ(counters[Event::kScmChecksumMismatch] + counters[Event::kCreateFailed], 0u);
  if (GetParam().policy == "dram_first" && ROCKSDB_MAJOR >= 8) {
    EXPECT_GT(counters[Event::kServedCopied], 0u) << "each first hit is served without moving in";
  } else {
    EXPECT_EQ(counters[Event::kServedCopied], 0u);
    EXPECT_GT(counters[Event::kCleanEviction], 0u) << "what moved in comes back, and is not written again";
  }
  test::ExpectSound(stats);
}

std::vector<Setup> Setups() {
  std::vector<Setup> setups;
  for (const char* policy : {"dram_first", "scm_first", "bidirectional"}) {
    setups.push_back({policy, /*hyper_clock=*/false, /*strict=*/false});
    if (ROCKSDB_MAJOR < 8) continue;
    setups.push_back({policy, /*hyper_clock=*/true, /*strict=*/false});
    setups.push_back({policy, /*hyper_clock=*/false, /*strict=*/true});
  }
  return setups;
}
INSTANTIATE_TEST_SUITE_P(All, ScmSecondaryCacheUnder, ::testing::ValuesIn(Setups()), [](const auto& setup) {
  return setup.param.policy + (setup.param.hyper_clock ? "_hcc" : "_lru") + (setup.param.strict ? "_strict" : "");
});

// RocksDB's adapter tells the second tier of evictions, never of an Insert.
TEST_P(ScmSecondaryCacheUnder, ServesTheBytesThatLeftDramLast) {
  const auto secondary = MustMake(Anonymous(GetParam().policy));
  HybridStats* const stats = GetHybridStats(secondary.get());
  const auto raw = DramOver(secondary);
  const test::VersionedCache cache(raw.get());
  // Several times the DRAM tier: HyperClockCache passes by what was hit a few times.
  const auto evict_all = [&] {
    for (uint64_t i = 0; i < 3000; ++i) ASSERT_TRUE(cache.Insert(1'000'000 + i % 1500, 1, 5000));
  };
  for (const uint64_t version : {1, 2, 3}) {
    for (const size_t bytes : {5000, 60'000}) ASSERT_TRUE(cache.Insert(bytes, version, bytes));
    evict_all();
    for (const size_t bytes : {5000, 60'000}) {
      const auto hit = cache.Lookup(bytes);
      ASSERT_TRUE(hit.has_value()) << bytes;
      EXPECT_TRUE(hit->whole);
      EXPECT_EQ(hit->version, version) << bytes;
    }
    evict_all();  // what the look-ups moved in: HyperClockCache would keep it rather than the next version
  }
  EXPECT_GE(stats->Counters()[Event::kChangedEviction], 4u);
}

TEST(ScmSecondaryCache, ReportsAUriThatMakesItAgain) {
  const auto cache = MustMake(Anonymous("bidirectional"));
  EXPECT_THAT(cache->GetPrintableOptions(), StartsWith("options: mezzanine_scm://scm=64M@dram;"));
  EXPECT_THAT(cache->GetPrintableOptions(), HasSubstr("\nscm.hit: 0"));
}

TEST(ScmSecondaryCache, ThePolicyChangesWhileTheCacheIsUsed) {
  const auto cache = MustMake(Anonymous("dram_first"));
  HybridStats* const stats = GetHybridStats(cache.get());
  EXPECT_EQ(cache->SupportForceErase(), ROCKSDB_MAJOR >= 8);
  ASSERT_TRUE(stats->SetPolicy("bidirectional").ok());
  EXPECT_EQ(stats->PolicyName(), "bidirectional");
  EXPECT_FALSE(cache->SupportForceErase()) << "each hit moves in";
  EXPECT_THAT(cache->GetPrintableOptions(), HasSubstr("policy=bidirectional"));
  ASSERT_TRUE(stats->SetPolicy("dram_first").ok());
  EXPECT_EQ(cache->SupportForceErase(), ROCKSDB_MAJOR >= 8);
  EXPECT_THAT(stats->SetPolicy("best").message(), HasSubstr("dram_first"));
}

TEST(ScmSecondaryCache, CapacityGoesDownAndUpButNotPastTheMedium) {
  const auto cache = MustMake(Anonymous("dram_first"));
  size_t capacity = 0;
  ASSERT_TRUE(cache->GetCapacity(capacity).ok());
  EXPECT_EQ(capacity, kScmBytes);
  EXPECT_TRUE(cache->SetCapacity(kScmBytes / 2).ok());
  ASSERT_TRUE(cache->GetCapacity(capacity).ok());
  EXPECT_EQ(capacity, kScmBytes / 2);
  EXPECT_FALSE(cache->SetCapacity(kScmBytes * 2).ok());
  ASSERT_TRUE(cache->GetCapacity(capacity).ok());
  EXPECT_EQ(capacity, kScmBytes / 2);
  EXPECT_TRUE(cache->SetCapacity(0).ok());
  EXPECT_TRUE(cache->SetCapacity(kScmBytes).ok());
}

// Somebody cuts the file off under a database. No read of it fails, in either of the caches.
TEST(BusErrorsUnderADatabase, CloseTheTierAndItGoesOnWithDramAlone) {
  for (const bool hybrid : {false, true}) {
    SCOPED_TRACE(hybrid ? "mezzanine" : "mezzanine_scm");
    const test::ScratchFile file;
    HybridCacheOptions options = Anonymous("adaptive");
    options.scm.medium = MediumKind::kFile;
    options.scm.path = file.path();
    options.scm.pack = hybrid ? PackMode::kLz4 : PackMode::kOff;
    options.scm.bus_errors = BusErrorMode::kContain;
    std::shared_ptr<rocksdb::SecondaryCache> secondary;
    std::shared_ptr<rocksdb::Cache> cache;
    if (hybrid) {
      options.serve = ServeMode::kCopy;
      options.dram_bytes = 2 << 20;
      options.dram_cache = DramCacheKind::kLru;
      options.dram_shard_bits = 0;
      ASSERT_EQ(NewHybridCache(options, &cache).message(), "");
    } else {
      secondary = MustMake(options);
      rocksdb::LRUCacheOptions dram;
      dram.capacity = 2 << 20;
      dram.num_shard_bits = 0;
      dram.secondary_cache = secondary;
      cache = rocksdb::NewLRUCache(dram);
    }
    HybridStats* const stats = hybrid ? GetHybridStats(cache.get()) : GetHybridStats(secondary.get());
    {
      test::SmallDb db(cache);
      for (int round = 0; round < 2; ++round) db.ReadAll();
      EXPECT_GT(stats->Counters()[Event::kScmHit], 1000u);
      std::filesystem::resize_file(file.path(), 0);
      db.ReadAll();
    }
    EXPECT_GT(stats->scm().figures().bus_errors(), 0u);
    EXPECT_TRUE(stats->scm().figures().is_closed());
  }
}

TEST(ScmSecondaryCache, BadOptionsMakeNoCache) {
  std::shared_ptr<rocksdb::SecondaryCache> cache;
  EXPECT_THAT(NewScmSecondaryCache(Anonymous("best"), &cache).message(), HasSubstr("best"));
  EXPECT_EQ(cache, nullptr);
}

#if ROCKSDB_MAJOR >= 8
const std::string kKey = "0123456789abcdef";

// Cached strings, as RocksDB would hand them over.
size_t SizeOf(rocksdb::Cache::ObjectPtr object) { return static_cast<std::string*>(object)->size(); }
rocksdb::Status SaveTo(rocksdb::Cache::ObjectPtr object, size_t offset, size_t bytes, char* to) {
  static_cast<std::string*>(object)->copy(to, bytes, offset);
  return rocksdb::Status::OK();
}
void Delete(rocksdb::Cache::ObjectPtr object, rocksdb::MemoryAllocator*) { delete static_cast<std::string*>(object); }
rocksdb::Status Create(const rocksdb::Slice& data, rocksdb::CompressionType, rocksdb::CacheTier,
                       rocksdb::Cache::CreateContext* context, rocksdb::MemoryAllocator*,
                       rocksdb::Cache::ObjectPtr* object, size_t* charge) {
  if (context != nullptr) return rocksdb::Status::Corruption("asked to fail");
  *object = new std::string(data.ToString());
  *charge = data.size();
  return rocksdb::Status::OK();
}
const rocksdb::Cache::CacheItemHelper kPlain(rocksdb::CacheEntryRole::kDataBlock, &Delete);
const rocksdb::Cache::CacheItemHelper kFull(rocksdb::CacheEntryRole::kDataBlock, &Delete, &SizeOf, &SaveTo, &Create,
                                            &kPlain);

std::string LookedUp(rocksdb::SecondaryCache& cache, const std::string& key,
                     rocksdb::Cache::CreateContext* context = nullptr) {
  bool kept = true;
  const auto result = cache.Lookup(key, &kFull, context, /*wait=*/true, /*advise_erase=*/false,
#if ROCKSDB_MAJOR * 100 + ROCKSDB_MINOR >= 810
                                   /*stats=*/nullptr,
#endif
                                   kept);
  EXPECT_FALSE(kept) << "a yes would lose blocks that are reclaimed while they are in DRAM";
  if (result == nullptr) return "";
  EXPECT_TRUE(result->IsReady());
  const std::unique_ptr<std::string> value(static_cast<std::string*>(result->Value()));
  EXPECT_EQ(result->Size(), value->size());
  return *value;
}

TEST(ScmSecondaryCache, KeepsSavedBlocksThatAreNotCompressed) {
  const auto cache = MustMake(Anonymous("dram_first"));
  testing::internal::CaptureStderr();
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(
        cache->InsertSaved(kKey, "squeezed", rocksdb::kZSTD, rocksdb::CacheTier::kVolatileTier).IsNotSupported());
  }
  const std::string told = testing::internal::GetCapturedStderr();
  EXPECT_NE(told.find("none of them is stored: use mezzanine://"), std::string::npos) << told;
  EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 1) << "told once: " << told;
  EXPECT_EQ(GetHybridStats(cache.get())->Counters()[Event::kRefusedCompressed], 2u);
  EXPECT_EQ(LookedUp(*cache, kKey), "");
  EXPECT_TRUE(cache->InsertSaved(kKey, "plain", rocksdb::kNoCompression, rocksdb::CacheTier::kVolatileTier).ok());
  EXPECT_EQ(LookedUp(*cache, kKey), "plain");
  cache->Erase(kKey);
  EXPECT_EQ(LookedUp(*cache, kKey), "");
}

TEST(ScmSecondaryCache, TakesNoImages) {
  HybridCacheOptions options = Anonymous("dram_first");
  options.scm.pack = PackMode::kImage;
  std::shared_ptr<rocksdb::SecondaryCache> cache;
  const Status made = NewScmSecondaryCache(options, &cache);
  EXPECT_EQ(made.code(), Status::Code::kNotSupported);
  EXPECT_NE(made.message().find("pack=image: a secondary cache"), std::string::npos) << made.message();
}

TEST(ScmSecondaryCache, RefusesWhatIsForHybridCaches) {
  std::shared_ptr<rocksdb::SecondaryCache> cache;
  HybridCacheOptions options = Anonymous("dram_first");
  options.curve = true;
  EXPECT_NE(NewScmSecondaryCache(options, &cache).message().find("curve: a secondary cache"), std::string::npos);
  options = Anonymous("dram_first");
  options.blobs = BlobPlacement::kScm;
  EXPECT_NE(NewScmSecondaryCache(options, &cache).message().find("blobs=scm: a secondary cache"), std::string::npos);
}

// Nobody sees there how long a miss took.
TEST(ScmSecondaryCache, PacksWithLz4UnderAuto) {
  HybridCacheOptions options = Anonymous("dram_first");
  options.scm.pack = PackMode::kAuto;
  const auto cache = MustMake(options);
  const std::string report = GetHybridStats(cache.get())->Report();
  EXPECT_NE(report.find("pack.codec: lz4\nscm.packed_ratio"), std::string::npos) << report;
  EXPECT_NE(report.find("flash.miss_ns: 0\n"), std::string::npos) << report;
}

TEST(ScmSecondaryCache, WhatItCannotTakeIsCountedAndForgotten) {
  const auto cache = MustMake(Anonymous("dram_first"));
  HybridStats* const stats = GetHybridStats(cache.get());
  std::string value(5000, 'x');
  EXPECT_TRUE(cache->Insert("short key", &value, &kFull, false).ok());
  EXPECT_EQ(stats->Counters()[Event::kRefusedKeySize], 1u);
  EXPECT_TRUE(cache->Insert(kKey, &value, &kPlain, false).ok());
  EXPECT_EQ(stats->Counters()[Event::kRefusedNotPersistable], 1u);
  EXPECT_EQ(LookedUp(*cache, "short key"), "");
  EXPECT_TRUE(cache->Insert(kKey, &value, &kFull, false).ok());
  EXPECT_EQ(LookedUp(*cache, kKey), value);
  rocksdb::Cache::CreateContext failing;
  EXPECT_EQ(LookedUp(*cache, kKey, &failing), "");
  EXPECT_EQ(stats->Counters()[Event::kCreateFailed], 1u);
  EXPECT_EQ(stats->scm().Audit().live_pins, 0u);
}

TEST(ScmSecondaryCache, DeflateTakesCapacityForAWhile) {
  const auto cache = MustMake(Anonymous("dram_first"));
  HybridStats* const stats = GetHybridStats(cache.get());
  EXPECT_TRUE(cache->Deflate(16 << 20).ok());
  EXPECT_EQ(stats->scm().figures().capacity_bytes(), kScmBytes - (16 << 20));
  EXPECT_TRUE(cache->Inflate(64 << 20).ok());
  EXPECT_EQ(stats->scm().figures().capacity_bytes(), kScmBytes);
}

TEST(ScmSecondaryCache, DeflateStopsAtTheSmallestTierAndFindsItsWayBack) {
  const auto cache = MustMake(Anonymous("dram_first"));
  HybridStats* const stats = GetHybridStats(cache.get());
  const size_t segment = stats->scm().options().segment_bytes;
  size_t deflated = 0;
  const auto deflate_to = [&](size_t left) {
    EXPECT_TRUE(cache->Deflate(kScmBytes - left - deflated).ok());
    deflated = kScmBytes - left;
  };
  deflate_to(9 * segment);
  EXPECT_EQ(stats->scm().figures().capacity_bytes(), 9 * segment);
  for (size_t segments = 7; segments > 0; --segments) {
    deflate_to(segments * segment);
    EXPECT_EQ(stats->scm().figures().capacity_bytes(), kSegmentsMin * segment) << segments;
  }
  size_t configured = 0;
  EXPECT_TRUE(cache->GetCapacity(configured).ok());
  EXPECT_EQ(configured, kScmBytes);
  deflate_to(0);
  EXPECT_EQ(stats->scm().figures().capacity_bytes(), 0u);
  EXPECT_TRUE(cache->Deflate(SIZE_MAX).ok());
  EXPECT_TRUE(cache->Inflate(SIZE_MAX - segment * 16).ok());
  EXPECT_EQ(stats->scm().figures().capacity_bytes(), kScmBytes - segment * 16) << "what was not given back";
  EXPECT_TRUE(cache->Inflate(SIZE_MAX).ok());
  EXPECT_EQ(stats->scm().figures().capacity_bytes(), kScmBytes);
}
#endif

}  // namespace
}  // namespace mezz
