// SPDX-License-Identifier: Apache-2.0
// Where the bytes of a block come from when it is put into the tier.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>

namespace mezz {

// A reference to a function that copies bytes [offset, offset + bytes) of a block to `to`. If that returns false or
// throws, the put is abandoned. Non-owning, never null.
class BlockSource {
 public:
  template <typename F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, BlockSource>)
      BlockSource(F&& copy)  // NOLINT: implicit, like a function reference
      : object_(const_cast<void*>(static_cast<const void*>(&copy))),
        call_([](void* object, size_t offset, size_t bytes, std::byte* to) -> bool {
          return (*static_cast<std::remove_reference_t<F>*>(object))(offset, bytes, to);
        }) {}
  bool operator()(size_t offset, size_t bytes, std::byte* to) const { return call_(object_, offset, bytes, to); }

 private:
  void* object_;
  bool (*call_)(void*, size_t, size_t, std::byte*);
};

// The source of a block that lies in memory. Pass it to Put and Compare as a temporary.
struct SpanSource {
  std::span<const std::byte> bytes;

  bool operator()(size_t offset, size_t count, std::byte* to) const {
    if (count != 0) std::memcpy(to, bytes.data() + offset, count);
    return true;
  }
};

}  // namespace mezz
