// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mezz {

// In which order caches run their windows, round after round. A cache may gain or lose by the one that ran before it (a
// hot processor, pages written back), so in n rounds of n caches, 2 n if n is odd, each cache comes right after each
// other one equally often (once; twice if n is odd), and has each place equally often: a balanced Latin square (E. J.
// Williams 1949), with caches and rows shuffled by the seed. After fewer rounds two pairs differ by one at most, by two
// if n is odd, for which there is no better square of every size; after more, another square begins.
class WindowOrder {
 public:
  WindowOrder(size_t caches, uint64_t seed) : caches_(caches), seed_(seed) {}

  // The caches, by number, in the order of this round.
  std::vector<size_t> Round(size_t round) const;

  // After so many rounds all pairs are even.
  size_t period() const { return caches_ % 2 == 0 || caches_ == 1 ? caches_ : 2 * caches_; }

 private:
  const size_t caches_;
  const uint64_t seed_;
};

}  // namespace mezz
