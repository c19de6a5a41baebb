// SPDX-License-Identifier: Apache-2.0
// The memory that this process can have: the machine's, or less where a control group limits it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "cache/status.h"

namespace mezz {

struct MachineMemory {
  uint64_t total_bytes = 0;      // of the machine, or of the tightest control group above us (memory.max, v2 and v1)
  uint64_t available_bytes = 0;  // still available without swapping; page cache counts as available
  // What sets each of the two, for messages: "this machine" or "the control group /system.slice/db.service".
  std::string total_of;
  std::string limited_by;
  uint64_t limit_bytes = 0;  // the total of the machine or group that `limited_by` names
};
// Reads them anew at each call, which takes about 50 us. A figure that the system does not tell is the maximum. `root`
// is prepended to /proc and /sys, for tests.
MachineMemory ReadMachineMemory(const std::string& root = {});

inline uint64_t TotalMemoryBytes() { return ReadMachineMemory().total_bytes; }
inline uint64_t AvailableMemoryBytes() { return ReadMachineMemory().available_bytes; }

// The memory of one NUMA node. Page cache, and what else the kernel drops when memory is needed, counts as available.
struct NodeMemory {
  uint64_t total_bytes = 0;
  uint64_t available_bytes = 0;
};
// Zeros if the system does not tell. `root` is as above.
NodeMemory ReadNodeMemory(int node, const std::string& root = {});

// Memory that this process was granted and has not touched yet. The kernel counts it as available until it is touched,
// so we count it as promised until this object shrinks or is destroyed. Movable. One thread at a time uses an object;
// Bytes() is thread-safe.
class PromisedMemory {
 public:
  PromisedMemory() = default;
  ~PromisedMemory() { ShrinkTo(0); }
  PromisedMemory(PromisedMemory&& other) noexcept : bytes_(std::exchange(other.bytes_, 0)), of_node_(other.of_node_) {}
  PromisedMemory& operator=(PromisedMemory&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    std::swap(of_node_, other.of_node_);
    return *this;
  }

  // The sum of all objects.
  static uint64_t Bytes() { return all_.load(std::memory_order_relaxed); }
  // Shrinks the promise to `bytes`, if it is larger.
  void ShrinkTo(uint64_t bytes) {
    if (bytes >= bytes_) return;
    all_.fetch_sub(bytes_ - bytes, std::memory_order_relaxed);
    if (of_node_ != nullptr) of_node_->fetch_sub(bytes_ - bytes, std::memory_order_relaxed);
    bytes_ = bytes;
  }

 private:
  friend Status CheckMemoryHolds(uint64_t, std::string_view, std::string_view, PromisedMemory*, std::optional<int>);

  // The sum of all objects' bytes_, and those of a NUMA node's. They grow under the mutex of CheckMemoryHolds; other
  // readers see the sum of some moment. Nodes that share a place count together.
  static inline std::atomic<uint64_t> all_{0};
  static inline std::array<std::atomic<uint64_t>, 64> of_nodes_{};
  uint64_t bytes_ = 0;
  std::atomic<uint64_t>* of_node_ = nullptr;
};

// NoSpace if `bytes` are more than the memory that is available and not promised. The message begins with `what` and
// ends in "lower `option`". Otherwise the bytes are promised to `*promised`, if it is not null. Thread-safe: of two
// callers the second sees what the first was promised. `node`: the NUMA node that the memory is bound to, whose own
// memory must hold it, too.
Status CheckMemoryHolds(uint64_t bytes, std::string_view what, std::string_view option = "capacity_bytes",
                        PromisedMemory* promised = nullptr, std::optional<int> node = std::nullopt);

}  // namespace mezz
