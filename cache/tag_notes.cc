// SPDX-License-Identifier: Apache-2.0
#include "cache/tag_notes.h"

#include <sys/mman.h>

namespace mezz {

TagNotes::TagNotes() {
  void* const memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  if (madvise(memory, kBytes, MADV_WIPEONFORK) != 0) {
    munmap(memory, kBytes);
    return;
  }
  memory_ = memory;
  state_ = static_cast<Atomic<uint64_t>*>(memory);
  words_ = reinterpret_cast<uint64_t*>(static_cast<std::byte*>(memory) + kPage);
  state_->store(kOpen, std::memory_order_release);
}

TagNotes::~TagNotes() {
  if (memory_ != nullptr) munmap(memory_, kBytes);
}

void TagNotes::Close() {
  if (state_->load(std::memory_order_acquire) == kClosed) return;
  state_->store(kClosing, std::memory_order_release);
  for (Stripe& stripe : stripes_) const std::lock_guard until_who_saw_it_open_is_done(stripe.mutex);
  state_->store(kClosed, std::memory_order_release);
  madvise(words_, kBytes - kPage, MADV_DONTNEED);
}

}  // namespace mezz
