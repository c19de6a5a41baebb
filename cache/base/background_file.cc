// SPDX-License-Identifier: Apache-2.0
#include "cache/base/background_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "cache/base/start_thread.h"

namespace mezz {
namespace {

constexpr size_t kWriteBytes = 1 << 20;  // worth waking the thread

}  // namespace

Status BackgroundFile::Create(const std::string& path, size_t waiting_bytes_max,
                              std::unique_ptr<BackgroundFile>* file) {
  std::FILE* const opened = std::fopen(path.c_str(), "wxe");
  if (opened == nullptr && errno == EEXIST)
    return Status::ForeignFile(fmt::format("{} exists; remove it, or name another file", path));
  if (opened == nullptr) return Status::IoError(fmt::format("{} cannot be written: {}", path, std::strerror(errno)));
  file->reset(new BackgroundFile(opened, path, waiting_bytes_max));
  BackgroundFile* const made = file->get();
  made->writer_ = StartThread("mezz-file", [made] { made->Write(); });
  return made->writer_.joinable() ? Status::Ok() : Status::IoError("no thread to write " + path + " is to be had");
}

BackgroundFile::~BackgroundFile() { (void)Finish(); }

bool BackgroundFile::Append(std::string_view text) {
  const std::lock_guard lock(mutex_);
  if (finished_ || waiting_.size() + text.size() > waiting_bytes_max_) return false;
  waiting_ += text;
  if (waiting_.size() >= kWriteBytes) more_.notify_one();
  return true;
}

void BackgroundFile::Write() {
  std::string writing;
  std::unique_lock lock(mutex_);
  do {
    more_.wait(lock, [this] { return finished_ || waiting_.size() >= kWriteBytes; });
    writing.clear();
    writing.swap(waiting_);
    lock.unlock();
    if (error_ == 0 && std::fwrite(writing.data(), 1, writing.size(), file_) != writing.size()) error_ = errno;
    lock.lock();
  } while (!finished_ || !waiting_.empty());
}

Status BackgroundFile::Finish() {
  {
    const std::lock_guard lock(mutex_);
    finished_ = true;
    more_.notify_one();
  }
  if (file_ == nullptr) return Status::Ok();
  if (writer_.joinable()) writer_.join();
  if (std::fclose(std::exchange(file_, nullptr)) != 0 && error_ == 0) error_ = errno;
  if (error_ == 0) return Status::Ok();
  return Status::IoError(fmt::format("{} was not written: {}", path_, std::strerror(error_)));
}

}  // namespace mezz
