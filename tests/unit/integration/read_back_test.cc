// SPDX-License-Identifier: Apache-2.0
// Compactions that do not warm the cache, of a database whose first half was read: the heirs of that half are read back
// into the SCM tier, those of the second are not, and every value is right. On each release, with RocksDB's own warming
// off.
#include "integration/read_back.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "integration/dead_file_listener.h"
#include "integration/hybrid_cache.h"
#include "rocksdb/env.h"
#include "rocksdb/file_system.h"
#include "rocksdb/table.h"
#include "tests/support/data_block.h"
#include "tests/support/hybrid_fixture.h"
#include "tests/support/open_db.h"
#include "tests/support/random.h"

namespace mezz::test {
namespace {

constexpr int kKeys = 6000;
constexpr uint64_t kDramBytes = 16 << 20, kScmBytes = 32 << 20;  // all of it fits either
constexpr uint64_t kBlocks = kKeys / 9;                          // of 4 KiB

std::string KeyName(int i) { return "key" + std::to_string(1'000'000 + i); }
std::string ValueOf(int i, int version) {
  std::string value(400, static_cast<char>('a' + (i + version) % 26));
  for (size_t at = 0; at < 200; ++at) value[at] = static_cast<char>(Mix(uint64_t{1000} * i + at / 8) >> at % 8 * 8);
  return value;
}

// Counts reads of table files; each may be watched, and fails where that says so.
class ReadFiles final : public rocksdb::FileSystemWrapper {
 public:
  ReadFiles() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}
  const char* Name() const override { return "ReadFiles"; }
  rocksdb::IOStatus NewRandomAccessFile(const std::string& path, const rocksdb::FileOptions& options,
                                        std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
                                        rocksdb::IODebugContext* debug) override {
    rocksdb::IOStatus s = target()->NewRandomAccessFile(path, options, file, debug);
    if (s.ok()) *file = std::make_unique<File>(std::move(*file), this);
    return s;
  }

  std::atomic<uint64_t> reads{0};
  std::function<bool()> on_read_back;  // before each read of ours; false: it fails

 private:
  class File final : public rocksdb::FSRandomAccessFileOwnerWrapper {
   public:
    File(std::unique_ptr<rocksdb::FSRandomAccessFile> file, ReadFiles* files)
        : FSRandomAccessFileOwnerWrapper(std::move(file)), files_(*files) {}
    rocksdb::IOStatus Read(uint64_t offset, size_t n, const rocksdb::IOOptions& options, rocksdb::Slice* result,
                           char* scratch, rocksdb::IODebugContext* debug) const override {
      if (ReadBack::OnThisThread() && files_.on_read_back && !files_.on_read_back())
        return rocksdb::IOStatus::IOError("injected");
      files_.reads.fetch_add(1, std::memory_order_relaxed);
      return FSRandomAccessFileOwnerWrapper::Read(offset, n, options, result, scratch, debug);
    }

   private:
    ReadFiles& files_;
  };
};

class ReadBackTest : public ::testing::Test {
 protected:
  void SetUp() override {
    cache_options_ = SmallOptions(MediumKind::kAnonymous, file_, kDramBytes, kScmBytes);
    cache_options_.policy = "adaptive";
    options_.create_if_missing = true;
    options_.create_missing_column_families = true;
    options_.compression = rocksdb::kNoCompression;
    options_.disable_auto_compactions = true;
    options_.target_file_size_base = 512 << 10;
    options_.env = env_.get();
    std::filesystem::remove_all(folder_);
  }
  void TearDown() override {
    if (db_ != nullptr) Close();
    std::filesystem::remove_all(folder_);
    if (cache_ != nullptr) ExpectSound(cache_.get());
  }

  void Open() {
    if (cache_ == nullptr) {
      const Status made = NewHybridCache(cache_options_, &cache_);
      ASSERT_TRUE(made.ok()) << made.message();
      stats_ = GetHybridStats(cache_.get());
    }
    table_.block_cache = cache_;
    options_.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table_));
    std::shared_ptr<rocksdb::EventListener> listener;
    ASSERT_TRUE(NewDeadFileListener(cache_, &listener).ok());
    options_.listeners = {std::move(listener)};
    Families families;
    for (const std::string& name : families_) families.emplace_back(name, options_);
    const rocksdb::Status opened = OpenDb(options_, folder_.string(), families, &handles_, &db_);
    ASSERT_TRUE(opened.ok()) << opened.ToString();
  }
  void Close() { EXPECT_TRUE(CloseDb(&handles_, &db_).ok()); }

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
  void KnowFirstHalf(int version, int family = 0) {
    cache_->EraseUnRefEntries();
    Read(0, kKeys / 2, version, family);
  }
  void Compact(int family = 0, uint32_t threads = 0) {
    rocksdb::CompactRangeOptions how;
    how.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForceOptimized;
    how.max_subcompactions = threads;
    const rocksdb::Status s = db_->CompactRange(how, handles_[family], nullptr, nullptr);
    ASSERT_TRUE(s.ok()) << s.ToString();
  }
  void CompactAndDrain(int family = 0, uint32_t threads = 0) {
    Compact(family, threads);
    stats_->read_back()->Drain();
  }

  uint64_t Kept() const { return stats_->Decisions().of(DecisionPoint::kWarm, Action::kToScm); }
  ReadBackCounts Counts() const { return stats_->read_back()->counts(); }
  uint64_t Count(Event event) const { return stats_->Counters()[event]; }
  // The first half is found, but for a block at each file's ends; the second has to be read.
  void ExpectFirstHalfFound(int version, int family = 0) {
    const uint64_t read = files_->reads.load(), missed = Count(Event::kMiss);
    Read(0, kKeys / 2, version, family);
    EXPECT_LT(Count(Event::kMiss), missed + kBlocks / 20);
    EXPECT_LT(files_->reads.load(), read + kBlocks / 20) << "flash was read";
    Read(kKeys / 2, kKeys, version, family);
    EXPECT_GT(Count(Event::kMiss), missed + kBlocks / 3);
  }
  void ExpectHalfKept(uint64_t before = 0) {
    EXPECT_NEAR(static_cast<double>(Kept() - before), kBlocks / 2.0, kBlocks / 20.0);
  }

  const ScratchFile file_;
  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("mezz_read_back_" + std::to_string(getpid()));
  const std::shared_ptr<ReadFiles> files_ = std::make_shared<ReadFiles>();
  const std::unique_ptr<rocksdb::Env> env_ = rocksdb::NewCompositeEnv(files_);
  HybridCacheOptions cache_options_;
  rocksdb::BlockBasedTableOptions table_;
  rocksdb::Options options_;
  std::shared_ptr<rocksdb::Cache> cache_;
  HybridStats* stats_ = nullptr;
  std::vector<std::string> families_{"default"};
  std::unique_ptr<rocksdb::DB> db_;
  Handles handles_;
};

TEST_F(ReadBackTest, WhatWasHotIsFoundInScmAfterACompaction) {
  Open();
  Write(1);
  KnowFirstHalf(1);
  CompactAndDrain();
  ExpectHalfKept();
  EXPECT_LT(Counts().reads, kBlocks / 4) << "in pieces, for most keys of a file were wanted";
  EXPECT_EQ(Counts().failed + Counts().dropped, 0u);
  ExpectFirstHalfFound(1);
  EXPECT_NE(stats_->Report().find(" were read back after compactions, by "), std::string::npos);
}

TEST_F(ReadBackTest, BlocksOfLevel0StayOpenOverManyOutputs) {
  Open();
  Write(1);
  Compact();
  Write(2, 0, 2);
  Write(2, 1, 2);
  const uint64_t kept = Kept();
  KnowFirstHalf(2);
  CompactAndDrain();
  ExpectHalfKept(kept);
  ExpectFirstHalfFound(2);
}

// Few keys are wanted, far from each other: the blocks between are not read. (To open a table takes 512 KiB of its
// end.)
TEST_F(ReadBackTest, SparseHeirsAreReadBlockByBlock) {
  options_.target_file_size_base = 64 << 20;
  Open();
  Write(1);
  cache_->EraseUnRefEntries();
  for (int i = 0; i < kKeys; i += 300) Read(i, i + 1, 1);
  CompactAndDrain();
  EXPECT_GE(Kept(), kKeys / 300);
  EXPECT_LE(Kept(), 3 * kKeys / 300) << "an input's block lies across two outputs' mostly";
  EXPECT_LT(Counts().bytes, kBlocks * 4096 / 2);
  const uint64_t missed = Count(Event::kMiss);
  for (int i = 0; i < kKeys; i += 300) Read(i, i + 1, 1);
  EXPECT_EQ(Count(Event::kMiss), missed);
}

// A block of Level 0 has keys of many outputs, and is looked up once.
TEST_F(ReadBackTest, KeysBehindATablesEndWaitForTheNext) {
  constexpr int kStep = 600;
  Open();
  Write(1);
  Compact();
  Write(2, 0, kStep);
  cache_->EraseUnRefEntries();
  for (int i = 0; i < kKeys; i += kStep) Read(i, i + 1, 2);
  CompactAndDrain();
  EXPECT_GE(Counts().files, 5u);
  const uint64_t missed = Count(Event::kMiss);
  for (int i = 0; i < kKeys; i += kStep) Read(i, i + 1, 2);
  EXPECT_EQ(Count(Event::kMiss), missed);
}

TEST_F(ReadBackTest, Subcompactions) {
  options_.max_subcompactions = 4;
  options_.target_file_size_base = 256 << 10;
  Open();
  Write(1);
  Compact();
  Write(1, 0, 2);
  Write(1, 1, 2);
  const uint64_t kept = Kept();
  KnowFirstHalf(1);
  CompactAndDrain(0, 4);
  ExpectHalfKept(kept);
  ExpectFirstHalfFound(1);
}

TEST_F(ReadBackTest, FamiliesWithTheSameKeysAreNotMixed) {
  families_ = {"default", "other"};
  Open();
  Write(1);
  Write(2, 0, 1, 1);
  KnowFirstHalf(1);
  CompactAndDrain(1);
  EXPECT_EQ(Kept(), 0u) << "nobody read the other family";
  CompactAndDrain(0);
  ExpectHalfKept();
  Read(0, kKeys, 1);
  Read(0, kKeys, 2, 1);
}

TEST_F(ReadBackTest, KeysInReversedOrder) {
  options_.comparator = rocksdb::ReverseBytewiseComparator();
  Open();
  Write(1);
  KnowFirstHalf(1);
  CompactAndDrain();
  ExpectHalfKept();
  ExpectFirstHalfFound(1);
}

TEST_F(ReadBackTest, DeletedKeysLeadToNoBlock) {
  Open();
  Write(1);
  KnowFirstHalf(1);
  ASSERT_TRUE(db_->DeleteRange({}, handles_[0], KeyName(0), KeyName(kKeys / 2)).ok());
  CompactAndDrain();
  EXPECT_LE(Kept(), kBlocks / 20);
  Read(kKeys / 2, kKeys, 1);
}

TEST_F(ReadBackTest, OffReadsNothing) {
  cache_options_.heirs = false;
  Open();
  Write(1);
  KnowFirstHalf(1);
  Compact();
  EXPECT_EQ(stats_->read_back(), nullptr);
  EXPECT_EQ(Kept(), 0u);
  Read(0, kKeys, 1);
}

TEST_F(ReadBackTest, TheWriteBudgetHolds) {
  cache_options_.write_budget_bytes_per_second = 4096;
  Open();
  Write(1);
  KnowFirstHalf(1);
  CompactAndDrain();
  EXPECT_LT(Kept(), kBlocks / 10);
  EXPECT_GT(stats_->Decisions().of(DecisionPoint::kWarm, Action::kBypass), kBlocks / 4);
  Read(0, kKeys, 1);
}

TEST_F(ReadBackTest, ReadsThatFailAreCountedAndHarmNobody) {
  Open();
  Write(1);
  KnowFirstHalf(1);
  files_->on_read_back = [] { return false; };
  CompactAndDrain();
  files_->on_read_back = nullptr;
  EXPECT_GT(Counts().failed, 0u);
  EXPECT_EQ(Counts().failed, Counts().files);
  EXPECT_EQ(Kept(), 0u);
  Read(0, kKeys, 1);
}

TEST_F(ReadBackTest, AReadThatFailsBehindTheOpeningIsCounted) {
  options_.target_file_size_base = 64 << 20;  // one file, of which opening reads the end
  Open();
  Write(1);
  KnowFirstHalf(1);
  files_->on_read_back = [reads = 0]() mutable { return ++reads == 1; };
  CompactAndDrain();
  files_->on_read_back = nullptr;
  EXPECT_EQ(Counts().files, 1u);
  EXPECT_EQ(Counts().failed, 1u);
  Read(0, kKeys, 1);
}

// Amidst the first file, with others behind it in the queue. What the file system is made of goes with the database.
TEST_F(ReadBackTest, ADatabaseThatClosesWaitsForTheReadAndTheQueueGoes) {
  Open();
  Write(1);
  KnowFirstHalf(1);
  std::atomic<bool> reads{false}, goes_on{false}, closed{false};
  files_->on_read_back = [&] {
    reads = true;
    reads.notify_all();
    goes_on.wait(false);
    return true;
  };
  Compact();
  reads.wait(false);
  std::thread closer([&] {
    Close();
    closed = true;
  });
  while (Counts().dropped == 0) std::this_thread::yield();                // the queue goes first
  for (int i = 0; i < 50'000 && !closed; ++i) std::this_thread::yield();  // time enough to close by mistake
  EXPECT_FALSE(closed) << "amidst a read";
  goes_on = true;
  goes_on.notify_all();
  closer.join();
  files_->on_read_back = [] {
    ADD_FAILURE() << "read after the database was closed";
    return true;
  };
  stats_->read_back()->Drain();
  files_->on_read_back = nullptr;
  Open();
  Read(0, kKeys, 1);
}

TEST_F(ReadBackTest, FilesThatAreDeletedMeanwhileAreLeftOut) {
  Open();
  Write(1);
  KnowFirstHalf(1);
  std::atomic<bool> goes_on{false};
  files_->on_read_back = [&] {
    goes_on.wait(false);
    return true;
  };
  Compact();
  Compact();  // and the first one's outputs are gone
  goes_on = true;
  goes_on.notify_all();
  stats_->read_back()->Drain();
  EXPECT_GT(Counts().dropped, 0u);
  files_->on_read_back = nullptr;
  Read(0, kKeys, 1);
}

TEST_F(ReadBackTest, WhatIsNotedIsFreedWithItsCompaction) {
  Open();
  Write(1);
  KnowFirstHalf(1);
  CompactAndDrain();
  EXPECT_EQ(ReadBack::dram_bytes(), 0u);
}

TEST_F(ReadBackTest, WhatIsNotedOfACompactionThatWritesNothingIsFreed) {
  Open();
  Write(1);
  KnowFirstHalf(1);
  ASSERT_TRUE(db_->DeleteRange({}, handles_[0], KeyName(0), KeyName(kKeys)).ok());
  CompactAndDrain();
  EXPECT_EQ(Counts().files, 0u);
  EXPECT_EQ(ReadBack::dram_bytes(), 0u);
}

TEST(ParentKeys, AreSortedAndOfTwoTheBetterStandingIsLeft) {
  ParentKeys keys;
  keys.Add("b", {.standing = Standing::kScmCold});
  keys.Add("a", {.standing = Standing::kDram});
  keys.Add("b", {.standing = Standing::kScmHot});
  keys.Sort(/*reversed=*/false);
  ASSERT_EQ(keys.size(), 2u);
  EXPECT_EQ(keys.key(0), "a");
  EXPECT_EQ(keys.parent(1).standing, Standing::kScmHot);
  keys.Sort(/*reversed=*/true);
  EXPECT_EQ(keys.key(0), "b");
}

TEST(ParentKeys, TheTailIsWhatIsLeftForTheNextFile) {
  ParentKeys keys, tail;
  for (const char* key : {"a", "b", "c"}) keys.Add(key, {.standing = Standing::kDram});
  keys.MoveTail(1, &tail);
  ASSERT_EQ(tail.size(), 2u);
  EXPECT_EQ(tail.key(0), "b");
  keys.MoveTail(3, &tail);
  EXPECT_TRUE(tail.empty());
}

TEST(ParentKeys, TakeNoMoreThanTheirRoom) {
  DataBlock made;
  for (int i = 0; i < 40; ++i) made.Add(KeyName(i), "value");
  const std::string block = made.Finish();
  ParentKeys keys;
  size_t before = 0;
  for (int i = 0; i < 100'000; ++i) {
    keys.Add(std::as_bytes(std::span(block)), Standing::kDram, 1);
    if (keys.size() == before) break;
    before = keys.size();
  }
  EXPECT_LE(keys.bytes(), 2 * ParentKeys::kBytesMax) << "vectors grow by doubling";
  EXPECT_GE(ParentKeys::bytes_of_all(), keys.bytes());
  EXPECT_EQ(keys.parent(0).entries, 40) << "all keys were kept at first";
  EXPECT_LT(keys.parent(keys.size() - 1).entries, 40) << "and some of them in the end";
  keys.Clear();
  EXPECT_EQ(keys.bytes(), 0u);
}

TEST(ParentKeys, NothingIsNotedOfWhatIsNoDataBlock) {
  ParentKeys keys;
  const std::vector<std::byte> bytes(4096, std::byte{0x5a});
  keys.Add(bytes, Standing::kDram, 1);
  EXPECT_TRUE(keys.empty());
}

}  // namespace
}  // namespace mezz::test
