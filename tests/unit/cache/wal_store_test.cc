// SPDX-License-Identifier: Apache-2.0
#include "cache/wal/wal_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <string>
#include <thread>

#include "cache/wal/open_wal.h"
#include "cache/wal/wal_checksums.h"
#include "tests/support/crash_medium.h"
#include "tests/support/tier_fixture.h"

namespace mezz::test {
namespace {

using FilePtr = WalStore::FilePtr;

std::span<const std::byte> AsBytes(std::string_view text) { return std::as_bytes(std::span(text)); }

class WalStoreTest : public testing::Test {
 protected:
  WalOptions Options() const { return {.path = file_.path(), .size = kWalSizeMin}; }
  std::shared_ptr<WalStore> OpenOrDie() {
    std::shared_ptr<WalStore> store;
    EXPECT_EQ(OpenWalStore(Options(), &store).message(), "");
    return store;
  }
  Status OpenWith(const WalOptions& options) {
    std::shared_ptr<WalStore> store;
    return OpenWalStore(options, &store);
  }
  static FilePtr Write(WalStore& store, std::string_view name, std::string_view bytes) {
    FilePtr file;
    EXPECT_EQ(store.Create(name, &file), WalOutcome::kOk);
    EXPECT_EQ(store.Append(*file, AsBytes(bytes)), WalOutcome::kOk);
    EXPECT_EQ(store.Sync(*file), WalOutcome::kOk);
    return file;
  }
  static std::string Content(const FilePtr& file) {
    if (file == nullptr) return "(none)";
    std::string bytes(file->length(), '\0');
    size_t got = 0;
    WalFile::Cursor cursor;
    EXPECT_TRUE(file->Read(0, bytes.size(), bytes.data(), &got, &cursor));
    EXPECT_EQ(got, bytes.size());
    return bytes;
  }

  ScratchFile file_;
};

TEST_F(WalStoreTest, LogsComeBackAtTheNextOpening) {
  WalUuid uuid{};
  {
    const auto store = OpenOrDie();
    uuid = store->uuid();
    Write(*store, "/db/000001.log", "one");
    Write(*store, "/db/000002.log", std::string(3 * store->geometry().extent_bytes, 'x'));
    Write(*store, "/db/000003.log", "three");
    EXPECT_EQ(store->Rename("/db/000001.log", "/db/archive/000001.log"), WalOutcome::kOk);
    EXPECT_EQ(store->Remove("/db/000003.log"), WalOutcome::kOk);
  }
  const auto store = OpenOrDie();
  EXPECT_EQ(store->uuid(), uuid);
  EXPECT_EQ(store->List("/db/"), (std::vector<std::string>{"/db/000002.log", "/db/archive/000001.log"}));
  EXPECT_EQ(Content(store->Find("/db/archive/000001.log")), "one");
  EXPECT_EQ(Content(store->Find("/db/000002.log")), std::string(3 * store->geometry().extent_bytes, 'x'));
}

// By somebody who cleans up while databases are open. What is there can still be read and written.
TEST_F(WalStoreTest, TellsOnceThatItsFileWasRemovedOrRenamed) {
  for (const bool renamed : {false, true}) {
    SCOPED_TRACE(renamed);
    ScratchFile other;
    std::promise<std::string> told;
    WalOptions options = Options();
    options.on_trouble = [&](std::string_view what) { told.set_value(std::string(what)); };  // twice would throw
    std::shared_ptr<WalStore> store;
    ASSERT_TRUE(OpenWalStore(options, &store).ok());
    EXPECT_EQ(store->NameTrouble(), "");
    if (renamed) {
      std::filesystem::rename(file_.path(), other.path());
    } else {
      std::filesystem::remove(file_.path());
    }
    const std::string what = told.get_future().get();
    EXPECT_EQ(what, store->NameTrouble());
    EXPECT_THAT(what, testing::HasSubstr(renamed ? "give the file its name back" : "flush the databases"));
    EXPECT_EQ(Content(Write(*store, "/db/000001.log", "one")), "one");
  }
}

TEST_F(WalStoreTest, WhoHoldsARemovedLogReadsItOn) {
  const auto store = OpenOrDie();
  const uint64_t free_before = store->free_bytes();
  FilePtr held = Write(*store, "a", "still here");
  ASSERT_EQ(store->Remove("a"), WalOutcome::kOk);
  for (int i = 0; i < 200; ++i) {
    Write(*store, "b", std::string(100000, 'b'));
    ASSERT_EQ(Content(held), "still here");
  }
  ASSERT_EQ(store->Remove("b"), WalOutcome::kOk);
  EXPECT_LT(store->free_bytes(), free_before);
  held = nullptr;
  EXPECT_EQ(store->free_bytes(), free_before);
}

TEST_F(WalStoreTest, AFullMediumTakesNothingAndLosesNothing) {
  const auto store = OpenOrDie();
  FilePtr file;
  ASSERT_EQ(store->Create("a", &file), WalOutcome::kOk);
  std::string wanted;
  for (char c = 'a'; wanted.size() < 2 * kWalSizeMin; c = c == 'z' ? 'a' : static_cast<char>(c + 1)) {
    const std::string piece(70000, c);
    if (store->Append(*file, AsBytes(piece)) != WalOutcome::kOk) break;
    wanted += piece;
  }
  EXPECT_LT(wanted.size(), kWalSizeMin);
  EXPECT_EQ(Content(file), wanted);
  ASSERT_EQ(store->Remove("a"), WalOutcome::kOk);
  file = nullptr;
  EXPECT_EQ(Content(Write(*store, "b", wanted)), wanted);
}

TEST_F(WalStoreTest, AFullDirectoryStillRenames) {
  const auto store = OpenOrDie();
  FilePtr file;
  int made = 0;
  while (store->Create(fmt::format("{}", made), &file) == WalOutcome::kOk) ++made;
  EXPECT_EQ(static_cast<uint32_t>(made), store->geometry().slots - 1);
  EXPECT_EQ(store->Create("more", &file), WalOutcome::kDirectoryFull);
  EXPECT_EQ(store->Rename("0", "zero"), WalOutcome::kOk);
  EXPECT_EQ(store->Create(std::string(wal_layout::kNameBytesMax + 1, 'n'), &file), WalOutcome::kNameTooLong);
}

TEST_F(WalStoreTest, ReadersSeeAPrefixWhileTheWriterGoesOn) {
  const auto store = OpenOrDie();
  FilePtr file;
  ASSERT_EQ(store->Create("a", &file), WalOutcome::kOk);
  constexpr size_t kPiece = 300, kPieces = 5000;
  std::atomic<bool> done{false};
  std::thread reader([&] {
    WalFile::Cursor cursor;
    uint64_t position = 0;
    for (bool last = false; !last;) {
      last = done.load(std::memory_order_acquire);
      char buffer[1000];
      size_t got = 0;
      do {
        ASSERT_TRUE(file->Read(position, sizeof(buffer), buffer, &got, &cursor));
        for (size_t i = 0; i < got; ++i) ASSERT_EQ(buffer[i], static_cast<char>((position + i) / kPiece));
        position += got;
      } while (got != 0);
    }
    EXPECT_EQ(position, kPiece * kPieces);
  });
  for (size_t i = 0; i < kPieces; ++i)
    ASSERT_EQ(store->Append(*file, AsBytes(std::string(kPiece, static_cast<char>(i)))), WalOutcome::kOk);
  done.store(true, std::memory_order_release);
  reader.join();
}

// A byte that changes where it lies is not taken for the end of the log.
TEST_F(WalStoreTest, DamageInTheMiddleIsNoTornTail) {
  uint64_t at = 0;
  {
    const auto store = OpenOrDie();
    const FilePtr file = Write(*store, "a", "first");
    ASSERT_EQ(store->Append(*file, AsBytes("second")), WalOutcome::kOk);
    ASSERT_EQ(store->Append(*file, AsBytes("third")), WalOutcome::kOk);
    at = store->geometry().ExtentAt(0) + sizeof(wal_layout::ExtentHeader) + kLineBytes;
  }
  std::fstream medium(file_.path(), std::ios::in | std::ios::out | std::ios::binary);
  medium.seekp(static_cast<std::streamoff>(at + sizeof(wal_layout::ChunkHeader)));
  medium.put('S');
  medium.close();
  const auto store = OpenOrDie();
  EXPECT_EQ(store->recovery().damaged, 1u);
  const FilePtr file = store->Find("a");
  EXPECT_TRUE(file->damaged());
  EXPECT_EQ(Content(file), "first");
}

// The kernel cannot write a page of a page cache, and tells it once.
TEST_F(WalStoreTest, WhatTheKernelCouldNotWriteIsNeverToldAsDurable) {
  static bool fails;
  static uint64_t written;
  fails = false, written = 0;
  WalStore::Settings settings;
  settings.write_back = [](void*, size_t bytes) {
    written += bytes;
    return std::exchange(fails, false) ? -1 : 0;
  };
  const WalStore::Geometry geometry{.capacity_bytes = 1 << 20, .extent_bytes = 4096, .slots = 8};
  auto medium = std::make_unique<CrashMedium>(CrashMedium::Image(geometry.capacity_bytes));
  const CrashMedium::Scope scope(medium.get());
  std::shared_ptr<WalStore> store;
  ASSERT_TRUE(WalStore::Open(std::move(medium), /*existing=*/false, geometry, settings, &store).ok());
  EXPECT_GE(written, geometry.capacity_bytes) << "what an opening found is not yet durable";
  const FilePtr file = Write(*store, "a", "durable");
  ASSERT_EQ(store->Append(*file, AsBytes(", not durable")), WalOutcome::kOk);
  fails = true;
  EXPECT_EQ(store->Sync(*file), WalOutcome::kIoError);
  EXPECT_EQ(store->Sync(*file), WalOutcome::kIoError);
  EXPECT_EQ(store->Append(*file, AsBytes("more")), WalOutcome::kIoError);
  FilePtr another = file;
  EXPECT_EQ(store->Create("b", &another), WalOutcome::kIoError);
  EXPECT_EQ(store->Truncate(&another, 3), WalOutcome::kIoError);
  EXPECT_EQ(Content(store->Find("a")), "durable, not durable");
  EXPECT_EQ(store->Remove("a"), WalOutcome::kIoError);
  EXPECT_EQ(store->Find("a"), nullptr);
}

TEST_F(WalStoreTest, RefusesWhatIsNotItsOwnAndLeavesItAsItIs) {
  const std::string kForeign(200, 'f');
  std::ofstream(file_.path()) << kForeign;
  chmod(file_.path().c_str(), 0600);
  EXPECT_EQ(OpenWith(Options()).code(), Status::Code::kForeignFile);
  std::ifstream now(file_.path());
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(now), {}), kForeign);
}

TEST_F(WalStoreTest, ACacheAndALogDoNotTakeEachOthersMedium) {
  ScmOptions cache;
  cache.path = file_.path();
  cache.capacity_bytes = kWalSizeMin;
  { OpenOrDie(); }
  std::unique_ptr<ScmTier> tier;
  EXPECT_EQ(ScmTier::Open(cache, &tier).code(), Status::Code::kForeignFile);
  std::filesystem::remove(file_.path());
  ASSERT_TRUE(ScmTier::Open(cache, &tier).ok());
  tier.reset();
  const Status status = OpenWith(Options());
  EXPECT_EQ(status.code(), Status::Code::kForeignFile);
  EXPECT_NE(status.message().find("a block cache"), std::string::npos) << status.message();
}

TEST_F(WalStoreTest, RefusesLogsThatItWouldLose) {
  { Write(*OpenOrDie(), "a", "kept"); }
  WalOptions other = Options();
  other.size *= 2;
  EXPECT_EQ(OpenWith(other).code(), Status::Code::kInvalidArgument);
  std::filesystem::resize_file(file_.path(), kWalSizeMin / 2);
  EXPECT_EQ(OpenWith(Options()).code(), Status::Code::kForeignFile);
  EXPECT_EQ(std::filesystem::file_size(file_.path()), kWalSizeMin / 2);
}

TEST_F(WalStoreTest, RefusesADamagedSuperblock) {
  { Write(*OpenOrDie(), "a", "kept"); }
  std::fstream medium(file_.path(), std::ios::in | std::ios::out | std::ios::binary);
  medium.seekp(offsetof(wal_layout::Superblock, uuid));
  medium.put('!');
  medium.close();
  EXPECT_EQ(OpenWith(Options()).code(), Status::Code::kForeignFile);
}

// Nothing was stored yet, so it is formatted anew, whatever words of a step a cut of power took.
TEST_F(WalStoreTest, AFormatThatIsCutOffIsDoneAnew) {
  std::mt19937_64 random(Seed());
  { OpenOrDie(); }
  std::string image = Contents(file_.path());
  // As a new file is stamped before it is formatted.
  const wal_layout::Superblock stamp = wal_layout::MakeSuperblock(Options().Geometry(), {});
  std::memcpy(image.data(), &stamp, sizeof(stamp));
  const auto bytes = std::as_bytes(std::span(image));
  auto medium = std::make_unique<CrashMedium>(CrashMedium::Image(bytes.begin(), bytes.end()));
  const CrashMedium::Scope scope(medium.get());
  std::vector<std::string> heads;
  medium->on_step = [&, crash = medium.get()] {
    for (int i = 0; i < 4; ++i) {
      const CrashMedium::Image after = crash->After([&](size_t) { return random() % 2 == 0; });
      heads.emplace_back(reinterpret_cast<const char*>(after.data()), wal_layout::kDirectoryAt);
    }
  };
  std::shared_ptr<WalStore> made;
  ASSERT_TRUE(WalStore::Open(std::move(medium), /*existing=*/false, Options().Geometry(), {}, &made).ok());
  made.reset();
  ASSERT_GE(heads.size(), 8u);
  for (const std::string& head : heads) {
    Overwrite(file_.path(), 0, head);
    const auto store = OpenOrDie();
    ASSERT_NE(store, nullptr);
    EXPECT_EQ(Content(Write(*store, "a", "kept")), "kept");
  }
}

// A store that is not taken is told by the append, and by every sync since.
TEST_F(WalStoreTest, WhatTheMemoryDidNotTakeIsNeverToldAsDurable) {
  ASSERT_TRUE(ContainBusErrors().ok());
  const auto store = OpenOrDie();
  const FilePtr file = Write(*store, "a", "durable");
  ASSERT_EQ(store->Append(*file, AsBytes(", stored")), WalOutcome::kOk);
  std::filesystem::resize_file(file_.path(), wal_layout::kDirectoryAt);
  EXPECT_EQ(store->Append(*file, AsBytes(", not stored")), WalOutcome::kIoError);
  EXPECT_EQ(file->length(), std::string_view("durable, stored").size());
  EXPECT_EQ(store->Sync(*file), WalOutcome::kIoError);
  EXPECT_EQ(store->Append(*file, AsBytes("more")), WalOutcome::kIoError);
}

TEST_F(WalStoreTest, ASizeOfNoWholePagesIsRoundedDown) {
  WalOptions options = Options();
  options.size += 2 * kLineBytes;
  for (int opening = 0; opening < 2; ++opening) {
    EXPECT_EQ(OpenWith(options).message(), "");
  }
}

TEST_F(WalStoreTest, OptionsAreJudgedByName) {
  EXPECT_NE((WalOptions{.path = "", .size = kWalSizeMin}).Validate().message().find("path is missing"),
            std::string::npos);
  const WalOptions tiny{.path = "/x", .size = kWalSizeMin - 1};
  EXPECT_NE(tiny.Validate().message().find("size=4194303 is smaller than any log file"), std::string::npos);
}

TEST_F(WalStoreTest, OneOpeningAtATime) {
  const auto store = OpenOrDie();
  EXPECT_EQ(OpenWith(Options()).code(), Status::Code::kBusy);
}

}  // namespace
}  // namespace mezz::test
