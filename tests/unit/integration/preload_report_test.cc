// SPDX-License-Identifier: Apache-2.0
// When a preloaded cache reports: however the process ends, and on demand. Each test is a child process that never
// closes its cache.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include "rocksdb/version.h"
#include "tests/support/preload_blocks.h"

namespace mezz {
namespace {

using test::CountOf;
using test::InChild;
using ::testing::AllOf;
using ::testing::ExitedWithCode;
using ::testing::HasSubstr;
using ::testing::KilledBySignal;
using ::testing::Not;

class PreloadReport : public test::PreloadTest {
 protected:
  PreloadReport() : PreloadTest("mezzanine://scm=16M@dram") {}

  // One report, of a cache that was in use, and what made it.
  void ExpectOne(const std::string& why) const {
    EXPECT_EQ(reports(), 1);
    EXPECT_THAT(report(), AllOf(HasSubstr("report: " + why), HasSubstr("\nscm.put: "), HasSubstr(";bus_errors=contain"),
                                Not(HasSubstr("\nscm.put: 0"))));
  }
  // InChild, of a process that reports its end.
  template <typename Body>
  void ExpectExitReports(const Body& body, const char* told = "", int line = __builtin_LINE()) const {
    InChild(told, body, line);
    ExpectOne("the program has ended");
  }
};

// A cache with the SCM tier that nobody will ever destroy.
rocksdb::Cache& Leaked() {
  static auto* const cache = new std::shared_ptr<rocksdb::Cache>(test::MakeSmallLru());  // reachable: no leak
  for (uint64_t id = 0; id < 2000; ++id) test::InsertBlock(**cache, id);
  return **cache;
}

// Nothing but a signal ends this.
[[noreturn]] void WaitForTheEnd() {
  for (;;) pause();
}

[[noreturn]] void DieOf(int signal) {
  raise(signal);
  WaitForTheEnd();
}

TEST_F(PreloadReport, ExitReports) {
  EXPECT_EXIT((Leaked(), exit(3)), ExitedWithCode(3), "");
  ExpectOne("the program has ended");
}

TEST_F(PreloadReport, QuickExitReports) {
  EXPECT_EXIT((Leaked(), quick_exit(3)), ExitedWithCode(3), "");
  ExpectOne("the program has ended");
}

TEST_F(PreloadReport, ACacheThatStaticsHoldReportsOnce) {
  EXPECT_EXIT(
      {
        static std::shared_ptr<rocksdb::Cache> keep = test::MakeSmallLru();
        for (uint64_t id = 0; id < 2000; ++id) test::InsertBlock(*keep, id);
        exit(0);
      },
      ExitedWithCode(0), "");
  EXPECT_EQ(reports(), 1);
}

TEST_F(PreloadReport, ACacheThatGoesReportsOnceToo) {
  EXPECT_EXIT(
      {
        auto cache = test::MakeSmallLru();
        for (uint64_t id = 0; id < 2000; ++id) test::InsertBlock(*cache, id);
        cache.reset();
        exit(0);
      },
      ExitedWithCode(0), "");
  ExpectOne("the cache has gone");
}

TEST_F(PreloadReport, SignalsThatTheProgramLeftAloneReportAndKillAsEver) {
  for (const int ending : {SIGTERM, SIGINT, SIGHUP}) {
    std::remove(path_.c_str());
    EXPECT_EXIT((Leaked(), kill(getpid(), ending), WaitForTheEnd()), KilledBySignal(ending), "");
    ExpectOne(ending == SIGTERM ? "SIGTERM" : ending == SIGINT ? "SIGINT" : "SIGHUP");
  }
}

// Blocked by all of its threads by the time of the report, the signal still kills.
TEST_F(PreloadReport, ASignalThatIsBlockedAfterItsArrivalKillsAsEver) {
  EXPECT_EXIT(
      {
        Leaked();
        raise(SIGTERM);
        sigset_t all;
        sigfillset(&all);
        sigprocmask(SIG_SETMASK, &all, nullptr);
        WaitForTheEnd();
      },
      KilledBySignal(SIGTERM), "");
  ExpectOne("SIGTERM");
}

volatile sig_atomic_t handled = 0;
void CountSignal(int) { handled = handled + 1; }
void EndAtOnce(int) { _exit(4); }

TEST_F(PreloadReport, TheProgramsOwnHandlerStaysAndItsExitReports) {
  ExpectExitReports([&] {
    signal(SIGTERM, CountSignal);
    Leaked();
    raise(SIGTERM);
    EXPECT_EQ(int{handled}, 1);
  });
}

TEST_F(PreloadReport, AHandlerThatTheProgramSetsLaterReplacesOurs) {
  ExpectExitReports([&] {
    Leaked();
    signal(SIGTERM, CountSignal);
    raise(SIGTERM);
    EXPECT_EQ(int{handled}, 1);
  });
}

// A daemon that blocks its signals and waits for them: no thread of ours may take them.
TEST_F(PreloadReport, AProgramThatWaitsForItsSignalsGetsThem) {
  ExpectExitReports([&] {
    Leaked();
    sigset_t waited_for;
    sigemptyset(&waited_for);
    sigaddset(&waited_for, SIGTERM);
    sigprocmask(SIG_BLOCK, &waited_for, nullptr);
    kill(getpid(), SIGTERM);
    int got = 0;
    sigwait(&waited_for, &got);
    EXPECT_EQ(got, SIGTERM);
  });
}

TEST_F(PreloadReport, AnIgnoredSignalStaysIgnored) {
  ExpectExitReports([&] {
    signal(SIGHUP, SIG_IGN);  // as nohup does
    Leaked();
    raise(SIGHUP);
  });
}

TEST_F(PreloadReport, NothingCanBeSaidOfAnEndThatNobodySees) {
  EXPECT_EXIT((Leaked(), kill(getpid(), SIGKILL), WaitForTheEnd()), KilledBySignal(SIGKILL), "");
  EXPECT_EQ(reports(), 0);
  EXPECT_EXIT((signal(SIGTERM, EndAtOnce), Leaked(), raise(SIGTERM), exit(0)), ExitedWithCode(4), "");
  EXPECT_EQ(reports(), 0);
}

TEST_F(PreloadReport, WithoutTheVariableNoSignalIsTaken) {
  unsetenv("MEZZANINE_REPORT");
  InChild([&] {
    Leaked();
    struct sigaction now {};
    sigaction(SIGTERM, nullptr, &now);
    EXPECT_TRUE(now.sa_handler == SIG_DFL);
  });
}

// A report that cannot be written must not keep a process alive.
TEST_F(PreloadReport, APipeThatNobodyReadsDoesNotHoldUpTheEnd) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EXIT((Leaked(), DieOf(SIGTERM)), KilledBySignal(SIGTERM), "cannot be written");
}

TEST_F(PreloadReport, ASecondSignalEndsAProcessWhoseReportIsStuck) {
  setenv("MEZZANINE_REPORT", "stderr", 1);
  EXPECT_EXIT(
      {
        int ends[2];
        if (pipe2(ends, O_NONBLOCK) != 0) _exit(1);
        Leaked();
        dup2(ends[1], STDERR_FILENO);
        while (write(ends[1], "x", 1) == 1) {  // until it is full
        }
        fcntl(ends[1], F_SETFL, 0);  // from now on a writer waits
        raise(SIGTERM);
        raise(SIGTERM);
        WaitForTheEnd();
      },
      KilledBySignal(SIGTERM), "");
}

TEST_F(PreloadReport, ASignalAsksForReportsAnyTime) {
  setenv("MEZZANINE_REPORT_SIGNAL", "USR2", 1);
  InChild([&] {
    Leaked();
    for (int want = 1; want <= 2; ++want) {
      raise(SIGUSR2);
      while (reports() < want) std::this_thread::yield();
    }
  });
  EXPECT_EQ(CountOf(report(), "report: on demand"), 2);
  EXPECT_EQ(CountOf(report(), "report: the program has ended"), 1);
  EXPECT_EQ(reports(), 3);
}

TEST_F(PreloadReport, ASignalBeforeThereIsATierReportsNothingAndDoesNotKill) {
  setenv("MEZZANINE_REPORT_SIGNAL", "USR2", 1);
  InChild([&] {
    { const auto early = test::MakeSmallLru(); }
    raise(SIGUSR2);
  });
  EXPECT_EQ(reports(), 0);
}

TEST_F(PreloadReport, OnDemandAloneReportsOnStderr) {
  unsetenv("MEZZANINE_REPORT");
  setenv("MEZZANINE_REPORT_SIGNAL", "SIGRTMIN+3", 1);
  InChild([&] {
    int ends[2];
    if (pipe(ends) != 0) _exit(1);
    dup2(ends[1], STDERR_FILENO);
    Leaked();
    raise(SIGRTMIN + 3);
    std::string text;
    char piece[256];
    while (text.find("report: on demand") == std::string::npos) {
      text.append(piece, static_cast<size_t>(std::max<ssize_t>(0, read(ends[0], piece, sizeof(piece)))));
    }
  });
}

TEST_F(PreloadReport, ASignalThatTheProgramUsesItselfStaysTheProgramsAndIsTold) {
  setenv("MEZZANINE_REPORT_SIGNAL", "USR1", 1);
  ExpectExitReports(
      [&] {
        signal(SIGUSR1, CountSignal);
        Leaked();
        raise(SIGUSR1);
        EXPECT_EQ(int{handled}, 1);
      },
      "MEZZANINE_REPORT_SIGNAL=USR1: the program uses this signal itself.*choose another");
}

TEST_F(PreloadReport, ASignalThatIsNoneIsToldWithTheAcceptedOnes) {
  setenv("MEZZANINE_REPORT_SIGNAL", "KILL", 1);
  EXPECT_EXIT((Leaked(), exit(3)), ExitedWithCode(3),
              "MEZZANINE_REPORT_SIGNAL=KILL: accepted are USR1, USR2 and RTMIN");
}

TEST_F(PreloadReport, AForksChildReportsNothingAndSignalsKillIt) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the thread sanitizer calls no signal handlers in the child of a process with threads";
#endif
  setenv("MEZZANINE_REPORT_SIGNAL", "USR2", 1);
  ExpectExitReports([&] {
    Leaked();
    for (const int ending : {0, SIGTERM, SIGUSR2}) {
      const pid_t child = fork();
      if (child == 0 && ending == 0) exit(5);
      if (child == 0) DieOf(ending);
      int status = 0;
      waitpid(child, &status, 0);
      const bool as_ever = ending == 0 ? WIFEXITED(status) && WEXITSTATUS(status) == 5
                                       : WIFSIGNALED(status) && WTERMSIG(status) == ending;
      if (!as_ever || reports() != 0) _exit(1);
    }
  });
}

// A daemon that makes its options, forks, and opens its database in the child.
TEST_F(PreloadReport, AForksChildReportsWhatItMadeItself) {
  InChild([&] {
    const auto of_parent = test::MakeSmallLru();
    const pid_t child = fork();
    if (child == 0) {
      Leaked();
      DieOf(SIGTERM);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
  });
  ExpectOne("SIGTERM");
}

}  // namespace
}  // namespace mezz
