// SPDX-License-Identifier: Apache-2.0
#include "cache/counters.h"

#include <fmt/format.h>

#include <memory>
#include <new>
#include <numeric>
#include <type_traits>

namespace mezz {
namespace {

constexpr std::align_val_t kStripeAlignment{kLineBytes};

}  // namespace

std::string RolesText(const std::array<uint64_t, kBlockRoles>& counts) {
  std::string text;
  for (size_t role = 0; role < kBlockRoles; ++role) {
    if (counts[role] == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? " (" : ", ", ToString(static_cast<BlockRole>(role)), counts[role]);
  }
  return text.empty() ? text : text + ")";
}

uint64_t CounterSnapshot::operator[](Event event) const {
  const auto& roles = by_role[static_cast<size_t>(event)];
  return std::accumulate(roles.begin(), roles.end(), uint64_t{0});
}

CounterSnapshot& CounterSnapshot::operator+=(const CounterSnapshot& other) {
  for (size_t event = 0; event < kEvents; ++event) {
    for (size_t role = 0; role < kBlockRoles; ++role) by_role[event][role] += other.by_role[event][role];
  }
  return *this;
}

CounterSnapshot CounterSnapshot::operator-(const CounterSnapshot& earlier) const {
  CounterSnapshot difference;
  for (size_t event = 0; event < kEvents; ++event) {
    for (size_t role = 0; role < kBlockRoles; ++role) {
      difference.by_role[event][role] = by_role[event][role] - earlier.by_role[event][role];
    }
  }
  return difference;
}

Counters::Counters() {
  constexpr size_t kWords = kStripes * kStripeWords;
  words_ = static_cast<std::atomic<uint64_t>*>(::operator new(kWords * sizeof(*words_), kStripeAlignment));
  std::uninitialized_value_construct_n(words_, kWords);
}

Counters::~Counters() {
  static_assert(std::is_trivially_destructible_v<std::atomic<uint64_t>>);
  ::operator delete(words_, kStripeAlignment);
}

CounterSnapshot Counters::Snapshot() const {
  CounterSnapshot sum;
  for (size_t stripe = 0; stripe < kStripes; ++stripe) {
    const std::atomic<uint64_t>* word = words_ + stripe * kStripeWords;
    for (auto& roles : sum.by_role) {
      for (uint64_t& count : roles) count += (word++)->load(std::memory_order_relaxed);
    }
  }
  return sum;
}

}  // namespace mezz
