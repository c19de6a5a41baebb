// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

namespace mezz {

// What malloc is, for bytes of blocks that no core dump of the process is to hold (MADV_DONTDUMP).
//
// Memory is mapped in slabs, and each slab is cut into pieces of one size: what was asked for, and an eighth more at
// most (above 128 bytes). What is larger than kPieceBytesMax has a mapping of its own. A slab of which no piece is in
// use serves any size next, or goes back to the system: one is kept.
//
// Thread-safe; a mutex for each size, held for some tens of instructions, and for a system call where a slab is mapped.
// Must outlive its pieces. Pieces are aligned to 16 bytes.
class UndumpedMemory {
 public:
  static constexpr size_t kSlabBytes = 4 << 20;
  static constexpr size_t kPieceBytesMax = 256 << 10;

  UndumpedMemory() = default;
  ~UndumpedMemory();
  UndumpedMemory(const UndumpedMemory&) = delete;
  UndumpedMemory& operator=(const UndumpedMemory&) = delete;

  // Null: no memory, or the kernel cannot leave it out.
  void* Allocate(size_t bytes) noexcept;
  // What Allocate returned, or null.
  void Free(void* address) noexcept;
  // How many bytes the piece has. REQUIRES: what Allocate returned.
  static size_t UsableSize(const void* address);

  // Address space, of which pages are resident once they were written.
  uint64_t mapped_bytes() const { return mapped_bytes_.load(std::memory_order_relaxed); }

 private:
  struct Slab;
  struct Size {
    std::mutex mutex;
    Slab* slabs = nullptr;  // GUARDED_BY(mutex): those with a piece that is free, linked both ways
  };
  static constexpr size_t kSizes = 96;

  static Slab* SlabOf(const void* address);
  Slab* Map(size_t bytes) noexcept;
  void Unmap(Slab* slab) noexcept;
  Slab* MakeSlab(size_t size, size_t piece_bytes) noexcept;

  std::array<Size, kSizes> sizes_;
  // A slab without a piece in use.  null <--exchange, acq_rel--> slab: who takes it sees it as it was left.
  std::atomic<Slab*> spare_{nullptr};
  std::atomic<uint64_t> mapped_bytes_{0};  // relaxed: a figure
};

// A mapping that no core dump holds, for a buffer that lives long.
class UndumpedBuffer {
 public:
  // Null: no memory, or the kernel cannot leave it out.
  static std::byte* Map(size_t bytes) noexcept;
  // What Map returned, or null.
  static void Unmap(std::byte* memory, size_t bytes) noexcept;

  UndumpedBuffer() = default;
  // `get()` is null where Map is.
  explicit UndumpedBuffer(size_t bytes) noexcept : memory_(Map(bytes), Unmapper{bytes}) {}

  std::byte* get() const { return memory_.get(); }

 private:
  struct Unmapper {
    size_t bytes;
    void operator()(std::byte* memory) const noexcept { Unmap(memory, bytes); }
  };
  std::unique_ptr<std::byte, Unmapper> memory_;
};

}  // namespace mezz
