// SPDX-License-Identifier: Apache-2.0
// mezz_plan devices over made-up machines.
#include "workloads/plan/devices/devices.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "cache/base/descriptor.h"
#include "cache/base/read_file.h"
#include "cache/media/medium.h"
#include "tests/support/temporary_folder.h"

namespace mezz::plan {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr uint64_t kMiB = 1 << 20, kGiB = 1 << 30;
constexpr uint64_t kDeviceBytes = 64 * kMiB;

// 64 GiB, 48 of them available, in node 0, which has processors; no file system of memory.
class DevicesTest : public testing::Test {
 protected:
  DevicesTest() : root_(folder_.Path("root")) {
    Put("/proc/meminfo", "MemTotal:       67108864 kB\nMemAvailable:   50331648 kB\n");
    PutNode(0, "0-7\n", 64 * kGiB, 40 * kGiB);
    Put("/proc/self/mounts", "");
    surroundings_.root = root_;
    surroundings_.read_space = [this](const std::string& folder, FileSpace* space) {
      const auto found = spaces_.find(folder.substr(root_.size()));
      if (found == spaces_.end()) return Status::IoError("there is no such folder");
      *space = found->second;
      return Status::Ok();
    };
  }

  std::string At(const std::string& path) const { return root_ + path; }
  void Put(const std::string& path, const std::string& text) const {
    fs::create_directories(fs::path(At(path)).parent_path());
    std::ofstream(At(path), std::ios::binary) << text;
  }
  void PutNode(int node, const std::string& cpus, uint64_t total, uint64_t free) const {
    const std::string folder = "/sys/devices/system/node/node" + std::to_string(node);
    Put(folder + "/cpulist", cpus);
    const std::string head = "Node " + std::to_string(node) + " ";
    Put(folder + "/meminfo", head + "MemTotal: " + std::to_string(total >> 10) + " kB\n" + head + "MemFree: " +
                                 std::to_string(free >> 10) + " kB\n" + head + "Active(file): 1048576 kB\n");
  }
  // As `driver` has it, with these first bytes; the rest is zeros.
  void PutDax(const std::string& driver, const std::string& head = "") const {
    const std::string folder = "/sys/bus/dax/devices/dax0.0";
    Put(folder + "/size", std::to_string(kDeviceBytes) + "\n");
    Put(folder + "/align", "2097152\n");
    Put(folder + "/target_node", "1\n");
    if (!driver.empty()) fs::create_symlink("../../../bus/dax/drivers/" + driver, At(folder + "/driver"));
    Put("/dev/dax0.0", head);
    fs::resize_file(At("/dev/dax0.0"), kDeviceBytes);
  }
  void Mount(const std::string& device, const std::string& folder, const std::string& type,
             const std::string& options) const {
    std::ofstream(At("/proc/self/mounts"), std::ios::app)
        << device << " " << folder << " " << type << " " << options << " 0 0\n";
  }

  std::vector<Place> Find() const {
    std::vector<Place> places = FindPlaces(surroundings_);
    Advise(ReadMachineMemory(root_), &places);
    return places;
  }
  // The place of that name; one that is not there has the trouble "missing".
  Place FindOne(const std::string& name) const {
    for (const Place& place : Find()) {
      if (NameOf(place) == name) return place;
    }
    return {.trouble = "missing"};
  }

  const TemporaryFolder folder_;
  const std::string root_;
  std::map<std::string, FileSpace> spaces_;
  Surroundings surroundings_;
};

std::vector<std::string> NamesOf(const std::vector<Place>& places) {
  std::vector<std::string> names;
  for (const Place& place : places) names.push_back(NameOf(place));
  return names;
}

MeasureOptions Quick(const std::string& root) {
  return {.root = root, .each = std::chrono::milliseconds(1), .scratch_bytes_max = 16 * kMiB};
}

TEST_F(DevicesTest, AMachineOfDramAloneHasItsOwnMemory) {
  const std::vector<Place> places = Find();
  EXPECT_THAT(NamesOf(places), ElementsAre("dram"));
  EXPECT_EQ(places[0].uri, "mezzanine://dram_total=6G;scm=18G@dram") << "half of what is available, for both";
  const std::string text = DevicesText({.memory = ReadMachineMemory(root_), .places = places});
  EXPECT_THAT(text, AllOf(HasSubstr("memory: 48 GiB available of 64 GiB, by this machine"),
                          HasSubstr("none; daxctl reconfigure-device --mode=system-ram"),
                          HasSubstr("none in /sys/bus/dax/devices"), HasSubstr("tmpfs\n  none\n")));
}

TEST_F(DevicesTest, ANodeWithoutProcessorsIsAPlace) {
  PutNode(1, "\n", 32 * kGiB, 19 * kGiB);
  const Place place = FindOne("numa:1");
  EXPECT_EQ(place.kind, PlaceKind::kNumaNode);
  EXPECT_EQ(place.available_bytes, 20 * kGiB) << "the page cache counts as free";
  EXPECT_EQ(place.uri, "mezzanine://dram_total=7424M;scm=19G@numa:1");
  EXPECT_THAT(NamesOf(Find()), Not(Contains("numa:0")));
}

TEST_F(DevicesTest, ANodeWithoutMemoryIsNone) {
  PutNode(1, "\n", 0, 0);
  EXPECT_THAT(NamesOf(Find()), ElementsAre("dram"));
}

TEST_F(DevicesTest, ANodeThatThisProcessMayNotUseSaysWhy) {
  PutNode(2, "\n", 32 * kGiB, 19 * kGiB);
  Put("/proc/self/status", "Name:\tmezz_plan\nMems_allowed_list:\t0-1,3\n");
  EXPECT_THAT(FindOne("numa:2").trouble, AllOf(HasSubstr("0-1,3 only"), HasSubstr("cpuset.mems")));
  EXPECT_EQ(FindOne("numa:2").uri, "");
  Put("/proc/self/status", "Mems_allowed_list:\t0,2-3\n");
  EXPECT_EQ(FindOne("numa:2").trouble, "");
}

TEST_F(DevicesTest, ADaxDeviceInDevdaxModeIsAPlace) {
  PutDax("device_dax");
  const Place place = FindOne("/dev/dax0.0");
  EXPECT_EQ(place.trouble, "");
  EXPECT_EQ(place.total_bytes, kDeviceBytes);
  EXPECT_EQ(place.uri, "mezzanine://dram_total=12G;scm=60M@/dev/dax0.0");
}

TEST_F(DevicesTest, ADaxDeviceInSystemRamModeNamesItsNode) {
  PutDax("kmem");
  PutNode(1, "\n", 32 * kGiB, 19 * kGiB);
  EXPECT_THAT(FindOne("/dev/dax0.0").trouble,
              HasSubstr("use scm=SIZE@numa:1; daxctl reconfigure-device --mode=devdax"));
  PutNode(1, "8-15\n", 32 * kGiB, 19 * kGiB);
  EXPECT_THAT(FindOne("/dev/dax0.0").trouble, HasSubstr("has joined node 1, which has processors"));
  fs::remove_all(At("/sys/devices/system/node/node1"));
  EXPECT_THAT(FindOne("/dev/dax0.0").trouble, HasSubstr("daxctl online-memory dax0.0"));
}

TEST_F(DevicesTest, ADaxDeviceWithoutADriverOrANodeSaysWhatToDo) {
  PutDax("");
  EXPECT_THAT(FindOne("/dev/dax0.0").trouble, HasSubstr("daxctl reconfigure-device --mode=devdax dax0.0"));
  PutDax("device_dax");
  fs::remove(At("/dev/dax0.0"));
  EXPECT_THAT(FindOne("/dev/dax0.0").trouble, HasSubstr("/dev/dax0.0"));
  Put("/sys/bus/dax/devices/dax0.0/size", "0\n");
  EXPECT_THAT(FindOne("/dev/dax0.0").trouble, HasSubstr("daxctl create-device"));
}

TEST_F(DevicesTest, ADaxDeviceWithSomebodysDataIsLeftAlone) {
  PutDax("device_dax", "an ext4 of before");
  const Place place = FindOne("/dev/dax0.0");
  EXPECT_THAT(place.trouble, HasSubstr("holds data that is not Mezzanine's"));
  EXPECT_EQ(place.uri, "");
}

TEST_F(DevicesTest, ADaxDeviceThatACacheHasIsInUse) {
  PutDax("device_dax");
  const Descriptor other(open(At("/dev/dax0.0").c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(flock(other.get(), LOCK_EX | LOCK_NB), 0);
  EXPECT_THAT(FindOne("/dev/dax0.0").trouble, HasSubstr("in use by"));
}

TEST_F(DevicesTest, MeasuringAnUnusedDeviceLeavesItUnused) {
  PutDax("device_dax");
  Place place = FindOne("/dev/dax0.0");
  ASSERT_EQ(MeasurePlace(Quick(root_), &place).message(), "");
  EXPECT_GT(place.speed->read_ns, 0);
  EXPECT_GT(place.speed->write_bytes_per_s, 0);
  std::string bytes;
  ASSERT_TRUE(ReadWholeFile(At("/dev/dax0.0"), &bytes));
  EXPECT_TRUE(bytes == std::string(kDeviceBytes, '\0'));
}

TEST_F(DevicesTest, MeasuringADeviceWithACacheOnlyReadsIt) {
  PutDax("device_dax");
  fs::remove(At("/dev/dax0.0"));
  {
    ScmOptions options;
    options.path = At("/dev/dax0.0");
    options.capacity_bytes = kDeviceBytes;
    std::unique_ptr<Medium> medium;
    bool existing = false;
    ASSERT_TRUE(OpenMedium(options, &medium, &existing).ok());
  }
  std::string before, after;
  ASSERT_TRUE(ReadWholeFile(At("/dev/dax0.0"), &before));
  Place place = FindOne("/dev/dax0.0");
  EXPECT_EQ(place.trouble, "");
  EXPECT_THAT(place.remarks, ElementsAre(HasSubstr("holds a cache")));
  ASSERT_TRUE(MeasurePlace(Quick(root_), &place).ok());
  EXPECT_GT(place.speed->read_ns, 0);
  EXPECT_EQ(place.speed->write_bytes_per_s, 0);
  ASSERT_TRUE(ReadWholeFile(At("/dev/dax0.0"), &after));
  EXPECT_TRUE(before == after);
}

TEST_F(DevicesTest, MeasuringADeviceWithDataBehindItsHeadOnlyReadsIt) {
  PutDax("device_dax");
  {
    std::fstream file(At("/dev/dax0.0"), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(10 * kMiB);
    file << "somebody's";
  }
  Place place = FindOne("/dev/dax0.0");
  ASSERT_TRUE(MeasurePlace(Quick(root_), &place).ok());
  EXPECT_EQ(place.speed->write_bytes_per_s, 0);
}

TEST_F(DevicesTest, ATmpfsIsAPlaceAsFarAsMemoryGoes) {
  Mount("tmpfs", "/dev/shm", "tmpfs", "rw,nosuid");
  spaces_["/dev/shm"] = {.total_bytes = 8 * kGiB, .available_bytes = 4 * kGiB, .file_system = 1, .writable = true};
  EXPECT_EQ(FindOne("/dev/shm").uri, "mezzanine://dram_total=6G;scm=3840M@/dev/shm/mezz");
  EXPECT_THAT(FindOne("/dev/shm").remarks, IsEmpty());
  spaces_["/dev/shm"] = {.total_bytes = 0, .available_bytes = 0, .file_system = 1, .writable = true};
  EXPECT_EQ(FindOne("/dev/shm").uri, "mezzanine://dram_total=6G;scm=18G@/dev/shm/mezz") << "it has no bound";
}

TEST_F(DevicesTest, AFullTmpfsSaysSo) {
  Mount("tmpfs", "/dev/shm", "tmpfs", "rw");
  spaces_["/dev/shm"] = {.total_bytes = 8 * kGiB, .available_bytes = 4096, .file_system = 1, .writable = true};
  EXPECT_THAT(FindOne("/dev/shm").trouble, HasSubstr("is full: 4 KiB of 8 GiB are left"));
  EXPECT_EQ(FindOne("/dev/shm").uri, "");
}

TEST_F(DevicesTest, AControlGroupBelowTheTmpfsBoundsIt) {
  Mount("tmpfs", "/dev/shm", "tmpfs", "rw");
  spaces_["/dev/shm"] = {.total_bytes = 32 * kGiB, .available_bytes = 32 * kGiB, .file_system = 1, .writable = true};
  Put("/proc/self/cgroup", "0::/db\n");
  Put("/sys/fs/cgroup/db/memory.max", "2147483648\n");
  const Place place = FindOne("/dev/shm");
  EXPECT_EQ(place.uri, "mezzanine://dram_total=256M;scm=768M@/dev/shm/mezz");
  EXPECT_THAT(place.remarks, ElementsAre(HasSubstr("the control group /db has 2 GiB available")));
  Put("/sys/fs/cgroup/db/memory.max", "33554432\n");
  EXPECT_THAT(FindOne("/dev/shm").trouble, AllOf(HasSubstr("the control group /db"), HasSubstr("too little")));
}

TEST_F(DevicesTest, MountsWithDaxArePlacesAndPmemWithoutItSaysWhatToDo) {
  Mount("/dev/pmem0", "/mnt/with\\040blank", "ext4", "rw,relatime,dax=always");
  Mount("/dev/pmem1", "/mnt/marked", "xfs", "rw,dax=inode");
  Mount("/dev/pmem2", "/mnt/without", "ext4", "rw,relatime");
  Mount("/dev/pmem3", "/mnt/never", "xfs", "rw,dax=never");
  Mount("/dev/pmem4", "/mnt/fixed", "ext4", "ro,dax");
  Mount("/dev/sda1", "/mnt/disk", "ext4", "rw");
  for (const char* folder : {"/mnt/with blank", "/mnt/marked", "/mnt/without", "/mnt/never", "/mnt/fixed", "/mnt/disk"})
    spaces_[folder] = {100 * kGiB, 100 * kGiB, /*file_system=*/spaces_.size() + 1, true};
  EXPECT_EQ(FindOne("/mnt/with blank").uri, "mezzanine://dram_total=12G;scm=95G@/mnt/with blank/mezz");
  EXPECT_THAT(FindOne("/mnt/marked").remarks, ElementsAre(HasSubstr("chattr +x")));
  EXPECT_NE(FindOne("/mnt/marked").uri, "");
  EXPECT_THAT(FindOne("/mnt/without").trouble, AllOf(HasSubstr("/dev/pmem2"), HasSubstr("mount -o dax=always")));
  EXPECT_THAT(FindOne("/mnt/never").trouble, HasSubstr("without DAX"));
  EXPECT_THAT(FindOne("/mnt/fixed").trouble, HasSubstr("read-only"));
  EXPECT_EQ(FindOne("/mnt/disk").trouble, "missing");
}

TEST_F(DevicesTest, AFolderThatMayNotBeWrittenToSaysWhoMust) {
  Mount("tmpfs", "/run", "tmpfs", "rw");
  spaces_["/run"] = {.total_bytes = kGiB, .available_bytes = kGiB, .file_system = 1, .writable = false};
  EXPECT_THAT(FindOne("/run").trouble, HasSubstr("may not write there"));
  Mount("tmpfs", "/unseen", "tmpfs", "rw");
  EXPECT_THAT(FindOne("/unseen").trouble, HasSubstr("no such folder"));
}

TEST_F(DevicesTest, WhatIsMountedTwiceIsOnePlace) {
  Mount("tmpfs", "/dev/shm", "tmpfs", "ro");
  Mount("tmpfs", "/dev/shm", "tmpfs", "rw");
  Mount("tmpfs", "/other", "tmpfs", "rw");
  Mount("tmpfs", "/sys/fs/cgroup", "tmpfs", "rw");
  Mount("tmpfs", "/hidden", "tmpfs", "rw");
  Mount("/dev/sda2", "/hidden", "ext4", "rw");
  for (const char* folder : {"/dev/shm", "/other", "/sys/fs/cgroup", "/hidden"})
    spaces_[folder] = {kGiB, kGiB, 7, true};
  EXPECT_THAT(NamesOf(Find()), ElementsAre("/dev/shm", "/other", "dram"));
  EXPECT_EQ(FindOne("/dev/shm").trouble, "") << "the later mount is seen";
  EXPECT_THAT(FindOne("/other").trouble, HasSubstr("the same file system as /dev/shm"));
}

TEST_F(DevicesTest, MeasuringAFolderLeavesNothingThere) {
  fs::create_directories(At("/dev/shm"));
  Place place{.kind = PlaceKind::kTmpfs, .path = "/dev/shm", .total_bytes = kGiB, .available_bytes = kGiB};
  ASSERT_EQ(MeasurePlace(Quick(root_), &place).message(), "");
  EXPECT_EQ(place.speed->scratch_bytes, 16 * kMiB);
  EXPECT_GT(place.speed->read_ns, 0);
  EXPECT_GT(place.speed->write_bytes_per_s, 0);
  EXPECT_TRUE(fs::is_empty(At("/dev/shm")));
}

TEST_F(DevicesTest, TooLittleRoomIsNotMeasured) {
  fs::create_directories(At("/dev/shm"));
  Place place{.kind = PlaceKind::kTmpfs, .path = "/dev/shm", .total_bytes = kGiB, .available_bytes = 17 * kMiB};
  EXPECT_THAT(MeasurePlace(Quick(root_), &place).message(), HasSubstr("room for 4M of scratch"));
  EXPECT_FALSE(place.speed);
}

TEST_F(DevicesTest, TellsAllInJson) {
  PutNode(1, "\n", 32 * kGiB, 19 * kGiB);
  PutDax("device_dax", "an ext4 of before");
  DevicesOptions options{.surroundings = surroundings_, .measure = false};
  options.json_path = folder_.Path("devices.json");
  std::string text, file;
  ASSERT_TRUE(RunDevices(options, &text).ok());
  EXPECT_THAT(text, AllOf(HasSubstr("numa:1: 20 GiB of 32 GiB available"), HasSubstr("not measured: --list"),
                          HasSubstr("not usable: it holds data")));
  ASSERT_TRUE(ReadWholeFile(options.json_path, &file));
  const nlohmann::json json = nlohmann::json::parse(file);
  EXPECT_EQ(json["program"], "mezz_plan");
  EXPECT_EQ(json["memory"]["available_bytes"], 48 * kGiB);
  ASSERT_EQ(json["places"].size(), 3u);
  EXPECT_EQ(json["places"][0]["kind"], "numa_node");
  EXPECT_EQ(json["places"][0]["usable"], true);
  EXPECT_EQ(json["places"][1]["name"], "/dev/dax0.0");
  EXPECT_EQ(json["places"][1]["usable"], false);
  EXPECT_EQ(json["places"][2]["uri"], Find()[2].uri);
}

TEST_F(DevicesTest, TellsTheSpeed) {
  DevicesOptions options{.surroundings = surroundings_, .measuring = Quick("")};
  std::string text;
  ASSERT_TRUE(RunDevices(options, &text).ok());
  EXPECT_THAT(text, HasSubstr("one thread: a read of 4 KiB in "));
}

TEST_F(DevicesTest, AFileThatCannotBeWrittenIsFoundOutBefore) {
  DevicesOptions options{.surroundings = surroundings_, .measure = false};
  options.json_path = folder_.Path("nowhere/devices.json");
  std::string text;
  EXPECT_THAT(RunDevices(options, &text).message(), HasSubstr("--json="));
}

}  // namespace
}  // namespace mezz::plan
