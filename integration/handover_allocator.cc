// SPDX-License-Identifier: Apache-2.0
#include "integration/handover_allocator.h"

#include <memory>
#include <mutex>
#include <vector>

namespace mezz {
namespace {

thread_local HandoverAllocator::Handover* current_handover = nullptr;

}  // namespace

HandoverAllocator& HandoverAllocator::Over(rocksdb::MemoryAllocator* fallback) {
  static std::mutex mutex;
  static auto* const all = new std::vector<HandoverAllocator*>;  // guarded by mutex
  const std::lock_guard lock(mutex);
  for (HandoverAllocator* const one : *all) {
    if (one->memory_.allocator() == fallback) return *one;
  }
  std::unique_ptr<HandoverAllocator> made(new HandoverAllocator(fallback));
  all->push_back(made.get());
  return *made.release();
}

void* HandoverAllocator::Allocate(size_t bytes) {
  Handover* const handover = current_handover;
  if (handover != nullptr && &handover->allocator_ == this && !handover->taken_ && bytes == handover->bytes_) {
    handover->taken_ = true;
    return handover->data_;
  }
  return memory_.Allocate(bytes);
}

HandoverAllocator::Handover::Handover(HandoverAllocator& allocator, size_t bytes)
    : allocator_(allocator),
      outer_(current_handover),
      bytes_(bytes),
      data_(static_cast<std::byte*>(allocator.memory_.Allocate(bytes))) {
  current_handover = this;
}

HandoverAllocator::Handover::~Handover() {
  current_handover = outer_;
  if (!taken_) allocator_.memory_.Deallocate(data_);
}

}  // namespace mezz
