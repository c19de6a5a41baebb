// SPDX-License-Identifier: Apache-2.0
#include "cache/pack/workspaces.h"

#include <zstd.h>

#include <algorithm>
#include <new>

namespace mezz {
namespace {

constexpr size_t kBufferStep = 4 << 10;  // so a buffer grows 64 times at most
// The memory of zstd 1.5 at level 3: 90 KB for blocks of 4 KiB; 284, 664 and 1041 KB for 16, 64 and 256 KiB.
constexpr size_t kZstdCompressorBytesMax = 1100 << 10, kZstdCompressorBytesOfByte = 24;
constexpr size_t kZstdDecompressorBytes = 100 << 10;

size_t Grown(size_t bytes) { return RoundUp(bytes, kBufferStep); }

}  // namespace

uint64_t Workspace::BytesFor(Codec codec, size_t block_bytes) {
  const size_t buffers = 2 * Grown(block_bytes);
  if (codec == Codec::kLz4) return buffers;
  const size_t compressor =
      std::min(std::max(block_bytes, size_t{4096}) * kZstdCompressorBytesOfByte, kZstdCompressorBytesMax);
  return buffers + compressor + kZstdDecompressorBytes;
}

Workspace::~Workspace() {
  ZSTD_freeCCtx(compressor_);
  ZSTD_freeDCtx(decompressor_);
}

std::byte* Workspace::Grow(Buffer* buffer, size_t bytes) {
  if (bytes <= buffer->bytes) return buffer->memory.get();
  const size_t grown = Grown(bytes);
  std::unique_ptr<std::byte[]> memory(new (std::nothrow) std::byte[grown]);
  if (memory == nullptr) return nullptr;
  buffer->memory = std::move(memory);
  buffer->bytes = grown;
  return buffer->memory.get();
}

ZSTD_CCtx* Workspace::ZstdCompressor() {
  if (compressor_ == nullptr) compressor_ = ZSTD_createCCtx();
  return compressor_;
}

ZSTD_DCtx* Workspace::ZstdDecompressor() {
  if (decompressor_ == nullptr) decompressor_ = ZSTD_createDCtx();
  return decompressor_;
}

void Workspace::GiveBackCompressor() {
  if (compressor_ != nullptr) ZSTD_freeCCtx(std::exchange(compressor_, nullptr));
}

void Workspace::GiveBackZstd() {
  GiveBackCompressor();
  if (decompressor_ != nullptr) ZSTD_freeDCtx(std::exchange(decompressor_, nullptr));
}

size_t Workspace::bytes() const {
  return input_.bytes + output_.bytes + ZSTD_sizeof_CCtx(compressor_) + ZSTD_sizeof_DCtx(decompressor_);
}

Workspaces::Lease Workspaces::Take() {
  const auto number = free_.Take();
  return number ? Lease(this, *number) : Lease();
}

void Workspaces::GiveBackZstd() {
  std::array<Lease, kCountMax> held;
  for (Lease& lease : held) {
    lease = Take();
    if (!lease) return;
    lease->GiveBackZstd();
  }
}

Workspaces::Lease& Workspaces::Lease::operator=(Lease&& other) noexcept {
  if (this != &other) {
    Return();
    pool_ = std::exchange(other.pool_, nullptr);
    number_ = other.number_;
  }
  return *this;
}

void Workspaces::Lease::Return() {
  if (pool_ == nullptr) return;
  Workspaces& pool = *std::exchange(pool_, nullptr);
  const size_t now = pool.workspaces_[number_].bytes();
  size_t& counted = pool.counted_bytes_[number_];
  if (now != counted) pool.held_bytes_.fetch_add(now - std::exchange(counted, now), std::memory_order_relaxed);
  pool.free_.Return(number_);
}

}  // namespace mezz
