// SPDX-License-Identifier: Apache-2.0
#include "workloads/readers/decoders.h"

#include <bzlib.h>
#include <fmt/format.h>
#include <lz4frame.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <initializer_list>

#include "workloads/readers/bytes.h"

namespace mezz {
namespace {

class XzDecoder final : public Decoder {
 public:
  // Streams that follow each other, and the padding between them, are liblzma's to read.
  XzDecoder() { started_ = lzma_stream_decoder(&stream_, kDecoderMemoryMax, LZMA_CONCATENATED) == LZMA_OK; }
  ~XzDecoder() override { lzma_end(&stream_); }

  std::string_view name() const override { return "xz"; }
  Result Step(const uint8_t** in, size_t* in_bytes, uint8_t** out, size_t* out_bytes, bool last) override {
    if (!started_) return Result::kCorrupt;
    stream_.next_in = *in;
    stream_.avail_in = *in_bytes;
    stream_.next_out = *out;
    stream_.avail_out = *out_bytes;
    const lzma_ret result = lzma_code(&stream_, last ? LZMA_FINISH : LZMA_RUN);
    *in = stream_.next_in;
    *in_bytes = stream_.avail_in;
    *out = stream_.next_out;
    *out_bytes = stream_.avail_out;
    if (result == LZMA_STREAM_END) return Result::kStreamEnd;
    if (result == LZMA_OK || result == LZMA_BUF_ERROR) return Result::kMore;
    if (result != LZMA_MEMLIMIT_ERROR) return Result::kCorrupt;
    problem_ = fmt::format(
        "its xz stream takes {} MiB of memory to unpack, more than {} MiB; pack it with a smaller dictionary, as "
        "xz -9 does",
        lzma_memusage(&stream_) >> 20, kDecoderMemoryMax >> 20);
    return Result::kRefused;
  }

 private:
  lzma_stream stream_ = LZMA_STREAM_INIT;
  bool started_ = false;
};

class ZstdDecoder final : public Decoder {
 public:
  ZstdDecoder() { ZSTD_DCtx_setParameter(stream_, ZSTD_d_windowLogMax, kZstdWindowLogMax); }
  ~ZstdDecoder() override { ZSTD_freeDStream(stream_); }

  std::string_view name() const override { return "zstd"; }
  Result Step(const uint8_t** in, size_t* in_bytes, uint8_t** out, size_t* out_bytes, bool /*last*/) override {
    ZSTD_inBuffer input{*in, *in_bytes, 0};
    ZSTD_outBuffer output{*out, *out_bytes, 0};
    const size_t result = ZSTD_decompressStream(stream_, &output, &input);
    *in += input.pos;
    *in_bytes -= input.pos;
    *out += output.pos;
    *out_bytes -= output.pos;
    if (ZSTD_isError(result) != 0) return Refuse(ZSTD_getErrorCode(result));
    return result == 0 ? Result::kStreamEnd : Result::kMore;
  }

 private:
  Result Refuse(ZSTD_ErrorCode error) {
    switch (error) {
      case ZSTD_error_frameParameter_windowTooLarge:
      case ZSTD_error_memory_allocation:
        problem_ = fmt::format(
            "its zstd stream has a window that {}; pack it with a smaller one: zstd --long=27, or without --long",
            error == ZSTD_error_memory_allocation
                ? std::string("this machine has no memory for")
                : fmt::format("is larger than {} MiB", 1ull << (kZstdWindowLogMax - 20)));
        return Result::kRefused;
      case ZSTD_error_dictionary_wrong:
        problem_ = "its zstd stream was packed with a dictionary, which is not in the file; unpack it with zstd -D";
        return Result::kRefused;
      default:
        return Result::kCorrupt;
    }
  }

  ZSTD_DStream* const stream_ = ZSTD_createDStream();
};

class GzipDecoder final : public Decoder {
 public:
  GzipDecoder() { inflateInit2(&stream_, 15 + 16); }
  ~GzipDecoder() override { inflateEnd(&stream_); }

  std::string_view name() const override { return "gzip"; }
  Result Step(const uint8_t** in, size_t* in_bytes, uint8_t** out, size_t* out_bytes, bool /*last*/) override {
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
  bool zeros_may_follow() const override { return true; }

 private:
  z_stream stream_{};
};

class Bzip2Decoder final : public Decoder {
 public:
  Bzip2Decoder() { Start(); }
  ~Bzip2Decoder() override { BZ2_bzDecompressEnd(&stream_); }

  std::string_view name() const override { return "bzip2"; }
  Result Step(const uint8_t** in, size_t* in_bytes, uint8_t** out, size_t* out_bytes, bool /*last*/) override {
    if (!started_) return Result::kCorrupt;
    stream_.next_in = const_cast<char*>(reinterpret_cast<const char*>(*in));
    stream_.avail_in = static_cast<unsigned>(*in_bytes);
    stream_.next_out = reinterpret_cast<char*>(*out);
    stream_.avail_out = static_cast<unsigned>(*out_bytes);
    const int result = BZ2_bzDecompress(&stream_);
    *in = reinterpret_cast<const uint8_t*>(stream_.next_in);
    *in_bytes = stream_.avail_in;
    *out = reinterpret_cast<uint8_t*>(stream_.next_out);
    *out_bytes = stream_.avail_out;
    if (result == BZ_STREAM_END) {
      BZ2_bzDecompressEnd(&stream_);
      Start();
      return Result::kStreamEnd;
    }
    return result == BZ_OK ? Result::kMore : Result::kCorrupt;
  }
  bool zeros_may_follow() const override { return true; }

 private:
  void Start() {
    stream_ = {};
    started_ = BZ2_bzDecompressInit(&stream_, 0, 0) == BZ_OK;
  }

  bz_stream stream_{};
  bool started_ = false;
};

class Lz4Decoder final : public Decoder {
 public:
  Lz4Decoder() { started_ = LZ4F_isError(LZ4F_createDecompressionContext(&context_, LZ4F_VERSION)) == 0; }
  ~Lz4Decoder() override { LZ4F_freeDecompressionContext(context_); }

  std::string_view name() const override { return "lz4"; }
  Result Step(const uint8_t** in, size_t* in_bytes, uint8_t** out, size_t* out_bytes, bool /*last*/) override {
    if (!started_) return Result::kCorrupt;
    size_t consumed = *in_bytes;
    size_t produced = *out_bytes;
    const size_t result = LZ4F_decompress(context_, *out, &produced, *in, &consumed, nullptr);
    if (LZ4F_isError(result) != 0) return Result::kCorrupt;
    *in += consumed;
    *in_bytes -= consumed;
    *out += produced;
    *out_bytes -= produced;
    return result == 0 ? Result::kStreamEnd : Result::kMore;
  }

 private:
  LZ4F_dctx* context_ = nullptr;
  bool started_ = false;
};

bool StartsWith(const uint8_t* bytes, size_t size, std::initializer_list<uint8_t> magic) {
  return size >= magic.size() && std::equal(magic.begin(), magic.end(), bytes);
}

// "BZh", the size of its blocks, and the mark of a block or of an empty stream's end: three letters alone are a key.
bool IsBzip2(const uint8_t* head, size_t size) {
  if (size < 10 || !StartsWith(head, size, {'B', 'Z', 'h'}) || head[3] < '1' || head[3] > '9') return false;
  return StartsWith(head + 4, size - 4, {0x31, 0x41, 0x59, 0x26, 0x53, 0x59}) ||
         StartsWith(head + 4, size - 4, {0x17, 0x72, 0x45, 0x38, 0x50, 0x90});
}

}  // namespace

std::unique_ptr<Decoder> MakeDecoder(const uint8_t* head, size_t size) {
  if (StartsWith(head, size, {0xfd, '7', 'z', 'X', 'Z', 0x00})) return std::make_unique<XzDecoder>();
  if (StartsWith(head, size, {0x28, 0xb5, 0x2f, 0xfd})) return std::make_unique<ZstdDecoder>();
  if (StartsWith(head, size, {0x1f, 0x8b, 0x08})) return std::make_unique<GzipDecoder>();
  if (StartsWith(head, size, {0x04, 0x22, 0x4d, 0x18})) return std::make_unique<Lz4Decoder>();
  if (IsBzip2(head, size)) return std::make_unique<Bzip2Decoder>();
  return nullptr;
}

uint64_t SkippableFrameBytes(const uint8_t* head, size_t size) {
  if (size < kSkippableHeaderBytes || (LoadAs<uint32_t>(head) & 0xfffffff0u) != 0x184d2a50u) return 0;
  return kSkippableHeaderBytes + uint64_t{LoadAs<uint32_t>(head + 4)};
}

}  // namespace mezz
