// SPDX-License-Identifier: Apache-2.0
// What memory this process may count on: the machine's, or less where a control group says so.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cache/status.h"

namespace mezz {

struct MachineMemory {
  uint64_t total_bytes = 0;      // of the machine or the tightest control group (memory.max, v2 and v1) above us
  uint64_t available_bytes = 0;  // of that, what could still be had without swapping; page cache counts as available
  // For messages, of each: "this machine" or "the control group /system.slice/db.service".
  std::string total_of;
  std::string limited_by;
};
// Read anew at each call, some 50 us. What is not told is the maximum. `root` is prepended to /proc and /sys, for
// tests.
MachineMemory ReadMachineMemory(const std::string& root = {});

inline uint64_t TotalMemoryBytes() { return ReadMachineMemory().total_bytes; }
inline uint64_t AvailableMemoryBytes() { return ReadMachineMemory().available_bytes; }

// NoSpace if `bytes` of memory are more than is available; `what` begins the message, which ends in "lower `option`".
Status CheckMemoryHolds(uint64_t bytes, std::string_view what, std::string_view option = "capacity_bytes");

}  // namespace mezz
