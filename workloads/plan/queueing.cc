// SPDX-License-Identifier: Apache-2.0
#include "workloads/plan/queueing.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

namespace mezz::plan {
namespace {

// The terms span more than a double holds: with a device a thousand times slower than the bottleneck, e^1000.
using Terms = std::vector<long double>;

// demand^k / (1 2 ... servers servers ...), the weight of k customers at a station. Only ratios matter, so each
// station's terms are scaled by their largest.
Terms WeightsOf(const Station& station, unsigned customers, double unit_ns) {
  std::vector<long double> logs(customers + 1, 0);
  for (unsigned k = 1; k <= customers; ++k) {
    const long double factor = station.demand_ns / unit_ns / std::min(k, station.servers);
    logs[k] = logs[k - 1] + std::log(factor);
  }
  const long double largest = *std::max_element(logs.begin(), logs.end());
  for (long double& value : logs) value = std::exp(value - largest);
  return logs;
}

Terms Convolve(const Terms& a, const Terms& b) {
  Terms sum(a.size(), 0);
  for (size_t i = 0; i < a.size(); ++i) {
    for (size_t j = 0; i + j < b.size(); ++j) sum[i + j] += a[i] * b[j];
  }
  const long double largest = *std::max_element(sum.begin(), sum.end());
  for (long double& value : sum) value /= largest;
  return sum;
}

// The stations but one, for each one.
std::vector<Terms> AllButOne(const std::vector<Terms>& weights) {
  const size_t customers = weights.front().size() - 1;
  Terms one(customers + 1, 0);
  one[0] = 1;
  std::vector<Terms> before{one}, others(weights.size());
  for (const Terms& terms : weights) before.push_back(Convolve(before.back(), terms));
  Terms after = one;
  for (size_t i = weights.size(); i-- > 0;) {
    others[i] = Convolve(before[i], after);
    after = Convolve(after, weights[i]);
  }
  return others;
}

// How many of `customers` are at a station: its weights, and those of all others together.
Terms Marginal(const Terms& own, const Terms& others, size_t customers) {
  Terms share(customers + 1);
  long double sum = 0;
  for (size_t k = 0; k <= customers; ++k) sum += share[k] = own[k] * others[customers - k];
  for (long double& value : share) value /= sum;
  return share;
}

StationLoad LoadOf(const Station& station, const Terms& own, const Terms& others) {
  const size_t customers = own.size() - 1;
  StationLoad load;
  const Terms seen = Marginal(own, others, customers - 1);
  long double wait = 0, waiting = 0;
  for (size_t k = station.servers; k < seen.size(); ++k) {
    waiting += seen[k];
    wait += seen[k] * static_cast<long double>(k - station.servers + 1) * station.demand_ns / station.servers;
  }
  load.wait_share = static_cast<double>(waiting);
  load.mean_wait_ns = waiting > 0 ? static_cast<double>(wait / waiting) : 0;
  load.residence_ns = station.demand_ns + static_cast<double>(wait);
  return load;
}

}  // namespace

NetworkLoad SolveClosed(const std::vector<Station>& stations, unsigned customers) {
  assert(customers > 0);
  NetworkLoad network;
  network.stations.resize(stations.size());
  std::vector<Station> busy;
  std::vector<size_t> places;
  double unit_ns = 0;
  for (size_t i = 0; i < stations.size(); ++i) {
    assert(stations[i].demand_ns >= 0 && stations[i].servers > 0);
    if (stations[i].demand_ns == 0) continue;
    busy.push_back(stations[i]);
    places.push_back(i);
    unit_ns = std::max(unit_ns, stations[i].demand_ns / stations[i].servers);
  }
  assert(!busy.empty());
  std::vector<Terms> weights;
  for (const Station& station : busy) weights.push_back(WeightsOf(station, customers, unit_ns));
  const std::vector<Terms> others = AllButOne(weights);
  for (size_t i = 0; i < busy.size(); ++i) {
    network.stations[places[i]] = LoadOf(busy[i], weights[i], others[i]);
    network.response_ns += network.stations[places[i]].residence_ns;
  }
  network.per_ns = customers / network.response_ns;
  for (size_t i = 0; i < busy.size(); ++i)
    network.stations[places[i]].utilisation = std::min(1.0, network.per_ns * busy[i].demand_ns / busy[i].servers);
  return network;
}

double ErlangC(unsigned servers, double erlangs) {
  assert(erlangs >= 0 && erlangs < servers);
  double blocked = 1;  // Erlang's B, by its recursion over the servers
  for (unsigned k = 1; k <= servers; ++k) blocked = erlangs * blocked / (k + erlangs * blocked);
  const double rho = erlangs / servers;
  return blocked / (1 - rho + rho * blocked);
}

NetworkLoad SolveOpen(const std::vector<Station>& stations, double per_ns) {
  NetworkLoad network;
  network.per_ns = per_ns;
  for (const Station& station : stations) {
    StationLoad load;
    const double erlangs = per_ns * station.demand_ns;
    load.utilisation = std::min(1.0, erlangs / station.servers);
    if (erlangs >= station.servers) {
      load.wait_share = 1;
      load.mean_wait_ns = load.residence_ns = kInfinite;
    } else if (station.demand_ns > 0) {
      load.wait_share = ErlangC(station.servers, erlangs);
      load.mean_wait_ns = station.demand_ns / (station.servers - erlangs);
      load.residence_ns = station.demand_ns + load.wait_share * load.mean_wait_ns;
    }
    network.response_ns += load.residence_ns;
    network.stations.push_back(load);
  }
  return network;
}

double Capacity(const std::vector<Station>& stations) {
  double per_ns = std::numeric_limits<double>::infinity();
  for (const Station& station : stations) {
    if (station.demand_ns > 0) per_ns = std::min(per_ns, station.servers / station.demand_ns);
  }
  return per_ns;
}

}  // namespace mezz::plan
