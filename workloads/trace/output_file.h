// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "cache/status.h"

namespace mezz {

// One compression format, streaming, with the format's checksum.
class Encoder {
 public:
  virtual ~Encoder() = default;
  // Appends what `in` is compressed to, as far as it is ready; all of it once `last`. False: out of memory.
  virtual bool Encode(std::string_view in, bool last, std::string* out) = 0;
};

// A file written from front to back, compressed if its name ends in .zst, .gz or .xz. It has its name only once it is
// whole: a file that was not finished leaves nothing behind, or, where the process died, PATH.PID.new.
class OutputFile {
 public:
  static Status Open(const std::string& path, std::unique_ptr<OutputFile>* file);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  Status Append(std::string_view bytes) {
    buffer_.append(bytes);
    return buffer_.size() < kBufferBytes ? Status::Ok() : Flush(/*last=*/false);
  }
  Status Finish();

 private:
  static constexpr size_t kBufferBytes = 256 << 10;

  explicit OutputFile(std::string path);
  void RemoveUnfinished() const;
  Status Flush(bool last);
  Status Failed() const;

  const std::string path_;
  const std::string replaced_;  // empty: what has the name is written through
  const std::string unfinished_path_;
  std::FILE* file_ = nullptr;
  std::unique_ptr<Encoder> encoder_;  // null: bytes go out as they are
  std::string buffer_;
  std::string encoded_;
};

}  // namespace mezz
