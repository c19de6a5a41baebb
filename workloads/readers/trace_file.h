// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/readers/compressed_file.h"
#include "workloads/requests/request.h"

namespace mezz {

// What every reader of a file shares: buffering, positions, errors and rewinding. A format derives and implements
// Next() with Take() or TakeLine().
class TraceFile : public RequestSource {
 public:
  Status status() const override { return status_; }
  Status Rewind() override;
  Position position() const override {
    return file_ == nullptr ? Position() : Position{file_->file_position(), file_->file_bytes()};
  }
  std::string description() const override { return path_; }
  bool SkipDamaged() override;

 protected:
  explicit TraceFile(std::string path) : path_(std::move(path)) {}

  // The next `bytes` bytes, valid until the next call; null at the end and on an error. Fewer bytes than asked for
  // before the end is the error that `what` was cut short.
  const uint8_t* Take(size_t bytes, std::string_view what) {
    if (end_ - begin_ < bytes || !status_.ok()) return TakeSlowly(bytes, what);
    const uint8_t* taken = buffer_.data() + begin_;
    record_position_ = position_;
    begin_ += bytes;
    position_ += bytes;
    return taken;
  }
  struct Line {
    uint64_t number = 0;
    std::string text;
  };
  // The next line without its end, the first without a byte-order mark; false at the end and on an error.
  // line_number() is then its number, from 1. Valid until the next call.
  bool TakeLine(std::string_view* line);
  // The next calls of TakeLine() give these again, and then what follows.
  void PutBack(std::vector<Line> lines);
  // Errors are told of line `number` until another line is taken.
  void BlameLine(uint64_t number) { line_number_ = number; }
  // The next line that is not blank, trimmed.
  bool TakeFilledLine(std::string_view* line);
  uint64_t line_number() const { return line_number_; }

  // The record just taken is damaged: "trace FILE, at byte N: message" or, once lines were taken, "trace FILE, line N:
  // message". Always false.
  bool Fail(std::string_view message);
  // The same, where it is not known where the next record begins: SkipDamaged() ends the trace.
  bool FailForTheRest(std::string_view message);
  // The same, of what makes all of the trace unreadable: SkipDamaged() refuses it.
  bool FailForGood(std::string_view message);

  // `text` as a number up to `max`, or Fail(): `field NAME is "TEXT"; want ...`.
  bool ParseField(std::string_view name, std::string_view text, uint64_t max, uint64_t* value);

 private:
  const uint8_t* TakeSlowly(size_t bytes, std::string_view what);
  bool TakeLineOfFile(std::string_view* line);
  bool FinishLongLine();
  bool FindLineEnd(size_t* length) const;
  bool Fill();  // makes more bytes available; false if there are none or on an error

  std::string path_;
  Status status_;
  std::unique_ptr<CompressedFile> file_;
  std::vector<uint8_t> buffer_;
  size_t begin_ = 0;
  size_t end_ = 0;
  uint64_t position_ = 0;         // of buffer_[begin_] in the decompressed content
  uint64_t record_position_ = 0;  // of what was taken last
  uint64_t line_number_ = 0;      // of what was taken last
  uint64_t lines_of_file_ = 0;    // taken so far, without what was put back
  std::deque<Line> put_back_;
  std::string held_;               // of it, what was taken last
  bool record_damaged_ = false;    // the error is one that SkipDamaged() may forget
  bool rest_lost_ = false;         // then SkipDamaged() ends the trace
  bool inside_long_line_ = false;  // what follows, up to a line's end, belongs to a line that was refused
  bool ended_ = false;
};

}  // namespace mezz
