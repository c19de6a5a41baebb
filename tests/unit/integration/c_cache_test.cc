// SPDX-License-Identifier: Apache-2.0
// The cache through C functions alone, ours and RocksDB's: with each release, because its C structs are its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "integration/c/mezzanine_c.h"
#include "rocksdb/version.h"
#include "tests/support/temporary_folder.h"

namespace mezz {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;

constexpr int kKeys = 16'000;
constexpr char kUri[] = "mezzanine://dram=4M;scm=64M@dram";

using CacheOwner = std::unique_ptr<mezzanine_cache_t, void (*)(mezzanine_cache_t*)>;

// A text of the library's, taken over.
std::string Text(char* text) {
  const std::unique_ptr<char, void (*)(char*)> owner(text, mezzanine_free);
  return text == nullptr ? "NULL" : text;
}

CacheOwner Open(const std::string& uri) {
  char* error = nullptr;
  CacheOwner cache(mezzanine_cache_open(uri.c_str(), &error), mezzanine_cache_close);
  EXPECT_NE(cache, nullptr) << Text(error);
  return cache;
}

std::string WhyNot(const char* uri) {
  char* error = nullptr;
  EXPECT_EQ(mezzanine_cache_open(uri, &error), nullptr);
  return Text(error);
}

uint64_t Counter(const CacheOwner& cache, const char* name) {
  uint64_t value = 0;
  EXPECT_EQ(mezzanine_cache_counter(cache.get(), name, &value), 0) << name;
  return value;
}

std::string Key(int i) { return "key" + std::to_string(1'000'000 + i); }
std::string Value(int i) { return std::string(1000, static_cast<char>('a' + i % 26)) + std::to_string(i); }

// A database of 16 MB, of RocksDB's C functions.
class CDb {
 public:
  // `prepare` gives its options a cache.
  explicit CDb(const std::function<void(rocksdb_options_t*)>& prepare) {
    rocksdb_options_set_create_if_missing(options_, 1);
    rocksdb_options_set_compression(options_, rocksdb_no_compression);
    prepare(options_);
    char* error = nullptr;
    db_ = rocksdb_open(options_, folder_.path().c_str(), &error);
    EXPECT_EQ(error, nullptr) << error;
    Write(kKeys);
    Write(kKeys / 8);  // so that there is something to compact, and a file to delete
    rocksdb_compact_range(db_, nullptr, 0, nullptr, 0);
  }
  ~CDb() {
    rocksdb_close(db_);
    rocksdb_readoptions_destroy(read_);
    rocksdb_writeoptions_destroy(write_);
    rocksdb_options_destroy(options_);
  }

  void Write(int keys) {
    char* error = nullptr;
    for (int i = 0; i < keys; ++i) {
      const std::string key = Key(i), value = Value(i);
      rocksdb_put(db_, write_, key.data(), key.size(), value.data(), value.size(), &error);
    }
    rocksdb_flushoptions_t* const flush = rocksdb_flushoptions_create();
    rocksdb_flush(db_, flush, &error);
    rocksdb_flushoptions_destroy(flush);
    EXPECT_EQ(error, nullptr) << error;
  }

  void ReadAll() {
    for (int n = 0; n < kKeys; ++n) {
      const int i = n * 7919 % kKeys;  // not in the order of the blocks
      const std::string key = Key(i);
      size_t length = 0;
      char* error = nullptr;
      char* const found = rocksdb_get(db_, read_, key.data(), key.size(), &length, &error);
      ASSERT_EQ(std::string(found, length), Value(i));
      rocksdb_free(found);
    }
  }

 private:
  const TemporaryFolder folder_;
  rocksdb_options_t* const options_ = rocksdb_options_create();
  rocksdb_writeoptions_t* const write_ = rocksdb_writeoptions_create();
  rocksdb_readoptions_t* const read_ = rocksdb_readoptions_create();
  rocksdb_t* db_ = nullptr;
};

void SetBlockCache(rocksdb_options_t* options, rocksdb_cache_t* handle) {
  rocksdb_block_based_table_options_t* const table = rocksdb_block_based_options_create();
  rocksdb_block_based_options_set_block_cache(table, handle);
  rocksdb_options_set_block_based_table_factory(options, table);
  rocksdb_block_based_options_destroy(table);
}

TEST(CCache, OptionsThatWerePreparedHaveAllOfIt) {
  const CacheOwner cache = Open(kUri);
  CDb db([&](rocksdb_options_t* options) {
    char* error = nullptr;
    EXPECT_EQ(mezzanine_cache_use(cache.get(), options, &error), 0) << Text(error);
  });
  db.ReadAll();
  db.ReadAll();
  EXPECT_GT(Counter(cache, "scm.hit"), 1000u);
  EXPECT_GT(Counter(cache, "scm.file_forgotten"), 0u);
  EXPECT_THAT(Text(mezzanine_cache_report(cache.get())), AllOf(HasSubstr("heirs: on"), HasSubstr("policy: adaptive")));
  EXPECT_THAT(Text(mezzanine_cache_statistics(cache.get())),
              HasSubstr("scm.hit: " + std::to_string(Counter(cache, "scm.hit")) + "\n"));
  EXPECT_THAT(Text(mezzanine_cache_metrics(cache.get())),
              AllOf(HasSubstr("\nmezzanine_scm_hit_total{medium=\"dram\",role="), EndsWith("\n# EOF\n")));
}

// What bindings of other languages use.
TEST(CCache, AHandleIsACacheToRocksDBsFunctions) {
  const CacheOwner cache = Open(kUri);
  char* error = nullptr;
  rocksdb_cache_t* const handle = mezzanine_cache_rocksdb(cache.get(), &error);
  ASSERT_NE(handle, nullptr) << Text(error);
  EXPECT_EQ(rocksdb_cache_get_capacity(handle), mezzanine_cache_dram_bytes(cache.get()));
  CDb db([&](rocksdb_options_t* options) { SetBlockCache(options, handle); });
  db.ReadAll();
  db.ReadAll();
  EXPECT_GT(Counter(cache, "scm.hit"), 1000u);
  EXPECT_GT(rocksdb_cache_get_usage(handle), 0u);
  rocksdb_cache_set_capacity(handle, 3 << 20);
  EXPECT_EQ(mezzanine_cache_dram_bytes(cache.get()), 3u << 20);
  rocksdb_cache_destroy(handle);
}

TEST(CCache, ADatabaseKeepsTheCacheThatWasClosed) {
  const TemporaryFolder folder;
  const std::string medium = folder.Path("medium"), uri = "mezzanine://dram=4M;scm=64M@" + medium;
  {
    CacheOwner cache = Open(uri);
    rocksdb_cache_t* const handle = mezzanine_cache_rocksdb(cache.get(), nullptr);
    ASSERT_NE(handle, nullptr);
    CDb db([&](rocksdb_options_t* options) { SetBlockCache(options, handle); });
    db.ReadAll();
    cache.reset();
    rocksdb_cache_destroy(handle);
    db.ReadAll();
    EXPECT_THAT(WhyNot(uri.c_str()), HasSubstr(medium));  // it is in use
  }
  EXPECT_THAT(Text(mezzanine_cache_report(Open(uri).get())), HasSubstr("\nrecovery.running: "));
}

TEST(CCache, PolicyAndSizesChangeWhileItRuns) {
  const CacheOwner cache = Open(kUri);
  char* error = nullptr;
  EXPECT_EQ(mezzanine_cache_set_policy(cache.get(), "dram_first", &error), 0) << Text(error);
  EXPECT_EQ(Text(mezzanine_cache_policy(cache.get())), "dram_first");
  EXPECT_EQ(mezzanine_cache_set_scm_bytes(cache.get(), 32 << 20, &error), 0) << Text(error);
  EXPECT_LE(mezzanine_cache_scm_bytes(cache.get()), 32u << 20);
  EXPECT_EQ(mezzanine_cache_set_medium_bytes(cache.get(), 1, 16 << 20, &error), 0) << Text(error);
  EXPECT_LE(mezzanine_cache_scm_bytes(cache.get()), 16u << 20);
  EXPECT_EQ(mezzanine_cache_set_medium_bytes(cache.get(), 2, 16 << 20, &error), -1);
  EXPECT_THAT(Text(std::exchange(error, nullptr)), HasSubstr("the tier has 1"));
  EXPECT_EQ(mezzanine_cache_set_dram_bytes(cache.get(), 2 << 20, &error), 0) << Text(error);
  EXPECT_EQ(mezzanine_cache_dram_bytes(cache.get()), 2u << 20);

  EXPECT_EQ(mezzanine_cache_set_policy(cache.get(), "wise", &error), -1);
  EXPECT_EQ(mezzanine_cache_set_scm_bytes(cache.get(), 1ull << 40, &error), -1);  // the first sentence is freed
  EXPECT_THAT(Text(error), AllOf(HasSubstr("capacity"), HasSubstr("67108864")));
  uint64_t value = 7;
  EXPECT_EQ(mezzanine_cache_counter(cache.get(), "no.such", &value), -1);
  EXPECT_EQ(value, 7u);
}

TEST(CCache, WhatIsNoGoodIsAnErrorWithASentence) {
  EXPECT_THAT(WhyNot(nullptr), HasSubstr("no URI"));
  EXPECT_THAT(WhyNot(""), HasSubstr("mezzanine://"));
  EXPECT_THAT(WhyNot("mezzanine://dram=4M;scm=64M@dram;speed=fast"), HasSubstr("\"speed\""));
  EXPECT_THAT(WhyNot("mezzanine://dram=4M;scm=64M@/no/such/folder/mezz"), HasSubstr("/no/such/folder"));
  EXPECT_THAT(WhyNot("mezzanine://dram=4M;scm=64M@dram;policy=\xff\xfe"), HasSubstr("policy"));
  EXPECT_EQ(mezzanine_cache_open("", nullptr), nullptr);
  char* error = nullptr;
  EXPECT_EQ(mezzanine_cache_use(Open(kUri).get(), nullptr, &error), -1);
  EXPECT_THAT(Text(error), HasSubstr("no options"));
  mezzanine_cache_close(nullptr);
  mezzanine_free(nullptr);
  EXPECT_EQ(mezzanine_rocksdb_release(),
            std::to_string(ROCKSDB_MAJOR) + "." + std::to_string(ROCKSDB_MINOR) + "." + std::to_string(ROCKSDB_PATCH));
}

}  // namespace
}  // namespace mezz
