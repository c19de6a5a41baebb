// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace mezz::test {

// Writes RocksDB's data block format (integration/block_entries.h), for tests that have no RocksDB at hand to do it.
class DataBlock {
 public:
  explicit DataBlock(size_t restart_interval = 16) : interval_(restart_interval) {}

  void Add(const std::string& user_key, const std::string& value, uint64_t sequence = 7) {
    std::string key = user_key;
    const uint64_t tail = sequence << 8 | 1;
    key.append(reinterpret_cast<const char*>(&tail), sizeof(tail));
    size_t shared = 0;
    if (entries_++ % interval_ == 0) {
      restarts_.push_back(static_cast<uint32_t>(bytes_.size()));
    } else {
      const auto both = std::ranges::mismatch(key, last_);
      shared = static_cast<size_t>(both.in1 - key.begin());
    }
    for (const size_t number : {shared, key.size() - shared, value.size()}) PutVarint(number);
    bytes_.append(key, shared).append(value);
    last_ = std::move(key);
  }
  std::string Finish() {
    for (const uint32_t restart : restarts_) PutWord(restart);
    PutWord(static_cast<uint32_t>(restarts_.size()));
    return std::move(bytes_);
  }

 private:
  void PutVarint(size_t number) {
    for (; number >= 0x80; number >>= 7) bytes_.push_back(static_cast<char>(number | 0x80));
    bytes_.push_back(static_cast<char>(number));
  }
  void PutWord(uint32_t word) { bytes_.append(reinterpret_cast<const char*>(&word), sizeof(word)); }

  const size_t interval_;
  size_t entries_ = 0;
  std::string bytes_;
  std::string last_;
  std::vector<uint32_t> restarts_;
};

}  // namespace mezz::test
