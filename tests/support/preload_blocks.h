// SPDX-License-Identifier: Apache-2.0
// Caches, blocks and children for tests of the preload library, over either of RocksDB's cache interfaces.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>

#include "rocksdb/cache.h"
#include "rocksdb/version.h"

#if ROCKSDB_MAJOR >= 8
#include "tests/support/hybrid_blocks.h"
#else
#include "tests/support/blocks_v7.h"
#endif

namespace mezz::test {

inline constexpr size_t kSmallLruBytes = 2 << 20;

inline std::shared_ptr<rocksdb::Cache> MakeSmallLru() {
  rocksdb::LRUCacheOptions options;
  options.capacity = kSmallLruBytes;
  options.num_shard_bits = 0;
  return rocksdb::NewLRUCache(options);
}

// A block of 4000 bytes that the SCM tier can hold.
inline void InsertBlock(rocksdb::Cache& cache, uint64_t id) {
#if ROCKSDB_MAJOR >= 8
  auto* const block = TestBlock::New(Content(id, 0, 4000), cache.memory_allocator());
  EXPECT_TRUE(cache.Insert(KeyOf(id), block, kHelpers[0], block->charge()).ok());
#else
  auto* const block = new BlockV7(std::string(4000, 'x'));
  EXPECT_TRUE(cache.Insert(KeyV7(id), block, &kBlockHelper, 4000).ok());
#endif
}

inline int CountOf(std::string_view text, std::string_view part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// 0 if all was as expected until now; else it is told, as GoogleTest prints nothing of a child.
inline int ExitOfTest() {
  const ::testing::TestResult& result = *::testing::UnitTest::GetInstance()->current_test_info()->result();
  for (int i = 0; i < result.total_part_count(); ++i)
    std::cerr << result.GetTestPartResult(i).line_number() << ": " << result.GetTestPartResult(i).message();
  return ::testing::Test::HasFailure() ? 1 : 0;
}

// What `body` expects holds in a process of its own, which says `told` and exits.
template <typename Body>
void InChild(const char* told, const Body& body, int line = __builtin_LINE()) {
  const ::testing::ScopedTrace trace(__FILE__, line, "in a child");
  EXPECT_EXIT((body(), exit(ExitOfTest())), ::testing::ExitedWithCode(0), told);
}
template <typename Body>
void InChild(const Body& body, int line = __builtin_LINE()) {
  InChild("", body, line);
}

// Its children have a cache of this URI, and their reports are in a file. MEZZANINE_CACHE is judged once a process, so
// whatever is tested is in a child.
class PreloadTest : public ::testing::Test {
 protected:
  explicit PreloadTest(const char* uri) : uri_(uri) {}
  void SetUp() override {
    GTEST_FLAG_SET(death_test_style, "fast");  // the child goes on from here, no thread runs yet
    std::remove(path_.c_str());
    setenv("MEZZANINE_REPORT", path_.c_str(), 1);
    setenv("MEZZANINE_CACHE", uri_, 1);
    for (const char* unset : {"MEZZANINE_REPORT_SIGNAL", "MEZZANINE_STRICT", "MEZZANINE_WAIT"}) unsetenv(unset);
  }
  void TearDown() override { std::remove(path_.c_str()); }

  std::string report() const {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  int reports() const { return CountOf(report(), "options: mezzanine://"); }

  const char* const uri_;
  const std::string path_ = ::testing::TempDir() + "/mezz_preload_report_" + std::to_string(getpid());
};

}  // namespace mezz::test
