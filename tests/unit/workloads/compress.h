// SPDX-License-Identifier: Apache-2.0
// Compresses what a test then reads back.
#pragma once

#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <string>
#include <vector>

namespace mezz {

enum class Compression { kNone, kXz, kZstd, kGzip };
inline constexpr Compression kCompressions[] = {Compression::kNone, Compression::kXz, Compression::kZstd,
                                                Compression::kGzip};

inline std::string Gzip(const std::string& content) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, content.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<unsigned>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<unsigned>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

inline std::string Compress(Compression how, const std::string& content) {
  std::string out(content.size() + 4096, '\0');
  size_t bytes = 0;
  switch (how) {
    case Compression::kNone:
      return content;
    case Compression::kXz:
      (void)!lzma_easy_buffer_encode(1, LZMA_CHECK_CRC64, nullptr, reinterpret_cast<const uint8_t*>(content.data()),
                                     content.size(), reinterpret_cast<uint8_t*>(out.data()), &bytes, out.size());
      break;
    case Compression::kZstd: {
      ZSTD_CCtx* context = ZSTD_createCCtx();
      ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
      bytes = ZSTD_compress2(context, out.data(), out.size(), content.data(), content.size());
      ZSTD_freeCCtx(context);
      break;
    }
    case Compression::kGzip:
      return Gzip(content);
  }
  out.resize(bytes);
  return out;
}

}  // namespace mezz
