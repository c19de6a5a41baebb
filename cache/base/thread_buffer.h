// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <utility>

#include "cache/base/undumped_memory.h"

namespace mezz {

// A buffer of the calling thread for one use, that of `Use`. It grows on demand and stays with the thread. A buffer of
// more than kKeptBytesMax stays only until the thread asks for less. No core dump holds it: it is for bytes of blocks.
//
// It may still be asked for after the thread's own objects were destroyed, as by static objects when a process exits.
// That memory is never freed.
template <typename Use>
class ThreadBuffer {
 public:
  static constexpr size_t kKeptBytesMax = 1 << 20;
  static constexpr size_t kPageBytes = 4096;

  // At least `bytes` bytes, valid until the thread's next call, holding what an earlier caller left. Null: no memory.
  static std::byte* AtLeast(size_t bytes) {
    if (memory_ != nullptr && bytes <= bytes_ && (bytes_ <= kKeptBytesMax || bytes > kKeptBytesMax)) [[likely]]
      return memory_;
    static thread_local Owner owner;
    static_cast<void>(owner);
    Free();
    const size_t whole_pages = (bytes / kPageBytes + 1) * kPageBytes;
    memory_ = UndumpedBuffer::Map(whole_pages);
    if (memory_ != nullptr) bytes_ = whole_pages;
    return memory_;
  }

 private:
  struct Owner {
    ~Owner() { Free(); }
  };
  static void Free() { UndumpedBuffer::Unmap(std::exchange(memory_, nullptr), std::exchange(bytes_, 0)); }

  static inline thread_local constinit std::byte* memory_ = nullptr;
  static inline thread_local constinit size_t bytes_ = 0;
};

}  // namespace mezz
