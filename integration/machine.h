// SPDX-License-Identifier: Apache-2.0
// The memory that this process can get. Sizes in options are judged against it.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

namespace mezz {

struct Machine {
  uint64_t memory_bytes = std::numeric_limits<uint64_t>::max();
  std::string memory_of = "this machine";  // or the control group whose limit it is; for messages
  // Whether the process can get so many bytes of address space at once, under ulimit -v and the kernel's
  // overcommitment.
  bool (*can_map)(uint64_t bytes) = [](uint64_t) { return true; };
};

// The machine that this process runs on: its memory, or the limit of a control group (version 2, or 1) around the
// process if that is less. A value that the system does not tell counts as no limit.
Machine ThisMachine();

}  // namespace mezz
