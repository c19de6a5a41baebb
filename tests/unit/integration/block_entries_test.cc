// SPDX-License-Identifier: Apache-2.0
// Blocks that RocksDB wrote, of each kind that its options make, caught on their way into a cache; and bytes that are
// no blocks at all.
#include "integration/block_entries.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "rocksdb/advanced_cache.h"
#include "rocksdb/db.h"
#include "rocksdb/table.h"
#include "rocksdb/version.h"
#include "tests/support/data_block.h"
#include "tests/support/open_db.h"
#include "tests/support/seed.h"

namespace mezz::test {
namespace {

using Hashes = std::vector<uint64_t>;

std::span<const std::byte> BytesOf(const std::string& text) { return std::as_bytes(std::span(text)); }

// What a block of this key alone gives.
uint64_t HashOf(const std::string& key, uint64_t salt = 0) {
  DataBlock block;
  block.Add(key, "");
  Hashes hashes;
  EXPECT_TRUE(HashEntries(BytesOf(block.Finish()), salt, &hashes));
  return hashes.at(0);
}

// Keeps the bytes of each data block that is inserted.
class CatchingCache final : public rocksdb::CacheWrapper {
 public:
  CatchingCache() : CacheWrapper(rocksdb::NewLRUCache(64 << 20)) {}
  const char* Name() const override { return "CatchingCache"; }
  rocksdb::Status Insert(const rocksdb::Slice& key, ObjectPtr obj, const CacheItemHelper* helper, size_t charge,
                         Handle** handle, Priority priority, const rocksdb::Slice& compressed,
                         rocksdb::CompressionType type) override {
    if (helper != nullptr && helper->role == rocksdb::CacheEntryRole::kDataBlock && helper->size_cb != nullptr) {
      std::string bytes(helper->size_cb(obj), '\0');
      EXPECT_TRUE(helper->saveto_cb(obj, 0, bytes.size(), bytes.data()).ok());
      blocks.push_back(std::move(bytes));
    }
    return target_->Insert(key, obj, helper, charge, handle, priority, compressed, type);
  }

  std::vector<std::string> blocks;
};

class BlockEntriesOfRocksDb : public ::testing::Test {
 protected:
  static constexpr int kKeys = 3000;

  virtual std::string Key(int i) const { return "user" + std::to_string(100'000 + i); }

  // The blocks of a table with all keys, as its reader inserts them.
  std::vector<std::string> Blocks() {
    const auto cache = std::make_shared<CatchingCache>();
    table_.block_cache = cache;
    ScratchDb db;
    db.options_.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table_));
    db.Open();
    if (db.db_ == nullptr) return {};
    for (int i = 0; i < kKeys; ++i) EXPECT_TRUE(db.db_->Put({}, Key(i), std::string(i % 200, 'v')).ok());
    EXPECT_TRUE(db.db_->Delete({}, Key(5)).ok());
    EXPECT_TRUE(db.db_->Flush({}).ok());
    const std::unique_ptr<rocksdb::Iterator> scan(db.db_->NewIterator({}));
    int found = 0;
    for (scan->SeekToFirst(); scan->Valid(); scan->Next()) ++found;
    EXPECT_EQ(found, kKeys - 1);
    return cache->blocks;
  }
  // Every key is found, and nothing else.
  void ExpectEveryKey() {
    std::multiset<uint64_t> found, expected;
    for (const std::string& block : Blocks()) {
      Hashes hashes;
      ASSERT_TRUE(HashEntries(BytesOf(block), 0, &hashes));
      found.insert(hashes.begin(), hashes.end());
    }
    for (int i = 0; i < kKeys; ++i) expected.insert(HashOf(Key(i)));
    EXPECT_EQ(std::set<uint64_t>(found.begin(), found.end()), std::set<uint64_t>(expected.begin(), expected.end()));
    EXPECT_GE(found.size(), expected.size());
    EXPECT_LE(found.size(), expected.size() + 1) << "the deletion, and what it deletes";
  }

  rocksdb::BlockBasedTableOptions table_;
};

TEST_F(BlockEntriesOfRocksDb, AreReadAsTheyComeByDefault) { ExpectEveryKey(); }

TEST_F(BlockEntriesOfRocksDb, AreReadWhateverTheRestartInterval) {
  for (const int interval : {1, 2, 16, 1000}) {
    table_.block_restart_interval = interval;
    ExpectEveryKey();
  }
}

TEST_F(BlockEntriesOfRocksDb, AreReadBesideAHashIndex) {
  table_.data_block_index_type = rocksdb::BlockBasedTableOptions::kDataBlockBinaryAndHash;
  for (const double load : {0.3, 0.75, 1.5}) {
    table_.data_block_hash_table_util_ratio = load;
    ExpectEveryKey();
  }
}

TEST_F(BlockEntriesOfRocksDb, AreReadWithoutDeltaEncoding) {
  table_.use_delta_encoding = false;
  ExpectEveryKey();
}

TEST_F(BlockEntriesOfRocksDb, AreReadInAlignedBlocks) {
  table_.block_align = true;
  ExpectEveryKey();
}

TEST_F(BlockEntriesOfRocksDb, AreReadInBlocksOfAnySize) {
  for (const uint64_t bytes : {64, 1024, 64 << 10, 1 << 20}) {
    table_.block_size = bytes;
    ExpectEveryKey();
  }
}

TEST_F(BlockEntriesOfRocksDb, AreReadInEveryFormat) {
  for (uint32_t version = 3; version <= (ROCKSDB_MAJOR < 11 ? 6 : 7); ++version) {
    table_.format_version = version;
    ExpectEveryKey();
  }
}

// Keys and values in sections of their own: no such entries.
template <typename Table>
bool StoreValuesApart(Table* table) {
  if constexpr (requires { table->separate_key_value_in_data_block; }) {
    table->separate_key_value_in_data_block = true;
    return true;
  }
  return false;
}
TEST_F(BlockEntriesOfRocksDb, AreNotReadWhereValuesLieApart) {
  if (!StoreValuesApart(&table_)) GTEST_SKIP() << "this RocksDB has no separate_key_value_in_data_block";
  const auto blocks = Blocks();
  EXPECT_GT(blocks.size(), 10u);
  for (const std::string& block : blocks) {
    Hashes hashes{1};
    EXPECT_FALSE(HashEntries(BytesOf(block), 0, &hashes));
    EXPECT_TRUE(hashes.empty());
  }
}

class BlockEntriesOfLongKeys : public BlockEntriesOfRocksDb {
 protected:
  std::string Key(int i) const override { return std::string(bytes_ - 6, 'k') + std::to_string(100'000 + i); }
  size_t bytes_ = 0;
};
TEST_F(BlockEntriesOfLongKeys, AreReadUpToTheLongest) {
  bytes_ = kEntryKeyBytesMax - 8;
  ExpectEveryKey();
  ++bytes_;
  for (const std::string& block : Blocks()) {
    Hashes hashes;
    EXPECT_FALSE(HashEntries(BytesOf(block), 0, &hashes));
  }
}

TEST(BlockEntries, AnEmptyUserKeyIsOne) {
  Hashes hashes;
  DataBlock block;
  block.Add("", "value");
  EXPECT_TRUE(HashEntries(BytesOf(block.Finish()), 0, &hashes));
  EXPECT_EQ(hashes.size(), 1u);
}

TEST(BlockEntries, SequenceNumbersDoNotCountAndSaltsDo) {
  DataBlock old, young;
  old.Add("key", "value", 3);
  young.Add("key", "another", 9);
  Hashes of_old, of_young, salted;
  const std::string bytes = old.Finish();
  EXPECT_TRUE(HashEntries(BytesOf(bytes), 0, &of_old));
  EXPECT_TRUE(HashEntries(BytesOf(young.Finish()), 0, &of_young));
  EXPECT_TRUE(HashEntries(BytesOf(bytes), 1, &salted));
  EXPECT_EQ(of_old, of_young);
  EXPECT_NE(of_old, salted);
}

// Exactly so many bytes of heap, so that the address sanitizer sees what reads beyond them.
bool HashExactly(const std::string& bytes, Hashes* hashes) {
  const std::unique_ptr<std::byte[]> exact(new std::byte[bytes.size()]);
  std::memcpy(exact.get(), bytes.data(), bytes.size());
  return HashEntries({exact.get(), bytes.size()}, 0, hashes);
}

TEST(BlockEntries, ACutBlockIsNone) {
  DataBlock block(4);
  for (int i = 0; i < 40; ++i) block.Add("key" + std::to_string(1000 + i), std::string(i, 'v'));
  const std::string whole = block.Finish();
  Hashes hashes;
  ASSERT_TRUE(HashExactly(whole, &hashes));
  EXPECT_EQ(hashes.size(), 40u);
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
    HashExactly(whole.substr(0, bytes), &hashes);
    HashExactly(whole.substr(bytes), &hashes);
    EXPECT_LE(hashes.size(), 40u);
  }
  EXPECT_FALSE(HashExactly("", &hashes));
}

TEST(BlockEntries, NoBytesAreReadBeyondAnyBlock) {
  const uint64_t seed = Seed();
  SCOPED_TRACE("MEZZ_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  Hashes hashes;
  uint64_t passed = 0;
  for (int round = 0; round < 100'000; ++round) {
    std::string bytes;
    if (round % 2 == 0) {
      bytes.resize(random() % 200);
      for (char& byte : bytes) byte = static_cast<char>(random() % (round % 4 == 0 ? 256 : 12));
    } else {
      DataBlock block(1 + random() % 20);
      for (uint64_t i = 0; i < 1 + random() % 20; ++i)
        block.Add(std::to_string(random()), std::string(random() % 20, 'v'));
      bytes = block.Finish();
      for (uint64_t edits = random() % 4; edits > 0; --edits)
        bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    passed += HashExactly(bytes, &hashes) ? 1 : 0;
    ASSERT_LE(hashes.size(), bytes.size() / 3);
  }
  EXPECT_GT(passed, 10'000u);
}

}  // namespace
}  // namespace mezz::test
