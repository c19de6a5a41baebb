// SPDX-License-Identifier: Apache-2.0
// The neutral request: one access, whatever recorded it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "admission/curves/block_event.h"
#include "admission/curves/operation.h"
#include "cache/status.h"
#include "cache/types.h"

namespace mezz {

// Whether the recorded cache held the block.
enum class Recorded : uint8_t { kUnknown, kMiss, kHit };

struct Request {
  uint64_t key = 0;
  Operation operation = Operation::kGet;
  uint32_t key_bytes = 0;    // 0: the trace does not say
  uint32_t value_bytes = 0;  // of the value, or of the block; 0: the trace does not say
  uint32_t scan_length = 0;  // kSeek: entries read
  uint32_t batch_left = 0;   // kMultiGet, writes: so many of the next requests belong to the same batch
  // Not 0: the request is an extent, so many bytes from byte `key` of a device on; CutExtents makes blocks of it.
  uint32_t extent_bytes = 0;
  uint64_t time_us = 0;               // on the trace's own clock; 0: the trace does not say
  BlockRole role = BlockRole::kData;  // what the block is to RocksDB, where the trace says it
  uint32_t client = 0;                // thread or client that asked; 0: the trace does not say
  uint32_t column_family = 0;
  int8_t level = -1;  // of the LSM tree; negative: the trace does not say
  Recorded recorded = Recorded::kUnknown;
  bool no_insert = false;  // the recorded cache was not to keep the block after a miss

  // A key of a MultiGet, and not its last.
  bool batch_goes_on() const { return operation == Operation::kMultiGet && batch_left > 0; }
};

// Longer extents are damage: readers refuse them.
inline constexpr uint32_t kExtentBytesMax = 1u << 30;

// A stream of requests. Single-threaded. A reader names file and position, and what was wrong there, in every error.
class RequestSource {
 public:
  virtual ~RequestSource() = default;
  // True and *request, or false at the end or on an error; then status() tells which.
  virtual bool Next(Request* request) = 0;
  virtual Status status() const = 0;
  // What happened to blocks between the request before and the one that Next() gave last. Good until its next call.
  virtual std::span<const BlockEvent> events() const { return {}; }
  // From the first request again, giving the same requests.
  virtual Status Rewind() = 0;
  // Requests in all, where known without reading; else 0.
  virtual uint64_t size_hint() const { return 0; }
  // How far it has read its file, in the file's own bytes. total 0: not known; size_hint() may be.
  struct Position {
    uint64_t done = 0;
    uint64_t total = 0;
  };
  virtual Position position() const { return {}; }
  virtual std::string description() const = 0;
  // Whether it may delete keys that it asks for later. Of a generator; a trace tells by its requests.
  virtual bool deletes() const { return false; }
  // After Next() failed on a damaged record: forgets the error, so that Next() goes on behind that record. False, and
  // the error stays, if there is none, or if it is not one record that is damaged.
  virtual bool SkipDamaged() { return false; }
  // Damaged records that were left out since the start, by a source opened to do so.
  virtual uint64_t skipped() const { return 0; }
  // Share of the keys of the recorded workload that are here, with all of their requests. 1: all of them. Known once
  // the first request is.
  virtual double sample_rate() const { return 1; }
  // What people should know of the requests so far, a sentence each: how a file was understood, what is odd in it.
  virtual std::vector<std::string> remarks() const { return {}; }
};

}  // namespace mezz
