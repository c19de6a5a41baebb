// SPDX-License-Identifier: Apache-2.0
#include "workloads/readers/trace_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace mezz {
namespace {

constexpr size_t kBufferBytes = 64 << 10;  // also the longest line

}  // namespace

Status TraceFile::Rewind() {
  file_.reset();
  begin_ = end_ = 0;
  position_ = line_number_ = 0;
  ended_ = false;
  buffer_.resize(kBufferBytes);
  status_ = CompressedFile::Open(path_, &file_);
  return status_;
}

bool TraceFile::Fill() {
  if (ended_ || !status_.ok()) return false;
  if (file_ == nullptr && !Rewind().ok()) return false;
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  size_t got = 0;
  Status read = file_->Read(buffer_.data() + end_, buffer_.size() - end_, &got);
  end_ += got;
  if (!read.ok()) status_ = std::move(read);
  ended_ = got == 0;
  return got > 0;
}

const uint8_t* TraceFile::Take(size_t bytes, std::string_view what) {
  while (end_ - begin_ < bytes && Fill()) {
  }
  if (!status_.ok()) return nullptr;
  const size_t left = end_ - begin_;
  if (left < bytes) {
    if (left > 0) Fail(fmt::format("{} is cut short: {} of {} bytes", what, left, bytes));
    return nullptr;
  }
  const uint8_t* taken = buffer_.data() + begin_;
  begin_ += bytes;
  position_ += bytes;
  return taken;
}

bool TraceFile::TakeLine(std::string_view* line) {
  size_t length = 0;
  while (!FindLineEnd(&length) && (buffer_.empty() || end_ - begin_ < buffer_.size()) && Fill()) {
  }
  const size_t left = end_ - begin_;
  if (!status_.ok() || left == 0) return false;
  ++line_number_;
  const bool has_end = length < left;
  if (!has_end && left == buffer_.size()) {
    return Fail(fmt::format("longer than {} bytes; is this a text file?", kBufferBytes));
  }
  *line = {reinterpret_cast<const char*>(buffer_.data() + begin_), length};
  const size_t consumed = has_end ? length + 1 : length;
  begin_ += consumed;
  position_ += consumed;
  return true;
}

// *length starts at 0, or where the last search of this line ended.
bool TraceFile::FindLineEnd(size_t* length) const {
  const uint8_t* from = buffer_.data() + begin_;
  const size_t left = end_ - begin_;
  const void* found = left > *length ? std::memchr(from + *length, '\n', left - *length) : nullptr;
  *length = found == nullptr ? left : static_cast<size_t>(static_cast<const uint8_t*>(found) - from);
  return found != nullptr;
}

bool TraceFile::Fail(std::string_view message) {
  status_ =
      Status::InvalidArgument(line_number_ > 0 ? fmt::format("trace {}, line {}: {}", path_, line_number_, message)
                                               : fmt::format("trace {}, at byte {}: {}", path_, position_, message));
  return false;
}

}  // namespace mezz
