// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ostream>
#include <utility>
#include <vector>

#include "cache/media/medium.h"
#include "cache/types.h"

namespace mezz::test {

// A medium in memory that counts what would cost time on a real one. One thread, and one such medium at a time: streams
// and drains name none.
class CountingMedium final : public Medium {
 public:
  struct Counts {
    uint64_t lines = 0;     // streamed
    uint64_t drains = 0;    // store fences
    uint64_t persists = 0;  // calls of msync; none where a drain does it
    bool operator==(const Counts&) const = default;
    friend void PrintTo(const Counts& counts, std::ostream* out) {
      *out << counts.lines << " lines, " << counts.drains << " drains, " << counts.persists << " persists";
    }
  };

  CountingMedium(uint64_t bytes, StoreGranularity granularity) : memory_(bytes + kLineBytes) {
    assert(active_ == nullptr);
    active_ = this;
    const auto address = reinterpret_cast<uintptr_t>(memory_.data());
    base_ = memory_.data() + (RoundUp(address, kLineBytes) - address);
    bytes_ = bytes;
    info_.granularity = granularity;
    stream_ = [](void* to, const void* from, size_t count) {
      assert(reinterpret_cast<uintptr_t>(to) % kLineBytes == 0 && count % kLineBytes == 0);
      std::memcpy(to, from, count);
      active_->counts_.lines += count / kLineBytes;
    };
    drain_ = [] { ++active_->counts_.drains; };
    if (granularity == StoreGranularity::kPage) {
      persist_ = [](const void*, size_t) {
        ++active_->counts_.persists;
        return true;
      };
    }
  }
  ~CountingMedium() override { active_ = nullptr; }

  // Since it was asked last.
  Counts Take() { return std::exchange(counts_, {}); }

 private:
  static inline CountingMedium* active_ = nullptr;
  std::vector<std::byte> memory_;
  Counts counts_;
};

}  // namespace mezz::test
