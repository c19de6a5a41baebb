// SPDX-License-Identifier: Apache-2.0
#include "integration/machine.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace mezz {
namespace {

namespace fs = std::filesystem;

// A root folder with the files of /proc and /sys that tell of memory.
class MachineFiles : public ::testing::Test {
 protected:
  MachineFiles() : root_(fs::path(::testing::TempDir()) / ("mezz_machine_" + std::to_string(getpid()))) {
    fs::remove_all(root_);
    Write("proc/meminfo", "MemFree: 1 kB\nMemTotal:       8388608 kB\n");
  }
  ~MachineFiles() override { fs::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  Machine Read() const { return ReadMachine(root_.string()); }

  const fs::path root_;
};

TEST_F(MachineFiles, WithoutGroupsTheMachinesMemoryIsTheLimit) {
  EXPECT_EQ(Read().memory_bytes, 8ull << 30);
  EXPECT_EQ(Read().memory_of, "this machine");
}

TEST_F(MachineFiles, ALimitOfAnyGroupAboveTheProcessCounts) {
  Write("proc/self/cgroup", "0::/a/b\n");
  Write("sys/fs/cgroup/a/b/memory.max", "max\n");
  EXPECT_EQ(Read().memory_bytes, 8ull << 30);
  Write("sys/fs/cgroup/a/memory.max", "1073741824\n");
  EXPECT_EQ(Read().memory_bytes, 1ull << 30);
  EXPECT_EQ(Read().memory_of, "the control group /a");
  Write("sys/fs/cgroup/a/b/memory.max", "4096\n");
  EXPECT_EQ(Read().memory_bytes, 4096u);
}

TEST_F(MachineFiles, InsideAContainerTheMountsOwnLimitCounts) {
  Write("proc/self/cgroup", "0::/not/mounted/here\n");
  Write("sys/fs/cgroup/memory.max", "1073741824\n");
  EXPECT_EQ(Read().memory_bytes, 1ull << 30);
}

TEST_F(MachineFiles, TheFirstVersionsLimitCountsToo) {
  Write("proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/x\n");
  Write("sys/fs/cgroup/memory/x/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(Read().memory_of, "this machine");
  Write("sys/fs/cgroup/memory/memory.limit_in_bytes", "2147483648\n");
  EXPECT_EQ(Read().memory_bytes, 2ull << 30);
}

TEST_F(MachineFiles, NonsenseIsNoLimit) {
  Write("proc/self/cgroup", "\n::\n0::\nmemory\n4:memory:\n");
  Write("sys/fs/cgroup/memory.max", "lots");
  Write("sys/fs/cgroup/memory/memory.limit_in_bytes", "");
  EXPECT_EQ(Read().memory_bytes, 8ull << 30);
  Write("proc/meminfo", "");
  EXPECT_EQ(Read().memory_bytes, std::numeric_limits<uint64_t>::max());
}

TEST(ThisMachine, HasMemoryAndMapsWhatItCan) {
  const Machine machine = ThisMachine();
  EXPECT_GT(machine.memory_bytes, 64u << 20);
  EXPECT_LT(machine.memory_bytes, 1ull << 50);
  EXPECT_TRUE(machine.can_map(1 << 20));
  EXPECT_FALSE(machine.can_map(1ull << 60));
}

}  // namespace
}  // namespace mezz
