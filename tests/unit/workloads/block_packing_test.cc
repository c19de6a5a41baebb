// SPDX-License-Identifier: Apache-2.0
// How a database's blocks pack, against tables that RocksDB compressed itself.
#include "workloads/rocksdb/block_packing.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "admission/curves/pack_model.h"
#include "rocksdb/table.h"
#include "tests/support/temporary_folder.h"
#include "workloads/generators/random.h"
#include "workloads/rocksdb/open_db.h"

namespace mezz {
namespace {

constexpr uint64_t kKeys = 20'000;

std::string KeyOf(uint64_t number) { return fmt::format("customer:{:010}", number); }

// Text that packs, more so towards the end of the database.
std::string ValueOf(Random& random, uint64_t number) {
  std::string value;
  while (value.size() < 200) {
    value +=
        fmt::format("{{\"field_{}\": {}}}", number % 7, random.Below(1 + 1'000'000'000 * (kKeys - number) / kKeys));
  }
  return value;
}

class BlockPackingTest : public ::testing::Test {
 protected:
  static rocksdb::Options Options(rocksdb::CompressionType compression) {
    rocksdb::Options options;
    options.create_if_missing = true;
    options.compression = compression;
    rocksdb::BlockBasedTableOptions table;
    table.block_size = 8192;
    options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    return options;
  }
  void Fill(rocksdb::CompressionType compression) {
    Random random(1);
    ASSERT_TRUE(OpenDb(Options(compression), folder_.Path(std::to_string(compression)), &db_).ok());
    for (uint64_t key = 0; key < kKeys; ++key) ASSERT_TRUE(db_->Put({}, KeyOf(key), ValueOf(random, key)).ok());
    ASSERT_TRUE(db_->Flush({}).ok());
  }
  uint64_t DataBytes() const {
    rocksdb::TablePropertiesCollection tables;
    EXPECT_TRUE(db_->GetPropertiesOfAllTables(&tables).ok());
    uint64_t bytes = 0;
    for (const auto& [name, table] : tables) bytes += table->data_size;
    return bytes;
  }
  static std::vector<std::string> Keys(size_t count) {
    std::vector<std::string> keys;
    for (size_t i = 0; i < count; ++i) keys.push_back(KeyOf(i * kKeys / count));
    return keys;
  }

  TemporaryFolder folder_;
  std::unique_ptr<rocksdb::DB> db_;
};

TEST_F(BlockPackingTest, IsWhatRocksDbItselfMakesOfTheTables) {
  Fill(rocksdb::kNoCompression);
  BlockPacking packing;
  ASSERT_TRUE(SampleBlockPacking(db_.get(), Keys(300), &packing).ok());
  const auto raw = static_cast<double>(DataBytes());
  EXPECT_NEAR(static_cast<double>(packing.blocks), 300, 0);
  EXPECT_NEAR(static_cast<double>(packing.block_bytes), 8192, 300) << "as the table's options say";
  Fill(rocksdb::kLZ4Compression);
  EXPECT_NEAR(packing.lz4.mean / (raw / static_cast<double>(DataBytes())), 1, 0.06);
  Fill(rocksdb::kZSTD);
  EXPECT_NEAR(packing.zstd.mean / (raw / static_cast<double>(DataBytes())), 1, 0.06);
  for (const BlockPacking::Ratios& ratios : {packing.lz4, packing.zstd}) {
    EXPECT_TRUE(std::ranges::is_sorted(ratios.blocks));
    EXPECT_LT(ratios.Quantile(0.05), ratios.mean);
    EXPECT_GT(ratios.Quantile(0.95), ratios.mean);
  }
  EXPECT_GT(packing.zstd.mean, packing.lz4.mean);
  EXPECT_THAT(ToString(packing), ::testing::HasSubstr(fmt::format("lz4 {:.2f} (5 %: ", packing.lz4.mean)));
}

// What mezz_sim draws from the file is as many bytes as RocksDB's table has.
TEST_F(BlockPackingTest, TheFileOfRatiosIsReadAsTheyAre) {
  Fill(rocksdb::kLZ4Compression);
  const auto packed = static_cast<double>(DataBytes());
  Fill(rocksdb::kNoCompression);
  BlockPacking packing;
  ASSERT_TRUE(SampleBlockPacking(db_.get(), Keys(300), &packing).ok());
  sim::PackRatios ratios;
  const auto read = [&](const BlockPacking::Ratios& written) {
    return sim::PackRatios::Parse(folder_.Write("ratios", RatiosFile(written)), &ratios).message();
  };
  ASSERT_EQ(read({.mean = 1, .blocks = {0.97, 1.2}}), "") << "a block that only grew";
  ASSERT_EQ(read(packing.lz4), "");
  constexpr uint64_t kBlocks = 10'000;
  double share = 0;
  std::set<double> drawn;
  for (uint64_t block = 0; block < kBlocks; ++block) {
    const double ratio = ratios.Of(block, /*seed=*/1);
    share += 1 / ratio / kBlocks;
    drawn.insert(ratio);
  }
  EXPECT_NEAR(share * static_cast<double>(DataBytes()) / packed, 1, 0.06);
  EXPECT_GT(drawn.size(), 100u) << "blocks differ";
}

TEST_F(BlockPackingTest, OfAnEmptyDatabaseIsNothing) {
  ASSERT_TRUE(OpenDb(Options(rocksdb::kNoCompression), folder_.Path("empty"), &db_).ok());
  BlockPacking packing;
  ASSERT_TRUE(SampleBlockPacking(db_.get(), Keys(3), &packing).ok());
  EXPECT_EQ(packing.blocks, 0u);
  EXPECT_EQ(ToString(packing), "no data blocks to pack");
}

}  // namespace
}  // namespace mezz
