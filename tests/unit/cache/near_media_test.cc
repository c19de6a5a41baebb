// SPDX-License-Identifier: Apache-2.0
#include "cache/media/near_media.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/core_fixture.h"
#include "tests/support/several_media.h"
#include "tests/support/temporary_folder.h"

namespace mezz {
namespace {

using test::HeapMedium;
using test::kSmallSegmentBytes;

// Two sockets, 0 and 1, each with memory beside it that has no processors: 2 and 3.
NumaMap TwoSockets() {
  return {.has_cpus = {true, true, false, false}, .distance = [](unsigned from, unsigned to) {
            return from == to ? 10 : from % 2 == to % 2 ? 17 : 28;
          }};
}

ScmOptions Media(size_t count, size_t fast) {
  ScmOptions options;
  for (size_t i = 0; i < count; ++i) {
    options.members.push_back({.path = "/m" + std::to_string(i), .capacity_bytes = 4 << 20});
    if (i >= fast) options.members.back().level = Level::kSlow;
  }
  return options;
}

TEST(NearMedia, EachSocketHasItsOwn) {
  const NearMedia near = FindNearMedia(Media(2, 2), std::array{2, 3}, TwoSockets());
  ASSERT_EQ(near.nodes.size(), 4u);
  EXPECT_EQ(near.groups, 2u);
  EXPECT_EQ(near.nodes[0].near, 1u);
  EXPECT_EQ(near.nodes[1].near, 2u);
  EXPECT_NE(near.nodes[0].group, near.nodes[1].group);
}

TEST(NearMedia, OfEachLevel) {
  const NearMedia near = FindNearMedia(Media(4, 2), std::array{2, 3, 3, 2}, TwoSockets());
  EXPECT_EQ(near.nodes[0].near, 0b1001u);
  EXPECT_EQ(near.nodes[1].near, 0b0110u);
  const NearMedia one_slow = FindNearMedia(Media(3, 2), std::array{2, 3, 2}, TwoSockets());
  EXPECT_EQ(one_slow.nodes[0].near, 0b101u);
  EXPECT_EQ(one_slow.nodes[1].near, 0b110u) << "the only slow one";
}

TEST(NearMedia, AllAreWhereNothingTellsThemApart) {
  EXPECT_TRUE(FindNearMedia(Media(2, 2), std::array{2, 2}, TwoSockets()).empty()) << "beside one socket";
  EXPECT_TRUE(FindNearMedia(Media(2, 1), std::array{2, 3}, TwoSockets()).empty()) << "one of each level";
  EXPECT_TRUE(FindNearMedia(Media(2, 2), std::array{2, -1}, TwoSockets()).empty()) << "it is not known where one lies";
  EXPECT_TRUE(FindNearMedia(Media(2, 2), std::array{2, 4}, TwoSockets()).empty()) << "there is no such node";
  NumaMap one_socket = TwoSockets();
  one_socket.has_cpus[1] = false;
  EXPECT_TRUE(FindNearMedia(Media(2, 2), std::array{2, 3}, one_socket).empty());
  EXPECT_TRUE(FindNearMedia(ScmOptions()).empty());
  EXPECT_TRUE(FindNearMedia(Media(2, 2)).empty()) << "files that are not there";
}

TEST(NearMedia, OfThisThreadIsANodeThatThereIs) {
  const NearMedia near = FindNearMedia(Media(2, 2), std::array{2, 3}, TwoSockets());
  EXPECT_NE(near.OfThisThread().near, 0u);
}

// A system's /sys, made up for the device of a file.
class NodeOfDeviceTest : public ::testing::Test {
 protected:
  NodeOfDeviceTest() {
    std::ofstream(file_.path()) << "x";
    struct stat file {};
    EXPECT_EQ(stat(file_.path().c_str(), &file), 0);
    id_ = std::to_string(major(file.st_dev)) + ":" + std::to_string(minor(file.st_dev));
    const auto device = root_ / "devices/ndbus0/region1/namespace1.0/block/pmem1";
    std::filesystem::create_directories(device);
    std::filesystem::create_directories(root_ / "dev/block");
    std::filesystem::create_directory_symlink(device, root_ / "dev/block" / id_);
  }
  void Say(const std::string& where, const std::string& what) { std::ofstream(root_ / "devices" / where) << what; }
  int Node() const { return NodeOfDevice(file_.path(), root_); }

  test::ScratchFile file_;
  const TemporaryFolder folder_;
  const std::filesystem::path root_ = folder_.path();
  std::string id_;
};

TEST_F(NodeOfDeviceTest, IsWhatTheNearestDirectoryAboveItSays) {
  EXPECT_EQ(Node(), -1);
  Say("ndbus0/numa_node", "0\n");
  EXPECT_EQ(Node(), 0);
  Say("ndbus0/region1/numa_node", "-1\n");
  EXPECT_EQ(Node(), 0) << "-1 says nothing";
  Say("ndbus0/region1/numa_node", "1\n");
  EXPECT_EQ(Node(), 1);
  EXPECT_EQ(NodeOfDevice(file_.path() + "_not_there", root_), -1);
  EXPECT_EQ(NodeOfDevice(file_.path(), root_ / "none"), -1);
}

thread_local unsigned node_now = 0;

// Two media of 128 segments each, with two lanes or more, as far as this machine has processors.
class NearLogTest : public ::testing::Test {
 protected:
  static constexpr uint32_t kSegments = 256;

  NearLogTest() {
    NearMedia near = FindNearMedia(Media(2, 2), std::array{2, 3}, TwoSockets());
    near.node_of_thread = [] { return node_now; };
    log_.PreferNear(std::move(near));
    log_.Provide(kSegments / 2, 0);
    log_.Provide(kSegments / 2, 1);
  }
  // The medium of the segment that a thread on this node opens next.
  size_t Open(unsigned node) {
    node_now = node;
    const unsigned lane = log_.LaneOfThisThread();
    EXPECT_TRUE(log_.Advance(lane, kMost, SegmentLog::For::kWriter));
    const auto where = log_.Reserve(lane, kMost);
    log_.Leave(*where);
    return log_.members().Of(where->segment);
  }

  static constexpr uint64_t kMost = layout::SegmentPayloadBytes(kSmallSegmentBytes);
  HeapMedium medium_{kSegments * kSmallSegmentBytes, {0, kSegments / 2 * kSmallSegmentBytes}};
  Counters counters_;
  ForkGuard guard_;
  SegmentLog log_{medium_, medium_.bytes(), kSmallSegmentBytes, /*format_id=*/7, &counters_, guard_};
};

TEST_F(NearLogTest, AThreadWritesToTheMediumBesideItWhileThatHasRoom) {
  for (uint32_t i = 0; i < kSegments / 2; ++i) EXPECT_EQ(Open(1), 1u) << i;
  for (uint32_t i = 0; i < 10; ++i) EXPECT_EQ(Open(1), 0u) << "the other has room";
  for (uint32_t i = 0; i < 10; ++i) EXPECT_EQ(Open(0), 0u);
  log_.SealAll();
}

TEST_F(NearLogTest, SocketsDoNotShareALane) {
  if (log_.writer_lanes(Level::kFast) < 2) GTEST_SKIP() << "one processor has one lane";
  node_now = 0;
  const unsigned first = log_.LaneOfThisThread();
  node_now = 1;
  EXPECT_NE(log_.LaneOfThisThread(), first);
  EXPECT_LT(std::max(first, log_.LaneOfThisThread()), log_.writer_lanes(Level::kFast));
}

}  // namespace
}  // namespace mezz
