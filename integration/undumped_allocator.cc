// SPDX-License-Identifier: Apache-2.0
#include "integration/undumped_allocator.h"

#include <new>

namespace mezz {

const std::shared_ptr<rocksdb::MemoryAllocator>& UndumpedAllocator::Get() {
  static const auto* const one = new std::shared_ptr<rocksdb::MemoryAllocator>(std::make_shared<UndumpedAllocator>());
  return *one;
}

void* UndumpedAllocator::Allocate(size_t bytes) {
  void* const address = memory_.Allocate(bytes);
  if (address == nullptr) throw std::bad_alloc();
  return address;
}

}  // namespace mezz
