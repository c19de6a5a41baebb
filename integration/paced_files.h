// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "integration/read_back_counts.h"
#include "rocksdb/file_system.h"

namespace mezz {

// Counts the reads of one thread, and lets it read at most kBytesPerSecond. Only that thread uses it.
class ReadPace {
 public:
  static constexpr uint64_t kBytesPerSecond = 256 << 20;

  using Wait = std::function<void(std::chrono::nanoseconds)>;

  // `wait(time)` waits so long, or less if nothing is to be read any more. `counts` must outlive this.
  ReadPace(ReadBackCounters& counts, Wait wait) : counts_(counts), wait_(std::move(wait)) {}

  // The thread is about to read so many bytes.
  void OnRead(uint64_t bytes);

 private:
  ReadBackCounters& counts_;
  const Wait wait_;
  std::chrono::steady_clock::time_point free_;  // until then kBytesPerSecond allows no further read
};

// `files`, of which each read tells `pace` first. `pace` must outlive what is returned, and the files it opens.
std::shared_ptr<rocksdb::FileSystem> PacedFiles(const std::shared_ptr<rocksdb::FileSystem>& files, ReadPace* pace);

}  // namespace mezz
