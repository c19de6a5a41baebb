// SPDX-License-Identifier: Apache-2.0
#include "workloads/replay/caches/memkind_allocator.h"

#include <fmt/format.h>
#include <memkind.h>

#include <cstdlib>

namespace mezz {

bool MemkindAllocator::available() { return true; }

Status MemkindAllocator::Create(const std::string& folder, uint64_t bytes_max, std::shared_ptr<Throttle> throttle,
                                std::shared_ptr<MemkindAllocator>* allocator) {
  // Threads of several arenas extend one file without a common lock: memkind 1.14.0 can die of it. With one arena for
  // each kind it did not, at the same speed. Read when the kind is made, so it is set before, if nobody has.
  setenv("MEMKIND_ARENA_NUM_PER_KIND", "1", /*overwrite=*/0);
  std::shared_ptr<MemkindAllocator> created(new MemkindAllocator(std::move(throttle)));
  memkind_t kind = nullptr;
  const int error = memkind_create_pmem(folder.c_str(), bytes_max, &kind);
  if (error != MEMKIND_SUCCESS) {
    char text[MEMKIND_ERROR_MESSAGE_SIZE];
    memkind_error_message(error, text, sizeof(text));
    return Status::IoError(fmt::format("--caches=naive_scm: memkind cannot use the folder {}: {}", folder, text));
  }
  created->kind_ = kind;
  *allocator = std::move(created);
  return Status::Ok();
}

std::string MemkindAllocator::Report() const {
  const char* const arenas = std::getenv("MEMKIND_ARENA_NUM_PER_KIND");
  return fmt::format("memkind.arenas_per_kind: {}\nmemkind.allocated_bytes: {}\nmemkind.heap_fallbacks: {}\n",
                     arenas == nullptr ? "?" : arenas, allocated_bytes(), heap_fallbacks());
}

MemkindAllocator::~MemkindAllocator() {
  if (kind_ != nullptr) memkind_destroy_kind(static_cast<memkind_t>(kind_));
}

void* MemkindAllocator::Allocate(size_t size) {
  allocated_bytes_.fetch_add(size, std::memory_order_relaxed);
  if (throttle_ != nullptr) throttle_->ChargeWrite(size);
  void* allocated = memkind_malloc(static_cast<memkind_t>(kind_), size);
  if (allocated != nullptr) return allocated;
  heap_fallbacks_.fetch_add(1, std::memory_order_relaxed);
  return memkind_malloc(MEMKIND_DEFAULT, size);
}

// A null kind lets memkind find the one that the pointer came from.
void MemkindAllocator::Deallocate(void* p) { memkind_free(nullptr, p); }

size_t MemkindAllocator::UsableSize(void* p, size_t) const { return memkind_malloc_usable_size(nullptr, p); }

}  // namespace mezz
