// SPDX-License-Identifier: Apache-2.0
#include "workloads/readers/trace_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "workloads/readers/fields.h"

namespace mezz {
namespace {

constexpr size_t kBufferBytes = 64 << 10;  // also the longest line

}  // namespace

Status TraceFile::Rewind() {
  file_.reset();
  begin_ = end_ = 0;
  position_ = record_position_ = line_number_ = lines_of_file_ = 0;
  put_back_.clear();
  ended_ = record_damaged_ = rest_lost_ = inside_long_line_ = false;
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
  if (!read.ok()) {
    status_ = std::move(read);
    record_damaged_ = file_->damaged();
  }
  ended_ = got == 0;
  return got > 0;
}

const uint8_t* TraceFile::TakeSlowly(size_t bytes, std::string_view what) {
  while (end_ - begin_ < bytes && Fill()) {
  }
  if (!status_.ok()) return nullptr;
  const size_t left = end_ - begin_;
  if (left >= bytes) return Take(bytes, what);
  if (left == 0) return nullptr;
  record_position_ = position_;
  begin_ = end_;
  Fail(fmt::format("{} is cut short: {} of {} bytes", what, left, bytes));
  return nullptr;
}

bool TraceFile::TakeLine(std::string_view* line) {
  if (put_back_.empty()) [[likely]]
    return TakeLineOfFile(line);
  if (!status_.ok()) return false;
  line_number_ = put_back_.front().number;
  held_ = std::move(put_back_.front().text);
  put_back_.pop_front();
  *line = held_;
  return true;
}

void TraceFile::PutBack(std::vector<Line> lines) {
  put_back_.insert(put_back_.begin(), std::make_move_iterator(lines.begin()), std::make_move_iterator(lines.end()));
}

bool TraceFile::TakeLineOfFile(std::string_view* line) {
  if (inside_long_line_ && !FinishLongLine()) return false;
  size_t length = 0;
  while (!FindLineEnd(&length) && (buffer_.empty() || end_ - begin_ < buffer_.size()) && Fill()) {
  }
  const size_t left = end_ - begin_;
  if (!status_.ok() || left == 0) return false;
  line_number_ = ++lines_of_file_;
  const bool has_end = length < left;
  if (!has_end && left == buffer_.size()) {
    inside_long_line_ = true;
    return Fail(fmt::format("longer than {} bytes; is this a text file?", kBufferBytes));
  }
  *line = {reinterpret_cast<const char*>(buffer_.data() + begin_), length};
  const size_t consumed = has_end ? length + 1 : length;
  begin_ += consumed;
  position_ += consumed;
  if (lines_of_file_ == 1) *line = WithoutByteOrderMark(*line);
  return true;
}

bool TraceFile::TakeFilledLine(std::string_view* line) {
  do {
    if (!TakeLine(line)) return false;
    *line = Trim(*line);
  } while (line->empty());
  return true;
}

bool TraceFile::FinishLongLine() {
  while (inside_long_line_) {
    size_t length = 0;
    inside_long_line_ = !FindLineEnd(&length);
    begin_ += inside_long_line_ ? length : length + 1;
    if (inside_long_line_ && !Fill()) return false;
  }
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
  FailForGood(message);
  record_damaged_ = true;
  return false;
}

bool TraceFile::FailForTheRest(std::string_view message) {
  rest_lost_ = true;
  return Fail(message);
}

bool TraceFile::FailForGood(std::string_view message) {
  record_damaged_ = false;
  status_ = Status::InvalidArgument(line_number_ > 0
                                        ? fmt::format("trace {}, line {}: {}", path_, line_number_, message)
                                        : fmt::format("trace {}, at byte {}: {}", path_, record_position_, message));
  return false;
}

bool TraceFile::ParseField(std::string_view name, std::string_view text, uint64_t max, uint64_t* value) {
  if (ParseNumber(text, 10, value) && *value <= max) return true;
  return Fail(fmt::format("field {} is \"{}\"; want a whole number up to {}", name, Shown(text), max));
}

bool TraceFile::SkipDamaged() {
  if (status_.ok() || !record_damaged_) return false;
  // Nothing can be read behind the place where a compressed stream is damaged; what was read before it stands.
  if (file_ != nullptr && file_->damaged()) ended_ = true;
  if (rest_lost_) {
    put_back_.clear();
    begin_ = end_;
    ended_ = true;
  }
  status_ = Status::Ok();
  record_damaged_ = false;
  return true;
}

}  // namespace mezz
