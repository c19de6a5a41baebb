// SPDX-License-Identifier: Apache-2.0
// mezz_replay as a program: what becomes of a run when one of its processes is killed.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/temporary_folder.h"

namespace mezz {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::AnyOf;
using ::testing::HasSubstr;

std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

class ReplayProcesses : public ::testing::Test {
 protected:
  // Windows without end in sight, so that whoever is to be killed still runs.
  pid_t Start(const std::string& caches, const std::string& seconds = "3600") {
    return StartWith({"--caches=" + caches, "--seconds=" + seconds, "--repeats=2"});
  }

  pid_t StartWith(const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {MEZZ_REPLAY_BINARY,
                                          "--trace=gen:uniform",
                                          "--keys=2000",
                                          "--dram=1M",
                                          "--scm=8M",
                                          "--warmup=0",
                                          "--scm_path=" + folder_.Path("scm"),
                                          "--db=" + folder_.Path("db"),
                                          "--json=" + folder_.Path("out.json")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    const std::string err = folder_.Path("stderr");
    const pid_t pid = fork();
    if (pid == 0) {
      const int fd = open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
      dup2(fd, STDOUT_FILENO);
      dup2(fd, STDERR_FILENO);
      execv(pointers[0], pointers.data());
      _exit(127);
    }
    return pid;
  }

  // The exit status, or minus the signal.
  static int Wait(pid_t pid) {
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  static void Until(const std::function<bool()>& done) {
    while (!done()) std::this_thread::yield();  // ctest has the last word
  }

  static std::vector<pid_t> WorkersOf(pid_t parent) {
    std::istringstream children(
        ReadAll("/proc/" + std::to_string(parent) + "/task/" + std::to_string(parent) + "/children"));
    std::vector<pid_t> workers;
    for (pid_t child = 0; children >> child;) workers.push_back(child);
    return workers;
  }
  // 0: it has not been started.
  static pid_t Worker(pid_t parent, int number) {
    for (const pid_t child : WorkersOf(parent)) {
      const std::string line = ReadAll("/proc/" + std::to_string(child) + "/cmdline");
      if (line.find("--worker=" + std::to_string(number) + ":") != std::string::npos) return child;
    }
    return 0;
  }
  void UntilWindowsRun(const std::string& window = "window 1 of") {
    Until([&] { return ReadAll(folder_.Path("stderr")).find(window) != std::string::npos; });
  }
  json Result() const { return json::parse(ReadAll(folder_.Path("out.json")), nullptr, /*allow_exceptions=*/false); }

  TemporaryFolder folder_;
};

TEST_F(ReplayProcesses, ACrashIsReportedWithTheCachesNameAndTheOthersGoOn) {
  const pid_t run = Start("lru,hybrid,lru", "0.3");
  Until([&] { return Worker(run, 1) != 0 && fs::exists(folder_.Path("scm")); });
  kill(Worker(run, 1), SIGABRT);  // a sanitizer would catch SIGSEGV
  EXPECT_EQ(Wait(run), 3) << ReadAll(folder_.Path("stderr"));
  const json result = Result();
  ASSERT_TRUE(result.is_object());
  EXPECT_EQ(result["complete"], true);
  for (const json& row : result["rows"]) {
    if (row["cache"] == "hybrid") {
      EXPECT_EQ(row["available"], false);
      EXPECT_THAT(row["failed"].get<std::string>(), HasSubstr("killed by signal 6"));
    } else {
      EXPECT_EQ(row["available"], true);
      EXPECT_EQ(row["windows"].size(), 2u);
      EXPECT_GT(row["peak_rss_bytes"], 1 << 20);
    }
  }
  EXPECT_FALSE(fs::exists(folder_.Path("db/run-0")));
}

// Its database is loaded after it was built, and then opened by it.
TEST_F(ReplayProcesses, TheOnlyCacheMayCrashBeforeItsFirstWindow) {
  const pid_t run = StartWith({"--caches=hybrid", "--keys=100000", "--seconds=0.3", "--repeats=2"});
  Until([&] { return ReadAll(folder_.Path("stderr")).find("loading") != std::string::npos; });
  EXPECT_TRUE(fs::exists(folder_.Path("scm")));
  const pid_t worker = Worker(run, 0);
  ASSERT_NE(worker, 0);
  kill(worker, SIGKILL);
  EXPECT_EQ(Wait(run), 3) << ReadAll(folder_.Path("stderr"));
  const json result = Result();
  ASSERT_TRUE(result.is_object());
  const json& row = result["rows"][0];
  EXPECT_EQ(row["available"], false);
  EXPECT_EQ(row["windows"].size(), 0u);
  EXPECT_THAT(row["failed"].get<std::string>(), HasSubstr("killed by signal 9"));
  EXPECT_FALSE(fs::exists(folder_.Path("scm")));
}

// Of all windows to one cache, also of those in which the first one was still there.
TEST_F(ReplayProcesses, RatiosAreToTheFirstCacheThatCameToTheEnd) {
  const pid_t run = Start("lru,hybrid,lru", "0.2");
  UntilWindowsRun("window 2 of");
  kill(Worker(run, 0), SIGABRT);
  EXPECT_EQ(Wait(run), 3) << ReadAll(folder_.Path("stderr"));
  const json result = Result();
  ASSERT_TRUE(result.is_object());
  const json &hybrid = result["rows"][1], &last = result["rows"][2];
  ASSERT_EQ(hybrid["windows"].size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(hybrid["windows"][i]["ratio"], 1.0);
    EXPECT_DOUBLE_EQ(last["windows"][i]["ratio"].get<double>(),
                     last["windows"][i]["ops_per_s"].get<double>() / hybrid["windows"][i]["ops_per_s"].get<double>());
  }
}

TEST_F(ReplayProcesses, AnInterruptGivesThePartialResultAndLeavesNothingButTheBase) {
  const pid_t run = Start("lru,hybrid");
  UntilWindowsRun();
  kill(run, SIGINT);
  EXPECT_EQ(Wait(run), 130) << ReadAll(folder_.Path("stderr"));
  const json result = Result();
  ASSERT_TRUE(result.is_object());
  EXPECT_EQ(result["complete"], false);
  EXPECT_EQ(result["rows"].size(), 2u);
  EXPECT_FALSE(fs::exists(folder_.Path("db/run-0")));
  EXPECT_FALSE(fs::exists(folder_.Path("scm")));
}

TEST_F(ReplayProcesses, AnInterruptedRunOverBlocksKeepsTheWindowsThatWereFinished) {
  // The warm-up takes a fifth of a second, a window would take half an hour.
  const pid_t run = StartWith({"--mode=block", "--caches=lru,hybrid", "--repeats=2", "--cold_windows=1",
                               "--warmup_ops=20", "--ops=400020", "--rate=100"});
  UntilWindowsRun("\nwindow 1 of 2");
  EXPECT_EQ(WorkersOf(run).size(), 2u);
  kill(run, SIGINT);
  EXPECT_EQ(Wait(run), 130) << ReadAll(folder_.Path("stderr"));
  const json result = Result();
  ASSERT_TRUE(result.is_object());
  EXPECT_EQ(result["mode"], "block");
  EXPECT_EQ(result["complete"], false);
  ASSERT_EQ(result["rows"].size(), 2u);
  for (const json& row : result["rows"]) {
    ASSERT_EQ(row["cold_windows"].size(), 1u);
    EXPECT_EQ(row["cold_windows"][0]["accesses"], 20);
    EXPECT_EQ(row["windows"].size(), 0u);
    EXPECT_GT(row["peak_rss_bytes"], 1 << 20);
  }
  EXPECT_FALSE(fs::exists(folder_.Path("scm")));
  EXPECT_TRUE(fs::exists(folder_.Path("db/mezz_blocks"))) << "kept for the next run";
}

TEST_F(ReplayProcesses, WorkersDieWithARunThatIsKilledAndTheNextTrustsNoneOfTheirFiles) {
  ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);  // orphans become ours, to be waited for
  const pid_t killed = Start("lru,hybrid");
  UntilWindowsRun();
  const std::vector<pid_t> workers = WorkersOf(killed);
  EXPECT_EQ(workers.size(), 2u);
  kill(killed, SIGKILL);
  EXPECT_EQ(Wait(killed), -SIGKILL);
  EXPECT_TRUE(fs::exists(folder_.Path("db/run-0"))) << "nobody could clean up";
  // By the signal, or because its channel ended: the kernel closes that before it sends the signal.
  for (const pid_t worker : workers) EXPECT_THAT(Wait(worker), AnyOf(-SIGKILL, 2));
  EXPECT_EQ(Wait(Start("lru,hybrid", "0.2")), 0) << ReadAll(folder_.Path("stderr"));
  EXPECT_EQ(Result()["database_reused"], true);
  EXPECT_FALSE(fs::exists(folder_.Path("db/run-0")));
}

// Every other cache begins cold.
TEST_F(ReplayProcesses, WhatAKilledRunLeftOnTheMediumIsNoHeadStart) {
  const auto start = [&](const std::string& ops) {
    return StartWith({"--mode=block", "--caches=hybrid", "--policy=dram_first", "--pack=off", "--cold_windows=1",
                      "--warmup_ops=4000", "--repeats=1", "--rate=20000", "--ops=" + ops});
  };
  const auto hits_from_cold = [&] {
    EXPECT_EQ(Wait(start("4020")), 0) << ReadAll(folder_.Path("stderr"));
    const json result = Result();
    return result["rows"][0]["cold_windows"][0]["scm_hits"].get<uint64_t>();
  };
  ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  const pid_t killed = start("400000");  // its window would take 20 s
  UntilWindowsRun("\nwindow 1 of 1");
  const std::vector<pid_t> workers = WorkersOf(killed);
  // In this order nobody cleans up: a worker that finds its channel ended would, before the kernel's signal.
  kill(killed, SIGSTOP);
  for (const pid_t worker : workers) kill(worker, SIGKILL);
  kill(killed, SIGKILL);
  EXPECT_EQ(Wait(killed), -SIGKILL);
  for (const pid_t worker : workers) EXPECT_EQ(Wait(worker), -SIGKILL);
  ASSERT_TRUE(fs::exists(folder_.Path("scm")));
  const uint64_t after_it = hits_from_cold();
  ASSERT_TRUE(fs::remove(folder_.Path("scm"))) << "what lay there before is not ours to remove";
  EXPECT_EQ(after_it, hits_from_cold());
}

TEST_F(ReplayProcesses, ARunOfManyCachesPutsEachInItsOwnProcess) {
  const pid_t run = Start("lru,lru,hybrid,hcc");
  UntilWindowsRun();
  EXPECT_EQ(WorkersOf(run).size(), 4u);
  kill(run, SIGTERM);
  EXPECT_EQ(Wait(run), 130);
}

}  // namespace
}  // namespace mezz
