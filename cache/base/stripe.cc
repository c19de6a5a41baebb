// SPDX-License-Identifier: Apache-2.0
#include "cache/base/stripe.h"

#include <atomic>
#include <cstdint>

#include "cache/base/free_numbers.h"

namespace mezz {
namespace {

// The stripes that no thread has. The next owner of a stripe sees its counts, because it takes the number after it was
// given back. There is one word for the process, so it is not one of the model checker's, which runs the process's life
// many times.
constinit FreeNumbers<std::atomic<uint64_t>> free_stripes(kSharedStripe);

// Gives the stripe back when its thread ends. Destructors of the thread that run later use the shared one.
struct Owner {
  ~Owner() {
    if (stripe == kSharedStripe) return;
    stripe_of_this_thread = kSharedStripe;
    free_stripes.Return(static_cast<unsigned>(stripe));
  }
  size_t stripe = kSharedStripe;
};

}  // namespace

size_t TakeStripe() {
  thread_local Owner owner;
  owner.stripe = stripe_of_this_thread = free_stripes.Take().value_or(kSharedStripe);
  return owner.stripe;
}

}  // namespace mezz
