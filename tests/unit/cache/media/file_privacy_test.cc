// SPDX-License-Identifier: Apache-2.0
// Whose a file must be. Others who could write to it would feed bytes to RocksDB's parsers; who could read it, see
// blocks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>

#include "cache/media/file_checks.h"
#include "cache/media/medium.h"
#include "tests/support/temporary_folder.h"

namespace mezz {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr uid_t kNobody = 65534;

class FilePrivacy : public testing::Test {
 protected:
  Status Open() {
    ScmOptions options;
    options.path = path_;
    options.capacity_bytes = kSegmentsMin * kSegmentBytesMin;
    std::unique_ptr<Medium> medium;
    bool existing = false;
    return OpenMedium(options, &medium, &existing);
  }
  void MakeEmpty(mode_t mode = 0600) {
    folder_.Write("medium", "");
    ASSERT_EQ(chmod(path_.c_str(), mode), 0);
  }
  // A file of ours from an earlier run.
  void MakeFormatted() { ASSERT_TRUE(Open().ok()); }
  void ExpectRefusal(const std::string& said) {
    struct stat before {};
    ASSERT_EQ(lstat(path_.c_str(), &before), 0);
    const Status status = Open();
    EXPECT_EQ(status.code(), Status::Code::kForeignFile) << status.message();
    EXPECT_THAT(status.message(), HasSubstr("path=" + path_.string()));
    EXPECT_THAT(status.message(), HasSubstr(said));
    EXPECT_THAT(status.message(), HasSubstr(":")) << "what is wrong: what to do";
    struct stat after {};
    ASSERT_EQ(lstat(path_.c_str(), &after), 0) << "it stays";
    EXPECT_EQ(after.st_mode, before.st_mode);
    EXPECT_EQ(after.st_size, before.st_size);
    EXPECT_EQ(after.st_uid, before.st_uid);
  }

  const TemporaryFolder folder_;
  const fs::path path_ = folder_.Path("medium");
};

TEST_F(FilePrivacy, OursAloneIsTaken) {
  MakeEmpty();
  EXPECT_TRUE(Open().ok());
  EXPECT_TRUE(Open().ok()) << "and again, now that it holds something";
}

TEST_F(FilePrivacy, AnotherOwnersIsRefusedEmptyOrNot) {
  if (geteuid() != 0) GTEST_SKIP() << "NOT TESTED here: only root can give a file away";
  MakeEmpty();
  ASSERT_EQ(chown(path_.c_str(), kNobody, kNobody), 0);
  ExpectRefusal("belongs to uid 65534 and this process is uid 0");
  fs::remove(path_);
  MakeFormatted();
  ASSERT_EQ(chown(path_.c_str(), kNobody, kNobody), 0);
  ExpectRefusal("belongs to uid 65534 and this process is uid 0");
}

TEST_F(FilePrivacy, AnyBitForGroupOrOthersIsRefusedEmptyOrNot) {
  for (const mode_t mode : {0666, 0640, 0601, 0604, 0602, 0620, 0610}) {
    SCOPED_TRACE(testing::Message() << std::oct << mode);
    fs::remove(path_);
    MakeEmpty(mode);
    char text[8];
    std::snprintf(text, sizeof(text), "%04o", mode);
    ExpectRefusal(std::string("has mode ") + text);
    fs::remove(path_);
    MakeFormatted();
    ASSERT_EQ(chmod(path_.c_str(), mode), 0);
    ExpectRefusal("chmod 0600");
  }
}

TEST_F(FilePrivacy, AHardLinkIsRefusedEmptyOrNot) {
  MakeEmpty();
  ASSERT_EQ(link(path_.c_str(), folder_.Path("other").c_str()), 0);
  ExpectRefusal("is one of 2 hard links");
  fs::remove(folder_.Path("other"));
  MakeFormatted();
  ASSERT_EQ(link(path_.c_str(), folder_.Path("other").c_str()), 0);
  ExpectRefusal("is one of 2 hard links");
}

struct stat Device(uid_t uid, mode_t mode) {
  struct stat device {};
  device.st_mode = S_IFCHR | mode;
  device.st_uid = uid;
  device.st_nlink = 1;
  return device;
}

TEST(DevicePrivacy, RootsAndOursAreTakenAlsoWithAGroup) {
  constexpr uid_t kUs = 1000;
  for (const uid_t uid : {uid_t{0}, kUs}) {
    EXPECT_TRUE(CheckPrivate("/dev/dax0.0", Device(uid, 0600), kUs).ok());
    EXPECT_TRUE(CheckPrivate("/dev/dax0.0", Device(uid, 0660), kUs).ok()) << "how udev hands it to a service";
  }
}

TEST(DevicePrivacy, AStrangersOrOneForOthersIsRefused) {
  EXPECT_THAT(CheckPrivate("/dev/dax0.0", Device(kNobody, 0600), 1000).message(),
              HasSubstr("path=/dev/dax0.0 belongs to uid 65534"));
  const Status status = CheckPrivate("/dev/dax0.0", Device(0, 0666), 0);
  EXPECT_EQ(status.code(), Status::Code::kForeignFile);
  EXPECT_THAT(status.message(), HasSubstr("has mode 0666"));
  EXPECT_THAT(status.message(), HasSubstr("chmod o= it"));
}

}  // namespace
}  // namespace mezz
