// SPDX-License-Identifier: Apache-2.0
// The build without memkind.
#include "workloads/replay/caches/memkind_allocator.h"

namespace mezz {

bool MemkindAllocator::available() { return false; }
Status MemkindAllocator::Create(const std::string&, uint64_t, std::shared_ptr<Throttle>,
                                std::shared_ptr<MemkindAllocator>*) {
  return Status::NotSupported("--caches=naive_scm: built without memkind");
}
MemkindAllocator::~MemkindAllocator() = default;
std::string MemkindAllocator::Report() const { return {}; }
void* MemkindAllocator::Allocate(size_t) { return nullptr; }
void MemkindAllocator::Deallocate(void*) {}
size_t MemkindAllocator::UsableSize(void*, size_t allocation_size) const { return allocation_size; }

}  // namespace mezz
