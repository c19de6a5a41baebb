// SPDX-License-Identifier: Apache-2.0
#include "integration/standalone_v7.h"

#include <string_view>
#include <tuple>

namespace mezz {

std::atomic<size_t>& StripedSum::stripe() {
  static std::atomic<size_t> next_thread{0};
  thread_local const size_t mine =
      next_thread.fetch_add(1, std::memory_order_relaxed) % std::tuple_size_v<decltype(stripes_)>;
  return stripes_[mine].sum;
}

size_t StripedSum::Read() const {
  size_t total = 0;
  for (const Stripe& stripe : stripes_) total += stripe.sum.load(std::memory_order_relaxed);
  return total;
}

void StandaloneV7::Delete() {
  const std::string_view name = key.bytes();
  if (deleter != nullptr) deleter(rocksdb::Slice(name.data(), name.size()), object);
  delete this;
}

}  // namespace mezz
