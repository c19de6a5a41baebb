// SPDX-License-Identifier: Apache-2.0
// The models that Meta published with CacheLib (facebook/CacheLib, cachelib/cachebench/test_configs): popularity and
// value sizes of production caches. Nothing is assumed but this:
//   - references are independent: the models say nothing about order, so recency is worth less than in production.
//   - a lone request names a key that comes once: the lone keys are walked through, and repeat only when all had their
//     turn.
//   - popular keys lie anywhere in the key space; a key's value size is chosen by its hash.
#include "workloads/generators/cachelib.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "workloads/generators/generator.h"

namespace mezz {
namespace {

class Cachelib final : public Generator {
 public:
  Cachelib(const GeneratorOptions& options, std::shared_ptr<const CachelibModel> model)
      : Generator(options),
        model_(std::move(model)),
        scale_(static_cast<double>(options.keys) / static_cast<double>(model_->keys())),
        popular_keys_(Squeezed(model_->popular_keys(), options.keys)),
        lone_keys_(options.keys - popular_keys_),
        key_of_rank_(options.keys, LayoutSeed(0)) {
    Restart();
  }

  std::string description() const override {
    return fmt::format("gen:{}, {} popular keys and {} that come once", options().name, popular_keys_, lone_keys_);
  }
  bool deletes() const override { return model_->del > 0; }

 protected:
  void Restart() override { lone_ = options().stream; }

  Request Draw() override {
    const double what = operations().Uniform();
    const CachelibModel& m = *model_;
    if (what < m.get) return Request{.key = DrawPopular()};
    if (what < m.get + m.set) return Put(DrawPopular());
    if (what < m.get + m.set + m.del) return Request{.key = DrawPopular(), .operation = Operation::kDelete};
    return what < m.get + m.set + m.del + m.lone_get ? Request{.key = DrawLone()} : Put(DrawLone());
  }

 private:
  uint64_t Squeezed(uint64_t model_keys, uint64_t max) const {
    const double squeezed = std::floor(static_cast<double>(model_keys) * scale_);
    return std::clamp<uint64_t>(static_cast<uint64_t>(squeezed), 1, max);
  }

  Request Put(uint64_t key) const {
    return Request{.key = key, .operation = Operation::kPut, .value_bytes = model_->ValueBytes(key)};
  }

  // A bucket that the squeeze left without a key of its own shares the one at its place.
  uint64_t DrawPopular() {
    const std::vector<double>& cumulative = model_->bucket_cumulative;
    const auto found = std::upper_bound(cumulative.begin(), cumulative.end() - 1, keys().Uniform());
    const auto bucket = static_cast<size_t>(found - cumulative.begin());
    const double begin = bucket == 0 ? 0 : static_cast<double>(model_->bucket_end[bucket - 1]) * scale_;
    const double end = static_cast<double>(model_->bucket_end[bucket]) * scale_;
    const double rank = begin + keys().Uniform() * (end - begin);
    return key_of_rank_(std::min(static_cast<uint64_t>(rank), popular_keys_ - 1));
  }

  uint64_t DrawLone() {
    if (lone_keys_ == 0) return DrawPopular();
    const uint64_t rank = popular_keys_ + lone_ % lone_keys_;
    lone_ += options().streams;
    return key_of_rank_(rank);
  }

  std::shared_ptr<const CachelibModel> model_;
  double scale_;
  uint64_t popular_keys_;
  uint64_t lone_keys_;
  Permutation key_of_rank_;
  uint64_t lone_ = 0;
};

}  // namespace

std::unique_ptr<RequestSource> MakeCachelib(const GeneratorOptions& options,
                                            std::shared_ptr<const CachelibModel> model) {
  return std::make_unique<Cachelib>(options, std::move(model));
}

}  // namespace mezz
