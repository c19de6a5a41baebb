// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

namespace mezz {

// How much time may go into making 2 MiB pages where the kernel does not by itself. MADV_COLLAPSE takes 0.5 ms for one
// on an idle machine, but it waits for every CPU: 80 ms each were seen in a busy daemon. Each chunk earns a little, and
// what a collapse took is paid from that: quick ones are all made, slow ones now and then. So all of them together take
// no longer than kStartNs + kEarnedNs a chunk, and one collapse more. Not thread-safe.
class CollapseBudget {
 public:
  static constexpr int64_t kStartNs = 20'000'000;
  static constexpr int64_t kEarnedNs = 4'000'000;  // 2 s a GiB
  static constexpr int64_t kSavedNsMax = 100'000'000;

  bool MayCollapse() const { return credit_ns_ > 0; }
  void Spend(int64_t collapse_ns) { credit_ns_ -= collapse_ns; }
  void EarnChunk() { credit_ns_ = std::min(credit_ns_ + kEarnedNs, kSavedNsMax); }
  // The kernel does not collapse this kind of memory.
  void GiveUp() { credit_ns_ = INT64_MIN / 2; }

 private:
  int64_t credit_ns_ = kStartNs;
};

}  // namespace mezz
