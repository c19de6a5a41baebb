// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <new>
#include <utility>

namespace mezz {

// Memory of the calling thread for one use, that of `Use`: it grows as it is asked to and stays with the thread. Of a
// giant, more than kKeptBytesMax, until somebody asks for less.
//
// Whoever is destroyed after the thread's own objects, as what is static when a process exits, may ask still; what that
// gets is not freed.
template <typename Use>
class ThreadBuffer {
 public:
  static constexpr size_t kKeptBytesMax = 1 << 20;

  // At least so many bytes, with what a former caller left in them, until the thread's next call. Null: no memory.
  static std::byte* AtLeast(size_t bytes) {
    if (memory_ != nullptr && bytes <= bytes_ && (bytes_ <= kKeptBytesMax || bytes > kKeptBytesMax)) [[likely]]
      return memory_;
    static thread_local Owner owner;
    static_cast<void>(owner);
    Free();
    memory_ = new (std::nothrow) std::byte[bytes];
    if (memory_ != nullptr) bytes_ = bytes;
    return memory_;
  }

 private:
  struct Owner {
    ~Owner() { Free(); }
  };
  static void Free() {
    delete[] std::exchange(memory_, nullptr);
    bytes_ = 0;
  }

  static inline thread_local constinit std::byte* memory_ = nullptr;
  static inline thread_local constinit size_t bytes_ = 0;
};

}  // namespace mezz
