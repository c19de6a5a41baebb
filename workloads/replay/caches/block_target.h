// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "workloads/replay/caches/block_cache.h"
#include "workloads/replay/caches/block_counts.h"
#include "workloads/replay/caches/block_file.h"
#include "workloads/replay/caches/peer_throttle.h"
#include "workloads/replay/engine/window_result.h"
#include "workloads/requests/request.h"

namespace mezz {

struct BlockTargetSettings {
  bool verify = false;  // check every byte of every block, else its ends
  uint64_t salt = 0;    // of the keys: other salts have a cache place the same blocks otherwise
  uint64_t mean_block_bytes = 4096;
};

// Puts one thread's accesses to a cache, as RocksDB's table readers would: looks the block up, and on a miss reads it
// from the file and inserts it. A request's key and value_bytes are the block's. Of one thread, which calls Begin,
// Execute and End; the counts may be read by others.
class BlockTarget {
 public:
  BlockTarget(const BlockFile* file, const BuiltCache& cache, const BlockTargetSettings& settings);

  void Begin();
  // False on an error, which error() tells.
  bool Execute(const Request& request);
  void End() {}

  const PublishedCounts& published() const { return published_; }
  // After End.
  const std::string& error() const { return error_; }
  void AddTo(WindowResult* result) const;

 private:
  bool Access(const Request& request);
  bool ReadAndInsert(const BlockKey& key, const Request& request);
  bool Check(const Request& request, const BlockCache::Held& held);
  bool Matches(uint64_t place, std::span<const std::byte> bytes) const;
  BlockCounts Counts() const;
  bool Fail(const Request& request, const std::string& what);

  const BlockFile& file_;
  const BlockTargetSettings settings_;
  const bool in_place_;  // every hit is one of the second tier
  BlockCache cache_;
  PeerThrottle peer_;
  const rocksdb::PerfContext* perf_ = nullptr;  // the thread's, from Begin on
  BlockFile::Buffer buffer_;
  size_t buffer_bytes_ = 0;
  std::string error_;
  uint64_t flash_bytes_ = 0;
  std::array<RoleCounts, kRoleSlots> roles_;
  PublishedCounts published_;
};

}  // namespace mezz
