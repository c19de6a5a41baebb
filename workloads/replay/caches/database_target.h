// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rocksdb/db.h"
#include "workloads/replay/caches/block_counts.h"
#include "workloads/replay/caches/databases.h"
#include "workloads/replay/caches/peer_throttle.h"
#include "workloads/replay/engine/window_result.h"
#include "workloads/requests/request.h"
#include "workloads/rocksdb/values.h"

namespace mezz {

struct TargetSettings {
  bool verify = false;           // check every byte of every value
  bool may_be_missing = false;   // the workload deletes: a key that is not found is an answer, else it is an error
  uint32_t put_value_bytes = 0;  // 0: as the request says
  Values values{};
  uint64_t mean_block_bytes = 4096;
};

// Puts one thread's requests to the RocksDBs that have their keys. Every cache line of every value is read, as an
// application would. Of one thread, which calls Begin, Execute and End; the counts may be read by others.
class DatabaseTarget {
 public:
  // `dbs` and `cache` outlive this.
  DatabaseTarget(const Databases& dbs, const BuiltCache& cache, const TargetSettings& settings);

  void Begin();
  // False on an error, which error() tells. The keys of a batch are collected and looked up with the last.
  bool Execute(const Request& request);
  void End();

  const PublishedCounts& published() const { return published_; }
  // After End.
  const std::string& error() const { return error_; }
  void AddTo(WindowResult* result) const;

 private:
  bool Dispatch(const Request& request);
  bool Get(const Request& request, const rocksdb::Slice& key);
  bool Collect(const Request& request);
  bool MultiGet(const Request& last);
  bool Write(const Request& request, const rocksdb::Slice& key);
  bool Seek(const Request& request, const rocksdb::Slice& key);
  bool Scan(const Request& request, const rocksdb::Slice& key);
  BlockCounts Counts() const;
  bool Answer(const Request& request, const rocksdb::Status& status, const rocksdb::PinnableSlice& value, uint64_t key);
  bool Fail(const Request& request, std::string_view what);

  const Databases& dbs_;
  const TargetSettings settings_;
  PeerThrottle peer_;
  const rocksdb::PerfContext* perf_ = nullptr;  // the thread's, from Begin on
  rocksdb::ReadOptions read_;
  rocksdb::WriteOptions write_;
  rocksdb::PinnableSlice value_;
  std::string put_value_;
  std::vector<uint64_t> batch_;  // keys collected
  std::vector<DatabaseKey> batch_encoded_;
  std::vector<rocksdb::Slice> batch_keys_;
  std::vector<rocksdb::PinnableSlice> batch_values_;
  std::vector<rocksdb::Status> batch_statuses_;
  std::string error_;
  std::array<uint64_t, 6> operations_{};  // by Operation; a batch is one
  uint64_t not_found_ = 0;
  uint64_t read_ahead_ = 0;
  uint64_t touched_ = 0;
  std::array<RoleCounts, kRoleSlots> roles_;
  PublishedCounts published_;
};

}  // namespace mezz
