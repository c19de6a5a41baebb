// SPDX-License-Identifier: Apache-2.0
#include "integration/companions/wal_file_system.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <string>
#include <vector>

#include "rocksdb/utilities/backup_engine.h"
#include "rocksdb/utilities/checkpoint.h"
#include "rocksdb/utilities/object_registry.h"
#include "tests/support/wal_db.h"

namespace mezz::test {
namespace {

using rocksdb::FileSystem;
using testing::HasSubstr;

class WalFileSystemTest : public testing::Test {
 protected:
  static constexpr uint64_t kSize = 16 << 20;

  WalFileSystemOptions Options(bool fallback = true, uint64_t size = kSize) const {
    return {.medium = {.path = medium_.path(), .size = size}, .fallback = fallback};
  }
  std::shared_ptr<FileSystem> MakeOrDie(const WalFileSystemOptions& options) const {
    std::shared_ptr<FileSystem> fs;
    EXPECT_EQ(NewWalFileSystem(options, nullptr, &fs).message(), "");
    return fs;
  }
  std::shared_ptr<FileSystem> MakeOrDie() const { return MakeOrDie(Options()); }
  static Status Refused(const WalFileSystemOptions& options) {
    std::shared_ptr<FileSystem> fs;
    return NewWalFileSystem(options, nullptr, &fs);
  }
  static uint64_t Count(const std::shared_ptr<FileSystem>& fs, WalEvent event) {
    return GetWalCounters(fs.get())->Get(event);
  }
  static rocksdb::Options SmallOptions() {
    rocksdb::Options options;
    options.write_buffer_size = 256 << 10;
    return options;
  }
  static void Fill(const WalDb& db, uint64_t from, uint64_t to) {
    for (uint64_t n = from; n < to; ++n) ASSERT_TRUE(db.PutSynced(WalKey(n), WalValue(n)).ok());
  }
  static void Check(const WalDb& db, uint64_t from, uint64_t to) {
    ASSERT_TRUE(db.status().ok()) << db.status().ToString();
    for (uint64_t n = from; n < to; ++n) ASSERT_EQ(db.Get(WalKey(n)), WalValue(n)) << n;
  }
  // In the base file system.
  static size_t LogsIn(const std::string& folder) {
    size_t logs = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) logs += entry.path().extension() == ".log";
    return logs;
  }

  const ScratchFile medium_;
  const ScratchFile moved_;  // on the same file system
  const TemporaryFolder folder_;
  const std::string db_ = folder_.Path("db");
};

TEST_F(WalFileSystemTest, ADatabaseFindsItsLogsOnTheMedium) {
  for (const size_t recycled : {0, 2}) {
    rocksdb::Options options = SmallOptions();
    options.recycle_log_file_num = recycled;
    const std::string path = folder_.Path(fmt::format("db{}", recycled));
    for (uint64_t round = 0; round < 2; ++round) {
      const auto fs = MakeOrDie();
      const WalDb db(fs, options, path);
      Check(db, 0, round * 200);
      for (uint64_t part = 0; part < 4; ++part) {
        Fill(db, round * 200 + part * 50, round * 200 + (part + 1) * 50);
        if (part != 3) {
          ASSERT_TRUE(db->Flush({}).ok());
        }
      }
      EXPECT_EQ(LogsIn(path), 0u);
      EXPECT_GE(Count(fs, WalEvent::kSync), 200u);
      EXPECT_GT(Count(fs, WalEvent::kLogRemoved) + Count(fs, WalEvent::kLogRecycled), 0u);
      EXPECT_EQ(GetWalCounters(fs.get())->Fallbacks(), 0u);
    }
  }
}

TEST_F(WalFileSystemTest, DatabasesShareAMedium) {
  const auto fs = MakeOrDie(), again = MakeOrDie();
  const WalDb one(fs, SmallOptions(), folder_.Path("one")), two(again, SmallOptions(), folder_.Path("two"));
  Fill(one, 0, 100);
  Fill(two, 100, 200);
  Check(one, 0, 100);
  Check(two, 100, 200);
  std::vector<std::string> names;
  ASSERT_TRUE(fs->GetChildren(folder_.Path("one/"), {}, &names, nullptr).ok());
  EXPECT_THAT(names, testing::Contains(testing::EndsWith(".log")));
  EXPECT_THAT(names, testing::Not(testing::Contains(kWalMarkerName)));
}

TEST_F(WalFileSystemTest, ArchivedLogsAreReadAgain) {
  rocksdb::Options options = SmallOptions();
  options.WAL_ttl_seconds = 3600;
  const auto fs = MakeOrDie();
  const WalDb db(fs, options, db_);
  Fill(db, 0, 500);
  ASSERT_TRUE(db->Flush({}).ok());
  EXPECT_EQ(LogsIn(db_ + "/archive"), 0u);
  std::unique_ptr<rocksdb::TransactionLogIterator> updates;
  ASSERT_TRUE(db->GetUpdatesSince(1, &updates).ok());
  uint64_t n = 0;
  for (; updates->Valid(); updates->Next()) EXPECT_EQ(updates->GetBatch().sequence, ++n);
  EXPECT_EQ(n, 500u);
}

// Their logs lie where a restore, or a program without us, looks for them.
TEST_F(WalFileSystemTest, CheckpointsAndBackupsStandAlone) {
  const auto fs = MakeOrDie();
  const std::string checkpoint_path = folder_.Path("checkpoint"), backup_path = folder_.Path("backup");
  rocksdb::BackupEngineOptions backup_options(backup_path);
  backup_options.backup_env = rocksdb::Env::Default();
  {
    rocksdb::Options options;
    options.write_buffer_size = 4 << 20;
    const WalDb db(fs, options, db_, {"default", "other"});
    ASSERT_TRUE(db.PutSynced("kept", "open", 1).ok());
    Fill(db, 0, 100);
    EXPECT_EQ(LogsIn(db_), 0u);
    rocksdb::Checkpoint* made = nullptr;
    ASSERT_TRUE(rocksdb::Checkpoint::Create(db.get(), &made).ok());
    const std::unique_ptr<rocksdb::Checkpoint> checkpoint(made);
    ASSERT_EQ(checkpoint->CreateCheckpoint(checkpoint_path, /*log_size_for_flush=*/100 << 20).ToString(), "OK");
    rocksdb::BackupEngine* engine = nullptr;
    ASSERT_TRUE(rocksdb::BackupEngine::Open(db->GetEnv(), backup_options, &engine).ok());
    const std::unique_ptr<rocksdb::BackupEngine> owner(engine);
    ASSERT_EQ(engine->CreateNewBackup(db.get()).ToString(), "OK");
    ASSERT_TRUE(engine->RestoreDBFromLatestBackup(folder_.Path("restored"), folder_.Path("restored")).ok());
  }
  for (const std::string& copy : {checkpoint_path, folder_.Path("restored")}) {
    EXPECT_GT(LogsIn(copy), 0u);
    Check(WalDb(FileSystem::Default(), rocksdb::Options(), copy, {"default", "other"}), 0, 100);
  }
}

// A family that is not flushed holds all logs, until the medium is full.
TEST_F(WalFileSystemTest, WhatAFullMediumDoesNotTakeGoesToTheBase) {
  constexpr uint64_t kKeys = 3200;  // 4.8 MB
  const WalFileSystemOptions small = Options(/*fallback=*/true, kWalSizeMin);
  {
    const auto fs = MakeOrDie(small);
    rocksdb::Options options = SmallOptions();
    options.max_total_wal_size = 64 << 20;
    const WalDb db(fs, options, db_, {"default", "other"});
    ASSERT_TRUE(db.PutSynced("kept", "open", 1).ok());
    Fill(db, 0, kKeys);
    EXPECT_GT(Count(fs, WalEvent::kFallbackFull), 0u);
    EXPECT_GT(LogsIn(db_), 0u);
    Check(db, 0, kKeys);
  }
  Check(WalDb(MakeOrDie(small), SmallOptions(), db_, {"default", "other"}), 0, kKeys);
}

TEST_F(WalFileSystemTest, WithoutFallbackAFullMediumFailsTheWrite) {
  const auto fs = MakeOrDie(Options(/*fallback=*/false, kWalSizeMin));
  rocksdb::Options options = SmallOptions();
  options.max_total_wal_size = 64 << 20;
  const WalDb db(fs, options, db_, {"default", "other"});
  ASSERT_TRUE(db.PutSynced("kept", "open", 1).ok());
  uint64_t written = 0;
  while (written < 10000 && db.PutSynced(WalKey(written), WalValue(written)).ok()) ++written;
  EXPECT_LT(written, 10000u);
  EXPECT_EQ(LogsIn(db_), 0u);
  Check(db, 0, written);
}

TEST_F(WalFileSystemTest, AMediumSmallerThanOneLogTakesNone) {
  for (const bool fallback : {true, false}) {
    const auto fs = MakeOrDie(Options(fallback));
    const WalDb db(fs, rocksdb::Options(), folder_.Path(fmt::format("db{}", fallback)));  // write_buffer_size: 64 MiB
    EXPECT_EQ(db.status().ok() && db.PutSynced("a", "b").ok(), fallback);
    EXPECT_EQ(Count(fs, WalEvent::kFallbackTooSmall) > 0, fallback);
  }
}

TEST_F(WalFileSystemTest, AMediumThatIsNotThereFallsBackOrIsRefused) {
  WalFileSystemOptions options = Options();
  options.medium.path = folder_.Path("nowhere/medium");
  const auto fs = MakeOrDie(options);
  {
    const WalDb db(fs, SmallOptions(), db_);
    Fill(db, 0, 100);
    EXPECT_GT(LogsIn(db_), 0u);
    EXPECT_GT(Count(fs, WalEvent::kFallbackAbsent), 0u);
  }
  Check(WalDb(FileSystem::Default(), SmallOptions(), db_), 0, 100);
  options.fallback = false;
  EXPECT_THAT(Refused(options).message(), HasSubstr("is in a directory that does not exist"));
}

TEST_F(WalFileSystemTest, AMediumThatVanishesTakesNoFurtherLog) {
  const auto fs = MakeOrDie();
  {
    const WalDb db(fs, SmallOptions(), db_);
    Fill(db, 0, 10);
    std::filesystem::rename(medium_.path(), moved_.path());
    Fill(db, 10, 500);
    EXPECT_GT(Count(fs, WalEvent::kFallbackVanished), 0u);
    EXPECT_GT(LogsIn(db_), 0u);
  }
  Check(WalDb(fs, SmallOptions(), db_), 0, 500);
}

TEST_F(WalFileSystemTest, AMediumWhoseFileIsRemovedIsTold) {
  std::promise<std::string> told;
  WalFileSystemOptions options = Options();
  options.medium.on_trouble = [&](std::string_view what) { told.set_value(std::string(what)); };
  const auto fs = MakeOrDie(options);
  const WalDb db(fs, SmallOptions(), db_);
  Fill(db, 0, 10);
  std::filesystem::remove(medium_.path());
  EXPECT_THAT(told.get_future().get(), HasSubstr("flush the databases"));
  Check(db, 0, 10);
}

// A new medium at the old path, as a tmpfs after a reboot: the logs were on the old one.
TEST_F(WalFileSystemTest, ADatabaseWhoseLogsAreElsewhereIsNotOpenedWithoutThem) {
  { Fill(WalDb(MakeOrDie(), SmallOptions(), db_), 0, 10); }
  std::filesystem::rename(medium_.path(), moved_.path());
  WalFileSystemOptions absent = Options();
  absent.medium.path = folder_.Path("nowhere/medium");
  for (const WalFileSystemOptions& options : {Options(), absent}) {
    const WalDb db(MakeOrDie(options), SmallOptions(), db_);
    EXPECT_FALSE(db.status().ok());
    EXPECT_THAT(db.status().ToString(), HasSubstr(kWalMarkerName));
  }
  std::filesystem::rename(moved_.path(), medium_.path());
  Check(WalDb(MakeOrDie(), SmallOptions(), db_), 0, 10);
}

// rm -rf: the medium still holds the logs of a directory that is no more. They are no database's that comes after it.
TEST_F(WalFileSystemTest, LogsOfARemovedDirectoryAreNotTheNextOnes) {
  const auto fs = MakeOrDie();
  rocksdb::Options several = SmallOptions();
  several.avoid_flush_during_shutdown = several.avoid_flush_during_recovery = true;
  for (uint64_t n = 0; n < 4; ++n) Fill(WalDb(fs, several, db_), 10 * n, 10 * n + 10);  // a log each
  std::filesystem::remove_all(db_);
  for (int opening = 0; opening < 2; ++opening) {
    const WalDb db(fs, several, db_);
    ASSERT_TRUE(db.status().ok()) << db.status().ToString();
    for (uint64_t n = 0; n < 40; ++n) EXPECT_NE(db.Get(WalKey(n)), WalValue(n)) << "opening " << opening;
    Fill(db, 50, 60);
  }
  Check(WalDb(fs, several, db_), 50, 60);
  EXPECT_GE(Count(fs, WalEvent::kLogLeftOver), 3u);
}

// A checkpoint in the place of its database: its own log is the log, and not the one of that name that went on.
TEST_F(WalFileSystemTest, ARestoredDirectoryHasItsOwnLogs) {
  const auto fs = MakeOrDie();
  rocksdb::Options kept = SmallOptions();
  kept.avoid_flush_during_shutdown = kept.avoid_flush_during_recovery = true;
  const std::string checkpoint = folder_.Path("checkpoint");
  {
    const WalDb db(fs, kept, db_);
    Fill(db, 0, 10);
    rocksdb::Checkpoint* made = nullptr;
    ASSERT_TRUE(rocksdb::Checkpoint::Create(db.get(), &made).ok());
    const std::unique_ptr<rocksdb::Checkpoint> owned(made);
    ASSERT_TRUE(owned->CreateCheckpoint(checkpoint, /*log_size_for_flush=*/1 << 20).ok());
    Fill(db, 10, 20);
  }
  ASSERT_GT(LogsIn(checkpoint), 0u) << "or nothing is proved";
  std::filesystem::remove_all(db_);
  std::filesystem::copy(checkpoint, db_, std::filesystem::copy_options::recursive);
  const WalDb db(fs, kept, db_);
  Check(db, 0, 10);
  for (uint64_t n = 10; n < 20; ++n) EXPECT_NE(db.Get(WalKey(n)), WalValue(n)) << n;
  EXPECT_GE(Count(fs, WalEvent::kLogLeftOver), 1u);
}

// mv, cp -r, another mount point: the directory names logs that the medium has under another path.
TEST_F(WalFileSystemTest, AMovedDirectoryIsNotOpenedWithoutItsLogs) {
  const auto fs = MakeOrDie();
  { Fill(WalDb(fs, SmallOptions(), db_), 0, 10); }
  const std::string moved = folder_.Path("moved");
  std::filesystem::rename(db_, moved);
  {
    const WalDb db(fs, SmallOptions(), moved);
    EXPECT_FALSE(db.status().ok());
    EXPECT_THAT(db.status().ToString(), HasSubstr(db_));
  }
  std::filesystem::rename(moved, db_);
  std::filesystem::create_directory_symlink(db_, moved);
  Check(WalDb(fs, SmallOptions(), moved), 0, 10);
}

// Two file systems of a process share the medium of a path: also when the path names another by now.
TEST_F(WalFileSystemTest, AMediumThatVanishedIsNotTakenForTheOneInItsPlace) {
  const auto first = MakeOrDie();
  std::filesystem::rename(medium_.path(), moved_.path());
  std::ofstream(medium_.path()).put('x');
  const auto second = MakeOrDie();
  Fill(WalDb(second, SmallOptions(), db_), 0, 10);
  EXPECT_EQ(Count(second, WalEvent::kLogCreated), 0u);
  EXPECT_GT(Count(second, WalEvent::kFallbackVanished), 0u);
  EXPECT_GT(LogsIn(db_), 0u);
}

// With recycle_log_file_num RocksDB asks for old logs to be written over, and reads them in a format of their own.
TEST_F(WalFileSystemTest, RecycledLogsCarryNothingOver) {
  rocksdb::Options options = SmallOptions();
  options.recycle_log_file_num = 3;
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kSkipAnyCorruptedRecords;  // else 7.8 recycles none
  options.write_buffer_size = 64 << 10;
  const auto fs = MakeOrDie();
  for (uint64_t n = 0; n < 3; ++n) {
    const WalDb db(fs, options, db_);
    Check(db, 0, 300 * n);
    Fill(db, 300 * n, 300 * n + 300);
  }
  Check(WalDb(fs, options, db_), 0, 900);
  EXPECT_GT(Count(fs, WalEvent::kLogRecycled), 10u);
  EXPECT_EQ(LogsIn(db_), 0u);
  // Nor does one that replaces a log in the base file system, or is replaced by one.
  std::filesystem::rename(medium_.path(), moved_.path());
  { Fill(WalDb(fs, options, db_), 900, 1200); }
  EXPECT_GT(Count(fs, WalEvent::kFallbackVanished), 0u);
  std::filesystem::rename(moved_.path(), medium_.path());
  { Fill(WalDb(fs, options, db_), 1200, 1500); }
  const WalDb db(fs, options, db_);
  Check(db, 0, 1500);
}

TEST_F(WalFileSystemTest, ReusingALogReplacesIt) {
  const auto fs = MakeOrDie();
  std::filesystem::create_directories(db_);
  const rocksdb::FileOptions log = fs->OptimizeForLogWrite({}, {});
  const std::string old_name = db_ + "/000001.log", name = db_ + "/000002.log";
  std::unique_ptr<rocksdb::FSWritableFile> file;
  ASSERT_TRUE(fs->NewWritableFile(old_name, log, &file, nullptr).ok());
  ASSERT_TRUE(file->Append("the old log's bytes", {}, nullptr).ok());
  file.reset();
  ASSERT_TRUE(fs->ReuseWritableFile(name, old_name, log, &file, nullptr).ok());
  ASSERT_TRUE(file->Append("new", {}, nullptr).ok());
  ASSERT_TRUE(file->Sync({}, nullptr).ok());
  EXPECT_TRUE(fs->FileExists(old_name, {}, nullptr).IsNotFound());
  std::unique_ptr<rocksdb::FSSequentialFile> read;
  ASSERT_TRUE(fs->NewSequentialFile(name, {}, &read, nullptr).ok());
  char scratch[64];
  rocksdb::Slice bytes;
  ASSERT_TRUE(read->Read(sizeof(scratch), {}, &bytes, scratch, nullptr).ok());
  EXPECT_EQ(bytes.ToString(), "new");
  EXPECT_EQ(Count(fs, WalEvent::kLogRecycled), 1u);
  EXPECT_EQ(Count(fs, WalEvent::kLogRemoved), 1u);
}

TEST_F(WalFileSystemTest, ADestroyedDatabaseLeavesNothing) {
  const auto fs = MakeOrDie();
  { Fill(WalDb(fs, SmallOptions(), db_), 0, 300); }
  const auto env = rocksdb::NewCompositeEnv(fs);
  rocksdb::Options options = SmallOptions();
  options.env = env.get();
  ASSERT_TRUE(rocksdb::DestroyDB(db_, options).ok());
  EXPECT_FALSE(std::filesystem::exists(db_));
  EXPECT_EQ(Count(fs, WalEvent::kLogCreated), Count(fs, WalEvent::kLogRemoved));
}

TEST_F(WalFileSystemTest, WhatIsNotOursIsRefusedAlsoWhereItMightFallBack) {
  const std::string kForeign(200, 'f');
  std::ofstream(medium_.path()) << kForeign;
  std::filesystem::permissions(medium_.path(), std::filesystem::perms(0600));
  EXPECT_THAT(Refused(Options()).message(), HasSubstr("holds data that is not Mezzanine's"));
  std::filesystem::permissions(medium_.path(), std::filesystem::perms(0644));
  EXPECT_THAT(Refused(Options()).message(), HasSubstr("chmod 0600"));
  EXPECT_EQ(std::filesystem::file_size(medium_.path()), kForeign.size());
}

class RegisteredBase final : public rocksdb::FileSystemWrapper {
 public:
  RegisteredBase() : FileSystemWrapper(FileSystem::Default()) {}
  static const char* kClassName() { return "wal_test_base"; }
  const char* Name() const override { return kClassName(); }
};

TEST_F(WalFileSystemTest, TheUriNamesTheFileSystemBeneath) {
  const auto library = rocksdb::ObjectLibrary::Default();
  RegisterWalFileSystem(library.get());
  library->AddFactory<FileSystem>(RegisteredBase::kClassName(),
                                  [](const std::string&, std::unique_ptr<FileSystem>* owner, std::string*) {
                                    *owner = std::make_unique<RegisteredBase>();
                                    return owner->get();
                                  });
  WalFileSystemOptions options = Options();
  options.base = RegisteredBase::kClassName();
  std::shared_ptr<FileSystem> fs;
  ASSERT_TRUE(FileSystem::CreateFromString(rocksdb::ConfigOptions(), options.ToUri(), &fs).ok());
  ASSERT_NE(GetWalCounters(fs.get()), nullptr);
  EXPECT_NE(fs->CheckedCast<RegisteredBase>(), nullptr);
  EXPECT_EQ(MakeOrDie()->CheckedCast<RegisteredBase>(), nullptr);
  options.base = "no_such_file_system://";
  EXPECT_THAT(Refused(options).message(), HasSubstr("base=no_such_file_system:// is no file system"));
}

TEST_F(WalFileSystemTest, TheUriIsJudgedByName) {
  RegisterWalFileSystem(rocksdb::ObjectLibrary::Default().get());
  const auto make = [](const std::string& uri, std::shared_ptr<FileSystem>* fs) {
    return FileSystem::CreateFromString(rocksdb::ConfigOptions(), uri, fs);
  };
  std::shared_ptr<FileSystem> fs;
  ASSERT_EQ(make(Options().ToUri(), &fs).ToString(), "OK");
  EXPECT_NE(GetWalCounters(fs.get()), nullptr);
  EXPECT_EQ(GetWalCounters(FileSystem::Default().get()), nullptr);
  WalFileSystemOptions options;
  ASSERT_TRUE(ParseWalUri(Options().ToUri(), &options).ok());
  EXPECT_EQ(options.ToUri(), Options().ToUri());
  const std::pair<std::string_view, std::string_view> kBad[] = {
      {"path=/x", "size is missing"},
      {"size=4M", "path is missing"},
      {"path=/x;size=1M", "size=1048576 is smaller than any log file"},
      {"path=/x;size=many", "size=many"},
      {"path=/x;size=4M;speed=fast", "the key \"speed\" is unknown; the keys are path, size, fallback, model and base"},
      {"path=/x;size=4M;fallback=maybe", "fallback=maybe: accepted are true, false, 1 and 0"},
      {"path=/x;size=4M;size=8M", "size is given twice"},
      {"path=/x;size=4M;model=fast", "model"},
      {"path=;size=4M", "path= has an empty value"},
      {"path", "\"path\" is not key=value"}};
  for (const auto& [rest, sentence] : kBad) {
    const std::string uri = fmt::format("{}{}", kWalScheme, rest);
    EXPECT_THAT(ParseWalUri(uri, &options).message(), HasSubstr(std::string(sentence)));
    // The registry may say OK, and give none.
    fs = nullptr;
    EXPECT_FALSE(make(uri, &fs).ok() && fs != nullptr) << uri;
  }
}

}  // namespace
}  // namespace mezz::test
