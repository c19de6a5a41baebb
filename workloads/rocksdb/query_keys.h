// SPDX-License-Identifier: Apache-2.0
// How the keys of a RocksDB query trace become a request's number, and back. db_bench's keys, and those our writer
// makes, are a number of eight bytes, most significant first, and then as many '0' as the key's length asks for: they
// keep their number and with it their order, so that seeks land where they did. Any other key is its XXH3 hash: equal
// keys stay equal, but what a seek finds behind one is not what it found in the recorded database.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

#include "workloads/readers/bytes.h"
#include "workloads/readers/key_hash.h"

namespace mezz {

inline constexpr size_t kQueryKeyBytesMin = 8;
inline constexpr size_t kQueryKeyBytesDefault = 16;  // db_bench's --key_size

inline uint64_t NumberOfQueryKey(std::string_view key) {
  const bool is_number =
      key.size() >= kQueryKeyBytesMin && key.find_first_not_of('0', kQueryKeyBytesMin) == std::string_view::npos;
  return is_number ? LoadAs<uint64_t, std::endian::big>(key.data()) : HashKey(key);
}

inline std::string QueryKeyOfNumber(uint64_t number, size_t key_bytes) {
  std::string key(std::max(key_bytes, kQueryKeyBytesMin), '0');
  StoreAs<std::endian::big>(key.data(), number);
  return key;
}

}  // namespace mezz
