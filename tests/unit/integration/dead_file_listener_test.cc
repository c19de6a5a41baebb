// SPDX-License-Identifier: Apache-2.0
// The keys that the cache really saw say which files they are of; databases say which files they deleted.
#include "integration/dead_file_listener.h"

#include <gtest/gtest.h>

#include <set>

#include "integration/file_id.h"
#include "integration/hybrid_cache.h"
#include "rocksdb/sst_file_writer.h"
#include "tests/support/hybrid_db.h"

namespace mezz::test {
namespace {

using Files = std::set<FileId>;

constexpr int kKeys = 1000;
constexpr uint64_t kDramBytes = 256 << 10, kScmBytes = 12 << 20;

std::string KeyName(int i) { return "key" + std::to_string(1'000'000 + i); }
std::string ValueOf(int i, int version) { return std::string(900, static_cast<char>('a' + (i + version) % 26)); }

class DeadFileListenerTest : public HybridDbTest {
 protected:
  void SetUp() override {
    HybridCacheOptions options = OptionsOf(kDramBytes, kScmBytes);
    options.policy = "dram_first";  // what DRAM evicts comes to SCM
    Make(options);
    options_.disable_auto_compactions = true;
    options_.table_factory = WholeTablesOf(cache_);
  }

  void Listen() {
    std::shared_ptr<rocksdb::EventListener> listener;
    ASSERT_TRUE(NewDeadFileListener(cache_, &listener).ok());
    options_.listeners.push_back(std::move(listener));
  }
  // Every key, into a table of its own.
  void Write(int version) {
    version_ = version;
    for (int i = 0; i < kKeys; ++i) ASSERT_TRUE(db_->Put({}, KeyName(i), ValueOf(i, version)).ok());
    ASSERT_TRUE(db_->Flush({}).ok());
  }
  void Compact() { ASSERT_TRUE(db_->CompactRange({}, nullptr, nullptr).ok()); }
  void ReadAll() {
    std::string value;
    for (int i = 0; i < kKeys; ++i) {
      ASSERT_TRUE(db_->Get({}, KeyName(i), &value).ok()) << i;
      ASSERT_EQ(value, ValueOf(i, version_)) << i;
    }
  }
  // As the properties of the tables that live say.
  Files Live() {
    rocksdb::TablePropertiesCollection tables;
    EXPECT_TRUE(db_->GetPropertiesOfAllTables(&tables).ok());
    Files files;
    for (const auto& [path, table] : tables) files.insert(FileIdOf(*table));
    return files;
  }
  // As the keys that came to the cache say.
  Files InScm() const {
    Files files;
    stats_->scm().figures().ForEach([&](const BlockKey& key, size_t, BlockRole) { files.insert(key.file()); });
    return files;
  }
  bool Forgotten(const Files& files) const {
    return std::ranges::all_of(files, [&](FileId file) { return stats_->scm().IsForgotten(file); });
  }
  // Two tables become one; all blocks of the two were read before.
  void CompactionForgetsWhatItReplaces() {
    Open();
    Write(1);
    Write(2);
    ReadAll();
    const Files old = Live();
    Compact();
    EXPECT_TRUE(Forgotten(old));
    for (const FileId file : Live()) EXPECT_FALSE(stats_->scm().IsForgotten(file));
  }

  int version_ = 0;
};

TEST_F(DeadFileListenerTest, ATablesPropertiesTellTheKeysOfItsBlocks) {
  for (int session = 0; session < 3; ++session) {
    Open();
    for (int version = 0; version < 3; ++version) Write(session + version);
    {
      const std::unique_ptr<rocksdb::Iterator> scan(db_->NewIterator({}));
      for (scan->SeekToFirst(); scan->Valid(); scan->Next()) {
      }
    }
    const Files seen = InScm(), live = Live();
    EXPECT_EQ(live.size(), 3u * (session + 1));
    EXPECT_EQ(seen, live);
    EXPECT_FALSE(live.contains(FileId{0}));
    Close();
  }
}

TEST_F(DeadFileListenerTest, AnIngestedTableKeepsTheKeysOfItsWriter) {
  Open();
  const std::string path = folder_.Path("outside.sst");
  rocksdb::SstFileWriter writer({}, options_);
  ASSERT_TRUE(writer.Open(path).ok());
  for (int i = 0; i < kKeys; ++i) ASSERT_TRUE(writer.Put(KeyName(i), ValueOf(i, 0)).ok());
  ASSERT_TRUE(writer.Finish().ok());
  ASSERT_TRUE(db_->IngestExternalFile({path}, {}).ok());
  ReadAll();
  EXPECT_EQ(InScm(), Live());
}

TEST_F(DeadFileListenerTest, WhatACompactionReplacedIsForgottenAndNothingElse) {
  Listen();
  CompactionForgetsWhatItReplaces();
  EXPECT_EQ(Count(Event::kScmFileForgotten), 2u);
  for (int version = 3; version < 6; ++version) {  // each demotion walks on
    ReadAll();
    Write(version);
  }
  const Files seen = InScm(), live = Live();
  EXPECT_TRUE(std::ranges::includes(live, seen));
  EXPECT_GT(Count(Event::kScmDeadDropped), 100u);
  EXPECT_EQ(Count(Event::kScmFileRevived), 0u);
}

TEST_F(DeadFileListenerTest, TellsTheSizeOfTheLargestFlush) {
  const auto largest = [this] {
    for (const MetricFamily& family : stats_->Metrics()) {
      if (family.name == "mezzanine_largest_flush_bytes") return static_cast<uint64_t>(family.samples[0].value);
    }
    return UINT64_MAX;
  };
  Listen();
  Open();
  EXPECT_EQ(largest(), 0u);
  Write(1);
  Close();  // a flush may return before the listener is told
  const uint64_t all = largest();
  EXPECT_GT(all, kKeys * ValueOf(0, 1).size());
  EXPECT_LT(all, kKeys * (ValueOf(0, 1).size() + 100));
  Open();
  ASSERT_TRUE(db_->Put({}, "one", "more").ok());
  ASSERT_TRUE(db_->Flush({}).ok());
  Close();
  EXPECT_EQ(largest(), all) << "a smaller one is not the largest";
}

TEST_F(DeadFileListenerTest, TablesOfAnEarlierSessionAreLearntOfWhenTheyAreCompacted) {
  Open();
  Write(1);
  Write(2);
  const Files old = Live();
  Close();
  Listen();
  Open();
  ReadAll();
  Compact();
  EXPECT_TRUE(Forgotten(old));
  ReadAll();
}

TEST_F(DeadFileListenerTest, ClosingADatabaseForgetsNothing) {
  Listen();
  Open();
  Write(1);
  ReadAll();
  const Files seen = InScm();
  Close();
  EXPECT_EQ(InScm(), seen);
  EXPECT_EQ(Count(Event::kScmFileForgotten), 0u);
}

// Sets the option, where the release has it.
template <typename Options>
bool UncacheDeletedFiles(Options* options) {
  if constexpr (requires { options->uncache_aggressiveness; }) {
    options->uncache_aggressiveness = 100;
    return true;
  }
  return false;
}

TEST_F(DeadFileListenerTest, UncacheAggressivenessNamesTheFilesByItself) {
  if (!UncacheDeletedFiles(&options_)) GTEST_SKIP() << "this RocksDB has no uncache_aggressiveness";
  CompactionForgetsWhatItReplaces();
  ReadAll();
  Close();
  Open();
  const Files seen = InScm();
  ReadAll();
  for (const FileId file : Live()) EXPECT_TRUE(seen.contains(file)) << "closing is not deleting";
}

// Without a second tier RocksDB looks every block up as it does to drop those of deleted files.
TEST_F(DeadFileListenerTest, ADatabaseOfDramAloneForgetsNoFileByReading) {
  options_.lowest_used_cache_tier = rocksdb::CacheTier::kVolatileTier;
  Open();
  Write(1);
  ReadAll();
  ReadAll();
  EXPECT_EQ(Count(Event::kScmFileForgotten), 0u);
}

TEST_F(DeadFileListenerTest, BlobFilesToo) {
  options_.enable_blob_files = true;
  options_.enable_blob_garbage_collection = true;
  options_.blob_garbage_collection_age_cutoff = 1;
  options_.blob_cache = cache_;
  Listen();
  Open();
  Write(1);
  ReadAll();
  Files old = InScm();
  for (const FileId table : Live()) old.erase(table);
  ASSERT_EQ(old.size(), 1u) << "the blob file's";
  Write(2);
  Compact();
  ReadAll();
  EXPECT_TRUE(Forgotten(old));
}

TEST_F(DeadFileListenerTest, ASecondaryCacheIsToldAsWell) {
  const HybridCacheOptions options = OptionsOf(kDramBytes, kScmBytes);
  std::shared_ptr<rocksdb::SecondaryCache> secondary;
  ASSERT_TRUE(NewScmSecondaryCache(options, &secondary).ok());
  std::shared_ptr<rocksdb::EventListener> listener;
  ASSERT_TRUE(NewDeadFileListener(secondary, &listener).ok());
  options_.listeners.push_back(listener);
  Open();
  Write(1);
  const Files old = Live();
  Write(2);
  Compact();
  EXPECT_EQ(GetHybridStats(secondary.get())->Counters()[Event::kScmFileForgotten], 2u);
  for (const FileId file : old) EXPECT_TRUE(GetHybridStats(secondary.get())->scm().IsForgotten(file));
}

TEST_F(DeadFileListenerTest, RefusesACacheThatIsNotOurs) {
  std::shared_ptr<rocksdb::EventListener> listener;
  EXPECT_NE(NewDeadFileListener(rocksdb::NewLRUCache(1 << 20), &listener).message().find("LRUCache"),
            std::string::npos);
  EXPECT_FALSE(NewDeadFileListener(std::shared_ptr<rocksdb::Cache>(), &listener).ok());
  EXPECT_EQ(listener, nullptr);
}

}  // namespace
}  // namespace mezz::test
