// SPDX-License-Identifier: Apache-2.0
// The compression formats that traces are read in, streaming: xz, zstd, gzip, bzip2 and lz4.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace mezz {

// A stream that asks for more memory than this to be unpacked is refused; zstd's window may be twice as large, the
// largest that it knows (--long=31).
inline constexpr uint64_t kDecoderMemoryMax = 1ull << 30;
inline constexpr int kZstdWindowLogMax = 31;

// One compression format. Checksums of the format are verified.
class Decoder {
 public:
  // kRefused: the stream may be sound, but is not read; problem() says why and what to do.
  enum class Result { kMore, kStreamEnd, kCorrupt, kRefused };

  virtual ~Decoder() = default;
  // Moves *in and *out past what was consumed and produced. `last`: no input follows what is at hand. After kStreamEnd
  // the next call starts a new stream.
  virtual Result Step(const uint8_t** in, size_t* in_bytes, uint8_t** out, size_t* out_bytes, bool last) = 0;
  // Behind a stream of this format zeros may follow up to the end of the file, as tapes leave them.
  virtual bool zeros_may_follow() const { return false; }
  virtual std::string_view name() const = 0;
  const std::string& problem() const { return problem_; }

 protected:
  std::string problem_;
};

// The decoder for what `head` begins with; null: no format that is known here. `head` may be a few bytes.
std::unique_ptr<Decoder> MakeDecoder(const uint8_t* head, size_t size);

// Frames that zstd and lz4 pass over (pzstd writes one in front of each of its own): 4 bytes that say so, 4 for the
// length. The length with these eight; 0: `head` is no such frame.
inline constexpr size_t kSkippableHeaderBytes = 8;
uint64_t SkippableFrameBytes(const uint8_t* head, size_t size);

}  // namespace mezz
