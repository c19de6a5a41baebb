// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "cache/media/model.h"
#include "cache/status.h"
#include "rocksdb/memory_allocator.h"

namespace mezz {

// The naive way to put a block cache on SCM, and a baseline for ours: every block is a malloc from a file-backed
// memkind kind. RocksDB's allocators must not fail, so what the kind cannot hold comes from the heap and is counted.
class MemkindAllocator : public rocksdb::MemoryAllocator {
 public:
  static bool available();
  // `throttle` may be null; it is charged a streamed write for each allocation, since each is filled once.
  static Status Create(const std::string& folder, uint64_t bytes_max, std::shared_ptr<Throttle> throttle,
                       std::shared_ptr<MemkindAllocator>* allocator);
  ~MemkindAllocator() override;

  const char* Name() const override { return "mezz.MemkindAllocator"; }
  void* Allocate(size_t size) override;
  void Deallocate(void* p) override;
  size_t UsableSize(void* p, size_t allocation_size) const override;

  // Lines of "name: value".
  std::string Report() const;
  uint64_t allocated_bytes() const { return allocated_bytes_.load(std::memory_order_relaxed); }
  uint64_t heap_fallbacks() const { return heap_fallbacks_.load(std::memory_order_relaxed); }

 private:
  explicit MemkindAllocator(std::shared_ptr<Throttle> throttle) : throttle_(std::move(throttle)) {}

  void* kind_ = nullptr;  // memkind_t
  std::shared_ptr<Throttle> throttle_;
  std::atomic<uint64_t> allocated_bytes_{0};  // ever; only counted, orders nothing
  std::atomic<uint64_t> heap_fallbacks_{0};
};

}  // namespace mezz
