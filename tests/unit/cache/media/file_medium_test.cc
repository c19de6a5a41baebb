// SPDX-License-Identifier: Apache-2.0
// What a file must be, and what happens to it when it is not.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "cache/base/atomic.h"
#include "cache/media/file_checks.h"
#include "cache/media/medium.h"
#include "cache/media/preparer.h"
#include "cache/scm_tier.h"
#include "cache/superblock.h"
#include "tests/support/seed.h"
#include "tests/support/temporary_folder.h"

namespace mezz {
namespace {

namespace fs = std::filesystem;
using layout::Superblock;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr uint64_t kBytes = 4 << 20;

std::string Contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void Write(const fs::path& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

mode_t ModeOf(const fs::path& path) {
  struct stat file {};
  EXPECT_EQ(lstat(path.c_str(), &file), 0);
  return file.st_mode & 07777;
}

struct Opened {
  Status status;
  std::unique_ptr<Medium> medium;
  bool existing = false;
};

Opened Open(const fs::path& path, uint64_t bytes = kBytes, Recovery recovery = Recovery::kDiscard,
            uint32_t key_scheme = 0) {
  ScmOptions options;
  options.key_scheme = key_scheme;
  options.recovery = recovery;
  options.path = path;
  options.capacity_bytes = bytes;
  Opened opened;
  opened.status = OpenMedium(options, &opened.medium, &opened.existing);
  return opened;
}

// Formats as the tier does.
void Format(const Medium& medium, uint64_t format_id = 99) {
  ScmOptions options;
  options.capacity_bytes = medium.bytes();
  Superblock superblock = SuperblockOf(options);
  superblock.format_id = format_id;
  (void)SuperblockKeeper(medium, superblock).Change([](Superblock*) {});
}

class MountedTmpfs {
 public:
  MountedTmpfs(const fs::path& at, unsigned long flags, const char* settings) : at_(at) {
    fs::create_directories(at);
    error_ = mount("tmpfs", at.c_str(), "tmpfs", flags, settings) == 0 ? 0 : errno;
  }
  ~MountedTmpfs() {
    if (error_ == 0) umount2(at_.c_str(), MNT_DETACH);
  }
  int error() const { return error_; }

 private:
  const fs::path at_;
  int error_;
};

#define MOUNT_OR_SKIP(name, at, flags, settings) \
  const MountedTmpfs name(at, flags, settings);  \
  if (name.error() != 0) GTEST_SKIP() << "NOT TESTED here: mount is not permitted (" << strerror(name.error()) << ")"

class FileMedium : public testing::Test {
 protected:
  // A file that nobody else may touch.
  void WriteOurs(const std::string& bytes) { WriteOurs(bytes, path_); }
  static void WriteOurs(const std::string& bytes, const fs::path& path) {
    Write(path, bytes);
    fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
  }

  // A byte of both copies.
  void PutIntoSuperblocks(size_t at, char byte) {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    for (const uint64_t copy : {uint64_t{0}, layout::kSuperblockCopyAt})
      file.seekp(static_cast<std::streamoff>(copy + at)).put(byte);
  }

  void ExpectRefusal(const fs::path& path, Status::Code code, const std::string& said) {
    const Opened opened = Open(path);
    EXPECT_EQ(opened.status.code(), code) << opened.status.message();
    EXPECT_THAT(opened.status.message(), HasSubstr("path=" + path.string()));
    EXPECT_THAT(opened.status.message(), HasSubstr(said));
    EXPECT_EQ(opened.status.message().find('\n'), std::string::npos);
    EXPECT_EQ(opened.medium, nullptr);
  }

  const TemporaryFolder folder_;
  const fs::path directory_ = folder_.path();
  fs::path path_ = directory_ / "medium";
};

// Returns once the watch has looked at the name and waits for an event: what happens then must be one. (Without test
// hooks it may not have looked yet.)
std::atomic<int> watch_waits{0};
void WatchAndAwaitIt(Medium& medium, std::function<void(std::string_view)> tell) {
#ifdef MEZZ_TEST_HOOKS
  g_test_point_hook.store(
      [](const char* name) {
        if (std::string_view(name) == "name_watch.waits") watch_waits.fetch_add(1, std::memory_order_release);
      },
      std::memory_order_release);
  const int before = watch_waits.load(std::memory_order_acquire);
  medium.WatchName(std::move(tell));
  while (watch_waits.load(std::memory_order_acquire) == before) std::this_thread::yield();
  g_test_point_hook.store(nullptr, std::memory_order_release);
#else
  medium.WatchName(std::move(tell));
#endif
}

// By somebody who cleans up while the medium is in use.
TEST_F(FileMedium, ThatLosesItsNameIsToldOnce) {
  const fs::path other = directory_ / "other";
  const struct {
    std::string how;
    std::function<void()> act;
    bool nameless;
    std::string said;
  } cases[] = {{"removed", [&] { fs::remove(path_); }, true, "removed or replaced"},
               {"replaced",
                [&] {
                  Write(other, "new");
                  fs::rename(other, path_);
                },
                true, "removed or replaced"},
               {"renamed", [&] { fs::rename(path_, other); }, false, "was renamed to " + other.string()}};
  for (const auto& one : cases) {
    SCOPED_TRACE(one.how);
    fs::remove(path_);
    const Opened opened = Open(path_);
    ASSERT_TRUE(opened.status.ok()) << opened.status.message();
    std::promise<std::string> told;
    WatchAndAwaitIt(*opened.medium, [&](std::string_view trouble) {
      told.set_value(std::string(trouble));
    });  // a second time would throw
    ASSERT_EQ(chmod(path_.c_str(), 0400), 0) << "changes no name";
    EXPECT_EQ(opened.medium->NameTrouble(), "");
    EXPECT_FALSE(opened.medium->IsNameless());
    one.act();
    EXPECT_THAT(opened.medium->NameTrouble(), HasSubstr(one.said));
    EXPECT_EQ(opened.medium->IsNameless(), one.nameless);
    EXPECT_EQ(told.get_future().get(), opened.medium->NameTrouble());
  }
}

// A devdax that held a file system, say.
TEST_F(FileMedium, WhatIsSaidOfADeviceFitsOne) {
  WriteOurs(std::string(kBytes, 'x'));
  const std::string of_file = Open(path_).status.message();
  EXPECT_THAT(of_file, HasSubstr("name another file or remove it"));
  EXPECT_THAT(ForDevice(of_file),
              HasSubstr("left as it is: name another device, or clear the first 2 MiB of this one"));
  EXPECT_EQ(ForDevice("give that size, or remove the file if its logs are not needed"),
            "give that size, or clear its first 2 MiB if its logs are not needed");
  struct stat device {};
  device.st_mode = S_IFCHR | 0666;
  device.st_uid = geteuid();
  EXPECT_THAT(CheckPrivate("/dev/dax0.0", device, geteuid()).message(), Not(HasSubstr("remove")));
  device.st_uid = geteuid() + 1;
  EXPECT_THAT(CheckPrivate("/dev/dax0.0", device, geteuid()).message(), Not(HasSubstr("remove")));
}

TEST_F(FileMedium, IsCreatedReservedAndDescribed) {
  const Opened opened = Open(path_);
  ASSERT_TRUE(opened.status.ok()) << opened.status.message();
  EXPECT_FALSE(opened.existing);
  EXPECT_EQ(fs::file_size(path_), kBytes);
  struct stat file {};
  ASSERT_EQ(stat(path_.c_str(), &file), 0);
  EXPECT_GE(static_cast<uint64_t>(file.st_blocks) * 512, kBytes) << "no hole: a store cannot run out of space";
  EXPECT_THAT(opened.medium->info().description, testing::StartsWith("file " + path_.string() + " ("));
  const bool memory = opened.medium->info().description.find("tmpfs") != std::string::npos;
  EXPECT_EQ(opened.medium->info().emulated, !opened.medium->info().persistent_memory && !memory);
}

TEST_F(FileMedium, OnTmpfsHasPageGranularityAndStandsInForNothing) {
  MOUNT_OR_SKIP(tmpfs, directory_ / "mount", 0, "size=16m");
  const Opened opened = Open(directory_ / "mount" / "medium");
  ASSERT_TRUE(opened.status.ok()) << opened.status.message();
  EXPECT_EQ(opened.medium->info().granularity, StoreGranularity::kPage);
  EXPECT_FALSE(opened.medium->info().persistent_memory);
  EXPECT_FALSE(opened.medium->info().emulated);
  EXPECT_THAT(opened.medium->info().description, HasSubstr("(tmpfs)"));
}

TEST_F(FileMedium, IsCreated0600UnderEveryUmask) {
  for (const mode_t mask : {0000, 0022, 0077, 0277, 0777}) {
    const mode_t old = umask(mask);
    const Opened opened = Open(path_);
    umask(old);
    ASSERT_TRUE(opened.status.ok()) << opened.status.message();
    EXPECT_EQ(ModeOf(path_), 0600u) << std::oct << mask;
    fs::remove(path_);
  }
}

TEST_F(FileMedium, IsFoundAgainOnceFormatted) {
  Format(*Open(path_).medium);
  const Opened again = Open(path_);
  ASSERT_TRUE(again.status.ok()) << again.status.message();
  EXPECT_TRUE(again.existing);
  const FoundSuperblock found = FindSuperblock({again.medium->base(), again.medium->bytes()});
  ASSERT_EQ(found.what, FoundSuperblock::What::kWhole);
  EXPECT_EQ(found.superblock.format_id, 99u);
}

TEST_F(FileMedium, OursThatHoldsNothingIsTaken) {
  const std::pair<const char*, std::function<void()>> ways[] = {
      {"its maker died before it formatted the file", [&] { Open(path_).medium.reset(); }},
      {"its superblock is damaged",
       [&] {
         Format(*Open(path_).medium);
         PutIntoSuperblocks(offsetof(Superblock, hash_seed), 'x');
       }},
      {"it is empty", [&] { WriteOurs(""); }}};
  for (const auto& [way, make] : ways) {
    make();
    EXPECT_TRUE(fs::exists(path_)) << way;
    const Opened opened = Open(path_);
    ASSERT_TRUE(opened.status.ok()) << way << ": " << opened.status.message();
    EXPECT_FALSE(opened.existing) << way;
    fs::remove(path_);
  }
}

TEST_F(FileMedium, OfAnotherSizeIsResized) {
  Format(*Open(path_, 8 << 20).medium);
  for (const uint64_t bytes : {uint64_t{4 << 20}, uint64_t{16 << 20}}) {
    const Opened again = Open(path_, bytes);
    ASSERT_TRUE(again.status.ok()) << again.status.message();
    EXPECT_TRUE(again.existing);
    EXPECT_EQ(again.medium->bytes(), bytes);
    EXPECT_EQ(fs::file_size(path_), std::max<uint64_t>(bytes, 8 << 20)) << "what may be spoken of is not cut off yet";
    again.medium->GiveUpRest();
    EXPECT_EQ(fs::file_size(path_), bytes);
  }
}

TEST_F(FileMedium, OfARelativePathKeepsItsNameWhereverTheProcessGoes) {
  const fs::path before = fs::current_path();
  fs::current_path(directory_);
  const Opened opened = Open("medium");
  fs::current_path(before);
  ASSERT_TRUE(opened.status.ok()) << opened.status.message();
  EXPECT_TRUE(fs::exists(path_));
  EXPECT_EQ(opened.medium->NameTrouble(), "");
}

TEST_F(FileMedium, MissingParentIsRefused) {
  ExpectRefusal(directory_ / "absent" / "medium", Status::Code::kNotFound,
                "create " + (directory_ / "absent").string());
  for (const char* path : {"~/medium", "$HOME/medium", "'/dev/shm/medium'", "\"/dev/shm/medium\""})
    ExpectRefusal(path, Status::Code::kNotFound, "are a shell's to replace; write the whole path");
  Write(path_, "a file");
  ExpectRefusal(path_ / "medium", Status::Code::kNotFound, "not a directory");
}

TEST_F(FileMedium, DirectoryIsRefused) { ExpectRefusal(directory_, Status::Code::kInvalidArgument, "is a directory"); }

TEST_F(FileMedium, SymbolicLinkIsRefusedAndItsTargetLeftAlone) {
  const fs::path link = directory_ / "link";
  fs::create_symlink(path_, link);
  ExpectRefusal(link, Status::Code::kInvalidArgument, "symbolic link");
  EXPECT_FALSE(fs::exists(path_)) << "a dangling link creates nothing";
  Format(*Open(path_).medium);
  const std::string before = Contents(path_);
  ExpectRefusal(link, Status::Code::kInvalidArgument, "symbolic link");
  EXPECT_EQ(Contents(path_), before);
}

TEST_F(FileMedium, FifoSocketAndDevicesAreRefused) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  ExpectRefusal(path_, Status::Code::kInvalidArgument, "is a fifo");
  ExpectRefusal("/dev/null", Status::Code::kInvalidArgument, "is a character device");
  const fs::path address = directory_ / "socket";
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  address.string().copy(name.sun_path, sizeof(name.sun_path) - 1);
  const int socket_fd = socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(bind(socket_fd, reinterpret_cast<const sockaddr*>(&name), sizeof(name)), 0);
  ExpectRefusal(address, Status::Code::kInvalidArgument, "is a socket");
  close(socket_fd);
}

TEST_F(FileMedium, ForeignFilesAreLeftByteForByte) {
  const uint64_t seed = test::Seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  std::string noise(random() % 100'000 + 1, '\0');
  for (char& byte : noise) byte = static_cast<char>(random());
  const std::string magic(layout::kMagic, sizeof(layout::kMagic));
  for (const std::string& foreign : {std::string("x"), std::string(1, '\0'), std::string(1 << 20, '\0'), noise, magic,
                                     magic.substr(0, 15) + "?..."}) {
    WriteOurs(foreign);
    if (geteuid() == 0) fs::permissions(path_, fs::perms::owner_read);
    const mode_t mode = ModeOf(path_);
    const auto written = fs::last_write_time(path_);
    ExpectRefusal(path_, Status::Code::kForeignFile, "not Mezzanine's");
    EXPECT_EQ(Contents(path_), foreign);
    EXPECT_EQ(ModeOf(path_), mode);
    EXPECT_EQ(fs::last_write_time(path_), written);
  }
}

TEST_F(FileMedium, OfNoUseIsTakenOverUnlessItIsDemanded) {
  Format(*Open(path_).medium);
  PutIntoSuperblocks(offsetof(Superblock, format_version), 9);
  const std::string before = Contents(path_);
  const std::string versions =
      "version 9 and this program knows only version " + std::to_string(layout::kFormatVersion);
  const Opened demanded = Open(path_, 2 * kBytes, Recovery::kRequire);
  EXPECT_EQ(demanded.status.code(), Status::Code::kNotSupported);
  EXPECT_THAT(demanded.status.message(), AllOf(HasSubstr(versions), HasSubstr("recovery=warm")));
  EXPECT_EQ(Contents(path_), before);
  const Opened opened = Open(path_);
  EXPECT_TRUE(opened.status.ok()) << opened.status.message();
  EXPECT_FALSE(opened.existing);
}

TEST_F(FileMedium, OfWhichSomethingIsDemandedIsNotCreatedNorResized) {
  EXPECT_THAT(Open(path_, kBytes, Recovery::kRequire).status.message(), HasSubstr("holds no blocks yet"));
  EXPECT_FALSE(fs::exists(path_));
  Format(*Open(path_).medium);
  const std::string before = Contents(path_);
  EXPECT_THAT(Open(path_, 2 * kBytes, Recovery::kRequire, /*key_scheme=*/7).status.message(), HasSubstr("scheme 0"));
  EXPECT_EQ(Contents(path_), before);
}

TEST_F(FileMedium, InUseByThisProcessIsRefused) {
  const Opened first = Open(path_);
  ASSERT_TRUE(first.status.ok());
  Format(*first.medium);
  const std::string before = Contents(path_);
  ExpectRefusal(path_, Status::Code::kBusy, "is in use by");
  EXPECT_EQ(Contents(path_), before);
  EXPECT_TRUE(fs::exists(path_));
}

TEST_F(FileMedium, InUseByAnotherProcessIsRefusedUntilItEnds) {
  int ready[2];
  int leave[2];
  ASSERT_EQ(pipe(ready), 0);
  ASSERT_EQ(pipe(leave), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    close(leave[1]);
    const Opened mine = Open(path_);
    const char ok = mine.status.ok() ? 1 : 0;
    [[maybe_unused]] ssize_t moved = write(ready[1], &ok, 1);
    char byte;
    moved = read(leave[0], &byte, 1);
    _exit(0);  // like a crash: nothing is closed properly
  }
  char ok = 0;
  ASSERT_EQ(read(ready[0], &ok, 1), 1);
  ASSERT_EQ(ok, 1);
  ExpectRefusal(path_, Status::Code::kBusy, "is in use by");
  close(leave[1]);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(Open(path_).status.ok());
  for (const int fd : {ready[0], ready[1], leave[0]}) close(fd);
}

TEST(HugePages, TooFewAreRefusedWithHowManyAreMissing) {
  const HugePages pages{.page_bytes = 2 << 20, .available = 3};
  EXPECT_TRUE(CheckHugePagesHold("/huge/file", pages, 0, 6 << 20).ok());
  const Status status = CheckHugePagesHold("/huge/file", pages, 0, (6 << 20) + 1);
  EXPECT_EQ(status.code(), Status::Code::kNoSpace);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("needs 4 more huge pages of 2 MiB and 3 can be had"),
                                      HasSubstr("hugepages-2048kB/nr_hugepages")));
  EXPECT_TRUE(CheckHugePagesHold("/huge/file", pages, 2 << 20, (6 << 20) + 1).ok()) << "which the file has already";
}

// Pages of hugetlbfs, more than there were, until the object goes.
class ReservedHugePages {
 public:
  explicit ReservedHugePages(uint64_t more) : before_(Read()) { Write(before_ + more); }
  ~ReservedHugePages() { Write(before_); }
  ReservedHugePages(const ReservedHugePages&) = delete;
  ReservedHugePages& operator=(const ReservedHugePages&) = delete;
  uint64_t got() const { return Read() - std::min(Read(), before_); }

 private:
  static constexpr char kFile[] = "/proc/sys/vm/nr_hugepages";
  static uint64_t Read() {
    uint64_t pages = 0;
    std::ifstream(kFile) >> pages;
    return pages;
  }
  static void Write(uint64_t pages) { std::ofstream(kFile) << pages; }
  const uint64_t before_;
};

class HugetlbFile : public FileMedium {
 protected:
  // Why there is none here; empty: there is.
  std::string Mount() {
    fs::create_directories(directory_ / "huge");
    if (mount("none", (directory_ / "huge").c_str(), "hugetlbfs", 0, nullptr) != 0)
      return std::string("hugetlbfs cannot be mounted (") + strerror(errno) + ")";
    mounted_ = true;
    path_ = directory_ / "huge" / "medium";
    return "";
  }
  ~HugetlbFile() override {
    if (mounted_) umount2((directory_ / "huge").c_str(), MNT_DETACH);
  }
  bool mounted_ = false;
};

TEST_F(HugetlbFile, OpensRoundedToItsPagesAndIsFoundAgain) {
  if (const std::string why = Mount(); !why.empty()) GTEST_SKIP() << "NOT TESTED here: " << why;
  const ReservedHugePages reserved(4);
  if (reserved.got() < 4) GTEST_SKIP() << "NOT TESTED here: the kernel gave " << reserved.got() << " of 4 huge pages";
  {
    const Opened opened = Open(path_);
    ASSERT_TRUE(opened.status.ok()) << opened.status.message();
    EXPECT_FALSE(opened.existing);
    EXPECT_FALSE(opened.medium->info().emulated) << "it is memory";
    EXPECT_THAT(opened.medium->info().description, HasSubstr("hugetlbfs"));
    EXPECT_EQ(fs::file_size(path_) % (2 << 20), 0u);
    Format(*opened.medium);
    std::memset(opened.medium->base() + kBytes / 2, 'x', kBytes / 2);
  }
  const Opened again = Open(path_);
  ASSERT_TRUE(again.status.ok()) << again.status.message();
  EXPECT_TRUE(again.existing);
  EXPECT_EQ(again.medium->base()[kBytes - 1], std::byte{'x'});
}

// By a crash between its size and its first bytes.
TEST_F(HugetlbFile, WithoutItsFirstBytesIsNew) {
  if (const std::string why = Mount(); !why.empty()) GTEST_SKIP() << "NOT TESTED here: " << why;
  const ReservedHugePages reserved(4);
  if (reserved.got() < 4) GTEST_SKIP() << "NOT TESTED here: the kernel gave " << reserved.got() << " of 4 huge pages";
  const int fd = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(ftruncate(fd, kBytes), 0);
  close(fd);
  const Opened opened = Open(path_);
  ASSERT_TRUE(opened.status.ok()) << opened.status.message();
  EXPECT_FALSE(opened.existing);
}

TEST_F(HugetlbFile, WithoutPagesIsRefusedAndLeavesNoFile) {
  if (const std::string why = Mount(); !why.empty()) GTEST_SKIP() << "NOT TESTED here: " << why;
  constexpr uint64_t kMore = uint64_t{1} << 40;  // than this machine has
  const Opened opened = Open(path_, kMore);
  EXPECT_EQ(opened.status.code(), Status::Code::kNoSpace);
  EXPECT_THAT(opened.status.message(), AllOf(HasSubstr("huge pages of 2 MiB"), HasSubstr("nr_hugepages")));
  EXPECT_FALSE(fs::exists(path_));
}

TEST_F(FileMedium, OnAReadOnlyFileSystemIsRefused) {
  MOUNT_OR_SKIP(tmpfs, directory_ / "mount", 0, "size=16m");
  const fs::path path = directory_ / "mount" / "medium";
  Format(*Open(path).medium);
  const std::string before = Contents(path);
  ASSERT_EQ(mount("tmpfs", (directory_ / "mount").c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, nullptr), 0);
  ExpectRefusal(path, Status::Code::kIoError, "read-only file system");
  EXPECT_EQ(Contents(path), before);
  ExpectRefusal(directory_ / "mount" / "new", Status::Code::kIoError, "read-only file system");
}

TEST_F(FileMedium, WithoutPermissionIsRefused) {
  if (geteuid() == 0) GTEST_SKIP() << "NOT TESTED as root, who may write everywhere";
  Write(path_, "");
  fs::permissions(path_, fs::perms::owner_read);
  ExpectRefusal(path_, Status::Code::kIoError, "may not be written");
}

TEST_F(FileMedium, LargerThanItsFileSystemIsRefusedWithBothNumbers) {
  MOUNT_OR_SKIP(tmpfs, directory_ / "mount", 0, "size=2m");
  const fs::path path = directory_ / "mount" / "medium";
  ExpectRefusal(path, Status::Code::kNoSpace, std::to_string(kBytes));
  ExpectRefusal(path, Status::Code::kNoSpace, "2097152 bytes");
  EXPECT_FALSE(fs::exists(path)) << "what we created is removed again";
}

TEST_F(FileMedium, LargerThanTheFreeSpaceIsRefused) {
  MOUNT_OR_SKIP(tmpfs, directory_ / "mount", 0, "size=6m");
  Write(directory_ / "mount" / "other", std::string(3 << 20, 'x'));
  const fs::path path = directory_ / "mount" / "medium";
  ExpectRefusal(path, Status::Code::kNoSpace, "3145728 bytes");
  EXPECT_FALSE(fs::exists(path));
  WriteOurs("", path);
  ExpectRefusal(path, Status::Code::kNoSpace, "lower capacity_bytes");
  EXPECT_TRUE(fs::exists(path)) << "what we did not create stays";
  EXPECT_EQ(fs::file_size(path), 0u);
}

ScmOptions TwoOn(const fs::path& folder, uint64_t bytes_of_each) {
  ScmOptions options;
  options.members = {{.path = folder / "a", .capacity_bytes = bytes_of_each},
                     {.path = folder / "b", .capacity_bytes = bytes_of_each}};
  options.capacity_bytes = 2 * bytes_of_each;
  options.prefault_threads = 1;
  return options;
}

TEST_F(FileMedium, SpaceThatOthersStillNeedIsNotThere) {
  const std::vector<ScmMember> members = TwoOn(directory_, kBytes).members;
  struct stat file {};
  Write(members[0].path, "");
  ASSERT_EQ(stat(members[0].path.c_str(), &file), 0);
  EXPECT_EQ(SpaceStillNeeded(members, file.st_dev), kBytes) << "of the one that is there";
  EXPECT_EQ(SpaceStillNeeded(members, file.st_dev + 1), 0u);
  Write(members[0].path, std::string(kBytes, 'x'));
  fs::resize_file(members[0].path, 2 * kBytes);
  EXPECT_EQ(SpaceStillNeeded(members, file.st_dev), 0u);
  const int fd = open(members[0].path.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(fstat(fd, &file), 0);
  EXPECT_TRUE(CheckFileSystemHolds("/a", fd, file, kBytes, 0, nullptr).ok());
  const Status status = CheckFileSystemHolds("/a", fd, file, kBytes, uint64_t{1} << 60, nullptr);
  EXPECT_EQ(status.code(), Status::Code::kNoSpace);
  EXPECT_THAT(status.message(),
              AllOf(HasSubstr("path=/a needs 4194304 bytes"), HasSubstr("the media before it still need"),
                    HasSubstr("free some or lower capacity_bytes")));
  close(fd);
}

TEST_F(FileMedium, TwoThatTogetherAreLargerThanTheirFileSystemAreRefused) {
  const fs::path folder = directory_ / "mount";
  MOUNT_OR_SKIP(tmpfs, folder, 0, "size=96m");
  std::unique_ptr<ScmTier> tier;
  const Status status = ScmTier::Open(TwoOn(folder, 64 << 20), &tier);
  EXPECT_EQ(status.code(), Status::Code::kNoSpace);
  EXPECT_THAT(status.message(), AllOf(HasSubstr((folder / "b").string()), HasSubstr("the media before it still need")));
  EXPECT_TRUE(fs::is_empty(folder));
  for (int life = 0; life < 2; ++life) {
    ASSERT_EQ(ScmTier::Open(TwoOn(folder, 44 << 20), &tier).message(), "");
    EXPECT_TRUE(tier->preparer().Wait().ok());
    tier.reset();
  }
}

TEST_F(FileMedium, ATierThatCannotGrowAnyFurtherSaysSo) {
  const fs::path folder = directory_ / "mount";
  MOUNT_OR_SKIP(tmpfs, folder, 0, "size=96m");
  ScmOptions options = TwoOn(folder, 44 << 20);
  std::atomic<int> parts{0};
  options.on_prefault = [&](const PrefaultProgress&) {
    if (parts.fetch_add(1) == 1) Write(folder / "other", std::string(50 << 20, 'x'));  // each has its first part
  };
  std::vector<std::string> told;
  std::mutex mutex;
  options.on_trouble = [&](std::string_view what) {
    const std::scoped_lock lock(mutex);
    told.emplace_back(what);
  };
  std::unique_ptr<ScmTier> tier;
  ASSERT_EQ(ScmTier::Open(options, &tier).message(), "");
  EXPECT_EQ(tier->preparer().Wait().code(), Status::Code::kNoSpace);
  EXPECT_LT(tier->preparer().ready_bytes(), options.capacity_bytes);
  tier.reset();
  EXPECT_THAT(told, Not(IsEmpty()));
  EXPECT_THAT(told, Each(AllOf(HasSubstr("does not grow any further: path="), HasSubstr("ran out of space"))));
}

TEST_F(FileMedium, MayUseTheSpaceItAlreadyOccupies) {
  MOUNT_OR_SKIP(tmpfs, directory_ / "mount", 0, "size=6m");
  const fs::path path = directory_ / "mount" / "medium";
  ASSERT_TRUE(Open(path).status.ok());
  EXPECT_TRUE(Open(path).status.ok()) << "4 of 6 MiB, twice the same 4";
}

TEST_F(FileMedium, ThatCannotBeCreatedOnAFullFileSystemIsRefused) {
  MOUNT_OR_SKIP(tmpfs, directory_ / "mount", 0, "size=16m,nr_inodes=2");
  Write(directory_ / "mount" / "other", "");
  ExpectRefusal(directory_ / "mount" / "medium", Status::Code::kNoSpace, "full");
}

// Another file takes the space between our check and our reservation.
Status OpenWhileTheFileSystemFills(const fs::path& mount, const fs::path& path) {
  ScmOptions options;
  options.path = path;
  options.capacity_bytes = 40 << 20;
  options.prefault_threads = 1;
  options.on_prefault = [&](const PrefaultProgress&) { Write(mount / "other", std::string(20 << 20, 'x')); };
  std::unique_ptr<Medium> medium;
  bool existing = false;
  return OpenMedium(options, &medium, &existing);
}

TEST_F(FileMedium, ShortageDuringThePrefaultIsAnErrorNotASignal) {
  const fs::path tmpfs_path = directory_ / "mount";
  MOUNT_OR_SKIP(tmpfs, tmpfs_path, 0, "size=48m");
  const fs::path path = tmpfs_path / "medium";
  const Status status = OpenWhileTheFileSystemFills(tmpfs_path, path);
  EXPECT_EQ(status.code(), Status::Code::kNoSpace) << status.message();
  EXPECT_THAT(status.message(), HasSubstr("ran out of space"));
  EXPECT_FALSE(fs::exists(path)) << "what we created is removed again";
}

TEST_F(FileMedium, ShortageDuringThePrefaultGivesAnOlderFileItsSizeBack) {
  const fs::path tmpfs_path = directory_ / "mount";
  MOUNT_OR_SKIP(tmpfs, tmpfs_path, 0, "size=48m");
  const fs::path path = tmpfs_path / "medium";
  Format(*Open(path).medium);
  EXPECT_EQ(OpenWhileTheFileSystemFills(tmpfs_path, path).code(), Status::Code::kNoSpace);
  ASSERT_TRUE(fs::exists(path)) << "what we did not create stays";
  EXPECT_EQ(fs::file_size(path), kBytes);
  fs::remove(tmpfs_path / "other");
  EXPECT_TRUE(Open(path).existing);
}

TEST_F(FileMedium, ShortageBehindTheOpenTierLeavesWhatIsReady) {
  const fs::path tmpfs_path = directory_ / "mount";
  MOUNT_OR_SKIP(tmpfs, tmpfs_path, 0, "size=48m");
  ScmOptions options;
  options.path = tmpfs_path / "medium";
  options.capacity_bytes = 40 << 20;
  std::unique_ptr<Medium> medium;
  std::unique_ptr<Preparer> preparer;
  bool existing = false;
  ASSERT_TRUE(OpenMedium(options, &medium, &existing, &preparer).ok());
  Write(tmpfs_path / "other", std::string(20 << 20, 'x'));
  preparer->Start();
  const Status status = preparer->Wait();
  EXPECT_EQ(status.code(), Status::Code::kNoSpace) << "an error, not a signal: " << status.message();
  EXPECT_THAT(status.message(), HasSubstr("path=" + options.path + " ran out of space"));
  EXPECT_GE(preparer->ready_bytes(), kFirstBytesMin);
  EXPECT_LT(preparer->ready_bytes(), options.capacity_bytes);
  for (uint64_t at = 0; at < preparer->ready_bytes(); at += 4096) medium->base()[at] = std::byte{1};
  preparer.reset();
  medium.reset();
  EXPECT_TRUE(fs::exists(options.path));
}

}  // namespace
}  // namespace mezz
