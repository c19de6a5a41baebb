// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "integration/fallback_memory.h"
#include "rocksdb/memory_allocator.h"

namespace mezz {

// The allocator that lets RocksDB build a block object around a buffer that we have filled: a packed block is unpacked
// into the memory that it will live in, and copied no second time.
//
// RocksDB's create callbacks ask their allocator for memory of the payload's size and copy the payload there. While a
// Handover is open on the calling thread, Allocate answers the first request of exactly that size with the filled
// buffer itself, so that the copy is onto itself. Every other request, and every return, goes to the fallback, which
// the buffer comes from too: the user's allocator, or malloc.
//
// Thread-safe.
class HandoverAllocator final : public rocksdb::MemoryAllocator {
 public:
  class Handover;

  // The allocator over `fallback`, which may be null. It is made once for each fallback and never destroyed. Promoted
  // objects stay in the DRAM tier, which may outlive the hybrid cache, and they keep a pointer to the allocator that
  // made them. `fallback` must outlive them; it does, because it is the DRAM tier's allocator.
  static HandoverAllocator& Over(rocksdb::MemoryAllocator* fallback);

  // Throws std::bad_alloc.
  void* Allocate(size_t bytes) override;
  void Deallocate(void* address) override { memory_.Deallocate(address); }
  size_t UsableSize(void* address, size_t bytes) const override { return memory_.UsableSize(address, bytes); }
  const char* Name() const override { return "MezzanineHandoverAllocator"; }

 private:
  explicit HandoverAllocator(rocksdb::MemoryAllocator* fallback) : memory_(fallback) {}

  const FallbackMemory memory_;
};

// A buffer that the caller fills. It is offered to whatever the calling thread allocates, until this scope is
// destroyed. The scope frees it unless an object has taken it. Scopes nest, and the inner one counts.
class HandoverAllocator::Handover {
 public:
  // Throws std::bad_alloc.
  Handover(HandoverAllocator& allocator, size_t bytes);
  ~Handover();
  Handover(const Handover&) = delete;
  Handover& operator=(const Handover&) = delete;

  std::byte* data() const { return data_; }
  std::span<const std::byte> payload() const { return {data_, bytes_}; }

 private:
  friend class HandoverAllocator;

  HandoverAllocator& allocator_;
  Handover* const outer_;
  const size_t bytes_;
  std::byte* const data_;
  bool taken_ = false;
};

}  // namespace mezz
