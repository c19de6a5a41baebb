// SPDX-License-Identifier: Apache-2.0
// RocksDB over an emulated device: the same bytes, and a wait for each read.
#include "workloads/replay/caches/flash_file_system.h"

#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <functional>

#include "rocksdb/db.h"
#include "rocksdb/file_system.h"
#include "rocksdb/table.h"
#include "tests/support/temporary_folder.h"
#include "workloads/replay/caches/block_file.h"
#include "workloads/rocksdb/open_db.h"

namespace mezz {
namespace {

constexpr FlashModel kFifty = {.name = "fifty",
                               .device = "none",
                               .latency = {{{0, 50}, {0.25, 50}, {0.5, 50}, {0.75, 50}, {1, 50}}},
                               .queue_depth = 8,
                               .bytes_per_ns = 1e9};

// Jumps instead of sleeping.
class VirtualClock final : public FlashClock {
 public:
  uint64_t NowNs() override { return now_.load(std::memory_order_relaxed); }
  void SleepUntilNs(uint64_t ns) override {
    uint64_t now = NowNs();
    while (now < ns && !now_.compare_exchange_weak(now, ns, std::memory_order_relaxed)) continue;
  }

 private:
  std::atomic<uint64_t> now_{1'000'000};
};

class FlashFiles : public ::testing::Test {
 protected:
  // A file of bytes that tell their place, opened as RocksDB opens its tables.
  std::unique_ptr<rocksdb::FSRandomAccessFile> OpenFile(rocksdb::Env* env) {
    std::string content;
    for (int i = 0; i < 20'000; ++i) content.push_back(static_cast<char>(i * 7 + i / 256));
    const std::string path = folder_.Write("table", content);
    rocksdb::FileOptions options;
    options.use_direct_reads = true;
    std::unique_ptr<rocksdb::FSRandomAccessFile> file;
    EXPECT_TRUE(env->GetFileSystem()->NewRandomAccessFile(path, options, &file, nullptr).ok());
    content_ = content;
    return file;
  }

  TemporaryFolder folder_;
  VirtualClock clock_;
  Flash flash_{kFifty, 1, &clock_};
  std::string content_;
};

TEST_F(FlashFiles, ReadTheSameBytesAndWait) {
  const auto env = NewFlashEnv(&flash_);
  const auto file = OpenFile(env.get());
  EXPECT_TRUE(file->use_direct_io()) << "RocksDB is to treat it as it does a disk's";
  std::array<char, 4096> scratch;
  rocksdb::Slice result;
  const uint64_t begun = clock_.NowNs();
  ASSERT_TRUE(file->Read(4096, scratch.size(), {}, &result, scratch.data(), nullptr).ok());
  EXPECT_EQ(result, rocksdb::Slice(content_.data() + 4096, scratch.size()));
  EXPECT_EQ(clock_.NowNs() - begun, 50'000u);
}

TEST_F(FlashFiles, ReadABatchInOneWait) {
  const auto env = NewFlashEnv(&flash_);
  const auto file = OpenFile(env.get());
  std::array<std::array<char, 512>, 4> scratch;
  std::array<rocksdb::FSReadRequest, 4> requests;
  for (size_t i = 0; i < requests.size(); ++i) {
    requests[i].offset = 4096 * i;
    requests[i].len = scratch[i].size();
    requests[i].scratch = scratch[i].data();
  }
  const uint64_t begun = clock_.NowNs();
  ASSERT_TRUE(file->MultiRead(requests.data(), requests.size(), {}, nullptr).ok());
  EXPECT_EQ(clock_.NowNs() - begun, 50'000u);
  EXPECT_EQ(flash_.Counts().reads, 4u);
  for (const rocksdb::FSReadRequest& request : requests) {
    EXPECT_TRUE(request.status.ok());
    EXPECT_EQ(request.result, rocksdb::Slice(content_.data() + request.offset, request.len));
  }
}

TEST_F(FlashFiles, AFileOfBlocksWaitsToo) {
  Progress progress(/*quiet=*/true);
  const std::atomic<bool> stop{false};
  std::unique_ptr<BlockFile> file;
  ASSERT_EQ(BlockFile::Claim(folder_.Path("blocks"), {}, 1 << 16, /*flash=*/nullptr, &file).message(), "");
  ASSERT_TRUE(file->Fill(&progress, stop).ok());
  const std::string path = file->path();
  ASSERT_EQ(BlockFile::OpenToRead(path, {}, /*buffered=*/false, &flash_, &file).message(), "");
  const BlockFile::Buffer buffer = BlockFile::MakeBuffer(4096);
  const uint64_t begun = clock_.NowNs();
  ASSERT_TRUE(file->Read(8192, 4096, buffer.get()).ok());
  EXPECT_EQ(clock_.NowNs() - begun, 50'000u);
  EXPECT_TRUE(file->Matches(8192, {buffer.get(), 4096}));
}

class WrittenFiles : public FlashFiles {
 protected:
  static FlashModel Written() {
    FlashModel model = kFifty;
    model.write_us = 20;
    model.sync_us = 300;
    model.write_bytes_per_ns = 1;
    return model;
  }
  std::unique_ptr<rocksdb::FSWritableFile> NewFile(bool direct) {
    rocksdb::FileOptions options;
    options.use_direct_writes = direct;
    std::unique_ptr<rocksdb::FSWritableFile> file;
    EXPECT_TRUE(env_->GetFileSystem()->NewWritableFile(folder_.Path("log"), options, &file, nullptr).ok());
    return file;
  }
  uint64_t Passed(const std::function<rocksdb::IOStatus()>& act) {
    const uint64_t begun = clock_.NowNs();
    EXPECT_TRUE(act().ok());
    return clock_.NowNs() - begun;
  }

  Flash device_{Written(), 1, &clock_};
  std::unique_ptr<rocksdb::Env> env_ = NewFlashEnv(&device_);
};

TEST_F(WrittenFiles, AppendsRunAheadOfTheDeviceAndSyncsWait) {
  const auto file = NewFile(/*direct=*/false);
  const std::string bytes(1'000'000, 'x');
  EXPECT_EQ(Passed([&] { return file->Append(bytes, {}, nullptr); }), 0u);
  EXPECT_EQ(Passed([&] { return file->Sync({}, nullptr); }), 1'300'000u);
  EXPECT_EQ(Passed([&] { return file->Sync({}, nullptr); }), 0u) << "what is on the device need not go there again";
  EXPECT_EQ(Passed([&] { return file->Append("x", {}, nullptr); }), 0u);
  clock_.SleepUntilNs(clock_.NowNs() + 1'000'000);
  EXPECT_EQ(Passed([&] { return file->Sync({}, nullptr); }), 300'000u) << "the device took it long ago";
  for (int i = 0; i < 4; ++i) EXPECT_EQ(Passed([&] { return file->Append(bytes, {}, nullptr); }), 0u);
  EXPECT_EQ(Passed([&] { return file->Append(bytes, {}, nullptr); }), 5'000'000u - kAheadBytes) << "far enough ahead";
  EXPECT_TRUE(file->Close({}, nullptr).ok());
}

TEST_F(WrittenFiles, DirectWritesWaitEach) {
  const auto file = NewFile(/*direct=*/true);
  EXPECT_EQ(Passed([&] { return file->Append(std::string(4096, 'x'), {}, nullptr); }), 20'000u);
  EXPECT_TRUE(file->Close({}, nullptr).ok());
}

TEST_F(FlashFiles, ReadAtOnceWithoutADevice) {
  const auto env = NewFlashEnv(nullptr);
  const auto file = OpenFile(env.get());
  std::array<char, 4096> scratch;
  rocksdb::Slice result;
  ASSERT_TRUE(file->Read(0, scratch.size(), {}, &result, scratch.data(), nullptr).ok());
  EXPECT_EQ(result, rocksdb::Slice(content_.data(), scratch.size()));
}

TEST_F(FlashFiles, HoldADatabaseWhoseMissesWait) {
  rocksdb::BlockBasedTableOptions table;
  table.no_block_cache = true;
  rocksdb::Options options;
  options.create_if_missing = true;
  options.use_direct_reads = true;
  options.use_direct_io_for_flush_and_compaction = true;
  options.compression = rocksdb::kNoCompression;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  const auto env = NewFlashEnv(&flash_);
  options.env = env.get();
  std::unique_ptr<rocksdb::DB> db;
  ASSERT_TRUE(OpenDb(options, folder_.Path("db"), &db).ok());
  for (int i = 0; i < 1000; ++i) {
    const std::string key = std::to_string(100'000 + i);
    ASSERT_TRUE(db->Put({}, key, std::string(500, static_cast<char>('a' + i % 26))).ok());
  }
  ASSERT_TRUE(db->Flush({}).ok());
  ASSERT_TRUE(db->CompactRange({}, nullptr, nullptr).ok());
  const FlashCounts before = flash_.Counts();
  std::string value;
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(db->Get({}, std::to_string(100'000 + i), &value).ok());
    ASSERT_EQ(value, std::string(500, static_cast<char>('a' + i % 26)));
  }
  const FlashCounts reads = flash_.Counts() - before;
  EXPECT_GE(reads.waits, 1000u) << "one block a get";
  EXPECT_LE(reads.waits, 1100u);
  EXPECT_EQ(reads.asked_us(), 50);
}

}  // namespace
}  // namespace mezz
