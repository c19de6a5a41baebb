// SPDX-License-Identifier: Apache-2.0
// Compactions that do not warm the cache, of a database whose first half was read: the heirs of that half are read back
// into the SCM tier, those of the second are not, and every value is right. On each release, with RocksDB's own warming
// off.
#include "integration/read_back.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "integration/hybrid_cache.h"
#include "rocksdb/file_system.h"
#include "tests/support/compacted_db.h"
#include "tests/support/data_block.h"

namespace mezz::test {
namespace {

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

class ReadBackTest : public CompactedDb {
 protected:
  ReadBackTest() : ReadBackTest(std::make_shared<ReadFiles>()) {}

  void CompactAndDrain(int family = 0, uint32_t threads = 0) {
    Compact(family, threads);
    stats_->read_back()->Drain();
  }

  uint64_t Kept() const { return stats_->Decisions().of(DecisionPoint::kWarm, Action::kToScm); }
  ReadBackCounts Counts() const { return stats_->read_back()->counts(); }
  // What the metrics say.
  double Told(std::string_view name) const {
    for (const MetricFamily& family : stats_->Metrics()) {
      if (family.name == name) return family.samples.front().value;
    }
    return -1;
  }
  uint64_t FlashReads() const override { return files_->reads.load(); }
  void ExpectHalfKept(uint64_t before = 0) {
    EXPECT_NEAR(static_cast<double>(Kept() - before), kBlocks / 2.0, kBlocks / 20.0);
  }

  const std::shared_ptr<ReadFiles> files_;

 private:
  explicit ReadBackTest(const std::shared_ptr<ReadFiles>& files) : CompactedDb(files), files_(files) {}
};

TEST_F(ReadBackTest, WhatWasHotIsFoundInScmAfterACompaction) {
  OpenHalfKnown();
  CompactAndDrain();
  ExpectHalfKept();
  EXPECT_LT(Counts().reads, kBlocks / 4) << "in pieces, for most keys of a file were wanted";
  EXPECT_EQ(Counts().failed + Counts().dropped, 0u);
  ExpectFirstHalfFound(1);
  EXPECT_NE(stats_->Report().find(" were read back after compactions, by "), std::string::npos);
}

TEST_F(ReadBackTest, MonitoringIsToldWhatCompactionsLookUp) {
  OpenHalfKnown();
  CompactAndDrain();
  EXPECT_GT(Told("mezzanine_compaction_looked_up"), 0.9 * kBlocks) << "what they found, and what they did not";
}

TEST_F(ReadBackTest, MonitoringIsToldWhatDatabasesThatShareReadBack) {
  std::shared_ptr<rocksdb::Cache> main;
  ASSERT_TRUE(NewHybridCache(cache_options_, &main).ok());
  ASSERT_TRUE(ForDatabase(main, "view", {}, &cache_).ok());
  stats_ = GetHybridStats(cache_.get());
  OpenHalfKnown();
  CompactAndDrain();
  EXPECT_GT(Told("mezzanine_read_back_reads"), 0);
  EXPECT_GT(Told("mezzanine_read_back_blocks"), 0);
}

// The reader's handles are charged to a DRAM tier that is full.
TEST_F(ReadBackTest, WhatItsHandlesEvictIsDemoted) {
  cache_options_.dram_bytes = 1 << 20;
  cache_options_.policy = "dram_first";
  OpenHalfKnown();
  const uint64_t evicted = Count(Event::kDramEviction);
  CompactAndDrain();
  EXPECT_GT(Kept(), kBlocks / 4);
  EXPECT_EQ(Count(Event::kRefusedChanged), 0u) << Count(Event::kDramEviction) - evicted << " evictions";
}

TEST_F(ReadBackTest, BlocksOfLevel0StayOpenOverManyOutputs) {
  OpenWritten();
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
  OpenWritten();
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
  OpenWritten();
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
  OpenWritten();
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
  OpenWritten();
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
  OpenHalfKnown();
  CompactAndDrain();
  ExpectHalfKept();
  ExpectFirstHalfFound(1);
}

TEST_F(ReadBackTest, DeletedKeysLeadToNoBlock) {
  OpenHalfKnown();
  ASSERT_TRUE(db_->DeleteRange({}, handles_[0], KeyName(0), KeyName(kKeys / 2)).ok());
  CompactAndDrain();
  EXPECT_LE(Kept(), kBlocks / 20);
  Read(kKeys / 2, kKeys, 1);
}

TEST_F(ReadBackTest, OffReadsNothing) {
  cache_options_.heirs = false;
  OpenHalfKnown();
  Compact();
  EXPECT_EQ(stats_->read_back(), nullptr);
  EXPECT_EQ(Kept(), 0u);
  Read(0, kKeys, 1);
}

TEST_F(ReadBackTest, TheWriteBudgetHolds) {
  cache_options_.write_budget_bytes_per_second = 4096;
  OpenHalfKnown();
  CompactAndDrain();
  EXPECT_LT(Kept(), kBlocks / 10);
  EXPECT_GT(stats_->Decisions().of(DecisionPoint::kWarm, Action::kBypass), kBlocks / 4);
  Read(0, kKeys, 1);
}

TEST_F(ReadBackTest, ReadsThatFailAreCountedAndHarmNobody) {
  OpenHalfKnown();
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
  OpenHalfKnown();
  files_->on_read_back = [reads = 0]() mutable { return ++reads == 1; };
  CompactAndDrain();
  files_->on_read_back = nullptr;
  EXPECT_EQ(Counts().files, 1u);
  EXPECT_EQ(Counts().failed, 1u);
  Read(0, kKeys, 1);
}

// Amidst the first file, with others behind it in the queue. What the file system is made of goes with the database.
TEST_F(ReadBackTest, ADatabaseThatClosesWaitsForTheReadAndTheQueueGoes) {
  OpenHalfKnown();
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
  OpenHalfKnown();
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

// Compacted again and again, its blocks never asked for; and the same with all asked for in between.
TEST_F(ReadBackTest, WhatNobodyAsksForIsReadBackNoMore) {
  constexpr int kCompactions = 40;  // 13,000 blocks
  for (const bool asked : {true, false}) {
    cache_.reset();
    OpenHalfKnown();
    for (int i = 0; i < kCompactions; ++i) {
      CompactAndDrain();
      if (asked) Read(0, kKeys / 2, 1);
    }
    EXPECT_EQ(Counts().skipped != 0, !asked);
    Read(0, kKeys, 1);
    Close();
    std::filesystem::remove_all(path_);
  }
}

TEST_F(ReadBackTest, WhatIsNotedIsFreedWithItsCompaction) {
  OpenHalfKnown();
  CompactAndDrain();
  EXPECT_EQ(ParentKeys::bytes_of_all(), 0u);
}

TEST_F(ReadBackTest, WhatIsNotedOfACompactionThatWritesNothingIsFreed) {
  OpenHalfKnown();
  ASSERT_TRUE(db_->DeleteRange({}, handles_[0], KeyName(0), KeyName(kKeys)).ok());
  CompactAndDrain();
  EXPECT_EQ(Counts().files, 0u);
  EXPECT_EQ(ParentKeys::bytes_of_all(), 0u);
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
  for (int i = 0; i < 40; ++i) made.Add("key" + std::to_string(i), "value");
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
