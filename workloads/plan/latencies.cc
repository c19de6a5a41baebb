// SPDX-License-Identifier: Apache-2.0
#include "workloads/plan/latencies.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

namespace mezz::plan {
namespace {

constexpr size_t kSamples = 2048;
constexpr size_t kDimensions = 8;
using Point = std::array<double, kDimensions>;

// Low-discrepancy points in the unit cube (Roberts 2018, "The unreasonable effectiveness of quasirandom sequences"):
// the same figures for the same question, and steadier than pseudo-random ones.
const std::array<Point, kSamples>& Points() {
  static const auto points = [] {
    auto all = std::make_unique<std::array<Point, kSamples>>();
    double root = 1;  // of x^(d+1) = x + 1
    for (int i = 0; i < 64; ++i) root = std::pow(1 + root, 1.0 / (kDimensions + 1));
    for (size_t sample = 0; sample < kSamples; ++sample) {
      for (size_t i = 0; i < kDimensions; ++i)
        (*all)[sample][i] = std::fmod(0.5 + static_cast<double>(sample + 1) * std::pow(1 / root, i + 1), 1.0);
    }
    return all;
  }();
  return *points;
}

// The normal distribution's quantile, to 4.5e-4 (Abramowitz and Stegun 1964, 26.2.23).
double NormalQuantile(double q) {
  const double tail = std::clamp(std::min(q, 1 - q), 1e-12, 0.5);
  const double t = std::sqrt(-2 * std::log(tail));
  const double z =
      t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
  return q < 0.5 ? -z : z;
}

// The number of successes of a binomial with mean `mean` over about `trials`, at quantile `q`; the rest of q within the
// class is handed on, so that one dimension chooses class and place in it.
unsigned Binomial(double mean, double trials, double q, double* rest) {
  const auto n = static_cast<unsigned>(std::max(1.0, std::ceil(trials)));
  const double p = std::min(1.0, mean / n);
  if (p >= 1) {
    *rest = q;
    return n;
  }
  constexpr double kLeastExponent = -700;  // of what a double holds
  if (n * std::log1p(-p) < kLeastExponent) {
    const double at =
        std::clamp(mean + std::sqrt(mean * (1 - p)) * NormalQuantile(q) + 0.5, 0.0, static_cast<double>(n));
    *rest = at - std::floor(at);
    return static_cast<unsigned>(at);
  }
  double at_most = 0, mass = std::pow(1 - p, n);
  for (unsigned k = 0;; ++k) {
    if (q < at_most + mass || k == n) {
      *rest = mass > 0 ? std::clamp((q - at_most) / mass, 0.0, 1.0) : 0;
      return k;
    }
    at_most += mass;
    mass *= p / (1 - p) * (n - k) / (k + 1);
  }
}

// Of mean 1.
double Lognormal(double sigma, double q) {
  return sigma > 0 ? std::exp(sigma * NormalQuantile(q) - sigma * sigma / 2) : 1;
}

// An exponential wait that some of the arrivals have.
double WaitNs(const StationLoad& load, double q) {
  if (load.wait_share <= 0 || q >= load.wait_share) return 0;
  return -load.mean_wait_ns * std::log(std::max(1e-12, q / load.wait_share));
}

// The station's loads are those of a mean operation, of `mean` visits; this one has `visits`.
double Each(const StationLoad& load, double mean, unsigned visits, double q, bool service = true) {
  if (visits == 0 || mean <= 0) return 0;
  const double served = service ? load.residence_ns - load.wait_share * load.mean_wait_ns : 0;
  return (served + WaitNs(load, q)) * visits / mean;
}

}  // namespace

Latencies::Latencies(const Machine& machine, const Traffic& traffic, const Demand& demand, const NetworkLoad& network) {
  us_.reserve(kSamples);
  const StationLoad& cpu = network.stations[kCpu];
  const StationLoad& bandwidth = network.stations[kFlashBandwidth];
  const double per_read = 1 / traffic.reads_per_miss;
  const double misses = demand.flash_reads * per_read;
  const double scm_hits = demand.scm_hits();
  const double slow_part = scm_hits > 0 ? demand.media[kSlowMedium].hits / scm_hits : 0;
  const double lookups = std::max(traffic.lookups_per_operation, misses + scm_hits);
  const double mean_ns = demand.flash_ns + demand.flash_transfer_ns / std::max(1e-12, demand.flash_reads);
  const double stretch = mean_ns / machine.flash->MeanLatencyNs();
  for (const Point& at : Points()) {
    double rest = 0, of_scm = 0, unused = 0;
    const unsigned reads = Binomial(demand.flash_reads, lookups / per_read, 1 - at[0], &rest);
    const double left = std::max(0.0, lookups - reads * per_read);
    const double scm_mean = lookups > misses ? scm_hits * left / (lookups - misses) : 0;
    const unsigned scm = left > 0 ? Binomial(scm_mean, left, at[1], &of_scm) : 0;
    const unsigned slow = slow_part > 0 && scm > 0 ? Binomial(slow_part * scm, scm, of_scm, &unused) : 0;
    double ns = demand.base_ns * Lognormal(machine.costs.base_sigma, at[7]) + demand.write_ns +
                (scm - slow) * demand.media[kFastMedium].hit_ns + WaitNs(cpu, at[2]) +
                Each(network.stations[kScmRead], demand.media[kFastMedium].hits, scm - slow, at[3]) +
                network.stations[kScmWrite].residence_ns;
    if (network.stations.size() > kSlowRead) {
      ns += slow * demand.media[kSlowMedium].hit_ns +
            Each(network.stations[kSlowRead], demand.media[kSlowMedium].hits, slow, 1 - at[3]) +
            network.stations[kSlowWrite].residence_ns;
    }
    for (unsigned read = 0; read < reads; ++read) {
      const double own = read == 0 ? rest : std::fmod(rest + at[4] * (read + 1) + 0.618 * read, 1.0);
      ns += demand.flash_cpu_ns + stretch * machine.flash->LatencyNs(own);
    }
    ns += Each(network.stations[kFlash], demand.flash_reads, reads, at[5], /*service=*/false) +
          Each(bandwidth, demand.flash_reads, reads, at[6], /*service=*/false);
    us_.push_back(ns / 1e3);
  }
  std::sort(us_.begin(), us_.end());
}

}  // namespace mezz::plan
