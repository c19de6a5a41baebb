// SPDX-License-Identifier: Apache-2.0
// Databases that are killed at the n-th append to a log, and opened again: every write that was told to be durable is
// there, and nothing that was never written. All databases live in children, so that none inherits threads it has not.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/random.h"
#include "tests/support/wal_db.h"

namespace mezz::test {
namespace {

using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

enum class When { kBefore, kAfter };
struct KillAt {
  int append;
  When when;
};

// Ends the process at a log's n-th append.
class KillingFile final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  KillingFile(std::unique_ptr<rocksdb::FSWritableFile> file, std::atomic<int>* left, When when)
      : FSWritableFileOwnerWrapper(std::move(file)), left_(left), when_(when) {}
  IOStatus Append(const Slice& data, const IOOptions& options, IODebugContext* dbg) override {
    const bool last = left_->fetch_sub(1, std::memory_order_relaxed) == 1;
    if (last && when_ == When::kBefore) kill(getpid(), SIGKILL);
    IOStatus status = FSWritableFileOwnerWrapper::Append(data, options, dbg);
    if (last) kill(getpid(), SIGKILL);
    return status;
  }
  IOStatus Append(const Slice& data, const IOOptions& options, const rocksdb::DataVerificationInfo&,
                  IODebugContext* dbg) override {
    return Append(data, options, dbg);
  }

 private:
  std::atomic<int>* const left_;
  const When when_;
};

class KillingFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  KillingFileSystem(std::shared_ptr<rocksdb::FileSystem> base, KillAt at)
      : FileSystemWrapper(std::move(base)), left_(at.append), when_(at.when) {}
  const char* Name() const override { return "KillingFileSystem"; }
  IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                           std::unique_ptr<rocksdb::FSWritableFile>* file, IODebugContext* dbg) override {
    return Kill(name, target()->NewWritableFile(name, options, file, dbg), file);
  }
  IOStatus ReuseWritableFile(const std::string& name, const std::string& old, const rocksdb::FileOptions& options,
                             std::unique_ptr<rocksdb::FSWritableFile>* file, IODebugContext* dbg) override {
    return Kill(name, target()->ReuseWritableFile(name, old, options, file, dbg), file);
  }

 private:
  IOStatus Kill(const std::string& name, IOStatus status, std::unique_ptr<rocksdb::FSWritableFile>* file) {
    if (status.ok() && name.ends_with(".log")) *file = std::make_unique<KillingFile>(std::move(*file), &left_, when_);
    return status;
  }
  std::atomic<int> left_;
  const When when_;
};

// Runs `body` in a child; its status as waitpid gives it.
int InChild(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

class WalKillTest : public testing::TestWithParam<bool> {
 protected:
  std::shared_ptr<rocksdb::FileSystem> Make() const {
    std::shared_ptr<rocksdb::FileSystem> fs;
    const Status status =
        NewWalFileSystem({.medium = {.path = medium_.path(), .size = kWalSizeMin}, .fallback = true}, nullptr, &fs);
    if (!status.ok()) std::fprintf(stderr, "%s\n", status.message().c_str());
    return fs;
  }
  static rocksdb::Options DbOptions() {
    rocksdb::Options options;
    options.write_buffer_size = 128 << 10;
    options.recycle_log_file_num = 2;
    options.avoid_flush_during_recovery = GetParam();
    // RocksDB 7.8 recycles logs in this mode only; the other is what databases run with.
    if (GetParam()) options.wal_recovery_mode = rocksdb::WALRecoveryMode::kSkipAnyCorruptedRecords;
    return options;
  }
  // Writes key after key, and tells of each that is durable.
  int Write(uint64_t from, KillAt at, int told) const {
    const WalDb db(std::make_shared<KillingFileSystem>(Make(), at), DbOptions(), db_);
    if (!db.status().ok()) return 2;
    for (uint64_t n = from;; ++n) {
      if (!db.PutSynced(WalKey(n), WalValue(n)).ok()) return 3;
      if (write(told, &n, sizeof(n)) != sizeof(n)) return 4;
    }
  }
  // Of what was written since, `told` must be there; the one that was under way may be.
  int Check(uint64_t told) const {
    const WalDb db(Make(), DbOptions(), db_);
    if (!db.status().ok()) {
      std::fprintf(stderr, "%s\n", db.status().ToString().c_str());
      return 2;
    }
    for (uint64_t n = 0; n < told; ++n) {
      if (db.Get(WalKey(n)) != WalValue(n)) {
        std::fprintf(stderr, "key %llu of %llu is lost\n", static_cast<unsigned long long>(n),
                     static_cast<unsigned long long>(told));
        return 3;
      }
    }
    uint64_t entries = 0;
    const std::unique_ptr<rocksdb::Iterator> all(db->NewIterator({}));
    for (all->SeekToFirst(); all->Valid(); all->Next()) ++entries;
    return entries == told || (entries == told + 1 && db.Get(WalKey(told)) == WalValue(told)) ? 0 : 4;
  }

  const ScratchFile medium_;
  const TemporaryFolder folder_;
  const std::string db_ = folder_.Path("db");
};

TEST_P(WalKillTest, EverySyncedWriteIsThere) {
  Random random(Seed());
  uint64_t told = 0;
  for (int round = 0; round < 12 && !HasFailure(); ++round) {
    const KillAt at{.append = 1 + static_cast<int>(random.Below(round % 2 == 0 ? 10 : 300)),
                    .when = random.OneIn(2) ? When::kBefore : When::kAfter};
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const int status = InChild([&] { return Write(told, at, ends[1]); });
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "exit status " << WEXITSTATUS(status);
    close(ends[1]);
    for (uint64_t n = 0; read(ends[0], &n, sizeof(n)) == sizeof(n);) told = n + 1;
    close(ends[0]);
    ASSERT_EQ(InChild([&] { return Check(told); }), 0) << "round " << round << ", " << told << " synced";
  }
}

INSTANTIATE_TEST_SUITE_P(FlushAtRecoveryOrNot, WalKillTest, testing::Bool());

}  // namespace
}  // namespace mezz::test
