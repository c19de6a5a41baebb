// SPDX-License-Identifier: Apache-2.0
// What RocksDB's trace files have in common (trace_replay/trace_replay.h): records of a fixed head and a payload, the
// first of type 1 with the magic word in it. Numbers are little-endian on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "workloads/readers/bytes.h"

namespace mezz {

inline constexpr std::string_view kRocksdbTraceMagic = "feedcafedeadbeef";

// TraceType in rocksdb/trace_record.h; the types of blocks are in rocksdb_block_types.h.
enum RocksdbTraceType : uint8_t {
  kRocksdbBegin = 1,
  kRocksdbEnd = 2,
  kRocksdbWrite = 3,
  kRocksdbGet = 4,
  kRocksdbSeek = 5,
  kRocksdbSeekForPrev = 6,
  kRocksdbIo = 12,
  kRocksdbMultiGet = 13,
};

struct RocksdbRecordHead {
  static constexpr size_t kBytes = 13;

  explicit RocksdbRecordHead(const uint8_t* bytes)
      : time_us(LoadAs<uint64_t>(bytes)), type(bytes[8]), payload_bytes(LoadAs<uint32_t>(bytes + 9)) {}

  // Whether the length makes sense only with its bytes the other way round.
  bool IsOfOtherByteOrder(uint32_t payload_max) const {
    return payload_bytes > payload_max && SwapBytes(payload_bytes) <= payload_max;
  }

  uint64_t time_us;
  uint8_t type;
  uint32_t payload_bytes;
};

// Takes a payload apart, field by field. A field that reaches past the end gives 0 or nothing, and so do all after it.
class RocksdbFields {
 public:
  RocksdbFields(const uint8_t* bytes, size_t size) : next_(bytes), left_(size) {}

  template <typename T>
  T Fixed(std::string_view field) {
    if (!Has(sizeof(T), field)) return 0;
    const uint8_t* at = next_;
    Skip(sizeof(T));
    if constexpr (sizeof(T) == 1) {
      return *at;
    } else {
      return LoadAs<T>(at);
    }
  }

  // Its length is a number of 7 bits a byte, least significant first.
  std::string_view Bytes(std::string_view field) {
    uint32_t length = 0;
    for (unsigned shift = 0; shift < 32; shift += 7) {
      const auto byte = Fixed<uint8_t>(field);
      length |= static_cast<uint32_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) break;
    }
    if (!Has(length, field)) return {};
    const std::string_view bytes(reinterpret_cast<const char*>(next_), length);
    Skip(length);
    return bytes;
  }

  // The first field that was cut short; empty: none.
  std::string_view cut() const { return cut_; }
  size_t left() const { return left_; }

 private:
  bool Has(size_t bytes, std::string_view field) {
    if (cut_.empty() && left_ < bytes) cut_ = field;
    return cut_.empty();
  }
  void Skip(size_t bytes) {
    next_ += bytes;
    left_ -= bytes;
  }

  const uint8_t* next_;
  size_t left_;
  std::string_view cut_;
};

}  // namespace mezz
