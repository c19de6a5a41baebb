// SPDX-License-Identifier: Apache-2.0
// Numbers of binary formats, whatever this machine's byte order.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace mezz {

template <typename T>
constexpr T SwapBytes(T value) {
  static_assert(std::is_unsigned_v<T>);
  if constexpr (sizeof(T) == 2) return __builtin_bswap16(value);
  if constexpr (sizeof(T) == 4) return __builtin_bswap32(value);
  if constexpr (sizeof(T) == 8) return __builtin_bswap64(value);
}

template <typename T, std::endian kOrder = std::endian::little>
T LoadAs(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof(value));
  return kOrder == std::endian::native ? value : SwapBytes(value);
}

template <std::endian kOrder = std::endian::little, typename T>
void StoreAs(void* to, T value) {
  if (kOrder != std::endian::native) value = SwapBytes(value);
  std::memcpy(to, &value, sizeof(value));
}

}  // namespace mezz
