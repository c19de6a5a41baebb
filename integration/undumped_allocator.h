// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include "cache/base/undumped_memory.h"
#include "rocksdb/memory_allocator.h"

namespace mezz {

// The allocator of a DRAM tier whose blocks no core dump is to hold (core_dump=none): readers of RocksDB 8.9 and later
// ask their cache's allocator for the memory of every block, and so do we for what comes from SCM.
//
// One to a process, never destroyed: objects keep a pointer to it, and may outlive their cache. Thread-safe.
class UndumpedAllocator final : public rocksdb::MemoryAllocator {
 public:
  static const std::shared_ptr<rocksdb::MemoryAllocator>& Get();

  // Throws std::bad_alloc, as RocksDB's own allocation does.
  void* Allocate(size_t bytes) override;
  void Deallocate(void* address) override { memory_.Free(address); }
  size_t UsableSize(void* address, size_t /*bytes*/) const override { return UndumpedMemory::UsableSize(address); }
  const char* Name() const override { return "MezzanineUndumpedAllocator"; }

 private:
  UndumpedMemory memory_;
};

}  // namespace mezz
