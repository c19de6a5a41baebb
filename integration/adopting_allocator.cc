// SPDX-License-Identifier: Apache-2.0
#include "integration/adopting_allocator.h"

#include <utility>

#ifdef __SANITIZE_THREAD__
extern "C" void AnnotateIgnoreWritesBegin(const char* file, int line);
extern "C" void AnnotateIgnoreWritesEnd(const char* file, int line);
#endif

namespace mezz {
namespace {

thread_local AdoptingAllocator::Adoption* current_adoption = nullptr;

// RocksDB's copy of the payload onto itself stores nothing, but the thread sanitizer takes it for a write, and each
// reader of the block for a race with it. What others write meanwhile it sees when the object is read.
void StopLooking() {
#ifdef __SANITIZE_THREAD__
  AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
#endif
}
void LookAgain() {
#ifdef __SANITIZE_THREAD__
  AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
#endif
}

}  // namespace

void* AdoptingAllocator::Allocate(size_t bytes) {
  if (Adoption* adoption = current_adoption; adoption != nullptr && &adoption->allocator_ == this) {
    if (adoption->state_ == Adoption::State::kOffered && bytes == adoption->payload_.size()) {
      adoption->state_ = Adoption::State::kTaken;
      return const_cast<std::byte*>(adoption->payload_.data());
    }
    ++adoption->other_requests_;
  }
  return memory_.Allocate(bytes);
}

void AdoptingAllocator::Deallocate(void* address) {
  if (!scm_.Owns(address)) return memory_.Deallocate(address);
  // Pins of one record are alike, so it does not matter if it is another object of the same record that goes.
  if (Adoption* adoption = current_adoption;
      adoption != nullptr && adoption->state_ == Adoption::State::kTaken && adoption->payload_.data() == address) {
    adoption->state_ = Adoption::State::kReturned;
    return;
  }
  scm_.Unpin(static_cast<const std::byte*>(address));
}

size_t AdoptingAllocator::UsableSize(void* address, size_t bytes) const {
  return scm_.Owns(address) ? 0 : memory_.UsableSize(address, bytes);
}

AdoptingAllocator::Adoption::Adoption(AdoptingAllocator& allocator, PinnedBlock&& block)
    : allocator_(allocator), outer_(current_adoption), payload_(block.payload()) {
  block.Detach();
  current_adoption = this;
  StopLooking();
}

AdoptingAllocator::Adoption::~Adoption() {
  LookAgain();
  current_adoption = outer_;
  if (state_ != State::kTaken) allocator_.scm_.Unpin(payload_.data());
}

}  // namespace mezz
