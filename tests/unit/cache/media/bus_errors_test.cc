// SPDX-License-Identifier: Apache-2.0
#include "cache/media/bus_errors.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
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
  ASSERT_TRUE(watch.watching());
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

TEST_F(BusErrorsTest, AWatchThatEndedMakesRoomForAnother) {
  const Pages pages(1);
  for (size_t round = 0; round < 3; ++round) {
    std::vector<std::unique_ptr<BusErrorWatch>> watches;
    for (size_t i = 0; i < BusErrorWatch::kWatchesMax; ++i) {
      watches.push_back(std::make_unique<BusErrorWatch>(pages.all()));
      ASSERT_TRUE(watches.back()->watching());
    }
    EXPECT_FALSE(BusErrorWatch(pages.all()).watching());
  }
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

TEST_F(BusErrorsDeathTest, SentByAProcessItIsFatal) {
  EXPECT_EXIT(BusErrors::Try([] { raise(SIGBUS); }), testing::KilledBySignal(SIGBUS), "");
}

}  // namespace
}  // namespace mezz
