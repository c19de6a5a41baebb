// SPDX-License-Identifier: Apache-2.0
#include "cache/base/machine_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <string>

#include "tests/support/temporary_folder.h"

namespace mezz {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr uint64_t kGiB = 1 << 30;

// A machine of 64 GiB, 48 of them available, as /proc and /sys show it.
class MachineMemoryTest : public testing::Test {
 protected:
  MachineMemoryTest() {
    Put("/proc/meminfo", "MemTotal:       67108864 kB\nMemFree:         1000 kB\nMemAvailable:   50331648 kB\n");
  }

  void Put(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(root_.path() + path).parent_path());
    root_.Write(path, text);
  }
  MachineMemory Read() { return ReadMachineMemory(root_.path()); }

  const TemporaryFolder root_;
};

TEST_F(MachineMemoryTest, WithoutControlGroupsIsTheMachines) {
  EXPECT_EQ(Read().total_bytes, 64 * kGiB);
  EXPECT_EQ(Read().available_bytes, 48 * kGiB);
  EXPECT_EQ(Read().limited_by, "this machine");
  EXPECT_EQ(Read().total_of, "this machine");
}

TEST_F(MachineMemoryTest, IsNarrowedByTheTightestGroupAboveUs) {
  Put("/proc/self/cgroup", "0::/system.slice/db.service\n");
  Put("/sys/fs/cgroup/system.slice/db.service/memory.max", "max\n");
  Put("/sys/fs/cgroup/system.slice/memory.max", "8589934592\n");
  Put("/sys/fs/cgroup/system.slice/memory.current", "6442450944\n");
  Put("/sys/fs/cgroup/system.slice/memory.stat", "anon 5\ninactive_file 1073741824\nactive_file 1073741824\n");
  EXPECT_EQ(Read().total_bytes, 8 * kGiB);
  EXPECT_EQ(Read().available_bytes, 4 * kGiB) << "6 of 8 used, 2 of them page cache";
  EXPECT_EQ(Read().limited_by, "the control group /system.slice");
  EXPECT_EQ(Read().total_of, "the control group /system.slice");
}

TEST_F(MachineMemoryTest, IsNarrowedByVersionOneGroupsToo) {
  Put("/proc/self/cgroup", "4:memory:/docker/abc\n1:cpu:/\n0::/\n");
  Put("/sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "2147483648\n");
  Put("/sys/fs/cgroup/memory/docker/abc/memory.usage_in_bytes", "1073741824\n");
  Put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(Read().total_bytes, 2 * kGiB);
  EXPECT_EQ(Read().available_bytes, kGiB);
}

TEST_F(MachineMemoryTest, NonsenseIsNoLimit) {
  Put("/proc/self/cgroup", "\n::\n0::\nmemory\n4:memory:\n");
  Put("/sys/fs/cgroup/memory.max", "lots");
  Put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "");
  EXPECT_EQ(Read().total_bytes, 64 * kGiB);
}

TEST_F(MachineMemoryTest, OfANodeThePageCacheIsAvailable) {
  Put("/sys/devices/system/node/node2/meminfo",
      "Node 2 MemTotal:       4194304 kB\nNode 2 MemFree:        1048576 kB\nNode 2 Active(anon):   1048576 kB\n"
      "Node 2 Active(file):    524288 kB\nNode 2 Inactive(file):  262144 kB\nNode 2 SReclaimable:   262144 kB\n");
  EXPECT_EQ(ReadNodeMemory(2, root_.path()).total_bytes, 4 * kGiB);
  EXPECT_EQ(ReadNodeMemory(2, root_.path()).available_bytes, 2 * kGiB);
  EXPECT_EQ(ReadNodeMemory(1, root_.path()).total_bytes, 0u) << "there is no such node";
}

TEST_F(MachineMemoryTest, InsideAContainerTheMountsOwnLimitCounts) {
  Put("/proc/self/cgroup", "0::/not/mounted/here\n");
  Put("/sys/fs/cgroup/memory.max", "1073741824\n");
  EXPECT_EQ(Read().total_bytes, kGiB);
}

TEST_F(MachineMemoryTest, OfAFullGroupIsNothing) {
  Put("/proc/self/cgroup", "0::/\n");
  Put("/sys/fs/cgroup/memory.max", "1073741824\n");
  Put("/sys/fs/cgroup/memory.current", "1073750000\n");
  EXPECT_EQ(Read().available_bytes, 0u);
}

TEST_F(MachineMemoryTest, IsUnboundedWhereNothingIsTold) {
  fs::remove_all(root_.Path("proc"));
  EXPECT_EQ(Read().total_bytes, std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(Read().available_bytes, std::numeric_limits<uint64_t>::max());
}

TEST(CheckMemoryHolds, GivesNothingAwayTwice) {
  const uint64_t most = AvailableMemoryBytes() / 10 * 7;
  PromisedMemory first;
  ASSERT_TRUE(CheckMemoryHolds(most, "dram", "dram", &first).ok());
  EXPECT_EQ(PromisedMemory::Bytes(), most);
  PromisedMemory second;
  const Status status = CheckMemoryHolds(most, "scm", "scm", &second);
  EXPECT_EQ(status.code(), Status::Code::kNoSpace);
  EXPECT_THAT(status.message(), HasSubstr(std::to_string(most) + " bytes"));
  EXPECT_THAT(status.message(), HasSubstr("this process is still to take"));
  first.ShrinkTo(most / 10);
  EXPECT_TRUE(CheckMemoryHolds(most, "scm", "scm", &second).ok());
  EXPECT_EQ(PromisedMemory::Bytes(), most + most / 10);
  first = PromisedMemory();
  second = PromisedMemory();
  EXPECT_EQ(PromisedMemory::Bytes(), 0u);
}

TEST(CheckMemoryHolds, JudgesAgainstThisMachine) {
  EXPECT_GT(TotalMemoryBytes(), 0u);
  EXPECT_LE(AvailableMemoryBytes(), TotalMemoryBytes());
  EXPECT_TRUE(CheckMemoryHolds(1, "dram").ok());
  for (const uint64_t bytes : {uint64_t{4'000'000} << 40, std::numeric_limits<uint64_t>::max()}) {
    const Status status = CheckMemoryHolds(bytes, "dram", "dram");
    EXPECT_EQ(status.code(), Status::Code::kNoSpace);
    EXPECT_THAT(status.message(), HasSubstr(std::to_string(bytes)));
    EXPECT_THAT(status.message(), HasSubstr("lower dram"));
  }
}

}  // namespace
}  // namespace mezz
