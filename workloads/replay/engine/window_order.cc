// SPDX-License-Identifier: Apache-2.0
#include "workloads/replay/engine/window_order.h"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <utility>

#include "admission/curves/block_key.h"

namespace mezz {
namespace {

using Rows = std::vector<std::vector<size_t>>;

class Shuffler {
 public:
  explicit Shuffler(uint64_t seed) : state_(MixWord(seed)) {}
  template <typename T>
  void Shuffle(std::vector<T>* items) {
    for (size_t left = items->size(); left > 1; --left)
      std::swap((*items)[left - 1], (*items)[MixWord(state_++) % left]);
  }

 private:
  uint64_t state_;
};

// 0, n-1, 1, n-2, ...: the steps between neighbours are all different if n is even; each is there twice, and none of
// their opposites, if it is odd. So the rows made by adding 1, 2, ... hold each ordered pair once; with odd n the
// mirrored rows hold the other half.
Rows Square(size_t n) {
  Rows rows;
  for (size_t row = 0; row < n; ++row) {
    std::vector<size_t> order;
    for (size_t i = 0; i < n; ++i) order.push_back(((i % 2 == 0 ? i / 2 : n - 1 - i / 2) + row) % n);
    rows.push_back(order);
    if (n % 2 == 1 && n > 1) rows.emplace_back(order.rbegin(), order.rend());
  }
  return rows;
}

// Takes next, of those left, the row that repeats the fewest pairs of those before: a run of few rounds is even too.
Rows FewestRepeatsFirst(Rows left, size_t n) {
  std::vector<unsigned> seen(n * n, 0);
  const auto repeats = [&](const std::vector<size_t>& row) {
    unsigned sum = 0;
    for (size_t i = 1; i < row.size(); ++i) sum += seen[row[i - 1] * n + row[i]];
    return sum;
  };
  Rows ordered;
  while (!left.empty()) {
    const auto next = std::ranges::min_element(left, {}, repeats);
    for (size_t i = 1; i < n; ++i) ++seen[(*next)[i - 1] * n + (*next)[i]];
    ordered.push_back(std::move(*next));
    left.erase(next);
  }
  return ordered;
}

}  // namespace

std::vector<size_t> WindowOrder::Round(size_t round) const {
  assert(caches_ > 0);
  Shuffler shuffler(seed_ + round / period());
  std::vector<size_t> names(caches_);
  std::iota(names.begin(), names.end(), size_t{0});
  shuffler.Shuffle(&names);
  Rows rows = Square(caches_);
  assert(rows.size() == period());
  shuffler.Shuffle(&rows);
  std::vector<size_t> order = FewestRepeatsFirst(std::move(rows), caches_)[round % period()];
  for (size_t& cache : order) cache = names[cache];
  return order;
}

}  // namespace mezz
