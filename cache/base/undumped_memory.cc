// SPDX-License-Identifier: Apache-2.0
#include "cache/base/undumped_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <new>

namespace mezz {
namespace {

constexpr size_t kAlignment = 16;
constexpr size_t kEvenSizes = 8;  // multiples of kAlignment; above, eight sizes to each power of two
constexpr size_t kEvenBytesMax = kEvenSizes * kAlignment;
constexpr unsigned kEvenBits = 7;  // of kEvenBytesMax
constexpr unsigned kStepBits = 3;
constexpr size_t kPageBytes = 4096;

// At the beginning of each slab and of each mapping of a large piece.
constexpr size_t kHeaderBytes = 64;

struct SizeOfPiece {
  size_t number;
  size_t bytes;
};

SizeOfPiece SizeFor(size_t bytes) {
  if (bytes <= kEvenBytesMax) {
    const size_t number = (std::max<size_t>(bytes, 1) - 1) / kAlignment;
    return {number, (number + 1) * kAlignment};
  }
  const size_t last = bytes - 1;
  const auto bits = static_cast<unsigned>(std::bit_width(last)) - 1;
  const size_t step = last >> (bits - kStepBits);  // 8 to 15
  return {kEvenSizes + (bits - kEvenBits) * (size_t{1} << kStepBits) + step - (size_t{1} << kStepBits),
          (step + 1) << (bits - kStepBits)};
}

void* MapUndumped(size_t bytes) {
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  if (madvise(memory, bytes, MADV_DONTDUMP) == 0) return memory;
  munmap(memory, bytes);
  return nullptr;
}

}  // namespace

struct UndumpedMemory::Slab {
  struct Piece {
    Piece* next;
  };

  size_t mapped_bytes;
  size_t size;         // its number; kSizes: one large piece
  size_t piece_bytes;  // all below GUARDED_BY the mutex of its size
  Piece* free;         // pieces that were given back
  Slab* previous;
  Slab* next;
  uint32_t pieces;
  uint32_t handed;  // of pieces that were never handed out the first
  uint32_t used;

  std::byte* begin() { return reinterpret_cast<std::byte*>(this) + kHeaderBytes; }

  void Link(Slab** list) {
    previous = nullptr;
    next = *list;
    if (next != nullptr) next->previous = this;
    *list = this;
  }
  void Unlink(Slab** list) {
    (previous != nullptr ? previous->next : *list) = next;
    if (next != nullptr) next->previous = previous;
  }
  void* Take() {
    ++used;
    if (free == nullptr) return begin() + piece_bytes * handed++;
    Piece* const piece = free;
    free = piece->next;
    return piece;
  }
  void GiveBack(void* address) {
    --used;
    free = new (address) Piece{free};
  }
};

UndumpedMemory::~UndumpedMemory() {
  if (Slab* const spare = spare_.load(std::memory_order_acquire)) Unmap(spare);
  assert(mapped_bytes() == 0 && "a piece is in use");
}

UndumpedMemory::Slab* UndumpedMemory::SlabOf(const void* address) {
  static_assert(sizeof(Slab) <= kHeaderBytes);
  const auto* const piece = static_cast<const std::byte*>(address);
  const std::byte* const slab = piece - reinterpret_cast<uintptr_t>(piece) % kSlabBytes;
  return reinterpret_cast<Slab*>(const_cast<std::byte*>(slab));
}

// Aligned, so that a piece finds its header.
UndumpedMemory::Slab* UndumpedMemory::Map(size_t bytes) noexcept {
  const size_t wanted = (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
  if (wanted < bytes || wanted + kSlabBytes < wanted) return nullptr;
  auto* const memory = static_cast<std::byte*>(MapUndumped(wanted + kSlabBytes));
  if (memory == nullptr) return nullptr;
  const size_t before = (kSlabBytes - reinterpret_cast<uintptr_t>(memory) % kSlabBytes) % kSlabBytes;
  std::byte* const aligned = memory + before;
  if (before != 0) munmap(memory, before);
  munmap(aligned + wanted, kSlabBytes - before);
  mapped_bytes_.fetch_add(wanted, std::memory_order_relaxed);
  auto* const slab = new (aligned) Slab{};
  slab->mapped_bytes = wanted;
  return slab;
}

void UndumpedMemory::Unmap(Slab* slab) noexcept {
  mapped_bytes_.fetch_sub(slab->mapped_bytes, std::memory_order_relaxed);
  munmap(slab, slab->mapped_bytes);
}

UndumpedMemory::Slab* UndumpedMemory::MakeSlab(size_t size, size_t piece_bytes) noexcept {
  Slab* slab = spare_.exchange(nullptr, std::memory_order_acq_rel);
  if (slab == nullptr) slab = Map(kSlabBytes);
  if (slab == nullptr) return nullptr;
  *slab = Slab{};
  slab->mapped_bytes = kSlabBytes;
  slab->size = size;
  slab->piece_bytes = piece_bytes;
  slab->pieces = static_cast<uint32_t>((kSlabBytes - kHeaderBytes) / piece_bytes);
  return slab;
}

void* UndumpedMemory::Allocate(size_t bytes) noexcept {
  if (bytes > kPieceBytesMax) {
    if (bytes > SIZE_MAX - kHeaderBytes) return nullptr;
    Slab* const large = Map(bytes + kHeaderBytes);
    if (large == nullptr) return nullptr;
    large->size = kSizes;
    large->piece_bytes = large->mapped_bytes - kHeaderBytes;
    return large->begin();
  }
  const SizeOfPiece piece = SizeFor(bytes);
  Size& size = sizes_[piece.number];
  const std::lock_guard lock(size.mutex);
  Slab* slab = size.slabs;
  if (slab == nullptr) {
    slab = MakeSlab(piece.number, piece.bytes);
    if (slab == nullptr) return nullptr;
    slab->Link(&size.slabs);
  }
  void* const address = slab->Take();
  if (slab->used == slab->pieces) slab->Unlink(&size.slabs);
  return address;
}

void UndumpedMemory::Free(void* address) noexcept {
  if (address == nullptr) return;
  Slab* const slab = SlabOf(address);
  if (slab->size == kSizes) return Unmap(slab);
  Size& size = sizes_[slab->size];
  {
    const std::lock_guard lock(size.mutex);
    if (slab->used == slab->pieces) slab->Link(&size.slabs);
    slab->GiveBack(address);
    if (slab->used != 0) return;
    slab->Unlink(&size.slabs);
  }
  if (Slab* const other = spare_.exchange(slab, std::memory_order_acq_rel)) Unmap(other);
}

size_t UndumpedMemory::UsableSize(const void* address) { return SlabOf(address)->piece_bytes; }

std::byte* UndumpedBuffer::Map(size_t bytes) noexcept { return static_cast<std::byte*>(MapUndumped(bytes)); }

void UndumpedBuffer::Unmap(std::byte* memory, size_t bytes) noexcept {
  if (memory != nullptr) munmap(memory, bytes);
}

}  // namespace mezz
