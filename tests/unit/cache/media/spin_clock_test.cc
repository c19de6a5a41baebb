// SPDX-License-Identifier: Apache-2.0
// The clock of the device model over a counter that does what one does when its virtual machine is restored or moved.
#include "cache/media/spin_clock.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>

#include "tests/support/tier_fixture.h"

namespace mezz {
namespace {

// The time of the world, which each reading takes a little of, and a counter of 2.5 ticks a ns until something happens.
struct World {
  static inline uint64_t now_ns = 0;
  static inline std::function<uint64_t(uint64_t now_ns)> counter;

  static uint64_t Ticks() { return counter(now_ns += 10); }
  static uint64_t SteadyNs() { return now_ns += 25; }
  static void Relax(uint64_t left_ns) {
    if (left_ns > 200) now_ns += 40;
  }
};

constexpr TickScale kScale{.ns_per_tick = (uint64_t{2} << TickScale::kBits) / 5};
uint64_t Sound(uint64_t now_ns) { return now_ns * 5 / 2 + 1'000'000'000'000; }

struct Event {
  const char* name;
  std::function<uint64_t(uint64_t now_ns, uint64_t since_ns)> counter;  // after it happened `since_ns` ago
};

class SpinClockTest : public testing::TestWithParam<Event> {
 protected:
  using Clock = ThreadClock<World>;
  // Until the steady clock is looked at again, and what that takes.
  static constexpr uint64_t kSlackNs = Clock::kTrustedNs + Clock::kSpinsPerCheck * 50 + 200;

  SpinClockTest() {
    World::now_ns = 5'000'000'000;
    World::counter = Sound;
  }
};

TEST_P(SpinClockTest, NeverGoesBackAndNeverWaitsMuchTooLong) {
  std::mt19937_64 random(test::Seed());
  for (int life = 0; life < 50; ++life) {
    World::counter = Sound;
    Clock clock(kScale);
    const uint64_t happens_ns = World::now_ns + random() % 400'000;
    World::counter = [&](uint64_t now_ns) {
      return now_ns < happens_ns ? Sound(now_ns) : GetParam().counter(now_ns, now_ns - happens_ns);
    };
    uint64_t last_ns = clock.NowNs();
    for (int spin = 0; spin < 500; ++spin) {
      const uint64_t begin_ns = World::now_ns;
      const uint64_t wanted_ns = random() % 5'000;
      const uint64_t told_ns = clock.NowNs();
      ASSERT_GE(told_ns, last_ns) << "MEZZ_SEED=" << test::Seed();
      ASSERT_LE(told_ns, World::now_ns + kSlackNs) << "MEZZ_SEED=" << test::Seed();
      ASSERT_GE(told_ns + kSlackNs, World::now_ns) << "MEZZ_SEED=" << test::Seed();
      clock.SpinUntilNs(told_ns + wanted_ns);
      ASSERT_LE(World::now_ns - begin_ns, wanted_ns + kSlackNs) << "MEZZ_SEED=" << test::Seed();
      last_ns = clock.NowNs();
      ASSERT_GE(last_ns, told_ns + wanted_ns) << "a wait that ended has passed";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Counters, SpinClockTest,
    testing::Values(Event{"Sound", [](uint64_t now, uint64_t) { return Sound(now); }},
                    Event{"JumpsBackALittle", [](uint64_t now, uint64_t) { return Sound(now) - 100'000; }},
                    Event{"JumpsBackToItsStart", [](uint64_t, uint64_t since) { return since * 5 / 2; }},
                    Event{"JumpsAheadALittle", [](uint64_t now, uint64_t) { return Sound(now) + 100'000; }},
                    Event{"JumpsAheadByHours", [](uint64_t now, uint64_t) { return Sound(now) + (uint64_t{1} << 45); }},
                    Event{"JumpsAroundTheTop", [](uint64_t, uint64_t since) { return since * 5 / 2 - 5'000; }},
                    Event{"Stops", [](uint64_t now, uint64_t since) { return Sound(now - since); }},
                    Event{"RunsTwiceAsFast", [](uint64_t now, uint64_t since) { return Sound(now + since); }},
                    Event{"RunsAtATenth", [](uint64_t now, uint64_t since) { return Sound(now - since * 9 / 10); }},
                    Event{"GoesBackwards", [](uint64_t now, uint64_t since) { return Sound(now - 2 * since); }}),
    [](const auto& test) { return test.param.name; });

TEST_F(SpinClockTest, WaitsAsLongAsAskedOverASoundCounter) {
  Clock clock(kScale);
  for (uint64_t wanted_ns = 0; wanted_ns < 20'000; wanted_ns += 97) {
    const uint64_t begin_ns = World::now_ns;
    clock.SpinUntilNs(clock.NowNs() + wanted_ns);
    EXPECT_GE(World::now_ns - begin_ns, wanted_ns);
    EXPECT_LE(World::now_ns - begin_ns, wanted_ns + 200);
  }
}

TEST_F(SpinClockTest, WithoutAUsefulCounterTellsTheSteadyClock) {
  Clock clock(TickScale{});
  const uint64_t told_ns = clock.NowNs();
  EXPECT_EQ(told_ns, World::now_ns);
  clock.SpinUntilNs(told_ns + 1000);
  EXPECT_GE(World::now_ns, told_ns + 1000);
}

TEST(HostSpinClock, NeverGoesBack) {
  uint64_t last_ns = SpinClock::NowNs();
  for (int i = 0; i < 1'000'000; ++i) {
    const uint64_t now_ns = SpinClock::NowNs();
    ASSERT_GE(now_ns, last_ns);
    last_ns = now_ns;
  }
}

}  // namespace
}  // namespace mezz
