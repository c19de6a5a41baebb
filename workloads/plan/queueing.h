// SPDX-License-Identifier: Apache-2.0
// Closed and open queueing networks of stations with one or several servers. Pure arithmetic.
#pragma once

#include <limits>
#include <vector>

namespace mezz::plan {

inline constexpr double kInfinite = std::numeric_limits<double>::infinity();

struct Station {
  double demand_ns = 0;  // service time of one operation there, over all its visits
  unsigned servers = 1;
};

// Of one station, in the mean over operations; a network's throughput is the same everywhere.
struct StationLoad {
  double residence_ns = 0;  // waiting and service
  double utilisation = 0;   // of its servers
  double wait_share = 0;    // of the arrivals: those that find all servers busy
  double mean_wait_ns = 0;  // of those
};

struct NetworkLoad {
  double per_ns = 0;  // operations a ns
  double response_ns = 0;
  std::vector<StationLoad> stations;
};

// `customers` that ask again as soon as they are served. Exact for exponential service (product form: Gordon and
// Newell 1967) by convolution (Buzen, CACM 16(9), 1973); what an arrival finds is the network with one customer less
// (Sevcik and Mitrani 1981; Reiser and Lavenberg 1980). REQUIRES: customers > 0, some demand > 0.
NetworkLoad SolveClosed(const std::vector<Station>& stations, unsigned customers);

// Arrivals of Poisson at `per_ns`: each station is an M/M/c queue (Jackson 1957), its waits Erlang's C formula (1917).
// An overloaded network has infinite times.
NetworkLoad SolveOpen(const std::vector<Station>& stations, double per_ns);

// The most that the stations can do together: min over stations of servers / demand.
double Capacity(const std::vector<Station>& stations);

// The share of arrivals that wait in an M/M/c queue offered `erlangs` of work. REQUIRES: erlangs < servers.
double ErlangC(unsigned servers, double erlangs);

}  // namespace mezz::plan
