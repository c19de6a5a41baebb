// SPDX-License-Identifier: Apache-2.0
#include "workloads/program/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mezz {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct Info {
  std::string name, type, description, default_value, filename;
};

const std::vector<Info> kInfos = {{"trace", "string", "What to read", "", "workloads/some_main.cc"},
                                  {"skip_bad", "bool", "Leave out", "false", "/home/x/workloads/some_main.cc"},
                                  {"growth", "double", "So many times", "1", "workloads/some_main.cc"},
                                  {"trace_path", "string", "Of RocksDB's analyzer", "", "tools/trace_analyzer_tool.cc"},
                                  {"flagfile", "string", "Of gflags", "", "src/gflags.cc"}};
const std::vector<Flag> kFlags = OwnFlags(kInfos, "/build/here/some_main.cc");
const FlagGroup kGroups[] = {{"Reading", {"trace", "skip_bad"}}};
const Program kProgram = {"some",
                          "does things",
                          {{"", "--trace=T", 0, "all of it", {"trace", "growth"}, nullptr},
                           {"part", "FILE", 1, "a part of it", {"skip_bad"}, nullptr}}};

std::optional<int> Before(std::vector<const char*> words) {
  words.insert(words.begin(), "some");
  return BeforeFlags(kProgram, kGroups, kFlags, words);
}

TEST(CommandLine, KnowsItsOwnFlagsOnly) {
  ASSERT_EQ(kFlags.size(), 3u);
  EXPECT_EQ(kFlags[0].name, "trace");
  EXPECT_TRUE(kFlags[1].is_switch);
  EXPECT_EQ(Before({"--trace_path=x"}), 2);
  EXPECT_EQ(Before({"--flagfile=x"}), 2);
  EXPECT_EQ(Before({"-trace_path", "x"}), 2);
  EXPECT_EQ(Before({"--trace=x", "--skip_bad", "--noskip_bad", "-growth", "-1", "part", "--", "--other"}),
            std::nullopt);
  EXPECT_EQ(Before({"--notrace"}), 2) << "no switch";
}

TEST(CommandLine, NamesTheNearestFlag) {
  EXPECT_EQ(NearestFlag("trace_path", kFlags), "trace");
  EXPECT_EQ(NearestFlag("skip-bad", kFlags), "skip_bad");
  EXPECT_EQ(NearestFlag("grwoth", kFlags), "growth");
  EXPECT_EQ(NearestFlag("tr", kFlags), "");
  EXPECT_EQ(NearestFlag("colour", kFlags), "");
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(Before({"--grwoth=2"}), 2);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "some: --grwoth is no flag of some; did you mean --growth?\n");
}

TEST(CommandLine, NamesTheNearestSubcommand) {
  const auto message = [](const std::string& word) {
    return RunSubcommand(kProgram, {word}, "", [](std::string_view) { return std::nullopt; }).message();
  };
  EXPECT_EQ(message("prat"), "\"prat\" is not known; did you mean part?");
  EXPECT_THAT(std::string(message("whole")), HasSubstr("\"whole\" is not known; usage:"));
}

TEST(CommandLine, ShowsSynopsisThenGroupsAndOfASubcommandWhatItTakes) {
  const std::string all = HelpText(kProgram, kGroups, kFlags, nullptr);
  EXPECT_EQ(all.find("some: does things\n\nusage: some --trace=T [--FLAG=VALUE]...\n"), 0u);
  EXPECT_LT(all.find("\nReading\n  --trace=\n"), all.find("\nMore\n  --growth=1\n"));
  EXPECT_THAT(all, Not(HasSubstr("trace_path")));
  const std::string part = HelpText(kProgram, kGroups, kFlags, &kProgram.subcommands[1]);
  EXPECT_EQ(part.find("usage: some part FILE"), 0u);
  EXPECT_THAT(part, HasSubstr("--skip_bad"));
  EXPECT_THAT(part, Not(HasSubstr("--growth")));
}

TEST(CommandLine, CompletesFromTheSameTable) {
  const std::string text = BashCompletion(kProgram, kFlags);
  EXPECT_THAT(text, HasSubstr("part) words=\"--skip_bad --help\""));
  EXPECT_THAT(text, HasSubstr("complete -o filenames -F _some some"));
  EXPECT_THAT(text, Not(HasSubstr("trace_path")));
}

}  // namespace
}  // namespace mezz
