// SPDX-License-Identifier: Apache-2.0
// Real compactions of a database whose first half was read, over a cache that knows nothing of its second: the heirs of
// the first half take its place, those of the second are dropped, and every value is right.
#include <gtest/gtest.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "integration/compaction_thread.h"
#include "integration/file_id.h"
#include "integration/hybrid_cache.h"
#include "rocksdb/advanced_cache.h"
#include "rocksdb/convenience.h"
#include "rocksdb/env.h"
#include "rocksdb/file_system.h"
#include "rocksdb/utilities/table_properties_collectors.h"
#include "tests/support/compacted_db.h"

namespace mezz::test {
namespace {

using rocksdb::DB;

template <typename Table>
bool WarmAll(Table* table) {
  if constexpr (requires { Table::PrepopulateBlockCache::kFlushAndCompaction; }) {
    table->prepopulate_block_cache = Table::PrepopulateBlockCache::kFlushAndCompaction;
    return true;
  }
  return false;
}

// Sets the option, where the release has it.
template <typename Options>
bool DropBlocksOfDeletedFiles(Options* options) {
  if constexpr (requires { options->uncache_aggressiveness; }) {
    options->uncache_aggressiveness = 1000;
    return true;
  }
  return false;
}

// Calls `on_append`, if it is set, before each write to a table file, which fails where it says so.
class WatchedFiles final : public rocksdb::FileSystemWrapper {
 public:
  WatchedFiles() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}
  const char* Name() const override { return "WatchedFiles"; }
  rocksdb::IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    rocksdb::IODebugContext* debug) override {
    const rocksdb::IOStatus s = target()->NewWritableFile(path, options, file, debug);
    if (s.ok() && path.ends_with(".sst")) *file = std::make_unique<File>(std::move(*file), this);
    return s;
  }

  std::function<bool()> on_append;  // false: the write fails

 private:
  class File final : public rocksdb::FSWritableFileOwnerWrapper {
   public:
    File(std::unique_ptr<rocksdb::FSWritableFile> file, WatchedFiles* files)
        : FSWritableFileOwnerWrapper(std::move(file)), files_(*files) {}
    using FSWritableFileOwnerWrapper::Append;
    rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                             rocksdb::IODebugContext* debug) override {
      if (files_.on_append && !files_.on_append()) return rocksdb::IOStatus::IOError("injected");
      return FSWritableFileOwnerWrapper::Append(data, options, debug);
    }

   private:
    WatchedFiles& files_;
  };
};

// An Env that runs each piece of work on a thread of its own, with a name that says nothing.
class NamelessEnv final : public rocksdb::EnvWrapper {
 public:
  NamelessEnv() : EnvWrapper(rocksdb::Env::Default()) {}
  ~NamelessEnv() override {
    for (std::thread& thread : threads_) thread.join();
  }
  const char* Name() const override { return "NamelessEnv"; }
  void Schedule(void (*work)(void*), void* of, Priority, void*, void (*)(void*)) override {
    const std::lock_guard lock(mutex_);
    threads_.emplace_back([work, of] {
      pthread_setname_np(pthread_self(), "worker");
      work(of);
    });
  }
  int UnSchedule(void*, Priority) override { return 0; }

 private:
  std::mutex mutex_;
  std::vector<std::thread> threads_;
};

class HeirsDbTest : public CompactedDb {
 protected:
  HeirsDbTest() : HeirsDbTest(std::make_shared<WatchedFiles>()) {}
  void SetUp() override {
    if (!WarmAll(&table_)) GTEST_SKIP() << "this RocksDB does not warm the cache with what a compaction writes";
    table_.cache_index_and_filter_blocks = true;
  }

  uint64_t Decided(Action action, Reason reason) const {
    return stats_->Decisions().of(DecisionPoint::kWarm, action, reason, BlockRole::kData);
  }
  uint64_t Kept() const {
    return Decided(Action::kToScm, Reason::kHeirOfDram) + Decided(Action::kToScm, Reason::kHeirOfHot) +
           Decided(Action::kToScm, Reason::kHeirOfCold);
  }
  uint64_t Dropped() const { return Decided(Action::kBypass, Reason::kHeirOfNothing); }
  uint64_t Unknown() const { return Decided(Action::kToScm, Reason::kHeirOfUnknown); }

  // Of one compaction of all blocks: half of them were known to the cache.
  void ExpectHalfKept(double tolerance = 0.05) {
    EXPECT_NEAR(static_cast<double>(Kept()), kBlocks / 2.0, tolerance * kBlocks);
    EXPECT_NEAR(static_cast<double>(Dropped()), kBlocks / 2.0, tolerance * kBlocks);
    EXPECT_EQ(Unknown(), 0u);
  }
  void HalfIsKept(int version) {
    KnowFirstHalf(version);
    Compact();
    ExpectHalfKept();
    ExpectFirstHalfFound(version);
  }

  std::set<FileId> Live() {
    std::set<FileId> files;
    for (rocksdb::ColumnFamilyHandle* handle : handles_) {
      rocksdb::TablePropertiesCollection tables;
      EXPECT_TRUE(db_->GetPropertiesOfAllTables(handle, &tables).ok());
      for (const auto& [path, table] : tables) files.insert(FileIdOf(*table));
    }
    return files;
  }
  // Blocks in SCM of files that are gone, and of which the tier does not know so: garbage that waits for the clock.
  size_t Garbage() {
    const std::set<FileId> live = Live();
    size_t blocks = 0;
    stats_->scm().figures().ForEach([&](const BlockKey& key, size_t, BlockRole) {
      if (!live.contains(key.file()) && !stats_->scm().IsForgotten(key.file())) ++blocks;
    });
    return blocks;
  }
  // In SCM, of files that it knows to be gone.
  size_t Dead() const {
    size_t blocks = 0;
    stats_->scm().figures().ForEach(
        [&](const BlockKey& key, size_t, BlockRole) { blocks += stats_->scm().IsForgotten(key.file()); });
    return blocks;
  }
  size_t InDram(const std::set<FileId>& files) {
    size_t blocks = 0;
    cache_->ApplyToAllEntries(
        [&](const rocksdb::Slice& key, rocksdb::Cache::ObjectPtr, size_t,
            const rocksdb::Cache::CacheItemHelper* helper) {
          if (helper == nullptr || helper->role != rocksdb::CacheEntryRole::kDataBlock) return;
          if (key.size() == BlockKey::kBytes) blocks += files.contains(BlockKey::FromBytes(key.data()).file());
        },
        {});
    return blocks;
  }
  void ExpectNoLiveFileForgotten() {
    for (const FileId file : Live()) EXPECT_FALSE(stats_->scm().IsForgotten(file));
  }

  const std::shared_ptr<WatchedFiles> files_;

 private:
  explicit HeirsDbTest(const std::shared_ptr<WatchedFiles>& files) : CompactedDb(files), files_(files) {}
};

TEST_F(HeirsDbTest, LeveledCompaction) {
  OpenWritten();
  Compact();
  Write(2, 0, 2);  // every other key lies in Level 0, whose blocks stay open over two outputs each
  Write(2, 1, 2);
  const uint64_t kept = Kept(), dropped = Dropped();
  KnowFirstHalf(2);
  Compact();
  EXPECT_NEAR(static_cast<double>(Kept() - kept), kBlocks / 2.0, kBlocks / 20.0);
  EXPECT_NEAR(static_cast<double>(Dropped() - dropped), kBlocks / 2.0, kBlocks / 20.0);
  ExpectFirstHalfFound(2);
}

TEST_F(HeirsDbTest, AFlushGoesToDram) {
  OpenWritten();
  EXPECT_NEAR(static_cast<double>(Decided(Action::kToDram, Reason::kFlushed)), kBlocks, kBlocks / 20.0);
  EXPECT_EQ(Kept() + Dropped() + Unknown(), 0u);
  EXPECT_EQ(stats_->Decisions().of(DecisionPoint::kWarm, Action::kToDram, Reason::kFlushed, BlockRole::kIndex), 0u);
  EXPECT_GT(stats_->Decisions().of(DecisionPoint::kWarm, Action::kToDram, Reason::kRole, BlockRole::kIndex), 0u);
}

TEST_F(HeirsDbTest, UniversalCompaction) {
  options_.compaction_style = rocksdb::kCompactionStyleUniversal;
  options_.num_levels = 1;
  Open();
  for (int part = 0; part < 4; ++part) Write(1, part, 4);
  HalfIsKept(1);
}

TEST_F(HeirsDbTest, FifoCompactionOfLevel0) {
  options_.compaction_style = rocksdb::kCompactionStyleFIFO;
  options_.compaction_options_fifo.allow_compaction = true;
  options_.compaction_options_fifo.max_table_files_size = 1 << 30;
  options_.level0_file_num_compaction_trigger = 4;
  options_.write_buffer_size = 64 << 20;
  options_.max_compaction_bytes = 1 << 30;
  options_.num_levels = 1;
  Open();
  for (int part = 0; part < 6; ++part) Write(1, part, 6);
  KnowFirstHalf(1);
  ASSERT_TRUE(db_->SetOptions({{"disable_auto_compactions", "false"}}).ok());
  ASSERT_TRUE(db_->WaitForCompact({}).ok());
  if (Kept() + Dropped() + Unknown() == 0) GTEST_SKIP() << "FIFO compacted nothing";
  ExpectHalfKept(0.15);
  Read(0, kKeys, 1);
}

TEST_F(HeirsDbTest, Subcompactions) {
  options_.target_file_size_base = 256 << 10;
  options_.max_subcompactions = 4;
  OpenWritten();
  Compact();
  Write(1, 0, 2);
  Write(1, 1, 2);
  const uint64_t kept = Kept(), dropped = Dropped();
  KnowFirstHalf(1);
  ASSERT_TRUE(TryCompact(0, nullptr, 4).ok());
  EXPECT_NEAR(static_cast<double>(Kept() - kept), kBlocks / 2.0, kBlocks / 20.0);
  EXPECT_NEAR(static_cast<double>(Dropped() - dropped), kBlocks / 2.0, kBlocks / 20.0);
  ExpectFirstHalfFound(1);
}

TEST_F(HeirsDbTest, ATrivialMoveWritesNoBlock) {
  OpenWritten();
  const auto before = Live();
  KnowFirstHalf(1);
  ASSERT_TRUE(db_->CompactRange({}, nullptr, nullptr).ok());
  EXPECT_EQ(Live(), before);
  EXPECT_EQ(Kept() + Dropped() + Unknown(), 0u);
  ExpectFirstHalfFound(1);
}

// Both families hold the same keys, and one thread compacts them in turn.
TEST_F(HeirsDbTest, FamiliesWithTheSameKeysAreNotMixed) {
  families_ = {"default", "other"};
  OpenWritten();
  Write(2, 0, 1, 1);
  KnowFirstHalf(1);
  Compact();
  ExpectHalfKept();
  const uint64_t kept = Kept();
  Compact(1);
  EXPECT_LE(Kept(), kept + 1) << "nobody read the other family";
  Read(0, kKeys, 1);
  Read(0, kKeys, 2, 1);
}

class HeirsDbCompressedTest : public HeirsDbTest, public ::testing::WithParamInterface<rocksdb::CompressionType> {
 protected:
  void SetUp() override {
    HeirsDbTest::SetUp();
    if (IsSkipped()) return;
    if (!std::ranges::count(rocksdb::GetSupportedCompressions(), GetParam()))
      GTEST_SKIP() << "this RocksDB was built without it";
    options_.compression = GetParam();
  }
};

TEST_P(HeirsDbCompressedTest, Alone) {
  OpenWritten();
  HalfIsKept(1);
}

// Other threads compress, and insert, than look up.
TEST_P(HeirsDbCompressedTest, ByOtherThreads) {
  options_.compression_opts.parallel_threads = 4;
  OpenWritten();
  HalfIsKept(1);
}

// A file's worth of input comes before the dictionary and its output. Of what the table has forgotten since nothing is
// known, so it is kept; what is dropped was in neither tier.
TEST_P(HeirsDbCompressedTest, WithADictionary) {
  options_.compression_opts.max_dict_bytes = 4096;
  options_.bottommost_compression_opts.max_dict_bytes = 4096;
  options_.target_file_size_base = 64 << 20;
  for (const uint32_t threads : {1u, 4u}) {
    options_.compression_opts.parallel_threads = threads;
    OpenWritten();
    const uint64_t dropped = Dropped();
    KnowFirstHalf(1);
    Compact();
    EXPECT_LE(Dropped(), dropped + kBlocks / 2 + kBlocks / 20) << threads << " threads";
    const uint64_t missed = Count(Event::kMiss);
    Read(0, kKeys / 2, 1);
    EXPECT_LT(Count(Event::kMiss), missed + kBlocks / 20) << threads << " threads";
    Close();
    std::filesystem::remove_all(path_);
  }
}

// Images are what a miss is stored by, and a block that was written has none at hand: its record is packed as those of
// evictions are.
TEST_P(HeirsDbCompressedTest, AnHeirIsPackedWhereImagesAreStored) {
  for (const PackMode pack : {PackMode::kImage, PackMode::kLz4, PackMode::kZstd}) {
    cache_.reset();
    cache_options_.scm.pack = pack;
    cache_options_.scm.capacity_bytes = 16 * kSegmentBytesMin;  // reclaim has begun, from when on records are packed
    Open();
    for (int version = 1; version < 6; ++version) {
      Write(version);
      Read(0, kKeys, version);
      Compact();
      Read(0, kKeys, version);
    }
    EXPECT_GT(Count(Event::kScmPackedPut), kBlocks) << ToString(pack);
    EXPECT_EQ(Count(Event::kScmImageFailed) + Count(Event::kScmUnpackFailed), 0u);
    Close();
    std::filesystem::remove_all(path_);
  }
}

INSTANTIATE_TEST_SUITE_P(All, HeirsDbCompressedTest, ::testing::Values(rocksdb::kLZ4Compression, rocksdb::kZSTD),
                         [](const auto& test) { return test.param == rocksdb::kZSTD ? "zstd" : "lz4"; });

// Its thread is the caller's: it compacts, and is a user's again.
TEST_F(HeirsDbTest, CompactFiles) {
  OpenHalfKnown();
  std::vector<rocksdb::LiveFileMetaData> files;
  db_->GetLiveFilesMetaData(&files);
  std::vector<std::string> names;
  for (const auto& file : files) names.push_back(file.name);
  std::thread([&] {
    ASSERT_TRUE(db_->CompactFiles({}, names, 1).ok());
    EXPECT_FALSE(OnCompactionThread()) << "what it reads now it wants itself";
  }).join();
  // Until its first output it passes for a user's, whose reads show nothing.
  EXPECT_NEAR(static_cast<double>(Kept() + Unknown()), kBlocks / 2.0, kBlocks / 5.0);
  Read(0, kKeys, 1);
}

TEST_F(HeirsDbTest, AnEnvThatNamesItsThreadsOtherwise) {
  NamelessEnv env;
  options_.env = &env;
  OpenHalfKnown();
  Compact();
  EXPECT_NEAR(static_cast<double>(Kept() + Unknown()), kBlocks / 2.0, kBlocks / 5.0);
  ExpectFirstHalfFound(1);
  Close();
}

// What a compaction wrote that ended half way is nobody's: it makes room first, and no file that lives does.
class HeirsDbAbortedTest : public HeirsDbTest {
 protected:
  void Prepare(uint32_t compression_threads = 1) {
    options_.compression_opts.parallel_threads = compression_threads;
    OpenHalfKnown();
  }
  // Runs `then` once, amidst the first half's output.
  void HalfWay(std::function<bool()> then) {
    files_->on_append = [this, then = std::move(then), done = std::make_shared<std::atomic<bool>>(false)] {
      return Kept() < kBlocks / 3 || done->exchange(true) || then();
    };
  }
  void ExpectNothingLeft() {
    files_->on_append = nullptr;
    EXPECT_GE(Kept(), kBlocks / 3) << "it came half way";
    EXPECT_EQ(Garbage(), 0u);
    ExpectNoLiveFileForgotten();
    Read(0, kKeys, 1);
  }
};

TEST_F(HeirsDbAbortedTest, ByAWriteThatFails) {
  Prepare();
  HalfWay([] { return false; });
  EXPECT_FALSE(TryCompact().ok());
  ExpectNothingLeft();
}

TEST_F(HeirsDbAbortedTest, ByAWriteThatFailsWhileOtherThreadsCompress) {
  if (!std::ranges::count(rocksdb::GetSupportedCompressions(), rocksdb::kLZ4Compression))
    GTEST_SKIP() << "this RocksDB was built without LZ4";
  options_.compression = rocksdb::kLZ4Compression;
  Prepare(4);
  HalfWay([] { return false; });
  EXPECT_FALSE(TryCompact().ok());
  ExpectNothingLeft();
}

TEST_F(HeirsDbAbortedTest, ByItsCaller) {
  Prepare();
  std::atomic<bool> canceled{false};
  HalfWay([&] { return canceled = true; });
  EXPECT_FALSE(TryCompact(0, &canceled).ok());
  ExpectNothingLeft();
}

TEST_F(HeirsDbAbortedTest, ByTheClosingOfItsDatabase) {
  Prepare();
  HalfWay([&] {
    rocksdb::CancelAllBackgroundWork(db_.get(), /*wait=*/false);
    return true;
  });
  EXPECT_FALSE(TryCompact().ok());
  Close();
  Open();  // the listener of before is gone
  ExpectNothingLeft();
}

// A database that was just opened has created no file yet whose properties tell its session.
TEST_F(HeirsDbAbortedTest, AsTheFirstWorkOfItsSession) {
  OpenWritten();
  Close();
  Prepare();  // its flush tells; so once more
  Close();
  Open();
  KnowFirstHalf(1);
  HalfWay([] { return false; });
  EXPECT_FALSE(TryCompact().ok());
  ExpectNothingLeft();
}

// "Empty SST file not kept" is a failure that harms nobody, and no file of before on the same thread.
TEST_F(HeirsDbTest, ACompactionWithoutOutputForgetsNoLiveFile) {
  families_ = {"default", "other"};
  OpenWritten();
  ASSERT_TRUE(db_->Put({}, handles_[1], "key", "value").ok());
  ASSERT_TRUE(db_->Flush({}, handles_[1]).ok());
  ASSERT_TRUE(db_->Delete({}, handles_[1], "key").ok());
  ASSERT_TRUE(db_->Flush({}, handles_[1]).ok());
  KnowFirstHalf(1);
  Compact();
  Compact(1);
  rocksdb::TablePropertiesCollection tables;
  ASSERT_TRUE(db_->GetPropertiesOfAllTables(handles_[1], &tables).ok());
  ASSERT_TRUE(tables.empty());
  ExpectNoLiveFileForgotten();
  ExpectFirstHalfFound(1);
}

// Once a compaction is installed its inputs are known to be dead: their records go as others are written, with room for
// all of them and nothing reclaimed for the want of it.
TEST_F(HeirsDbTest, TheDeadMakeRoomInScmBeforeAnythingIsReclaimed) {
  OpenWritten();
  Compact();  // to SCM
  const auto parents = Live();
  Compact();
  for (const FileId file : parents) EXPECT_TRUE(stats_->scm().IsForgotten(file));
  EXPECT_EQ(Garbage(), 0u);
  ExpectNoLiveFileForgotten();
  for (int version = 2; Dead() > 0 && version < 20; ++version) Write(version);
  EXPECT_EQ(Dead(), 0u);
  EXPECT_GE(Count(Event::kScmDeadDropped), kBlocks);
  EXPECT_EQ(Count(Event::kScmDropped), 0u);
}

// In DRAM the parents stay until they are the coldest, or RocksDB looks them up to drop them.
TEST_F(HeirsDbTest, TheDeadInDramGoWithUncacheAggressiveness) {
  for (const bool uncaches : {false, true}) {
    if (uncaches && !DropBlocksOfDeletedFiles(&options_)) GTEST_SKIP() << "this RocksDB has no uncache_aggressiveness";
    OpenHalfKnown();
    const auto parents = Live();
    EXPECT_GE(InDram(parents), kBlocks / 2);
    Compact();
    if (uncaches) {
      EXPECT_EQ(InDram(parents), 0u);
    } else {
      EXPECT_GE(InDram(parents), kBlocks / 2);
    }
    Read(0, kKeys, 1);
    Close();
    std::filesystem::remove_all(path_);
  }
}

TEST_F(HeirsDbTest, AFullMediumDropsHeirsAndLeavesFlushesToDram) {
  Open();
  ASSERT_TRUE(stats_->SetScmCapacity(0).ok());
  Write(1);
  const uint64_t missed = Count(Event::kMiss);
  Read(0, kKeys, 1);
  EXPECT_LT(Count(Event::kMiss), missed + kBlocks / 20) << "as RocksDB asks, in DRAM";
  Compact();
  EXPECT_EQ(Count(Event::kInsertToScm), 0u);
  EXPECT_GT(Count(Event::kInsertBypassed), kBlocks / 2);
  Read(0, kKeys, 1);
}

TEST_F(HeirsDbTest, TheWriteBudgetHolds) {
  cache_options_.write_budget_bytes_per_second = 4096;
  OpenWritten();
  Compact();
  EXPECT_GT(Decided(Action::kBypass, Reason::kWriteBudget), kBlocks / 2);
  EXPECT_LT(Kept(), kBlocks / 10);
  Read(0, kKeys, 1);
}

// RocksDB warms no cache of such a database.
TEST_F(HeirsDbTest, ADatabaseOfDramAloneHasNoHeirs) {
  options_.lowest_used_cache_tier = rocksdb::CacheTier::kVolatileTier;
  OpenWritten();
  Compact();
  EXPECT_EQ(stats_->Decisions().of(DecisionPoint::kWarm, Action::kToScm), 0u);
  EXPECT_EQ(Count(Event::kInsertToScm), 0u);
  Read(0, kKeys, 1);
}

TEST_F(HeirsDbTest, OffIsRocksDbsOwnWarming) {
  cache_options_.heirs = false;
  OpenHalfKnown();
  Compact();
  for (const Action action : {Action::kToDram, Action::kToScm, Action::kBypass})
    EXPECT_EQ(stats_->Decisions().of(DecisionPoint::kWarm, action), 0u);
  const uint64_t missed = Count(Event::kMiss);
  Read(0, kKeys, 1);
  EXPECT_LT(Count(Event::kMiss), missed + kBlocks / 20) << "all of it, hot or not";
}

// The tables that threads keep are in the sum of what the cache takes, and so in dram_total.
TEST_F(HeirsDbTest, WhatThreadsKeepIsCounted) {
  OpenWritten();
  const uint64_t before = stats_->Dram().rest;
  std::vector<rocksdb::LiveFileMetaData> files;
  db_->GetLiveFilesMetaData(&files);
  std::thread([&] {
    NoteCompactionOutput();
    Read(0, 100, 1);
    EXPECT_GE(stats_->Dram().rest, before + ParentTable::kBytes);
  }).join();
  EXPECT_EQ(stats_->Dram().rest, before);
}

}  // namespace
}  // namespace mezz::test
