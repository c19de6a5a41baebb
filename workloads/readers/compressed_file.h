// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cache/status.h"

namespace mezz {

// One compression format, streaming. Checksums of the format are verified.
class Decoder {
 public:
  enum class Result { kMore, kStreamEnd, kCorrupt };

  virtual ~Decoder() = default;
  // Moves *in and *out past what was consumed and produced. After kStreamEnd the next call starts a new stream.
  virtual Result Step(const uint8_t** in, size_t* in_bytes, uint8_t** out, size_t* out_bytes) = 0;
};

// A file read from front to back, decompressed on the way when its first bytes are those of xz, zstd or gzip.
// Concatenated streams are one. Every error names the file and the position.
class CompressedFile {
 public:
  static Status Open(const std::string& path, std::unique_ptr<CompressedFile>* file);
  ~CompressedFile();
  CompressedFile(const CompressedFile&) = delete;
  CompressedFile& operator=(const CompressedFile&) = delete;

  // Reads `bytes` decompressed bytes, fewer only at the end. *got == 0: the end.
  Status Read(void* to, size_t bytes, size_t* got);
  uint64_t position() const { return position_; }  // decompressed bytes read so far
  // Whether the last Read() failed because of what the file holds. What it read before that is good.
  bool damaged() const { return damaged_; }

 private:
  explicit CompressedFile(std::string path) : path_(std::move(path)) {}
  Status Refill();
  Status Damaged(std::string_view how);

  std::string path_;
  std::FILE* file_ = nullptr;
  std::unique_ptr<Decoder> decoder_;  // null: the bytes are what they are
  std::vector<uint8_t> input_;
  const uint8_t* next_ = nullptr;
  size_t available_ = 0;
  bool file_ended_ = false;
  bool inside_stream_ = false;
  bool damaged_ = false;
  uint64_t position_ = 0;
};

}  // namespace mezz
