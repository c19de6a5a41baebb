// SPDX-License-Identifier: Apache-2.0
// The checker is checked: on programs whose outcomes are known it must show each that the memory orders allow, and none
// that they forbid; a race, a deadlock and a broken assertion it must find.
#include <gtest/gtest.h>

#include <atomic>
#include <cassert>

#include "cache/base/atomic.h"
#include "tests/support/check/explorer.h"

namespace mezz::check {
namespace {

using std::memory_order_acq_rel;
using std::memory_order_acquire;
using std::memory_order_relaxed;
using std::memory_order_release;
using std::memory_order_seq_cst;
using Order = std::memory_order;

constexpr Options kAll{.preemptions_max = 4, .stale_max = 4};

std::string Text(int a, int b) { return std::to_string(a) + std::to_string(b); }

Result StoreBuffering(Order store, Order load) {
  return Explore(kAll, [=](Trial& run) {
    Atomic<int> x{0}, y{0};
    int a = -1, b = -1;
    run.Threads(
        {{"one", [&] { x.store(1, store), a = y.load(load); }}, {"two", [&] { y.store(1, store), b = x.load(load); }}});
    run.Outcome(Text(a, b));
  });
}

TEST(Litmus, StoreBufferingShowsBothZerosUnlessSequentiallyConsistent) {
  const Result weak = StoreBuffering(memory_order_release, memory_order_acquire);
  EXPECT_TRUE(weak.complete);
  EXPECT_EQ(weak.outcomes.size(), 4u);
  EXPECT_TRUE(weak.outcomes.contains("00")) << "x86 shows it, so must we";
  const Result strong = StoreBuffering(memory_order_seq_cst, memory_order_seq_cst);
  EXPECT_TRUE(strong.complete);
  EXPECT_EQ(strong.outcomes.size(), 3u);
  EXPECT_FALSE(strong.outcomes.contains("00"));
}

Result MessagePassing(Order store, Order load) {
  return Explore(kAll, [=](Trial& run) {
    Atomic<int> message{0}, flag{0};
    run.Threads({{"sender", [&] { message.store(1, memory_order_relaxed), flag.store(1, store); }},
                 {"receiver", [&] {
                    if (flag.load(load) == 1) Require(message.load(memory_order_relaxed) == 1, "the message is there");
                  }}});
  });
}

TEST(Litmus, MessagePassingNeedsReleaseAndAcquire) {
  EXPECT_TRUE(MessagePassing(memory_order_release, memory_order_acquire).ok());
  EXPECT_FALSE(MessagePassing(memory_order_relaxed, memory_order_acquire).ok());
  EXPECT_FALSE(MessagePassing(memory_order_release, memory_order_relaxed).ok());
}

// The canary: a failure must come with the steps that lead to it.
TEST(Litmus, AFailureNamesItsSteps) {
  const std::string failure = MessagePassing(memory_order_relaxed, memory_order_relaxed).failure;
  EXPECT_NE(failure.find("the message is there"), std::string::npos) << failure;
  EXPECT_NE(failure.find("load old"), std::string::npos) << failure;
  EXPECT_NE(failure.find("litmus_test.cc"), std::string::npos) << failure;
}

Result IndependentReads(Order order) {
  const Order store = order == memory_order_acquire ? memory_order_release : order;
  return Explore(kAll, [=](Trial& run) {
    Atomic<int> x{0}, y{0};
    int a = 0, b = 0, c = 0, d = 0;
    run.Threads({{"x", [&] { x.store(1, store); }},
                 {"y", [&] { y.store(1, store); }},
                 {"xy", [&] { a = x.load(order), b = y.load(order); }},
                 {"yx", [&] { c = y.load(order), d = x.load(order); }}});
    run.Outcome(Text(a, b) + Text(c, d));
  });
}

TEST(Litmus, IndependentReadsAgreeOnlyWhenSequentiallyConsistent) {
  EXPECT_TRUE(IndependentReads(memory_order_acquire).outcomes.contains("1010")) << "Power shows it, x86 never";
  const Result strong = IndependentReads(memory_order_seq_cst);
  EXPECT_TRUE(strong.complete);
  EXPECT_FALSE(strong.outcomes.contains("1010"));
}

TEST(Litmus, AWordIsReadInTheOrderOfItsStores) {
  const Result result = Explore(kAll, [](Trial& run) {
    Atomic<int> x{0};
    int a = 0, b = 0;
    run.Threads({{"writer", [&] { x.store(1, memory_order_relaxed), x.store(2, memory_order_relaxed); }},
                 {"reader", [&] { a = x.load(memory_order_relaxed), b = x.load(memory_order_relaxed); }}});
    run.Outcome(Text(a, b));
  });
  EXPECT_TRUE(result.complete);
  EXPECT_EQ(result.outcomes.size(), 6u);  // 00 01 02 11 12 22
  EXPECT_FALSE(result.outcomes.contains("21"));
}

TEST(Litmus, ARelaxedExchangeContinuesAReleaseSequenceAndAStoreEndsIt) {
  const auto pass = [](bool exchange) {
    return Explore(kAll, [=](Trial& run) {
      Atomic<int> message{0}, flag{0};
      run.Threads({{"sender", [&] { message.store(1, memory_order_relaxed), flag.store(1, memory_order_release); }},
                   {"between",
                    [&] {
                      int one = 1;
                      if (exchange) {
                        flag.compare_exchange_strong(one, 2, memory_order_relaxed, memory_order_relaxed);
                      } else if (flag.load(memory_order_relaxed) == 1) {
                        flag.store(2, memory_order_relaxed);
                      }
                    }},
                   {"receiver", [&] {
                      if (flag.load(memory_order_acquire) == 2)
                        Require(message.load(memory_order_relaxed) == 1, "the message is there");
                    }}});
    });
  };
  EXPECT_TRUE(pass(true).ok());
  EXPECT_FALSE(pass(false).ok());
}

TEST(Litmus, ExchangesLoseNoUpdate) {
  const auto add = [](Atomic<uint32_t>& sum) {
    uint32_t seen = sum.load(memory_order_relaxed);
    while (!sum.compare_exchange_weak(seen, seen + 1, memory_order_relaxed, memory_order_relaxed)) continue;
  };
  const Result result = Explore({.preemptions_max = 3, .stale_max = 3}, [&](Trial& run) {
    Atomic<uint32_t> sum{0};
    run.Threads({{"one", [&] { add(sum); }}, {"two", [&] { add(sum); }}, {"three", [&] { add(sum); }}});
    Require(sum.load(memory_order_relaxed) == 3, "three were added");
  });
  EXPECT_TRUE(result.ok()) << result.failure;
  EXPECT_TRUE(result.complete);
  const Result lost = Explore(kAll, [&](Trial& run) {
    Atomic<int> sum{0};
    const auto wrong = [&] { sum.store(sum.load(memory_order_relaxed) + 1, memory_order_relaxed); };
    run.Threads({{"one", wrong}, {"two", wrong}});
    Require(sum.load(memory_order_relaxed) == 2, "two were added");
  });
  EXPECT_FALSE(lost.ok());
}

Result Publish(Order store, Order load, bool drain) {
  return Explore(kAll, [=](Trial& run) {
    alignas(64) static char bytes[128];
    Atomic<bool> ready{false};
    run.Threads({{"writer",
                  [&] {
                    StreamData(bytes, sizeof(bytes));
                    if (drain) DrainData();
                    ready.store(true, store);
                  }},
                 {"reader", [&] {
                    if (ready.load(load)) ReadData(bytes + 100, 1);
                  }}});
  });
}

TEST(Litmus, BytesNeedHappensBeforeAndADrain) {
  EXPECT_TRUE(Publish(memory_order_release, memory_order_acquire, true).ok());
  EXPECT_NE(Publish(memory_order_relaxed, memory_order_acquire, true).failure.find("data race"), std::string::npos);
  EXPECT_NE(Publish(memory_order_release, memory_order_relaxed, true).failure.find("data race"), std::string::npos);
  EXPECT_NE(Publish(memory_order_release, memory_order_acquire, false).failure.find("drained"), std::string::npos);
}

TEST(Litmus, BytesReadAreNotOverwrittenWithoutARelease) {
  const auto reuse = [](Order unpin) {
    return Explore(kAll, [=](Trial& run) {
      alignas(64) static char bytes[64];
      Atomic<int> pins{1};
      run.Threads({{"reader", [&] { ReadData(bytes, 8), pins.fetch_sub(1, unpin); }},
                   {"writer", [&] {
                      if (pins.load(memory_order_acquire) == 0) WriteData(bytes, 64);
                    }}});
    });
  };
  EXPECT_TRUE(reuse(memory_order_release).ok());
  EXPECT_FALSE(reuse(memory_order_relaxed).ok());
}

TEST(Litmus, AMutexExcludesAndOrders) {
  const Result result = Explore(kAll, [](Trial& run) {
    alignas(64) static char bytes[64];
    Mutex mutex;
    const auto critical = [&] {
      const std::lock_guard lock(mutex);
      ReadData(bytes, 8), WriteData(bytes, 8);
    };
    run.Threads({{"one", critical}, {"two", critical}, {"tries", [&] {
                                                          const std::unique_lock lock(mutex, std::try_to_lock);
                                                          if (lock.owns_lock()) WriteData(bytes, 8);
                                                          run.Outcome(lock.owns_lock() ? "got" : "gave up");
                                                        }}});
  });
  EXPECT_TRUE(result.ok()) << result.failure;
  EXPECT_TRUE(result.complete);
  EXPECT_EQ(result.outcomes.size(), 2u);
}

TEST(Litmus, ADeadlockIsFound) {
  const Result result = Explore(kAll, [](Trial& run) {
    Mutex a, b;
    const auto lock_both = [](Mutex& first, Mutex& second) { const std::lock_guard one(first), two(second); };
    run.Threads({{"ab", [&] { lock_both(a, b); }}, {"ba", [&] { lock_both(b, a); }}});
  });
  EXPECT_NE(result.failure.find("deadlock"), std::string::npos) << result.failure;
}

TEST(Litmus, AWaitingLoopGivesWayAndAnEndlessOneIsFound) {
  const auto wait = [](bool signal) {
    return Explore({.preemptions_max = 1, .stale_max = 1}, [=](Trial& run) {
      Atomic<bool> ready{false};
      run.Threads({{"waiter",
                    [&] {
                      while (!ready.load(memory_order_acquire)) continue;
                    }},
                   {"signaller", [&] { ready.store(signal, memory_order_release); }}});
    });
  };
  EXPECT_TRUE(wait(true).ok());
  EXPECT_NE(wait(false).failure.find("get nowhere"), std::string::npos);
}

TEST(Litmus, AFailedAssertionIsAFailedRun) {
  const Result result = Explore(kAll, [](Trial& run) {
    Atomic<int> x{0};
    run.Threads({{"one", [&] { x.store(1, memory_order_relaxed); }},
                 {"two", [&] { assert(x.load(memory_order_relaxed) == 0); }}});
  });
  EXPECT_NE(result.failure.find("assertion failed"), std::string::npos) << result.failure;
}

TEST(Litmus, RandomRunsFindWhatABoundLeavesOut) {
  const auto three_turns = [](Trial& run) {
    Atomic<int> turn{0};
    const auto player = [&](int mine) {
      for (int next = mine; next < 6; next += 2) {
        int expected = next;
        turn.compare_exchange_strong(expected, next + 1, memory_order_relaxed, memory_order_relaxed);
      }
    };
    run.Threads({{"even", [&] { player(0); }}, {"odd", [&] { player(1); }}});
    Require(turn.load(memory_order_relaxed) != 6, "the turns never alternate to the end");
  };
  EXPECT_TRUE(Explore({.preemptions_max = 2}, three_turns).complete);
  EXPECT_FALSE(Explore({.random_runs = 20'000, .seed = 7}, three_turns).ok());
}

}  // namespace
}  // namespace mezz::check
