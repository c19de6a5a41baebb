// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "rocksdb/cache.h"
#include "tests/support/open_db.h"
#include "tests/support/sanitizer.h"

namespace mezz::test {

// A database of 16 MB in a folder of its own, whose every value can be checked. Under the thread sanitizer fewer values
// are longer: a look-up costs twenty times as much there.
class SmallDb : private ScratchDb {
 public:
  static constexpr int kKeys = 16'000 / kStressShare;

  // The name is in the database's path.
  explicit SmallDb(std::shared_ptr<rocksdb::Cache> cache, const std::string& name = "")
      : ScratchDb("mezz_small_db_" + name) {
    options_.table_factory = WholeTablesOf(std::move(cache));
    Open();
    for (int i = 0; i < kKeys; ++i) EXPECT_TRUE(db_->Put({}, Key(i), Value(i)).ok());
    EXPECT_TRUE(db_->Flush({}).ok());
    EXPECT_TRUE(db_->CompactRange({}, nullptr, nullptr).ok());
  }

  // Stands at the first key, and holds its block.
  std::unique_ptr<rocksdb::Iterator> HoldFirst() {
    std::unique_ptr<rocksdb::Iterator> at(db_->NewIterator({}));
    at->SeekToFirst();
    EXPECT_TRUE(at->Valid());
    return at;
  }

  // Reads every key and checks every value.
  void ReadAll() {
    std::string value;
    for (int n = 0; n < kKeys; ++n) {
      const int i = n * 7919 % kKeys;  // not in the order of the blocks
      ASSERT_TRUE(db_->Get({}, Key(i), &value).ok()) << i;
      ASSERT_EQ(value, Value(i));
    }
  }

 private:
  static std::string Key(int i) { return "key" + std::to_string(1'000'000 + i); }
  static std::string Value(int i) {
    return std::string(900 * kStressShare, static_cast<char>('a' + i % 26)) + std::to_string(i);
  }
};

}  // namespace mezz::test
