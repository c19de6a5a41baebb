// SPDX-License-Identifier: Apache-2.0
#include "cache/base/start_thread.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/no_threads.h"

namespace mezz {
namespace {

bool Blocks(int signal) {
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  return sigismember(&blocked, signal) == 1;
}

TEST(StartThread, TakesNoSignalsOfItsHostAndIsNamed) {
  ASSERT_FALSE(Blocks(SIGUSR1));
  bool blocks = false;
  std::string name(16, '\0');
  std::thread thread = StartThread("mezz-test", [&] {
    blocks = Blocks(SIGUSR1) && Blocks(SIGTERM);
    // Its starter names it, perhaps later: SIGUSR1 comes when it has.
    sigset_t named;
    sigemptyset(&named);
    sigaddset(&named, SIGUSR1);
    int signal = 0;
    sigwait(&named, &signal);
    pthread_getname_np(pthread_self(), name.data(), name.size());
  });
  ASSERT_TRUE(thread.joinable());
  pthread_kill(thread.native_handle(), SIGUSR1);
  thread.join();
  EXPECT_TRUE(blocks);
  EXPECT_STREQ(name.c_str(), "mezz-test");
  EXPECT_FALSE(Blocks(SIGUSR1)) << "of the starter";
}

TEST(StartThread, IsNotJoinableWhereThereIsNone) {
  const test::NoThreads none;
  EXPECT_FALSE(StartThread("mezz-test", [] {}).joinable());
  EXPECT_FALSE(Blocks(SIGUSR1));
}

}  // namespace
}  // namespace mezz
