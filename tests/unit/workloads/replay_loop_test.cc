// SPDX-License-Identifier: Apache-2.0
// Pacing and timing on a clock that only moves when it is told to.
#include "workloads/replay/engine/replay_loop.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace mezz {
namespace {

constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();
constexpr uint64_t kUs = 1000;
constexpr uint64_t kMs = 1000 * kUs;
constexpr uint64_t kStart = 5'000'000'000;

struct FakeClock {
  uint64_t now_ns = kStart;
  uint64_t waited_ns = 0;

  uint64_t NowNs() const { return now_ns; }
  void WaitUntilNs(uint64_t ns, const std::atomic<bool>&) {
    waited_ns += ns - now_ns;
    now_ns = ns;
  }
};

// Serves every request in `service_ns`, but request number `stall_at` in `stall_ns`.
struct FakeTarget {
  FakeClock* clock;
  uint64_t service_ns;
  uint64_t stall_at = kNever;
  uint64_t stall_ns = 0;
  std::vector<uint64_t> started = {};

  bool Execute(const Request&) {
    started.push_back(clock->now_ns);
    clock->now_ns += started.size() - 1 == stall_at ? stall_ns : service_ns;
    return true;
  }
};

class VectorFeed final : public RequestFeed {
 public:
  explicit VectorFeed(std::vector<Request> requests) : requests_(std::move(requests)) {}
  std::span<const Request> Next() override {
    if (given_) return {};
    given_ = true;
    return requests_;
  }

 private:
  std::vector<Request> requests_;
  bool given_ = false;
};

std::vector<Request> Ordinals(size_t count) {
  std::vector<Request> requests(count);
  for (size_t i = 0; i < count; ++i) requests[i].time_us = i;
  return requests;
}

const std::atomic<bool> kGoOn{false};

void Replay(const std::vector<Request>& requests, const Pacing& pacing, FakeTarget* target, LatencyHistogram* latencies,
            uint64_t deadline_ns = kNever) {
  VectorFeed feed(requests);
  ReplayLoop<FakeClock, FakeTarget> loop(target->clock, target, latencies);
  loop.Run(&feed, pacing, kStart, {deadline_ns, kGoOn});
}

// The corrected truth, worked out apart from the loop: one server, arrivals every `gap_ns`, first come first served.
std::vector<uint64_t> TrueLatencies(size_t count, uint64_t gap_ns, uint64_t service_ns, size_t stall_at,
                                    uint64_t stall_ns) {
  std::vector<uint64_t> latencies;
  uint64_t free_at = 0;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t arrival = i * gap_ns;
    free_at = std::max(free_at, arrival) + (i == stall_at ? stall_ns : service_ns);
    latencies.push_back(free_at - arrival);
  }
  std::sort(latencies.begin(), latencies.end());
  return latencies;
}

uint64_t Percentile(const std::vector<uint64_t>& sorted, double share) {
  return sorted[static_cast<size_t>(std::ceil(share * static_cast<double>(sorted.size()))) - 1];
}

// 10,000 requests of 100 us, one every 200 us, and one that takes 10 ms: 1 s of load for each 5000.
TEST(ReplayLoop, AStallShowsAtP999UnderOpenLoopAtHalfLoad) {
  constexpr size_t kRequests = 10000, kStallAt = 3000;
  constexpr uint64_t kService = 100 * kUs, kGap = 200 * kUs, kStall = 10 * kMs;
  FakeClock clock;
  FakeTarget target{&clock, kService, kStallAt, kStall};
  LatencyHistogram open;
  Replay(Ordinals(kRequests), {.ns_per_tick = kGap}, &target, &open);
  const std::vector<uint64_t> truth = TrueLatencies(kRequests, kGap, kService, kStallAt, kStall);
  for (const double share : {0.5, 0.95, 0.99, 0.995, 0.999, 0.9999, 1.0}) {
    const uint64_t exact = Percentile(truth, share);
    EXPECT_GE(open.ValueAt(share), exact) << share;
    EXPECT_LE(open.ValueAt(share), exact + exact / 1000) << share;
  }
  EXPECT_GT(open.ValueAt(0.999), 9 * kMs) << "49 more queued behind the stall";

  FakeClock closed_clock;
  FakeTarget closed_target{&closed_clock, kService, kStallAt, kStall};
  LatencyHistogram naive;
  Replay(Ordinals(kRequests), {}, &closed_target, &naive);
  EXPECT_LT(naive.ValueAt(0.999), kService + kUs) << "a closed loop stalls its own clients, and counts one";
  EXPECT_EQ(naive.max_ns(), kStall);
}

// What a generator takes to draw is neither a request's time nor the cache's.
TEST(ReplayLoop, AFeedThatTakesItsTimeIsNoRequestsTime) {
  struct SlowFeed final : RequestFeed {
    explicit SlowFeed(FakeClock* its) : clock(its) {}
    std::span<const Request> Next() override {
      if (++given > 10) return {};
      clock->now_ns += 50 * kUs;
      return batch;
    }
    FakeClock* clock;
    const std::vector<Request> batch = std::vector<Request>(100);
    int given = 0;
  };
  FakeClock clock;
  FakeTarget target{&clock, kUs};
  LatencyHistogram latencies;
  SlowFeed feed(&clock);
  ReplayLoop<FakeClock, FakeTarget> loop(&clock, &target, &latencies);
  loop.Run(&feed, {}, kStart, {kNever, kGoOn});
  EXPECT_EQ(latencies.count(), 1000u);
  EXPECT_EQ(latencies.max_ns(), kUs);
  EXPECT_EQ(loop.fed_ns(), 10 * 50 * kUs);
  EXPECT_EQ(loop.end_ns() - kStart - loop.fed_ns(), 1000 * kUs);
}

TEST(ReplayLoop, ARequestThatIsDueInCenturiesIsNotDueAtOnce) {
  std::vector<Request> requests(2);
  requests[1].time_us = std::numeric_limits<uint64_t>::max();
  FakeClock clock;
  FakeTarget target{&clock, kUs};
  LatencyHistogram latencies;
  Replay(requests, {.ns_per_tick = 1e9}, &target, &latencies);
  ASSERT_EQ(target.started.size(), 2u);
  EXPECT_EQ(target.started[1], kStart + static_cast<uint64_t>(Pacing::kOffsetNsMax));
}

TEST(ReplayLoop, StartsRequestsWhenTheyAreDueAndNeverEarlier) {
  std::vector<Request> requests(4);
  const uint64_t times[] = {1000, 1500, 1500, 4000};
  for (size_t i = 0; i < requests.size(); ++i) requests[i].time_us = times[i];
  FakeClock clock;
  FakeTarget target{&clock, 100 * kUs};
  LatencyHistogram latencies;
  Replay(requests, {.ns_per_tick = 2.0 * kUs, .first_tick = 1000}, &target, &latencies);  // at half the trace's speed
  EXPECT_EQ(target.started, (std::vector<uint64_t>{kStart, kStart + kMs, kStart + kMs + 100 * kUs, kStart + 6 * kMs}));
  EXPECT_EQ(latencies.max_ns(), 200 * kUs) << "the third waited for the second";
  EXPECT_EQ(latencies.count(), 4u);
}

TEST(ReplayLoop, AClockThatStepsBackMakesRequestsDueAtOnce) {
  std::vector<Request> requests(2);
  requests[0].time_us = 1000;
  requests[1].time_us = 10;
  FakeClock clock;
  FakeTarget target{&clock, kUs};
  LatencyHistogram latencies;
  Replay(requests, {.ns_per_tick = 1.0 * kUs, .first_tick = 1000}, &target, &latencies);
  EXPECT_EQ(clock.waited_ns, 0u);
}

TEST(ReplayLoop, ABatchIsTimedAsAWholeAndCountsItsKeys) {
  std::vector<Request> requests(3);
  for (size_t i = 0; i < 3; ++i) {
    requests[i].operation = Operation::kMultiGet;
    requests[i].batch_left = static_cast<uint32_t>(2 - i);
  }
  FakeClock clock;
  FakeTarget target{&clock, 10 * kUs};
  LatencyHistogram latencies;
  Replay(requests, {}, &target, &latencies);
  EXPECT_EQ(latencies.count(), 3u);
  EXPECT_EQ(latencies.max_ns(), 30 * kUs);
  EXPECT_GE(latencies.ValueAt(0), 30 * kUs);
}

TEST(ReplayLoop, EndsAtTheDeadlineEvenWhileItWouldWait) {
  for (const double ns_per_tick : {0.0, 1e6}) {
    FakeClock clock;
    FakeTarget target{&clock, 100 * kUs};
    LatencyHistogram latencies;
    Replay(Ordinals(1000), {.ns_per_tick = ns_per_tick}, &target, &latencies, kStart + 10 * kMs);
    EXPECT_EQ(latencies.count(), ns_per_tick > 0 ? 10u : 100u);
    EXPECT_LE(clock.now_ns, kStart + 10 * kMs);
  }
}

}  // namespace
}  // namespace mezz
