// SPDX-License-Identifier: Apache-2.0
// BlobDB with blob_cache = the hybrid cache: where its values lie, and that none of them is ever an old one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "integration/hybrid_cache.h"
#include "rocksdb/statistics.h"
#include "rocksdb/version.h"
#include "tests/support/hybrid_db.h"
#include "tests/support/random.h"
#include "tests/support/seed.h"
#if ROCKSDB_MAJOR >= 8
#include "rocksdb/advanced_cache.h"
#endif

namespace mezz::test {
namespace {

constexpr uint32_t kKeys = 1500;
constexpr uint64_t kDramBytes = 256 << 10, kScmBytes = 4 << 20;

std::string KeyName(uint32_t id) { return "key" + std::to_string(1'000'000 + id); }

// Half of the values are large enough to be served in place. All of a value's bytes follow from its key and version.
std::string ValueOf(uint32_t id, uint32_t version) {
  std::string value(id % 2 == 0 ? 400 : 1500, '\0');
  std::memcpy(value.data(), &id, sizeof(id));
  std::memcpy(value.data() + sizeof(id), &version, sizeof(version));
  for (size_t at = 8; at < value.size(); ++at)
    value[at] = static_cast<char>(Mix(uint64_t{id} << 32 | version) >> at % 8 * 8);
  return value;
}

struct Config {
  const char* policy;
  BlobPlacement blobs;
  bool prepopulate;
  PackMode pack = PackMode::kOff;
};

class BlobValues : public HybridDbTest, public ::testing::WithParamInterface<Config> {
 protected:
  void Make(const Config& config) {
    HybridCacheOptions options = OptionsOf(kDramBytes, kScmBytes);
    options.policy = config.policy;
    options.serve = ServeMode::kInPlace;
    options.scm.pack = config.pack;
    options.scm.expected_block_bytes = 512;
    options.blobs = config.blobs;
    HybridTest::Make(options);
    options_.table_factory = WholeTablesOf(cache_);
    options_.disable_auto_compactions = true;
    options_.enable_blob_files = true;
    options_.min_blob_size = 64;
    options_.blob_file_size = 1 << 20;
    options_.enable_blob_garbage_collection = true;
    options_.blob_garbage_collection_age_cutoff = 1;
    options_.blob_cache = cache_;
    if (config.prepopulate) options_.prepopulate_blob_cache = rocksdb::PrepopulateBlobCache::kFlushOnly;
    options_.statistics = rocksdb::CreateDBStatistics();
    Open();
  }

  void Put(uint32_t id) { ASSERT_TRUE(db_->Put({}, KeyName(id), ValueOf(id, ++versions_[id])).ok()); }
  void PutAll() {
    for (uint32_t id = 0; id < kKeys; ++id) Put(id);
    ASSERT_TRUE(db_->Flush({}).ok());
  }
  void Get(uint32_t id) {
    rocksdb::PinnableSlice value;
    ASSERT_TRUE(db_->Get({}, handles_[0], KeyName(id), &value).ok());
    ASSERT_EQ(value, ValueOf(id, versions_[id])) << "key " << id << ", version " << versions_[id];
  }
  void GetAll() {
    for (uint32_t id = 0; id < kKeys; ++id) Get(id);
  }
  void MultiGet(Random& random) {
    constexpr size_t kBatch = 8;
    std::array<uint32_t, kBatch> ids;
    std::array<std::string, kBatch> names;
    std::array<rocksdb::Slice, kBatch> keys;
    std::array<rocksdb::PinnableSlice, kBatch> values;
    std::array<rocksdb::Status, kBatch> statuses;
    for (size_t i = 0; i < kBatch; ++i) {
      ids[i] = static_cast<uint32_t>(random.Below(kKeys));
      keys[i] = names[i] = KeyName(ids[i]);
    }
    db_->MultiGet({}, handles_[0], kBatch, keys.data(), values.data(), statuses.data());
    for (size_t i = 0; i < kBatch; ++i) ASSERT_EQ(values[i], ValueOf(ids[i], versions_[ids[i]]));
  }
  void Scan(Random& random) {
    const std::unique_ptr<rocksdb::Iterator> scan(db_->NewIterator({}));
    auto id = static_cast<uint32_t>(random.Below(kKeys));
    scan->Seek(KeyName(id));
    for (int i = 0; i < 10 && scan->Valid(); ++i, ++id, scan->Next())
      ASSERT_EQ(scan->value(), ValueOf(id, versions_[id]));
  }
  void ReadFor(int reads, Random& random) {
    for (int i = 0; i < reads && !HasFatalFailure(); ++i) {
      const uint64_t roll = random.Below(20);
      if (roll == 0) {
        MultiGet(random);
      } else if (roll == 1) {
        Scan(random);
      } else {  // half of them of a third of the keys
        Get(static_cast<uint32_t>(random.OneIn(2) ? random.Below(kKeys / 3) : random.Below(kKeys)));
      }
    }
  }

  uint64_t OfBlobs(Event event) const { return stats_->Counters().of(event, BlockRole::kBlob); }
  uint64_t Ticker(uint32_t ticker) const { return options_.statistics->getTickerCount(ticker); }
#if ROCKSDB_MAJOR >= 8
  // Entries of the DRAM tier, by what RocksDB says they are.
  size_t InDram(rocksdb::CacheEntryRole role) const {
    size_t entries = 0;
    cache_->ApplyToAllEntries(
        [&](const rocksdb::Slice&, rocksdb::Cache::ObjectPtr, size_t, const rocksdb::Cache::CacheItemHelper* helper) {
          if (helper != nullptr && helper->role == role) ++entries;
        },
        {});
    return entries;
  }
  // Of blob values DRAM sees none, and what it holds is what finds them.
  void ExpectDramIsForKeys() const {
    EXPECT_EQ(InDram(rocksdb::CacheEntryRole::kBlobValue), 0u);
    EXPECT_GT(InDram(rocksdb::CacheEntryRole::kDataBlock), 0u);
    EXPECT_EQ(OfBlobs(Event::kDramHit) + OfBlobs(Event::kPromotion) + OfBlobs(Event::kDemotion), 0u);
    EXPECT_GT(OfBlobs(Event::kInsertToScm), 0u);
    EXPECT_GT(OfBlobs(Event::kServedCopied), 0u) << "small ones";
    if (GetParam().pack == PackMode::kOff) {
      EXPECT_GT(OfBlobs(Event::kServedInPlace), 0u);
    }
    EXPECT_GT(stats_->Decisions().of(DecisionPoint::kScmHit, Action::kInPlace, Reason::kRole, BlockRole::kBlob) +
                  stats_->Decisions().of(DecisionPoint::kMiss, Action::kToScm, Reason::kRole, BlockRole::kBlob),
              0u)
        << stats_->Report();
  }
#endif

  const uint64_t seed_ = Seed();
  const testing::ScopedTrace trace_{__FILE__, __LINE__, "MEZZ_SEED=" + std::to_string(seed_)};
  std::array<uint32_t, kKeys> versions_{};
};

TEST_P(BlobValues, AreTheLatestWhateverMovesThem) {
  ASSERT_NO_FATAL_FAILURE(Make(GetParam()));
  Random random(seed_);
  ASSERT_NO_FATAL_FAILURE(PutAll());
  for (int round = 0; round < 5; ++round) {
    ReadFor(1500, random);
    ASSERT_FALSE(HasFatalFailure());
    for (uint32_t i = 0; i < kKeys / 2; ++i) Put(static_cast<uint32_t>(random.Below(kKeys)));
    ASSERT_TRUE(db_->Flush({}).ok());
    ReadFor(1500, random);
    ASSERT_FALSE(HasFatalFailure());
    if (round % 2 == 1) {
      ASSERT_TRUE(db_->CompactRange({}, nullptr, nullptr).ok());
      EXPECT_GT(Ticker(rocksdb::BLOB_DB_GC_NUM_KEYS_RELOCATED), 0u) << "no blob GC ran";
    }
    if (round == 2) {
      Close();
      ASSERT_NO_FATAL_FAILURE(Open());
    }
  }
  ASSERT_NO_FATAL_FAILURE(GetAll());
  EXPECT_GT(Count(Event::kScmHit), 0u);
#if ROCKSDB_MAJOR >= 8
  if (GetParam().blobs == BlobPlacement::kScm) ExpectDramIsForKeys();
#endif
}

// With blob GC their bytes get other keys: what it reads of the cache it does not warm, and leaves as hot as it was.
TEST_P(BlobValues, AreNotBroughtInByBlobGC) {
  ASSERT_NO_FATAL_FAILURE(Make(GetParam()));
  ASSERT_NO_FATAL_FAILURE(PutAll());
  ASSERT_NO_FATAL_FAILURE(GetAll());
  Put(0);
  Put(kKeys - 1);  // a table that overlaps the first in part only is moved, not compacted
  ASSERT_TRUE(db_->Flush({}).ok());
  const uint64_t added = Ticker(rocksdb::BLOB_DB_CACHE_ADD);
  ASSERT_TRUE(db_->CompactRange({}, nullptr, nullptr).ok());
  EXPECT_GT(Ticker(rocksdb::BLOB_DB_GC_NUM_KEYS_RELOCATED), kKeys / 2);
  EXPECT_EQ(Ticker(rocksdb::BLOB_DB_CACHE_ADD), added);
  ASSERT_NO_FATAL_FAILURE(GetAll());
  EXPECT_GT(Ticker(rocksdb::BLOB_DB_CACHE_ADD), added) << "relocated values are found under their old keys";
}

TEST_P(BlobValues, ArePrepopulatedByAFlush) {
  if (!GetParam().prepopulate) GTEST_SKIP() << "a configuration without prepopulate_blob_cache";
  ASSERT_NO_FATAL_FAILURE(Make(GetParam()));
  ASSERT_NO_FATAL_FAILURE(PutAll());
  ASSERT_NO_FATAL_FAILURE(GetAll());
  EXPECT_EQ(Ticker(rocksdb::BLOB_DB_CACHE_MISS), 0u) << "the SCM tier has room for all of them";
  EXPECT_GE(Ticker(rocksdb::BLOB_DB_CACHE_HIT), kKeys);
}

constexpr Config kConfigs[] = {
    {"dram_first", BlobPlacement::kBoth, false},
    {"adaptive", BlobPlacement::kBoth, true},
#if ROCKSDB_MAJOR >= 8
    {"dram_first", BlobPlacement::kScm, false},
    {"bidirectional", BlobPlacement::kScm, true},
    {"placeholder", BlobPlacement::kScm, false},
    {"adaptive", BlobPlacement::kScm, true},
    {"adaptive", BlobPlacement::kScm, false, PackMode::kLz4},
#endif
};
std::string ConfigName(const ::testing::TestParamInfo<Config>& info) {
  const auto [policy, blobs, prepopulate, pack] = info.param;
  std::string name = policy;
  name.append("_").append(ToString(blobs)).append(prepopulate ? "_prepopulated" : "");
  if (pack != PackMode::kOff) name.append("_").append(ToString(pack));
  return name;
}
INSTANTIATE_TEST_SUITE_P(All, BlobValues, ::testing::ValuesIn(kConfigs), ConfigName);

TEST(BlobPlacementOption, IsRefusedWhereNobodyTellsWhatABlobIs) {
  HybridCacheOptions options;
  const Status parsed = ParseHybridUri("mezzanine://dram=4M;scm=16M@dram;blobs=scm", &options);
  EXPECT_EQ(parsed.ok(), kTellsRoles) << parsed.message();
  if (!kTellsRoles) {
    EXPECT_THAT(parsed.message(), testing::HasSubstr("blobs=scm"));
  }
  const Status wrong = ParseHybridUri("mezzanine://dram=4M;scm=16M@dram;blobs=dram", &options);
  EXPECT_THAT(wrong.message(), testing::HasSubstr("blobs=dram is unknown: choose both or scm"));
  const Status secondary = ParseScmSecondaryUri("mezzanine_scm://scm=16M@dram;blobs=scm", &options);
  EXPECT_THAT(secondary.message(), testing::HasSubstr("blobs"));
  EXPECT_FALSE(secondary.ok());
}

}  // namespace
}  // namespace mezz::test
