// SPDX-License-Identifier: Apache-2.0
#include "workloads/trace/output_file.h"

#include <fmt/format.h>
#include <lzma.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <iterator>

#include "cache/base/text.h"
#include "cache/base/write_file.h"

namespace mezz {
namespace {

constexpr size_t kStepBytes = 64 << 10;  // room for one step's output

class ZstdEncoder final : public Encoder {
 public:
  ZstdEncoder() { ZSTD_CCtx_setParameter(context_, ZSTD_c_checksumFlag, 1); }
  ~ZstdEncoder() override { ZSTD_freeCCtx(context_); }

  bool Encode(std::string_view in, bool last, std::string* out) override {
    ZSTD_inBuffer input{in.data(), in.size(), 0};
    for (size_t left = 1; input.pos < input.size || (last && left > 0);) {
      const size_t at = out->size();
      out->resize(at + kStepBytes);
      ZSTD_outBuffer output{out->data() + at, kStepBytes, 0};
      left = ZSTD_compressStream2(context_, &output, &input, last ? ZSTD_e_end : ZSTD_e_continue);
      out->resize(at + output.pos);
      if (ZSTD_isError(left) != 0) return false;
    }
    return true;
  }

 private:
  ZSTD_CCtx* const context_ = ZSTD_createCCtx();
};

class XzEncoder final : public Encoder {
 public:
  XzEncoder() { started_ = lzma_easy_encoder(&stream_, kPreset, LZMA_CHECK_CRC64) == LZMA_OK; }
  ~XzEncoder() override { lzma_end(&stream_); }

  bool Encode(std::string_view in, bool last, std::string* out) override {
    stream_.next_in = reinterpret_cast<const uint8_t*>(in.data());
    stream_.avail_in = in.size();
    lzma_ret result = started_ ? LZMA_OK : LZMA_MEM_ERROR;
    while (result == LZMA_OK && (stream_.avail_in > 0 || last)) {
      const size_t at = out->size();
      out->resize(at + kStepBytes);
      stream_.next_out = reinterpret_cast<uint8_t*>(out->data() + at);
      stream_.avail_out = kStepBytes;
      result = lzma_code(&stream_, last ? LZMA_FINISH : LZMA_RUN);
      out->resize(at + kStepBytes - stream_.avail_out);
    }
    return result == LZMA_OK || result == LZMA_STREAM_END;
  }

 private:
  static constexpr uint32_t kPreset = 6;
  lzma_stream stream_ = LZMA_STREAM_INIT;
  bool started_ = false;
};

class GzipEncoder final : public Encoder {
 public:
  GzipEncoder() {
    started_ = deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK;
  }
  ~GzipEncoder() override { deflateEnd(&stream_); }

  bool Encode(std::string_view in, bool last, std::string* out) override {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
    stream_.avail_in = static_cast<unsigned>(in.size());
    int result = started_ ? Z_OK : Z_MEM_ERROR;
    while (result == Z_OK && (stream_.avail_in > 0 || last)) {
      const size_t at = out->size();
      out->resize(at + kStepBytes);
      stream_.next_out = reinterpret_cast<Bytef*>(out->data() + at);
      stream_.avail_out = kStepBytes;
      result = deflate(&stream_, last ? Z_FINISH : Z_NO_FLUSH);
      out->resize(at + kStepBytes - stream_.avail_out);
    }
    return result == Z_OK || result == Z_STREAM_END;
  }

 private:
  z_stream stream_{};
  bool started_ = false;
};

std::unique_ptr<Encoder> MakeEncoder(std::string_view path) {
  if (path.ends_with(".zst")) return std::make_unique<ZstdEncoder>();
  if (path.ends_with(".xz")) return std::make_unique<XzEncoder>();
  if (path.ends_with(".gz")) return std::make_unique<GzipEncoder>();
  return nullptr;
}

// An ending that promises a compression which is not written.
bool PromisesMore(std::string_view path) {
  constexpr std::string_view kOthers[] = {".bz2", ".lz4", ".zstd", ".lzma", ".lzo", ".br", ".sz",
                                          ".7z",  ".zip", ".tgz",  ".z",    ".zst", ".gz", ".xz"};
  std::string lower(path.substr(std::min(path.rfind('.'), path.size())));
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return std::ranges::find(kOthers, lower) != std::end(kOthers);
}

}  // namespace

OutputFile::OutputFile(std::string path)
    : path_(std::move(path)),
      replaced_(ReplaceableFile(path_)),
      unfinished_path_(replaced_.empty() ? path_ : fmt::format("{}.{}.new", replaced_, getpid())) {}

Status OutputFile::Open(const std::string& path, std::unique_ptr<OutputFile>* file) {
  std::unique_ptr<Encoder> encoder = MakeEncoder(path);
  if (encoder == nullptr && PromisesMore(path)) {
    return Status::InvalidArgument(
        fmt::format("{}: files are compressed that end in .zst, .gz or .xz; take one of these, or another name", path));
  }
  std::unique_ptr<OutputFile> opened(new OutputFile(path));
  opened->file_ = std::fopen(opened->unfinished_path_.c_str(), "wb");
  if (opened->file_ == nullptr) return opened->Failed();
  opened->encoder_ = std::move(encoder);
  *file = std::move(opened);
  return Status::Ok();
}

OutputFile::~OutputFile() {
  if (file_ == nullptr) return;
  std::fclose(file_);
  RemoveUnfinished();
}

void OutputFile::RemoveUnfinished() const {
  if (!replaced_.empty()) std::remove(unfinished_path_.c_str());
}

Status OutputFile::Failed() const {
  return Status::IoError(fmt::format("{} cannot be written: {}", path_, ErrnoText(errno)));
}

Status OutputFile::Flush(bool last) {
  if (encoder_ != nullptr) {
    encoded_.clear();
    if (!encoder_->Encode(buffer_, last, &encoded_)) {
      return Status::IoError(fmt::format("{} cannot be written: no memory to compress it", path_));
    }
  }
  const std::string& bytes = encoder_ != nullptr ? encoded_ : buffer_;
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) return Failed();
  buffer_.clear();
  return Status::Ok();
}

Status OutputFile::Finish() {
  MEZZ_RETURN_IF_ERROR(Flush(/*last=*/true));
  const bool closed = std::fclose(file_) == 0;
  file_ = nullptr;
  const bool named = replaced_.empty() || std::rename(unfinished_path_.c_str(), replaced_.c_str()) == 0;
  if (closed && named) return Status::Ok();
  const Status failed = Failed();
  RemoveUnfinished();
  return failed;
}

}  // namespace mezz
