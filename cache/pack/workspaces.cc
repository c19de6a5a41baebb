// SPDX-License-Identifier: Apache-2.0
#include "cache/pack/workspaces.h"

#include <lz4.h>
#include <zstd.h>

#include <algorithm>
#include <bit>
#include <new>

namespace mezz {

Workspace::~Workspace() {
  ZSTD_freeCCtx(compressor_);
  ZSTD_freeDCtx(decompressor_);
}

std::byte* Workspace::Grow(Buffer* buffer, size_t bytes) {
  constexpr size_t kBytesMin = 16 << 10;
  if (bytes <= buffer->bytes) return buffer->memory.get();
  const size_t grown = std::bit_ceil(std::max(bytes, kBytesMin));
  std::unique_ptr<std::byte[]> memory(new (std::nothrow) std::byte[grown]);
  if (memory == nullptr) return nullptr;
  buffer->memory = std::move(memory);
  buffer->bytes = grown;
  return buffer->memory.get();
}

void* Workspace::Lz4State() { return Grow(&lz4_state_, static_cast<size_t>(LZ4_sizeofState())); }

ZSTD_CCtx* Workspace::ZstdCompressor() {
  if (compressor_ == nullptr) compressor_ = ZSTD_createCCtx();
  return compressor_;
}

ZSTD_DCtx* Workspace::ZstdDecompressor() {
  if (decompressor_ == nullptr) decompressor_ = ZSTD_createDCtx();
  return decompressor_;
}

size_t Workspace::bytes() const {
  return input_.bytes + output_.bytes + lz4_state_.bytes + ZSTD_sizeof_CCtx(compressor_) +
         ZSTD_sizeof_DCtx(decompressor_);
}

Workspaces::Lease Workspaces::Take() {
  const auto number = free_.Take();
  return number ? Lease(this, *number) : Lease();
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
  size_t& told = pool.told_bytes_[number_];
  if (now != told) pool.held_bytes_.fetch_add(now - std::exchange(told, now), std::memory_order_relaxed);
  pool.free_.Return(number_);
}

}  // namespace mezz
