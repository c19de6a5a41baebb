// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "workloads/generators/distributions.h"
#include "workloads/generators/generator.h"

namespace mezz {
namespace {

constexpr double kDefaultSkew = 0.99;  // YCSB's

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
