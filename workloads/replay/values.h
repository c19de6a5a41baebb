// SPDX-License-Identifier: Apache-2.0
// How a request's key and value look in the database. The key is 8 bytes, most significant first, so neighbours in the
// workload's key space are neighbours in the database. A value's bytes follow from key and size alone, so that
// every byte read can be checked. Only the first part of a value is random, the rest repeats it: what is to be
// compressed must be compressible.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "workloads/generators/random.h"

namespace mezz {

using DatabaseKey = std::array<char, 8>;

inline DatabaseKey EncodeKey(uint64_t key) {
  DatabaseKey bytes;
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(key >> (56 - 8 * i));
  return bytes;
}

inline uint64_t DecodeKey(std::string_view bytes) {
  uint64_t key = 0;
  for (const char byte : bytes) key = key << 8 | static_cast<unsigned char>(byte);
  return key;
}

// Words after which a value repeats itself.
inline size_t ValuePeriod(size_t bytes, double random_share) {
  const auto words = static_cast<size_t>(static_cast<double>((bytes + 7) / 8) * random_share);
  return words == 0 ? 1 : words;
}

inline uint64_t ValueWord(uint64_t key, size_t word, size_t value_bytes) {
  return Mix64(key * 0x9e3779b97f4a7c15ull + word + (static_cast<uint64_t>(value_bytes) << 40));
}

inline void FillValue(uint64_t key, size_t bytes, double random_share, std::string* value) {
  value->resize(bytes);
  const size_t period = ValuePeriod(bytes, random_share);
  for (size_t at = 0; at < bytes; at += 8) {
    const uint64_t word = ValueWord(key, at / 8 % period, bytes);
    std::memcpy(value->data() + at, &word, bytes - at < 8 ? bytes - at : 8);
  }
}

inline bool ValueMatches(uint64_t key, std::string_view value, double random_share) {
  const size_t period = ValuePeriod(value.size(), random_share);
  for (size_t at = 0; at < value.size(); at += 8) {
    const uint64_t word = ValueWord(key, at / 8 % period, value.size());
    if (std::memcmp(value.data() + at, &word, value.size() - at < 8 ? value.size() - at : 8) != 0) return false;
  }
  return true;
}

}  // namespace mezz
