// SPDX-License-Identifier: Apache-2.0
#include "workloads/readers/compressed_file.h"

#include <fmt/format.h>
#include <lzma.h>
#include <sys/stat.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace mezz {
namespace {

constexpr size_t kInputBytes = 256 << 10;
constexpr uint64_t kDecoderMemoryMax = 1ull << 30;

class XzDecoder : public Decoder {
 public:
  XzDecoder() { Start(); }
  ~XzDecoder() override { lzma_end(&stream_); }

  Result Step(const uint8_t** in, size_t* in_bytes, uint8_t** out, size_t* out_bytes) override {
    if (!started_) return Result::kCorrupt;
    stream_.next_in = *in;
    stream_.avail_in = *in_bytes;
    stream_.next_out = *out;
    stream_.avail_out = *out_bytes;
    const lzma_ret result = lzma_code(&stream_, LZMA_RUN);
    *in = stream_.next_in;
    *in_bytes = stream_.avail_in;
    *out = stream_.next_out;
    *out_bytes = stream_.avail_out;
    if (result == LZMA_STREAM_END) {
      Start();
      return Result::kStreamEnd;
    }
    return result == LZMA_OK || result == LZMA_BUF_ERROR ? Result::kMore : Result::kCorrupt;
  }

 private:
  void Start() { started_ = lzma_stream_decoder(&stream_, kDecoderMemoryMax, 0) == LZMA_OK; }

  lzma_stream stream_ = LZMA_STREAM_INIT;
  bool started_ = false;
};

class ZstdDecoder : public Decoder {
 public:
  ~ZstdDecoder() override { ZSTD_freeDStream(stream_); }

  Result Step(const uint8_t** in, size_t* in_bytes, uint8_t** out, size_t* out_bytes) override {
    ZSTD_inBuffer input{*in, *in_bytes, 0};
    ZSTD_outBuffer output{*out, *out_bytes, 0};
    const size_t result = ZSTD_decompressStream(stream_, &output, &input);
    *in += input.pos;
    *in_bytes -= input.pos;
    *out += output.pos;
    *out_bytes -= output.pos;
    if (ZSTD_isError(result)) return Result::kCorrupt;
    return result == 0 ? Result::kStreamEnd : Result::kMore;
  }

 private:
  ZSTD_DStream* stream_ = ZSTD_createDStream();
};

class GzipDecoder : public Decoder {
 public:
  GzipDecoder() { inflateInit2(&stream_, 15 + 16); }
  ~GzipDecoder() override { inflateEnd(&stream_); }

  Result Step(const uint8_t** in, size_t* in_bytes, uint8_t** out, size_t* out_bytes) override {
    stream_.next_in = const_cast<uint8_t*>(*in);
    stream_.avail_in = static_cast<unsigned>(*in_bytes);
    stream_.next_out = *out;
    stream_.avail_out = static_cast<unsigned>(*out_bytes);
    const int result = inflate(&stream_, Z_NO_FLUSH);
    *in = stream_.next_in;
    *in_bytes = stream_.avail_in;
    *out = stream_.next_out;
    *out_bytes = stream_.avail_out;
    if (result == Z_STREAM_END) {
      inflateReset(&stream_);
      return Result::kStreamEnd;
    }
    return result == Z_OK || result == Z_BUF_ERROR ? Result::kMore : Result::kCorrupt;
  }

 private:
  z_stream stream_{};
};

bool StartsWith(const uint8_t* bytes, size_t size, std::initializer_list<uint8_t> magic) {
  return size >= magic.size() && std::equal(magic.begin(), magic.end(), bytes);
}

std::unique_ptr<Decoder> MakeDecoder(const uint8_t* head, size_t size) {
  if (StartsWith(head, size, {0xfd, '7', 'z', 'X', 'Z', 0x00})) return std::make_unique<XzDecoder>();
  if (StartsWith(head, size, {0x28, 0xb5, 0x2f, 0xfd})) return std::make_unique<ZstdDecoder>();
  if (StartsWith(head, size, {0x1f, 0x8b, 0x08})) return std::make_unique<GzipDecoder>();
  return nullptr;
}

Status CheckIsReadableFile(const std::string& path) {
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
        "trace {}: this is a pipe or a device, and a trace is read more than once; name a file (.zst, .xz and .gz too)",
        path));
  }
  if (info.st_size == 0) {
    return Status::InvalidArgument(fmt::format("trace {}: the file is empty", path));
  }
  return Status::Ok();
}

}  // namespace

Status CompressedFile::Open(const std::string& path, std::unique_ptr<CompressedFile>* file) {
  MEZZ_RETURN_IF_ERROR(CheckIsReadableFile(path));
  std::unique_ptr<CompressedFile> opened(new CompressedFile(path));
  opened->file_ = std::fopen(path.c_str(), "rb");
  if (opened->file_ == nullptr) return Status::IoError(fmt::format("trace {}: {}", path, std::strerror(errno)));
  opened->input_.resize(kInputBytes);
  MEZZ_RETURN_IF_ERROR(opened->Refill());
  opened->decoder_ = MakeDecoder(opened->next_, opened->available_);
  *file = std::move(opened);
  return Status::Ok();
}

CompressedFile::~CompressedFile() {
  if (file_ != nullptr) std::fclose(file_);
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
      const Decoder::Result result = decoder_->Step(&next_, &available_, &out, &room);
      position_ += room_before - room;
      *got = bytes - room;
      if (result == Decoder::Result::kCorrupt) return Damaged("is damaged");
      inside_stream_ = result == Decoder::Result::kMore;
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
