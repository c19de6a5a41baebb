// SPDX-License-Identifier: Apache-2.0
// The distributions the generators draw from. Immutable; any thread.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "workloads/generators/random.h"

namespace mezz {

// Draws ranks 1..n with probability proportional to rank^-exponent, exactly, in constant time and memory: W. Hoermann
// and G. Derflinger, "Rejection-inversion to generate variates from monotone discrete distributions", ACM TOMACS 6(3),
// 1996. Names as there.
class ZipfRanks {
 public:
  ZipfRanks(uint64_t n, double exponent)
      : n_(n),
        exponent_(exponent),
        h_integral_x1_(HIntegral(1.5) - 1),
        h_integral_n_(HIntegral(static_cast<double>(n) + 0.5)),
        s_(2 - HIntegralInverse(HIntegral(2.5) - H(2))) {}

  uint64_t Draw(Random& random) const {
    for (;;) {
      const double u = h_integral_n_ + random.Uniform() * (h_integral_x1_ - h_integral_n_);
      const double x = HIntegralInverse(u);
      const double k = std::clamp(std::floor(x + 0.5), 1.0, static_cast<double>(n_));
      if (k - x <= s_ || u >= HIntegral(k + 0.5) - H(k)) return std::min(static_cast<uint64_t>(k), n_);
    }
  }

 private:
  double H(double x) const { return std::exp(-exponent_ * std::log(x)); }
  double HIntegral(double x) const {
    const double log_x = std::log(x);
    return Expm1OverX((1 - exponent_) * log_x) * log_x;
  }
  double HIntegralInverse(double x) const {
    const double t = std::max(-1.0, x * (1 - exponent_));
    return std::exp(Log1pOverX(t) * x);
  }
  // Series near 0, where the quotients lose their digits: that is what makes exponents near 1 work.
  static double Log1pOverX(double x) {
    return std::abs(x) > 1e-8 ? std::log1p(x) / x : 1 - x * (0.5 - x * (1.0 / 3 - 0.25 * x));
  }
  static double Expm1OverX(double x) {
    return std::abs(x) > 1e-8 ? std::expm1(x) / x : 1 + x * 0.5 * (1 + x / 3 * (1 + 0.25 * x));
  }

  uint64_t n_;
  double exponent_;
  double h_integral_x1_;
  double h_integral_n_;
  double s_;
};

// The generalised Pareto distribution with location 0.
class Pareto {
 public:
  constexpr Pareto(double k, double sigma) : k_(k), sigma_(sigma) {}
  double Quantile(double uniform) const { return sigma_ / k_ * (std::pow(1 - uniform, -k_) - 1); }
  double BelowShare(double x) const { return 1 - std::pow(1 + k_ * x / sigma_, -1 / k_); }

 private:
  double k_;
  double sigma_;
};

// Of it, what is below `max`, renormalised: nothing larger happens.
class CutPareto {
 public:
  constexpr CutPareto(double k, double sigma, double max) : pareto_(k, sigma), max_(max) {}

  // `uniform` in [0, 1) -> 1..max
  uint32_t Quantile(double uniform) const {
    const double x = pareto_.Quantile(uniform * pareto_.BelowShare(max_));
    return static_cast<uint32_t>(std::clamp(std::ceil(x), 1.0, max_));
  }

 private:
  Pareto pareto_;
  double max_;
};

// What lies outside min..max is moved to its nearer end.
class ClampedPareto {
 public:
  constexpr ClampedPareto(double k, double sigma, double min, double max) : pareto_(k, sigma), min_(min), max_(max) {}

  uint32_t Quantile(double uniform) const {
    return static_cast<uint32_t>(std::clamp(std::ceil(pareto_.Quantile(uniform)), min_, max_));
  }

 private:
  Pareto pareto_;
  double min_;
  double max_;
};

// 0, 1, 2, ... each q times as likely as the one before, with the mean named.
class Geometric {
 public:
  explicit Geometric(double mean) : log_q_(std::log(mean / (1 + mean))) {}

  // Below `end`: the distribution is cut there and renormalised. `uniform` in [0, 1).
  uint64_t Quantile(double uniform, uint64_t end) const {
    const double below_end = -std::expm1(log_q_ * static_cast<double>(end));
    return std::min(static_cast<uint64_t>(std::log1p(-uniform * below_end) / log_q_), end - 1);
  }

 private:
  double log_q_;
};

// What a hash chooses: the same for the same bits, uniform in [0, 1).
constexpr double UniformOf(uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

}  // namespace mezz
