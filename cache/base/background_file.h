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

// A file that is written by a thread of its own: who appends to it never waits for the disk. Thread-safe.
class BackgroundFile {
 public:
  // kForeignFile: it exists. Twice `waiting_bytes_max` is held in memory at most: while one is written the other fills.
  static Status Create(const std::string& path, size_t waiting_bytes_max, std::unique_ptr<BackgroundFile>* file);
  ~BackgroundFile();
  BackgroundFile(const BackgroundFile&) = delete;
  BackgroundFile& operator=(const BackgroundFile&) = delete;

  // False, and nothing of it is appended: so much waits for the disk that there is no room.
  bool Append(std::string_view text);
  // All that was appended is written, and the file closed. kIoError says why not; once more does nothing.
  Status Finish();

 private:
  BackgroundFile(std::FILE* file, std::string path, size_t waiting_bytes_max)
      : file_(file), path_(std::move(path)), waiting_bytes_max_(waiting_bytes_max) {}
  void Write();

  std::FILE* file_;  // of the thread, until it has ended; null: closed
  const std::string path_;
  const size_t waiting_bytes_max_;
  std::mutex mutex_;
  std::condition_variable more_;
  std::string waiting_;    // guarded by mutex_
  bool finished_ = false;  // guarded by mutex_
  int error_ = 0;          // of the thread, until it has ended: the first errno
  std::thread writer_;     // not joinable: there is none, or it has ended
};

}  // namespace mezz
