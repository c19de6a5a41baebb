// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>

namespace mezz::test {

// "rd wr sh mr dd ...", of the mapping that `address` lies in.
inline std::string KernelFlagsOf(const void* address) {
  std::ifstream maps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    uintptr_t begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2)
      inside = begin <= reinterpret_cast<uintptr_t>(address) && reinterpret_cast<uintptr_t>(address) < end;
    if (inside && line.starts_with("VmFlags:")) return line + " ";
  }
  return "";
}

inline bool LeftOutOfDumps(const void* address) { return KernelFlagsOf(address).find(" dd ") != std::string::npos; }

}  // namespace mezz::test
