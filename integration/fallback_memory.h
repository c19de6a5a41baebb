// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <malloc.h>

#include <cstddef>
#include <cstdlib>
#include <new>

#include "rocksdb/memory_allocator.h"

namespace mezz {

// The user's allocator, or malloc if there is none. As thread-safe as these are.
class FallbackMemory {
 public:
  // `allocator` is not owned, and may be null.
  explicit FallbackMemory(rocksdb::MemoryAllocator* allocator) : allocator_(allocator) {}

  // Throws std::bad_alloc, as RocksDB's own allocation does.
  void* Allocate(size_t bytes) const {
    void* const address = allocator_ != nullptr ? allocator_->Allocate(bytes) : std::malloc(bytes);
    if (address == nullptr) throw std::bad_alloc();
    return address;
  }
  void Deallocate(void* address) const { allocator_ != nullptr ? allocator_->Deallocate(address) : std::free(address); }
  size_t UsableSize(void* address, size_t bytes) const {
    return allocator_ != nullptr ? allocator_->UsableSize(address, bytes) : malloc_usable_size(address);
  }

  const rocksdb::MemoryAllocator* allocator() const { return allocator_; }

 private:
  rocksdb::MemoryAllocator* const allocator_;
};

}  // namespace mezz
