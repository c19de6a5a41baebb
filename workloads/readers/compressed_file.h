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
#include "workloads/readers/decoders.h"

namespace mezz {

// A file read from front to back, decompressed on the way when its first bytes are those of a format of decoders.h,
// which may stand behind skippable frames. Concatenated streams are one. Every error names the file and the position.
class CompressedFile {
 public:
  static Status Open(const std::string& path, std::unique_ptr<CompressedFile>* file);
  ~CompressedFile();
  CompressedFile(const CompressedFile&) = delete;
  CompressedFile& operator=(const CompressedFile&) = delete;

  // Reads `bytes` decompressed bytes, fewer only at the end. *got == 0: the end.
  Status Read(void* to, size_t bytes, size_t* got);
  uint64_t position() const { return position_; }  // decompressed bytes read so far
  // Of the file's own bytes: how many there are, and how many are used up.
  uint64_t file_bytes() const { return file_bytes_; }
  uint64_t file_position() const;
  // xz, zstd, gzip, bzip2 or lz4; empty: it is not compressed.
  std::string_view compression() const { return decoder_ == nullptr ? std::string_view() : decoder_->name(); }
  // Whether the last Read() failed because of what the file holds. What it read before that is good.
  bool damaged() const { return damaged_; }

 private:
  explicit CompressedFile(std::string path) : path_(std::move(path)) {}
  Status Refill();
  Status FindDecoder();
  Status PassZeros();
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
  uint64_t file_bytes_ = 0;
};

}  // namespace mezz
