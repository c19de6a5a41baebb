// SPDX-License-Identifier: Apache-2.0
#include "workloads/plan/queueing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "tests/support/seed.h"

namespace mezz::plan {
namespace {

double Residence(const NetworkLoad& network) {
  double sum = 0;
  for (const StationLoad& station : network.stations) sum += station.residence_ns;
  return sum;
}

TEST(Queueing, OneCustomerNeverWaits) {
  const NetworkLoad network = SolveClosed({{100, 1}, {0, 3}, {900, 8}}, 1);
  EXPECT_DOUBLE_EQ(network.response_ns, 1000);
  EXPECT_DOUBLE_EQ(network.stations[0].wait_share, 0);
  EXPECT_DOUBLE_EQ(network.stations[1].residence_ns, 0);
}

// Two stations alike with one server each: N customers are spread evenly over N + 1 states, so X = N / (N + 1) / S.
TEST(Queueing, TwoEqualStationsAsTheTextbookHasThem) {
  for (unsigned n : {1u, 2u, 7u, 40u}) {
    const NetworkLoad network = SolveClosed({{50, 1}, {50, 1}}, n);
    EXPECT_NEAR(network.per_ns, n / (n + 1.0) / 50, 1e-12) << n;
  }
}

// The machine repairman: a delay (as many servers as customers) and one queue. X = (1 - p0) / S, by the M/M/1//N sum.
TEST(Queueing, MachineRepairman) {
  constexpr double kThink = 1000, kService = 100;
  for (unsigned n : {1u, 5u, 20u, 64u}) {
    double sum = 0, term = 1;
    for (unsigned k = 0; k <= n; ++k) {
      sum += term;
      term *= (n - k) * kService / kThink;
    }
    const NetworkLoad network = SolveClosed({{kThink, n}, {kService, 1}}, n);
    EXPECT_NEAR(network.per_ns, (1 - 1 / sum) / kService, 1e-9 / kService) << n;
  }
}

// Whatever the network: Little's law, the law of utilisation, and the asymptotic bounds; and more customers never slow
// it.
TEST(Queueing, LawsHoldInRandomNetworks) {
  const uint64_t seed = test::Seed();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 200; ++round) {
    std::vector<Station> stations(1 + random() % 5);
    double demand = 0;
    for (Station& station : stations) {
      station = {.demand_ns = std::exp2(static_cast<double>(random() % 20)),
                 .servers = 1 + static_cast<unsigned>(random() % 60)};
      demand += station.demand_ns;
    }
    const unsigned customers = 1 + static_cast<unsigned>(random() % 150);
    const NetworkLoad network = SolveClosed(stations, customers);
    ASSERT_NEAR(network.per_ns * Residence(network) / customers, 1, 1e-9);
    ASSERT_LE(network.per_ns, std::min(customers / demand, Capacity(stations)) * (1 + 1e-9));
    ASSERT_GE(network.per_ns, 1 / (demand * (1 + 1e-9)));
    for (size_t i = 0; i < stations.size(); ++i) {
      ASSERT_NEAR(network.stations[i].utilisation, network.per_ns * stations[i].demand_ns / stations[i].servers, 1e-6);
      ASSERT_LE(network.stations[i].wait_share, 1 + 1e-9);
    }
    ASSERT_GE(SolveClosed(stations, customers + 1).per_ns, network.per_ns * (1 - 1e-9));
  }
}

// A thousand times slower than the bottleneck, and thousands of customers: no term may overflow.
TEST(Queueing, ReachesTheBottleneckFromFarAway) {
  const NetworkLoad network = SolveClosed({{1e6, 4000}, {100, 1}}, 2000);
  EXPECT_NEAR(network.per_ns, 2000 / (1e6 + 100), 0.3 * network.per_ns);
  EXPECT_NEAR(SolveClosed({{3000, 2}, {10, 1}}, 500).per_ns, 2.0 / 3000, 1e-9);
}

TEST(Queueing, OpenQueuesAreErlangs) {
  // M/M/1: R = S / (1 - rho), and an arrival waits with probability rho.
  for (double rho : {0.1, 0.5, 0.9, 0.99}) {
    const NetworkLoad network = SolveOpen({{100, 1}}, rho / 100);
    EXPECT_NEAR(network.response_ns, 100 / (1 - rho), 1e-9 * network.response_ns);
    EXPECT_NEAR(network.stations[0].wait_share, rho, 1e-12);
  }
  // M/M/2: R = S / (1 - rho^2).
  EXPECT_NEAR(SolveOpen({{100, 2}}, 1.2 / 100).response_ns, 100 / (1 - 0.36), 1e-9);
  // Erlang's own table: 10 erlangs on 14 lines, 0.174.
  EXPECT_NEAR(ErlangC(14, 10), 0.1741, 1e-4);
}

TEST(Queueing, AnOverloadedQueueNeverAnswers) {
  const NetworkLoad network = SolveOpen({{100, 2}, {1, 1}}, 0.03);
  EXPECT_TRUE(std::isinf(network.response_ns));
  EXPECT_NEAR(Capacity({{100, 2}, {1, 1}}), 0.02, 1e-15);
}

}  // namespace
}  // namespace mezz::plan
