// SPDX-License-Identifier: Apache-2.0
// mezz_inspect as a program: what it prints, and how it ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/tier_fixture.h"

namespace mezz {
namespace {

using nlohmann::json;
using test::Key;
using test::Payload;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kWhole = 0, kDamaged = 1, kRefused = 2;
constexpr size_t kBytes = 1000;

struct Ended {
  int status = -1;
  std::string printed;  // to both
};

class InspectProgram : public ::testing::Test {
 protected:
  void SetUp() override {
    ScmOptions options = test::WarmOptions(file_.path(), 16 * kSegmentBytesMin);
    options.erase = EraseMode::kDurable;
    const auto tier = test::OpenOrDie(options);
    for (uint64_t n = 1; n <= 100; ++n) {
      const BlockRole role = n <= 10 ? BlockRole::kIndex : BlockRole::kData;
      ASSERT_EQ(tier->Put(Key(n), role, Payload(n, 0, kBytes)), PutResult::kStored);
    }
    tier->Erase(Key(1));
  }
  Ended Run(const std::string& flags) const { return Run(flags, file_.path()); }
  static Ended Run(const std::string& flags, const std::string& path) {
    const std::string command = std::string("'") + MEZZ_INSPECT_BINARY + "' " + flags + " '" + path + "' 2>&1";
    Ended ended;
    FILE* const out = popen(command.c_str(), "r");
    if (out == nullptr) return ended;
    char part[4096];
    for (size_t n; (n = fread(part, 1, sizeof(part), out)) != 0;) ended.printed.append(part, n);
    const int status = pclose(out);
    ended.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return ended;
  }
  void Change(size_t at) const {
    const std::string all = test::Contents(file_.path());
    test::Overwrite(file_.path(), at, std::string(1, static_cast<char>(all[at] ^ 1)));
  }
  size_t HeaderOf(uint64_t key) const {
    const BlockKey wanted = Key(key);
    return test::Contents(file_.path()).find(std::string(wanted.bytes()));
  }

  const test::ScratchFile file_;
};

TEST_F(InspectProgram, TellsOneFigureALine) {
  const Ended ended = Run("");
  EXPECT_EQ(ended.status, kWhole) << ended.printed;
  EXPECT_THAT(ended.printed,
              AllOf(HasSubstr("superblock.capacity_bytes " + std::to_string(16 * kSegmentBytesMin) + "\n"),
                    HasSubstr("\nblocks.data.records 90\n"), HasSubstr("\nblocks.index.records 10\n"),
                    HasSubstr("\nages.0.records "), HasSubstr("\nsessions.0.session 000000\n"),
                    HasSubstr("\nsnapshot.state whole\n"), HasSubstr("\ntombstones.tombstones 1\n")));
  EXPECT_EQ(ended.printed.find("damaged"), std::string::npos) << "nobody looked";
}

TEST_F(InspectProgram, PrintsOneJsonObject) {
  const Ended ended = Run("--json --verify");
  EXPECT_EQ(ended.status, kWhole) << ended.printed;
  const json told = json::parse(ended.printed, nullptr, /*allow_exceptions=*/false);
  ASSERT_TRUE(told.is_object()) << ended.printed;
  EXPECT_EQ(told["superblock"]["closed_cleanly"], true);
  EXPECT_EQ(told["blocks"]["data"], (json{{"records", 90}, {"payload_bytes", 90'000}, {"packed", 0}, {"damaged", 0}}));
  ASSERT_EQ(told["ages"].size(), 10u);
  ASSERT_EQ(told["sessions"].size(), 1u);
  EXPECT_EQ(told["sessions"][0]["records"], 100);
  EXPECT_EQ(told["sessions"][0]["files"], 100) << "each key names another";
  uint64_t segments = 0;
  for (const json& age : told["ages"]) segments += age["segments"].get<uint64_t>();
  EXPECT_EQ(segments, told["segments"]["young"].get<uint64_t>() + told["segments"]["proven"].get<uint64_t>());
}

TEST_F(InspectProgram, ADamagedPayloadEndsItWithOneWhereItLooks) {
  Change(HeaderOf(50) + sizeof(layout::RecordHeader) + 100);
  EXPECT_EQ(Run("").status, kWhole) << "payloads are not read";
  const Ended ended = Run("--verify");
  EXPECT_EQ(ended.status, kDamaged) << ended.printed;
  EXPECT_THAT(ended.printed, AllOf(HasSubstr("\nblocks.data.damaged 1\n"), HasSubstr("\nblocks.index.damaged 0\n")));
}

TEST_F(InspectProgram, ADamagedSnapshotEndsItWithOne) {
  const std::string all = test::Contents(file_.path());
  layout::Superblock superblock;
  std::memcpy(&superblock, all.data(), sizeof(superblock));
  ASSERT_NE(superblock.snapshot_segment, 0u);
  Change(superblock.snapshot_segment * kSegmentBytesMin + sizeof(layout::SnapshotChunk) + 8);
  const Ended ended = Run("");
  EXPECT_EQ(ended.status, kDamaged) << ended.printed;
  EXPECT_THAT(ended.printed, HasSubstr("\nsnapshot.state is damaged\n"));
}

TEST_F(InspectProgram, OfAnEmptiedMediumTheBlocksAreSaidToBeMoved) {
  const test::ScratchFile files[2];
  ScmOptions options = test::AnonymousOptions(32 * kSegmentBytesMin);
  options.medium = MediumKind::kFile;
  options.members = {{.path = files[0].path(), .capacity_bytes = 16 * kSegmentBytesMin},
                     {.path = files[1].path(), .capacity_bytes = 16 * kSegmentBytesMin}};
  {
    const auto tier = test::OpenOrDie(options);
    for (uint64_t n = 1; n <= 100; ++n)
      ASSERT_EQ(tier->Put(Key(n), BlockRole::kData, Payload(n, 0, kBytes)), PutResult::kStored);
    ASSERT_TRUE(tier->SetMemberCapacity(0, 0).ok());
  }
  const Ended ended = Run("", files[0].path());
  EXPECT_EQ(ended.status, kWhole) << ended.printed;
  EXPECT_THAT(ended.printed, AllOf(HasSubstr(files[0].path() + " is one of 2 media: what was erased, or moved"),
                                   HasSubstr("superblock.medium 1 of 2")));
  EXPECT_THAT(Run("").printed, Not(HasSubstr("media")));
}

TEST_F(InspectProgram, AFileThatIsNotOursIsRefused) {
  test::Overwrite(file_.path(), 0, std::string(layout::kSuperblockSpace, 'x'));
  const Ended ended = Run("--json");
  EXPECT_EQ(ended.status, kRefused);
  EXPECT_THAT(ended.printed, AllOf(HasSubstr("mezz_inspect: "), HasSubstr(file_.path())));
  EXPECT_EQ(ended.printed.find('{'), std::string::npos);
}

TEST_F(InspectProgram, AFileThatIsNotThereOrEmptyIsRefused) {
  std::filesystem::resize_file(file_.path(), 0);
  EXPECT_EQ(Run("").status, kRefused);
  std::filesystem::remove(file_.path());
  EXPECT_EQ(Run("").status, kRefused);
}

TEST_F(InspectProgram, AMediumThatACacheHasOpenIsRefused) {
  const auto tier = test::OpenOrDie(test::WarmOptions(file_.path(), 16 * kSegmentBytesMin));
  const Ended ended = Run("");
  EXPECT_EQ(ended.status, kRefused);
  EXPECT_THAT(ended.printed, HasSubstr("in use"));
}

}  // namespace
}  // namespace mezz
