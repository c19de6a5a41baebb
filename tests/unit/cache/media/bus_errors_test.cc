// SPDX-License-Identifier: Apache-2.0
#include "cache/media/bus_errors.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cfenv>
#include <csignal>
#include <memory>
#include <thread>
#include <vector>

#include "cache/base/start_thread.h"
#include "tests/support/lost_pages.h"
#include "tests/support/sanitizer.h"

namespace mezz {
namespace {

using test::kPageBytes;
using test::LosePages;
using test::Pages;

class BusErrorsTest : public testing::Test {
 protected:
  BusErrorsTest() { EXPECT_TRUE(ContainBusErrors().ok()); }

  static uint8_t Load(const std::byte* at) { return *reinterpret_cast<const volatile uint8_t*>(at); }
  static void Store(std::byte* at) { *reinterpret_cast<volatile uint8_t*>(at) = 1; }
};

TEST_F(BusErrorsTest, AnAccessToLostMemoryFailsAndIsToldOnce) {
  const Pages pages(4);
  std::vector<uint64_t> told;
  const BusErrorWatch watch(pages.all(), [&](uint64_t offset) { told.push_back(offset); });
  LosePages(pages.base() + 2 * kPageBytes);
  uint8_t read = 7;
  EXPECT_TRUE(BusErrors::Try([&] { read = Load(pages.base() + 2 * kPageBytes - 1); }));
  EXPECT_EQ(read, 0);
  EXPECT_FALSE(BusErrors::Try([&] { read = Load(pages.base() + 2 * kPageBytes + 77); }));
  EXPECT_FALSE(BusErrors::Try([&] { Store(pages.base() + 3 * kPageBytes - 1); }));
  EXPECT_TRUE(BusErrors::Try([&] { Store(pages.base() + 3 * kPageBytes); }));
  EXPECT_EQ(told, (std::vector<uint64_t>{2 * kPageBytes + 77, 3 * kPageBytes - 1}));
}

TEST_F(BusErrorsTest, CopyBytesTellsThatSomeAreLost) {
  const Pages pages(2);
  const BusErrorWatch watch(pages.all());
  Store(pages.base() + 5);
  LosePages(pages.base() + kPageBytes);
  std::vector<std::byte> copy(2 * kPageBytes);
  EXPECT_TRUE(CopyBytes(pages.all().first(kPageBytes), copy.data()));
  EXPECT_EQ(copy[5], std::byte{1});
  EXPECT_FALSE(CopyBytes(pages.all(), copy.data()));
  EXPECT_TRUE(CopyBytes({}, nullptr));
}

// Who tries goes on where it failed, and who tried that fails too: it does not know what the other left undone.
TEST_F(BusErrorsTest, AnAttemptWithinAnotherFailsBoth) {
  const Pages pages(1);
  int told = 0;
  const BusErrorWatch watch(pages.all(), [&](uint64_t) { ++told; });
  LosePages(pages.base());
  bool inner = true, went_on = false;
  EXPECT_FALSE(BusErrors::Try([&] {
    inner = BusErrors::Try([&] { Load(pages.base()); });
    went_on = true;
  }));
  EXPECT_FALSE(inner);
  EXPECT_TRUE(went_on);
  EXPECT_EQ(told, 1);
  EXPECT_TRUE(BusErrors::Try([] {})) << "what failed before is over";
}

TEST_F(BusErrorsTest, EachThreadHasItsOwn) {
  constexpr int kThreads = 4, kTries = 200;
  const Pages pages(2);
  std::atomic<int> told{0};
  const BusErrorWatch watch(pages.all(), [&](uint64_t) { told.fetch_add(1, std::memory_order_relaxed); });
  LosePages(pages.base() + kPageBytes);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.push_back(StartThread("mezz-test", [&] {  // as ours: signals are blocked
      for (int n = 0; n < kTries; ++n) {
        EXPECT_FALSE(BusErrors::Try([&] { Load(pages.base() + kPageBytes); }));
        EXPECT_TRUE(BusErrors::Try([&] { Load(pages.base()); }));
      }
    }));
    ASSERT_TRUE(threads.back().joinable());
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(told.load(std::memory_order_relaxed), kThreads * kTries);
}

TEST_F(BusErrorsTest, AnyNumberOfWatchesIsKept) {
  constexpr size_t kWatches = 200;
  const Pages pages(kWatches);
  LosePages(pages.base(), kWatches * kPageBytes);
  for (int round = 0; round < 3; ++round) {
    std::vector<std::unique_ptr<BusErrorWatch>> watches;
    std::vector<size_t> told, expected;
    for (size_t i = 0; i < kWatches; ++i) {
      watches.push_back(std::make_unique<BusErrorWatch>(pages.all().subspan(i * kPageBytes, kPageBytes),
                                                        [&told, i](uint64_t) { told.push_back(i); }));
    }
    for (size_t i = 0; i < kWatches; i += 3) watches[i].reset();
    for (size_t i = 0; i < kWatches; ++i) {
      if (watches[i] == nullptr) continue;
      EXPECT_FALSE(BusErrors::Try([&] { Load(pages.base() + i * kPageBytes); }));
      expected.push_back(i);
    }
    EXPECT_EQ(told, expected);
  }
}

// Or the next error would go back to where nobody is any more.
TEST_F(BusErrorsTest, AnAttemptThatThrowsIsOver) {
  const Pages pages(1);
  const BusErrorWatch watch(pages.all());
  LosePages(pages.base());
  bool thrown = false, went_on = false;
  EXPECT_FALSE(BusErrors::Try([&] {
    try {
      (void)BusErrors::Try([] { throw 1; });
    } catch (int) {
      thrown = true;
    }
    Load(pages.base());
    went_on = true;
  }));
  EXPECT_TRUE(thrown);
  EXPECT_FALSE(went_on);
}

// A handler has its own, which a jump out of it would leave.
TEST_F(BusErrorsTest, AnErrorLeavesTheRoundingModeAsItWas) {
  const Pages pages(1);
  const BusErrorWatch watch(pages.all());
  LosePages(pages.base());
  const int before = fegetround();
  ASSERT_EQ(fesetround(FE_UPWARD), 0);
  EXPECT_FALSE(BusErrors::Try([&] { Load(pages.base()); }));
  const int after = fegetround();
  volatile double one = 1, three = 3;
  const double quotient = one / three;
  volatile long double long_one = -1, long_three = 3;  // of 64 bits: the other way round
  const long double long_quotient = long_one / long_three;
  fesetround(before);
  EXPECT_EQ(after, FE_UPWARD);
  EXPECT_GT(quotient, one / three);
  EXPECT_GT(long_quotient, long_one / long_three);
}

TEST_F(BusErrorsTest, AnErrorLeavesTheThreadItsSignalStack) {
  constexpr unsigned kAutoDisarm = 1u << 31;  // SS_AUTODISARM
  const Pages pages(1);
  const BusErrorWatch watch(pages.all());
  LosePages(pages.base());
  std::thread([&] {
    std::vector<std::byte> memory(256 << 10);
    stack_t stack{}, before{}, after{};
    stack.ss_sp = memory.data();
    stack.ss_size = memory.size();
    stack.ss_flags = static_cast<int>(kAutoDisarm);
    ASSERT_EQ(sigaltstack(&stack, &before), 0);
    EXPECT_FALSE(BusErrors::Try([&] { Load(pages.base()); }));
    ASSERT_EQ(sigaltstack(&before, &after), 0);
    EXPECT_EQ(after.ss_sp, memory.data());
    EXPECT_EQ(after.ss_flags & SS_DISABLE, 0);
  }).join();
}

// Of the thread that was telling of an error the child has nothing but the lock.
TEST_F(BusErrorsTest, AChildGoesOnThatWasForkedWhileAnErrorWasTold) {
  const Pages pages(1);
  LosePages(pages.base());
  std::atomic<int> calls{0};
  std::atomic<bool> forked{false};
  const BusErrorWatch watch(pages.all(), [&](uint64_t) {
    if (calls.fetch_add(1, std::memory_order_acq_rel) != 0) return;
    while (!forked.load(std::memory_order_acquire)) std::this_thread::yield();
  });
  const auto fails = [&] { return !BusErrors::Try([&] { Load(pages.base()); }); };
  std::thread thread([&] { EXPECT_TRUE(fails()); });
  while (calls.load(std::memory_order_acquire) == 0) std::this_thread::yield();
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);  // a hang ends as a signal
    { const BusErrorWatch another(pages.all()); }
    _exit(fails() && calls.load(std::memory_order_relaxed) == 2 ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  forked.store(true, std::memory_order_release);
  thread.join();
}

// What the process ends by otherwise. A sanitizer ends it by a status of its own.
class BusErrorsDeathTest : public BusErrorsTest {
 protected:
  void SetUp() override {
    if (test::kHandlesSignals) GTEST_SKIP() << "the sanitizer's own handler was there before";
  }
};

TEST_F(BusErrorsDeathTest, OutsideOfAnAttemptItIsFatalAsEver) {
  const Pages pages(1);
  const BusErrorWatch watch(pages.all());
  LosePages(pages.base());
  EXPECT_EXIT(Load(pages.base()), testing::KilledBySignal(SIGBUS), "");
}

TEST_F(BusErrorsDeathTest, OfMemoryThatNobodyWatchesItIsFatal) {
  const Pages pages(1);
  { const BusErrorWatch over(pages.all()); }
  LosePages(pages.base());
  EXPECT_EXIT(BusErrors::Try([&] { Load(pages.base()); }), testing::KilledBySignal(SIGBUS), "");
}

// In a process of its own, where nothing is contained yet.
TEST(BusErrorsPassOn, WhatIsNotContainedToTheHandlerThatWasThereBefore) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto with = [](bool told_more, const auto& fail) {
    struct sigaction before {};
    if (told_more) {
      before.sa_flags = SA_SIGINFO;
      before.sa_sigaction = [](int, siginfo_t* info, void*) { _exit(info->si_addr == nullptr ? 40 : 41); };
    } else {
      before.sa_handler = [](int) { _exit(42); };
    }
    sigaction(SIGBUS, &before, nullptr);
    if (!ContainBusErrors().ok()) _exit(43);
    const Pages pages(1);
    LosePages(pages.base());
    fail(pages.base());
  };
  const auto touch = [](const std::byte* at) { *reinterpret_cast<const volatile uint8_t*>(at); };
  const auto send = [](const std::byte*) { raise(SIGBUS); };
  EXPECT_EXIT(with(true, touch), testing::ExitedWithCode(41), "");
  EXPECT_EXIT(with(false, touch), testing::ExitedWithCode(42), "");
  EXPECT_EXIT(with(false, send), testing::ExitedWithCode(42), "");
}

bool IsBlocked(int signal) {
  sigset_t mask;
  return pthread_sigmask(SIG_SETMASK, nullptr, &mask) == 0 && sigismember(&mask, signal) == 1;
}
struct sigaction Before(int flags, void (*handler)(int)) {
  struct sigaction before {};
  before.sa_handler = handler;
  before.sa_flags = flags;
  sigemptyset(&before.sa_mask);
  sigaddset(&before.sa_mask, SIGUSR1);
  return before;
}

TEST(BusErrorsPassOn, WithTheMaskThatTheHandlerBeforeAskedFor) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto with = [](int flags) {
    const struct sigaction before =
        Before(flags, [](int) { _exit(50 + (IsBlocked(SIGUSR1) ? 1 : 0) + (IsBlocked(SIGBUS) ? 2 : 0)); });
    sigaction(SIGBUS, &before, nullptr);
    if (!ContainBusErrors().ok()) _exit(49);
    raise(SIGBUS);
  };
  EXPECT_EXIT(with(0), testing::ExitedWithCode(53), "");
  EXPECT_EXIT(with(static_cast<int>(SA_NODEFER)), testing::ExitedWithCode(51), "");
}

TEST(BusErrorsPassOn, WhatOthersBlockedIsAsItWasAfterIt) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto back = [] {
    const struct sigaction before = Before(0, [](int) {});
    sigaction(SIGBUS, &before, nullptr);
    if (!ContainBusErrors().ok()) _exit(49);
    for (int i = 0; i < 3; ++i) raise(SIGBUS);
    _exit(IsBlocked(SIGUSR1) || IsBlocked(SIGBUS) ? 48 : 0);
  };
  EXPECT_EXIT(back(), testing::ExitedWithCode(0), "");
}

TEST(BusErrorsPassOn, OnceToAHandlerThatAskedForThat) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto twice = [](bool again) {
    const struct sigaction before = Before(static_cast<int>(SA_RESETHAND), [](int) {});
    sigaction(SIGBUS, &before, nullptr);
    if (!ContainBusErrors().ok()) _exit(49);
    raise(SIGBUS);
    if (again) raise(SIGBUS);
    _exit(0);
  };
  EXPECT_EXIT(twice(false), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(twice(true), testing::KilledBySignal(SIGBUS), "");
}

TEST_F(BusErrorsDeathTest, SentByAProcessItIsFatal) {
  EXPECT_EXIT(BusErrors::Try([] { raise(SIGBUS); }), testing::KilledBySignal(SIGBUS), "");
}

// As the kernel tells of poison that nobody has touched yet, by a signal without a fault.
TEST_F(BusErrorsDeathTest, ToldAheadItIsFatalUnlessItsMemoryIsWatched) {
  const Pages pages(2);
  const BusErrorWatch watch(pages.all().first(kPageBytes));
  const auto tell = [](std::byte* at) {
    siginfo_t info{};
    info.si_signo = SIGBUS;
    info.si_code = BUS_MCEERR_AO;
    info.si_addr = at;
    if (syscall(SYS_rt_sigqueueinfo, getpid(), SIGBUS, &info) != 0) _exit(1);
    _exit(0);
  };
  EXPECT_EXIT(tell(pages.base()), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(tell(pages.base() + kPageBytes), testing::KilledBySignal(SIGBUS), "");
}

}  // namespace
}  // namespace mezz
