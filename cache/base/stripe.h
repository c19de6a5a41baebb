// SPDX-License-Identifier: Apache-2.0
// Counting without contention: each thread counts in a stripe of its own while there are enough of them.
#pragma once

#include <atomic>
#include <concepts>
#include <cstddef>

namespace mezz {

// How many copies of its words a striped counter has.
inline constexpr size_t kStripes = 8;
// The stripe of all threads that find no other. Only its words are changed by locked instructions.
inline constexpr size_t kSharedStripe = kStripes - 1;

// Takes a stripe for the calling thread until it ends: a free one, or the shared one. Called once by each thread.
size_t TakeStripe();

inline constexpr size_t kNoStripe = kStripes;
// Initial-exec, so that every hit reads it without a call, from a shared library too.
[[gnu::tls_model("initial-exec")]] inline thread_local constinit size_t stripe_of_this_thread = kNoStripe;

// The calling thread's stripe, the same for all counters of the process. No other thread uses it, unless it is the
// shared one.
inline size_t StripeOfThisThread() {
  if (stripe_of_this_thread == kNoStripe) [[unlikely]]
    return TakeStripe();
  return stripe_of_this_thread;
}

// Adds to a word of the calling thread's stripe. Relaxed, as counts publish nothing. The next owner of a stripe gets it
// with its counts.
template <std::unsigned_integral T>
void AddInStripe(size_t stripe, std::atomic<T>& word, T count) {
  if (stripe == kSharedStripe) [[unlikely]] {
    word.fetch_add(count, std::memory_order_relaxed);
  } else {
    word.store(word.load(std::memory_order_relaxed) + count, std::memory_order_relaxed);
  }
}

}  // namespace mezz
