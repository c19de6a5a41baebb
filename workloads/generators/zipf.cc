// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "workloads/generators/generator.h"

namespace mezz {
namespace {

constexpr double kDefaultSkew = 0.99;  // YCSB's

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

class Zipf final : public Generator {
 public:
  explicit Zipf(const GeneratorOptions& options)
      : Generator(options),
        skew_(options.skew < 0 ? kDefaultSkew : options.skew),
        ranks_(options.keys, skew_),
        key_of_rank_(options.keys, LayoutSeed(0)) {}

  std::string description() const override {
    return fmt::format("gen:zipf, {} keys, skew {}, popular keys scattered{}", options().keys, skew_, Puts());
  }

 protected:
  Request Draw() override { return Request{.key = key_of_rank_(ranks_.Draw(keys()) - 1)}; }

 private:
  double skew_;
  ZipfRanks ranks_;
  Permutation key_of_rank_;
};

}  // namespace

std::unique_ptr<RequestSource> MakeZipf(const GeneratorOptions& options) { return std::make_unique<Zipf>(options); }

}  // namespace mezz
