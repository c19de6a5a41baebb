// SPDX-License-Identifier: Apache-2.0
// The keys that RocksDB really makes tell an inspection which databases wrote the files.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "cache/inspection.h"
#include "integration/hybrid_cache.h"
#include "rocksdb/table.h"
#include "tests/support/hybrid_fixture.h"
#include "tests/support/open_db.h"

namespace mezz::test {
namespace {

class InspectedSessions : public ::testing::Test {
 protected:
  void SetUp() override {
    HybridCacheOptions options = SmallOptions(MediumKind::kFile, file_, /*dram_bytes=*/64 << 10, 12 << 20);
    options.policy = "dram_first";  // what DRAM evicts comes to SCM
    options.scm.recovery = Recovery::kWarm;
    ASSERT_TRUE(NewHybridCache(options, &cache_).ok());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // Writes a file of its own each time, and reads all there are.
  void UseDatabase(const std::string& name, char letter) {
    rocksdb::Options options;
    options.create_if_missing = true;
    options.compression = rocksdb::kNoCompression;
    options.disable_auto_compactions = true;
    rocksdb::BlockBasedTableOptions table;
    table.block_cache = cache_;
    options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    std::filesystem::create_directories(folder_);
    Handles handles;
    std::unique_ptr<rocksdb::DB> db;
    const auto opened = OpenDb(options, (folder_ / name).string(), {{"default", options}}, &handles, &db);
    ASSERT_TRUE(opened.ok()) << opened.ToString();
    const auto key = [](char of, int i) { return of + std::to_string(100'000 + i); };
    for (int i = 0; i < 400; ++i) ASSERT_TRUE(db->Put({}, key(letter, i), std::string(900, letter)).ok());
    ASSERT_TRUE(db->Flush({}).ok());
    std::string value;
    for (char of = 'a'; of <= letter; ++of)
      for (int i = 0; i < 400; ++i) (void)db->Get({}, key(of, i), &value);
    ASSERT_TRUE(CloseDb(&handles, &db).ok());
  }
  Inspection Inspected() {
    cache_.reset();
    const std::string all = Contents(file_.path());
    return Inspect(std::as_bytes(std::span(all)), /*verify=*/true);
  }

  const ScratchFile file_;
  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("mezz_inspected_sessions_" + std::to_string(getpid()));
  std::shared_ptr<rocksdb::Cache> cache_;
};

TEST_F(InspectedSessions, EachOpeningOfADatabaseThatWroteAFileIsOne) {
  UseDatabase("one", 'a');
  UseDatabase("two", 'a');
  UseDatabase("two", 'b');  // reads also what the second session wrote
  const Inspection found = Inspected();
  ASSERT_EQ(found.sessions.size(), 3u);
  uint64_t blocks = 0;
  for (const Inspection::Session& session : found.sessions) {
    EXPECT_EQ(session.files, 1u);
    EXPECT_GT(session.blocks.records, 50u);
    blocks += session.blocks.records;
  }
  for (const Inspection::Records& role : found.of_role) blocks -= role.records;
  EXPECT_EQ(blocks, 0u) << "each block has one";
}

}  // namespace
}  // namespace mezz::test
