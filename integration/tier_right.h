// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace mezz {

// The right to open the SCM tier, of which a process has one. With share=* the other caches share it then, each under
// the name of its database; else they go without. Each cache that holds blocks asks for it when a block comes,
// until it has the tier. It asks at once if the cache that had the right has gone, and from time to time while another
// process has the medium or its memory. So a process that starts before its predecessor has ended gets a tier later.
//
//   holder_:    null --Take: CAS, acq_rel--> the cache that asks or has it --Free: release store--> null
//   ask_at_ns_: 0 --Postpone: relaxed store--> not before then --a cache has got the tier--> 0
//
// Take acquires, so that the next owner opens a medium that the last owner has closed.
class TierRight {
 public:
  static TierRight& Get();

  // Cheap, because no clock is read while somebody has the right.
  bool MayAsk(const void* who) const;
  bool Take(const void* who);
  void Free(const void* who);
  const void* holder() const { return holder_.load(std::memory_order_relaxed); }

  // For the holder, when it could not open the medium: sets the time of the next attempt. Returns false if `wait` is
  // over. `first` starts the wait anew.
  bool Postpone(bool first, std::chrono::milliseconds wait);
  // For the holder, when it has got the tier: returns how long the process has waited for it.
  std::chrono::milliseconds EndWait();

  // Between two questions: a restart is short, so the first come soon.
  static constexpr uint64_t kPauseMinNs = 20'000'000;
  static constexpr uint64_t kPauseMaxNs = 1'000'000'000;

 private:
  std::atomic<const void*> holder_{nullptr};
  std::atomic<uint64_t> ask_at_ns_{0};
  // Only the holder uses these:
  uint64_t waits_since_ns_ = 0;  // 0 if nobody waits
  uint64_t pause_ns_ = 0;
};

}  // namespace mezz
