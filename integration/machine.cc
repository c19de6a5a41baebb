// SPDX-License-Identifier: Apache-2.0
#include "integration/machine.h"

#include <sys/mman.h>

#include "cache/base/machine_memory.h"

namespace mezz {
namespace {

// Nothing is touched, so nothing is used.
bool CanMap(uint64_t bytes) {
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  munmap(memory, bytes);
  return true;
}

}  // namespace

Machine ThisMachine() {
  const MachineMemory memory = ReadMachineMemory();
  return {.memory_bytes = memory.total_bytes, .memory_of = memory.total_of, .can_map = &CanMap};
}

}  // namespace mezz
