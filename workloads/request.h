// SPDX-License-Identifier: Apache-2.0
// The neutral request: one access, whatever recorded it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "cache/status.h"
#include "cache/types.h"

namespace mezz {

enum class Operation : uint8_t { kGet, kPut, kSeek };

struct Request {
  uint64_t key = 0;
  Operation operation = Operation::kGet;
  uint32_t value_bytes = 0;  // 0: the trace does not say
  uint32_t scan_length = 0;  // kSeek: entries read
  // Not 0: the request is an extent, so many bytes from byte `key` of a device on; CutExtents makes blocks of it.
  uint32_t extent_bytes = 0;
  uint64_t time_us = 0;               // on the trace's own clock; 0: the trace does not say
  BlockRole role = BlockRole::kData;  // what the block is to RocksDB, where the trace says it
};

// Longer extents are damage: readers refuse them.
inline constexpr uint32_t kExtentBytesMax = 1u << 30;

// A stream of requests. Single-threaded. A reader names file and position in every error.
class RequestSource {
 public:
  virtual ~RequestSource() = default;
  // True and *request, or false at the end or on an error; then status() tells which.
  virtual bool Next(Request* request) = 0;
  virtual Status status() const = 0;
  // From the first request again, giving the same requests.
  virtual Status Rewind() = 0;
  // Requests in all, where known without reading; else 0.
  virtual uint64_t size_hint() const { return 0; }
  virtual std::string description() const = 0;
};

}  // namespace mezz
