// SPDX-License-Identifier: Apache-2.0
#include "cache/base/fork_guard.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>

namespace mezz {
namespace {

// What `check` says in the child that `spawn` makes.
int InChild(const std::function<pid_t()>& spawn, const std::function<int()>& check) {
  const pid_t child = spawn();
  if (child == 0) _exit(check());
  EXPECT_GT(child, 0);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  return WEXITSTATUS(status);
}

pid_t Fork() { return fork(); }
// As vfork-averse libraries do: no handler of pthread_atfork runs.
pid_t RawClone() { return static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr)); }

TEST(ForkGuard, HoldsInTheProcessThatMadeIt) {
  const ForkGuard guard;
  ASSERT_TRUE(guard.ok());
  EXPECT_TRUE(guard.InParent());
}

TEST(ForkGuard, FailsInAForkedChildOnly) {
  const ForkGuard guard;
  EXPECT_EQ(InChild(Fork, [&] { return guard.InParent() ? 1 : 0; }), 0);
  EXPECT_TRUE(guard.InParent());
}

TEST(ForkGuard, FailsInARawCloneToo) {
  const ForkGuard guard;
  EXPECT_EQ(InChild(RawClone, [&] { return guard.InParent() ? 1 : 0; }), 0);
  EXPECT_TRUE(guard.InParent());
}

TEST(ForkGuard, FailsInAGrandchildAndNeverComesBack) {
  const ForkGuard guard;
  const auto grandchild = [&] { return InChild(Fork, [&] { return guard.InParent() ? 1 : 0; }); };
  EXPECT_EQ(InChild(Fork, grandchild), 0);
}

TEST(ForkGuard, MadeInAChildHoldsThere) {
  EXPECT_EQ(InChild(Fork,
                    [] {
                      const ForkGuard guard;
                      return guard.ok() && guard.InParent() ? 0 : 1;
                    }),
            0);
}

}  // namespace
}  // namespace mezz
