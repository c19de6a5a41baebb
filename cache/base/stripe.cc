// SPDX-License-Identifier: Apache-2.0
#include "cache/base/stripe.h"

#include <bit>
#include <cassert>

namespace mezz {
namespace {

// Bit n: stripe n has no owner. Taken by CAS (acquire), given back when its thread ends (release), so that its next
// owner sees every count of the last one.
constinit std::atomic<unsigned> free_stripes{(1u << kSharedStripe) - 1};

// Gives the stripe back. Destructors of the thread that run later count in the shared one.
struct Owner {
  ~Owner() {
    if (stripe == kSharedStripe) return;
    stripe_of_this_thread = kSharedStripe;
    [[maybe_unused]] const unsigned before = free_stripes.fetch_or(1u << stripe, std::memory_order_release);
    assert((before & 1u << stripe) == 0);
  }
  size_t stripe = kSharedStripe;
};

size_t TakeFree() {
  unsigned free = free_stripes.load(std::memory_order_relaxed);
  while (free != 0) {
    if (free_stripes.compare_exchange_weak(free, free & (free - 1), std::memory_order_acquire,
                                           std::memory_order_relaxed))
      return static_cast<size_t>(std::countr_zero(free));
  }
  return kSharedStripe;
}

}  // namespace

size_t TakeStripe() {
  thread_local Owner owner;
  owner.stripe = stripe_of_this_thread = TakeFree();
  return owner.stripe;
}

}  // namespace mezz
