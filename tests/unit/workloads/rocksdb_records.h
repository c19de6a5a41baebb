// SPDX-License-Identifier: Apache-2.0
// Writes the records of RocksDB's trace files, right or wrong, byte by byte.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "workloads/readers/bytes.h"
#include "workloads/readers/rocksdb_record.h"

namespace mezz {

template <typename T>
std::string Fixed(T value) {
  std::string bytes(sizeof(T), '\0');
  StoreAs(bytes.data(), value);
  return bytes;
}

inline std::string LengthPrefixed(std::string_view text) {
  std::string bytes;
  size_t length = text.size();
  for (; length >= 0x80; length >>= 7) bytes += static_cast<char>(length | 0x80);
  return bytes + static_cast<char>(length) + std::string(text);
}

inline std::string RocksdbRecord(uint64_t time_us, uint8_t type, std::string_view payload) {
  return Fixed(time_us) + static_cast<char>(type) + Fixed(static_cast<uint32_t>(payload.size())) + std::string(payload);
}

inline std::string BlockTraceHeader(uint32_t major = 11, uint32_t minor = 8) {
  return RocksdbRecord(1, kRocksdbBegin, LengthPrefixed(kRocksdbTraceMagic) + Fixed(major) + Fixed(minor));
}

struct BlockAccess {
  std::string block_key = "0123456789abcdef";
  uint64_t time_us = 7;
  uint8_t type = 9;
  uint64_t block_bytes = 4096;
  uint64_t family = 0;
  uint32_t level = 6;
  uint8_t caller = 1;
  uint8_t is_hit = 0;
  uint8_t no_insert = 0;

  std::string Payload() const {
    std::string bytes = LengthPrefixed(block_key) + Fixed(block_bytes) + Fixed(family) + LengthPrefixed("default") +
                        Fixed(level) + Fixed(uint64_t{9}) + static_cast<char>(caller) + static_cast<char>(is_hit) +
                        static_cast<char>(no_insert);
    if (caller == 1 || caller == 2) {
      bytes += Fixed(uint64_t{5}) + '\0' + LengthPrefixed("a user's key and eight bytes");
      if (type == 9) bytes += Fixed(uint64_t{100}) + Fixed(uint64_t{40}) + '\1';
    }
    return bytes;
  }
  std::string Record() const { return RocksdbRecord(time_us, type, Payload()); }
};

}  // namespace mezz
