// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "integration/dead_file_listener.h"
#include "rocksdb/env.h"
#include "rocksdb/file_system.h"
#include "rocksdb/table.h"
#include "tests/support/hybrid_db.h"
#include "tests/support/random.h"

namespace mezz::test {

// A database over a hybrid cache that knows half of it, and is compacted by hand. All of it fits either tier.
class CompactedDb : public HybridDbTest {
 protected:
  static constexpr int kKeys = 6000;
  static constexpr uint64_t kDramBytes = 16 << 20, kScmBytes = 32 << 20;
  static constexpr uint64_t kBlocks = kKeys / 9;  // of 4 KiB

  // The database's files are of `files`.
  explicit CompactedDb(const std::shared_ptr<rocksdb::FileSystem>& files) : env_(rocksdb::NewCompositeEnv(files)) {
    cache_options_ = OptionsOf(kDramBytes, kScmBytes);
    cache_options_.policy = "adaptive";
    options_.create_missing_column_families = true;
    options_.disable_auto_compactions = true;
    options_.target_file_size_base = 512 << 10;
    options_.env = env_.get();
  }

  static std::string KeyName(int i) { return "key" + std::to_string(1'000'000 + i); }
  static std::string ValueOf(int i, int version) {
    std::string value(400, static_cast<char>('a' + (i + version) % 26));
    for (size_t at = 0; at < 200; ++at) value[at] = static_cast<char>(Mix(uint64_t{1000} * i + at / 8) >> at % 8 * 8);
    return value;
  }

  void Open(bool listens = true) {
    if (cache_ == nullptr) Make(cache_options_);
    table_.block_cache = cache_;
    options_.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table_));
    options_.listeners.clear();
    if (listens) {
      std::shared_ptr<rocksdb::EventListener> listener;
      ASSERT_TRUE(NewDeadFileListener(cache_, &listener).ok());
      options_.listeners.push_back(std::move(listener));
    }
    Families families;
    for (const std::string& name : families_) families.emplace_back(name, options_);
    ScratchDb::Open(families);
  }

  // Every `step`-th key from `first`, into a table of its own.
  void Write(int version, int first = 0, int step = 1, int family = 0) {
    for (int i = first; i < kKeys; i += step)
      ASSERT_TRUE(db_->Put({}, handles_[family], KeyName(i), ValueOf(i, version)).ok());
    ASSERT_TRUE(db_->Flush({}, handles_[family]).ok());
  }
  void Read(int from, int to, int version, int family = 0) {
    std::string value;
    for (int i = from; i < to; ++i) {
      ASSERT_TRUE(db_->Get({}, handles_[family], KeyName(i), &value).ok()) << i;
      ASSERT_EQ(value, ValueOf(i, version)) << i;
    }
  }
  // The cache knows the first half of the keys, and nothing else.
  void KnowFirstHalf(int version, int family = 0) {
    cache_->EraseUnRefEntries();
    Read(0, kKeys / 2, version, family);
  }
  void OpenWritten() {
    Open();
    Write(1);
  }
  void OpenHalfKnown() {
    OpenWritten();
    KnowFirstHalf(1);
  }
  rocksdb::Status TryCompact(int family = 0, std::atomic<bool>* canceled = nullptr, uint32_t threads = 0) {
    rocksdb::CompactRangeOptions how;
    how.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForceOptimized;
    how.canceled = canceled;
    how.max_subcompactions = threads;
    return db_->CompactRange(how, handles_[family], nullptr, nullptr);
  }
  void Compact(int family = 0, uint32_t threads = 0) {
    ASSERT_EQ(TryCompact(family, /*canceled=*/nullptr, threads).ToString(), "OK");
  }

  // Of tables; 0 where nobody counts.
  virtual uint64_t FlashReads() const { return 0; }
  // But for a block at each file's ends. The second half has to be read.
  void ExpectFirstHalfFound(int version, int family = 0) {
    const uint64_t missed = Count(Event::kMiss), read = FlashReads();
    Read(0, kKeys / 2, version, family);
    EXPECT_LT(Count(Event::kMiss), missed + kBlocks / 20);
    EXPECT_LT(FlashReads(), read + kBlocks / 20) << "flash was read";
    Read(kKeys / 2, kKeys, version, family);
    EXPECT_GT(Count(Event::kMiss), missed + kBlocks / 3);
  }

  const std::unique_ptr<rocksdb::Env> env_;
  HybridCacheOptions cache_options_;
  rocksdb::BlockBasedTableOptions table_;
  std::vector<std::string> families_{"default"};
};

}  // namespace mezz::test
