// SPDX-License-Identifier: Apache-2.0
#include "workloads/readers/compressed_file.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace mezz {
namespace {

constexpr size_t kInputBytes = 256 << 10;

Status CheckIsReadableFile(const std::string& path, uint64_t* bytes) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) {
    return errno == ENOENT ? Status::NotFound(fmt::format("trace {}: there is no such file", path))
                           : Status::IoError(fmt::format("trace {}: {}", path, std::strerror(errno)));
  }
  if (S_ISDIR(info.st_mode)) {
    return Status::InvalidArgument(fmt::format("trace {}: this is a directory; name a file in it", path));
  }
  if (!S_ISREG(info.st_mode)) {
    return Status::InvalidArgument(fmt::format(
        "trace {}: this is a pipe or a device, and a trace is read more than once; name a file, compressed or not",
        path));
  }
  if (info.st_size == 0) {
    return Status::InvalidArgument(fmt::format("trace {}: the file is empty", path));
  }
  *bytes = static_cast<uint64_t>(info.st_size);
  return Status::Ok();
}

}  // namespace

Status CompressedFile::Open(const std::string& path, std::unique_ptr<CompressedFile>* file) {
  uint64_t bytes = 0;
  MEZZ_RETURN_IF_ERROR(CheckIsReadableFile(path, &bytes));
  std::unique_ptr<CompressedFile> opened(new CompressedFile(path));
  opened->file_bytes_ = bytes;
  opened->file_ = std::fopen(path.c_str(), "rb");
  if (opened->file_ == nullptr) return Status::IoError(fmt::format("trace {}: {}", path, std::strerror(errno)));
  opened->input_.resize(kInputBytes);
  MEZZ_RETURN_IF_ERROR(opened->Refill());
  MEZZ_RETURN_IF_ERROR(opened->FindDecoder());
  *file = std::move(opened);
  return Status::Ok();
}

CompressedFile::~CompressedFile() {
  if (file_ != nullptr) std::fclose(file_);
}

uint64_t CompressedFile::file_position() const {
  const off_t at = ftello(file_);
  return at < 0 ? 0 : static_cast<uint64_t>(at) - std::min(static_cast<uint64_t>(at), uint64_t{available_});
}

Status CompressedFile::Refill() {
  available_ = std::fread(input_.data(), 1, input_.size(), file_);
  next_ = input_.data();
  if (available_ < input_.size()) {
    if (std::ferror(file_) != 0) {
      return Status::IoError(fmt::format("trace {}: reading failed: {}", path_, std::strerror(errno)));
    }
    file_ended_ = true;
  }
  return Status::Ok();
}

// Skippable frames belong to the stream behind them, whose decoder passes over them; a file of nothing else is zstd's.
Status CompressedFile::FindDecoder() {
  decoder_ = MakeDecoder(next_, available_);
  uint64_t frame = SkippableFrameBytes(next_, available_);
  if (frame == 0) return Status::Ok();
  constexpr size_t kPeekBytes = 16;
  uint8_t head[kPeekBytes] = {0x28, 0xb5, 0x2f, 0xfd};
  size_t got = sizeof(head);
  std::error_code error;
  const uint64_t file_bytes = std::filesystem::file_size(path_, error);
  for (uint64_t at = frame; frame != 0 && at != file_bytes; at += frame) {
    got = fseeko(file_, static_cast<off_t>(at), SEEK_SET) == 0 ? std::fread(head, 1, sizeof(head), file_) : 0;
    frame = SkippableFrameBytes(head, got);
  }
  decoder_ = MakeDecoder(head, got);
  std::rewind(file_);
  file_ended_ = false;
  return Refill();
}

// Zeros up to the end of the file are no stream; other bytes are left to the decoder, which refuses them.
Status CompressedFile::PassZeros() {
  while (true) {
    while (available_ > 0 && *next_ == 0) {
      ++next_;
      --available_;
    }
    if (available_ > 0 || file_ended_) return Status::Ok();
    MEZZ_RETURN_IF_ERROR(Refill());
  }
}

Status CompressedFile::Damaged(std::string_view how) {
  damaged_ = true;
  return Status::IoError(
      fmt::format("trace {}: the compressed stream {} after {} bytes of content", path_, how, position_));
}

Status CompressedFile::Read(void* to, size_t bytes, size_t* got) {
  auto* out = static_cast<uint8_t*>(to);
  size_t room = bytes;
  *got = 0;
  while (room > 0) {
    if (available_ == 0 && !file_ended_) MEZZ_RETURN_IF_ERROR(Refill());
    const size_t room_before = room;
    const size_t available_before = available_;
    if (decoder_ == nullptr) {
      const size_t moved = std::min(room, available_);
      std::memcpy(out, next_, moved);
      next_ += moved;
      available_ -= moved;
      out += moved;
      room -= moved;
    } else if (available_ > 0 || inside_stream_) {
      const Decoder::Result result = decoder_->Step(&next_, &available_, &out, &room, file_ended_);
      position_ += room_before - room;
      *got = bytes - room;
      if (result == Decoder::Result::kCorrupt) return Damaged("is damaged");
      if (result == Decoder::Result::kRefused)
        return Status::NotSupported(fmt::format("trace {}: {}", path_, decoder_->problem()));
      inside_stream_ = result == Decoder::Result::kMore;
      if (!inside_stream_ && decoder_->zeros_may_follow()) MEZZ_RETURN_IF_ERROR(PassZeros());
      if (room == room_before && available_ == available_before && file_ended_ && inside_stream_) {
        return Damaged("is cut short");
      }
      continue;
    }
    position_ += room_before - room;
    *got = bytes - room;
    if (available_ == 0 && file_ended_) break;
  }
  return Status::Ok();
}

}  // namespace mezz
