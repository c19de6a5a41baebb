// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "cache/status.h"

namespace mezz {

// A file that a thread of its own writes, so that Append never waits for the disk. Thread-safe.
class BackgroundFile {
 public:
  // Creates the file and starts its thread. kForeignFile: the file exists. At most twice `waiting_bytes_max` is held in
  // memory: one buffer is written while the other fills.
  static Status Create(const std::string& path, size_t waiting_bytes_max, std::unique_ptr<BackgroundFile>* file);
  ~BackgroundFile();
  BackgroundFile(const BackgroundFile&) = delete;
  BackgroundFile& operator=(const BackgroundFile&) = delete;

  // Appends all of `text`. False: nothing was appended, because too much waits for the disk.
  bool Append(std::string_view text);
  // Waits until all that was appended is written, and closes the file. kIoError says why it is not. A second call does
  // nothing.
  Status Finish();

 private:
  BackgroundFile(std::FILE* file, std::string path, size_t waiting_bytes_max)
      : file_(file), path_(std::move(path)), waiting_bytes_max_(waiting_bytes_max) {}
  void Write();

  std::FILE* file_;  // used by the thread until it has ended; null: closed
  const std::string path_;
  const size_t waiting_bytes_max_;
  std::mutex mutex_;
  std::condition_variable more_;
  std::string waiting_;    // guarded by mutex_
  bool finished_ = false;  // guarded by mutex_
  int error_ = 0;          // the first errno; used by the thread until it has ended
  std::thread writer_;     // not joinable: no thread, or it has ended
};

}  // namespace mezz
