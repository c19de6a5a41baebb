// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "cache/base/atomic.h"
#include "cache/base/free_numbers.h"
#include "cache/types.h"

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

namespace mezz {

// What one thread needs while it packs or unpacks one block: buffers and zstd's states (LZ4's is on the stack). Each is
// made when it is first asked for, grows to the largest block seen, and stays until it is given back. Null: there is no
// memory.
class Workspace {
 public:
  Workspace() = default;
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  std::byte* Input(size_t bytes) { return Grow(&input_, bytes); }
  std::byte* Output(size_t bytes) { return Grow(&output_, bytes); }
  ZSTD_CCtx_s* ZstdCompressor();
  ZSTD_DCtx_s* ZstdDecompressor();
  void GiveBackCompressor();
  void GiveBackZstd();

  size_t bytes() const;
  // The most that a workspace takes which has packed and unpacked blocks of this size.
  static uint64_t BytesFor(Codec codec, size_t block_bytes);

 private:
  struct Buffer {
    std::unique_ptr<std::byte[]> memory;
    size_t bytes = 0;
  };
  static std::byte* Grow(Buffer* buffer, size_t bytes);

  Buffer input_, output_;
  ZSTD_CCtx_s* compressor_ = nullptr;
  ZSTD_DCtx_s* decompressor_ = nullptr;
};

// As many workspaces as threads pack at once, up to a bound. The lowest free one is taken, so no more are made than
// were ever needed at once.
//
// Thread-safe. Does not block. Allocates only the memory of a workspace that is new or grows.
class Workspaces {
 public:
  using Numbers = FreeNumbers<Atomic<uint64_t>>;
  static constexpr unsigned kCountMax = Numbers::kCountMax;

  explicit Workspaces(unsigned count) : free_(count) {}

  class Lease {
   public:
    Lease() = default;
    Lease(Lease&& other) noexcept : pool_(std::exchange(other.pool_, nullptr)), number_(other.number_) {}
    Lease& operator=(Lease&& other) noexcept;
    ~Lease() { Return(); }
    explicit operator bool() const { return pool_ != nullptr; }
    Workspace& operator*() const { return pool_->workspaces_[number_]; }
    Workspace* operator->() const { return &**this; }

   private:
    friend class Workspaces;
    Lease(Workspaces* pool, unsigned number) : pool_(pool), number_(number) {}
    void Return();

    Workspaces* pool_ = nullptr;
    unsigned number_ = 0;
  };
  // Takes a workspace. Empty: all are in use.
  Lease Take();
  // Frees zstd's states of all workspaces that are not in use now. A Take meanwhile may find none free.
  void GiveBackZstd();

  uint64_t dram_bytes() const { return sizeof(*this) + held_bytes_.load(std::memory_order_relaxed); }

 private:
  std::array<Workspace, kCountMax> workspaces_;
  std::array<size_t, kCountMax> counted_bytes_{};  // what each counts in held_bytes_; changed by its holder
  Numbers free_;
  Atomic<uint64_t> held_bytes_{0};  // relaxed: a figure
};

}  // namespace mezz
