// SPDX-License-Identifier: Apache-2.0
// The keys that RocksDB really makes tell an inspection which databases wrote the files.
#include <gtest/gtest.h>

#include <string>

#include "cache/inspection.h"
#include "tests/support/hybrid_fixture.h"
#include "tests/support/open_db.h"

namespace mezz::test {
namespace {

class InspectedSessions : public HybridTest {
 protected:
  void SetUp() override {
    HybridCacheOptions options = SmallOptions(MediumKind::kFile, file_, /*dram_bytes=*/64 << 10, 12 << 20);
    options.policy = "dram_first";  // what DRAM evicts comes to SCM
    options.scm.recovery = Recovery::kWarm;
    Make(options);
  }

  // Writes a file of its own each time, and reads all there are.
  void UseDatabase(ScratchDb& db, char letter) {
    db.options_.disable_auto_compactions = true;
    db.options_.table_factory = TablesOf(cache_);
    db.Open();
    const auto key = [](char of, int i) { return of + std::to_string(100'000 + i); };
    for (int i = 0; i < 400; ++i) ASSERT_TRUE(db.db_->Put({}, key(letter, i), std::string(900, letter)).ok());
    ASSERT_TRUE(db.db_->Flush({}).ok());
    std::string value;
    for (char of = 'a'; of <= letter; ++of)
      for (int i = 0; i < 400; ++i) (void)db.db_->Get({}, key(of, i), &value);
    db.Close();
    db.options_.table_factory.reset();  // and let go of the cache
  }
  Inspection Inspected() {
    cache_.reset();
    const std::string all = Contents(file_.path());
    return Inspect(std::as_bytes(std::span(all)), /*verify=*/true);
  }
};

TEST_F(InspectedSessions, EachOpeningOfADatabaseThatWroteAFileIsOne) {
  ScratchDb one, two;
  UseDatabase(one, 'a');
  UseDatabase(two, 'a');
  UseDatabase(two, 'b');  // reads also what the second session wrote
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
