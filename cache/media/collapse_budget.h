// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

namespace mezz {

// How much time may go into making 2 MiB pages where the kernel does not make them by itself. MADV_COLLAPSE takes 0.5
// ms for one on an idle machine, but it waits for every CPU: in a busy daemon 80 ms were seen. Each chunk earns a
// little time, and each collapse pays what it took. So all collapses are made if they are quick, and some if they are
// slow. Together they take no longer than kStartNs, kEarnedNs for each chunk, and one collapse more. Not thread-safe.
class CollapseBudget {
 public:
  static constexpr int64_t kStartNs = 20'000'000;
  static constexpr int64_t kEarnedNs = 4'000'000;  // 2 s a GiB
  static constexpr int64_t kSavedNsMax = 100'000'000;

  bool MayCollapse() const { return credit_ns_ > 0; }
  void Spend(int64_t collapse_ns) { credit_ns_ -= collapse_ns; }
  void EarnChunk() { credit_ns_ = std::min(credit_ns_ + kEarnedNs, kSavedNsMax); }
  // Ends all attempts: the kernel does not collapse this kind of memory.
  void GiveUp() { credit_ns_ = INT64_MIN / 2; }

 private:
  int64_t credit_ns_ = kStartNs;
};

}  // namespace mezz
