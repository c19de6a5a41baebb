// SPDX-License-Identifier: Apache-2.0
// Counting without contention: each thread counts in a stripe of its own while there are enough of them.
#pragma once

#include <atomic>
#include <concepts>
#include <cstddef>

namespace mezz {

// How many copies of its words a striped counter has.
inline constexpr size_t kStripes = 8;
// Of all threads that find no other. Only its words are changed by locked instructions.
inline constexpr size_t kSharedStripe = kStripes - 1;

// Takes a stripe for the calling thread until it ends, the shared one if no other is free. Called once a thread.
size_t TakeStripe();

inline constexpr size_t kNoStripe = kStripes;
// Initial-exec: found without a call from a shared library too, at every hit.
[[gnu::tls_model("initial-exec")]] inline thread_local constinit size_t stripe_of_this_thread = kNoStripe;

// Owned by the calling thread alone unless it is the shared one: the same for all counters of the process.
inline size_t StripeOfThisThread() {
  if (stripe_of_this_thread == kNoStripe) [[unlikely]]
    return TakeStripe();
  return stripe_of_this_thread;
}

// Adds to a word of the calling thread's stripe. Relaxed: counts publish nothing; what a thread counted is handed to
// the next owner of its stripe with the stripe.
template <std::unsigned_integral T>
void AddInStripe(size_t stripe, std::atomic<T>& word, T count) {
  if (stripe == kSharedStripe) [[unlikely]] {
    word.fetch_add(count, std::memory_order_relaxed);
  } else {
    word.store(word.load(std::memory_order_relaxed) + count, std::memory_order_relaxed);
  }
}

}  // namespace mezz
