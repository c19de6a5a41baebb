// SPDX-License-Identifier: Apache-2.0
// What memory this process may count on: the machine's, or less where a control group says so.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "cache/status.h"

namespace mezz {

struct MachineMemory {
  uint64_t total_bytes = 0;      // of the machine or the tightest control group (memory.max, v2 and v1) above us
  uint64_t available_bytes = 0;  // of that, what could still be had without swapping; page cache counts as available
  // For messages, of each: "this machine" or "the control group /system.slice/db.service".
  std::string total_of;
  std::string limited_by;
  uint64_t limit_bytes = 0;  // the total of what `limited_by` names
};
// Read anew at each call, some 50 us. What is not told is the maximum. `root` is prepended to /proc and /sys, for
// tests.
MachineMemory ReadMachineMemory(const std::string& root = {});

inline uint64_t TotalMemoryBytes() { return ReadMachineMemory().total_bytes; }
inline uint64_t AvailableMemoryBytes() { return ReadMachineMemory().available_bytes; }

// Memory that this process was granted and has not touched yet: the kernel counts it as available until then. It is
// promised until this object shrinks or goes. Movable; Bytes() is thread-safe, an object is used by one thread at a
// time.
class PromisedMemory {
 public:
  PromisedMemory() = default;
  ~PromisedMemory() { ShrinkTo(0); }
  PromisedMemory(PromisedMemory&& other) noexcept : bytes_(std::exchange(other.bytes_, 0)) {}
  PromisedMemory& operator=(PromisedMemory&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  // Of all objects.
  static uint64_t Bytes() { return all_.load(std::memory_order_relaxed); }
  // Keeps what it has if that is less.
  void ShrinkTo(uint64_t bytes) {
    if (bytes >= bytes_) return;
    all_.fetch_sub(bytes_ - bytes, std::memory_order_relaxed);
    bytes_ = bytes;
  }

 private:
  friend Status CheckMemoryHolds(uint64_t, std::string_view, std::string_view, PromisedMemory*);

  // The sum of all objects' bytes_. Grows under CheckMemoryHolds' mutex; a sum that is read beside is one of a moment.
  static inline std::atomic<uint64_t> all_{0};
  uint64_t bytes_ = 0;
};

// NoSpace if `bytes` of memory are more than is available and not promised; `what` begins the message, which ends in
// "lower `option`". Otherwise they are promised to `*promised`, if there is one. Thread-safe: of two callers the second
// sees what the first was promised.
Status CheckMemoryHolds(uint64_t bytes, std::string_view what, std::string_view option = "capacity_bytes",
                        PromisedMemory* promised = nullptr);

}  // namespace mezz
