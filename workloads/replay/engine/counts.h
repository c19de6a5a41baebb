// SPDX-License-Identifier: Apache-2.0
// Structs of counts, each count listed once: their sums, their differences and the messages that carry them are
// made from the list.
#pragma once

#include <array>
#include <cstdint>
#include <iterator>

namespace mezz {

template <typename T>
struct CountOf {
  const char* name;  // in messages
  uint64_t T::*count;
};

// Of T: all of its members. A struct of counts specialises it, directly behind itself.
template <typename T>
inline constexpr std::array<CountOf<T>, 0> kCountsOf{};

// Whether T is such a struct. One that forgets a member in its list does not compile.
template <typename T>
concept Counted = std::size(kCountsOf<T>)
> 0 && sizeof(T) == std::size(kCountsOf<T>) * sizeof(uint64_t);

template <Counted T>
T& operator+=(T& to, const T& other) {
  for (const CountOf<T>& each : kCountsOf<T>) to.*each.count += other.*each.count;
  return to;
}
template <Counted T>
T operator-(T from, const T& earlier) {
  for (const CountOf<T>& each : kCountsOf<T>) from.*each.count -= earlier.*each.count;
  return from;
}

}  // namespace mezz
