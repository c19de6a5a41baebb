// SPDX-License-Identifier: Apache-2.0
#include "integration/machine.h"

#include <sys/mman.h>

#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "fmt/format.h"

namespace mezz {
namespace {

// Nothing is touched, so nothing is used.
bool CanMap(uint64_t bytes) {
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  munmap(memory, bytes);
  return true;
}

uint64_t TotalMemoryBytes(const std::string& root) {
  std::ifstream meminfo(root + "/proc/meminfo");
  for (std::string line; std::getline(meminfo, line);) {
    unsigned long kib = 0;
    if (std::sscanf(line.c_str(), "MemTotal: %lu kB", &kib) == 1) return uint64_t{kib} << 10;
  }
  return std::numeric_limits<uint64_t>::max();
}

// The limit in this file; none where it says "max", or is not there.
uint64_t LimitIn(const std::filesystem::path& file) {
  std::ifstream limit(file);
  std::string text;
  limit >> text;
  uint64_t bytes = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), bytes);
  return parsed.ec == std::errc() ? bytes : std::numeric_limits<uint64_t>::max();
}

// A limit binds all groups below its own. Inside a container the path may lead past what is mounted: then the mount's
// own files are the container's.
void LowerToGroups(const std::filesystem::path& mount, std::string_view group, const char* file, Machine* machine) {
  std::filesystem::path path = std::filesystem::path(group).relative_path();
  for (;;) {
    if (const uint64_t limit = LimitIn(mount / path / file); limit < machine->memory_bytes) {
      machine->memory_bytes = limit;
      machine->memory_of = fmt::format("the control group /{}", path.string());
    }
    if (path.empty()) return;
    path = path.parent_path();
  }
}

}  // namespace

Machine ReadMachine(const std::string& root) {
  Machine machine;
  machine.memory_bytes = TotalMemoryBytes(root);
  machine.can_map = &CanMap;
  const std::string mounts = root + "/sys/fs/cgroup";
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    // hierarchy:controllers:path; version 2 is hierarchy 0 without controllers.
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string_view group = std::string_view(line).substr(second + 1);
    if (controllers == ",,") {
      LowerToGroups(mounts, group, "memory.max", &machine);
      LowerToGroups(mounts + "/unified", group, "memory.max", &machine);
    } else if (controllers.find(",memory,") != std::string::npos) {
      LowerToGroups(mounts + "/memory", group, "memory.limit_in_bytes", &machine);
    }
  }
  return machine;
}

Machine ThisMachine() { return ReadMachine(""); }

}  // namespace mezz
