// SPDX-License-Identifier: Apache-2.0
#include "cache/base/machine_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <charconv>
#include <fstream>
#include <limits>
#include <mutex>
#include <optional>
#include <sstream>

#include "cache/base/text.h"

namespace mezz {
namespace {

constexpr uint64_t kUnlimited = std::numeric_limits<uint64_t>::max();

// A control group without a limit says "max" (v2), or a number near 2^63 (v1).
std::optional<uint64_t> ReadNumber(const std::string& path) {
  std::ifstream file(path);
  std::string text;
  if (!(file >> text)) return std::nullopt;
  uint64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || value >= uint64_t{1} << 62) return std::nullopt;
  return value;
}

// The value after `name` in lines of "name value" or "name: value".
uint64_t Field(const std::string& path, std::string_view name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string key;
    uint64_t value = 0;
    if (!(words >> key >> value)) continue;
    if (key.ends_with(':')) key.pop_back();
    if (key == name) return value;
  }
  return kUnlimited;
}

uint64_t FieldOrZero(const std::string& path, std::string_view name) {
  const uint64_t value = Field(path, name);
  return value == kUnlimited ? 0 : value;
}

struct Hierarchy {
  std::string mount;  // of the controller
  std::string group;  // of this process, "/" or "/a/b"
  const char* limit;
  const char* usage;
  const char* stat_prefix;  // v1's own counts are of the group without its children; those with "total_" are of all
};

// The control groups of this process. "0::/a/b" is v2; "5:memory:/a/b" is v1, alone or among other controllers.
std::optional<Hierarchy> FindHierarchy(const std::string& root) {
  std::ifstream groups(root + "/proc/self/cgroup");
  std::optional<Hierarchy> found;
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = fmt::format(",{},", line.substr(first + 1, second - first - 1));
    const std::string group = line.substr(second + 1);
    if (controllers.find(",memory,") != std::string::npos) {
      return Hierarchy{root + "/sys/fs/cgroup/memory", group, "memory.limit_in_bytes", "memory.usage_in_bytes",
                       "total_"};
    }
    if (controllers == ",,") found = Hierarchy{root + "/sys/fs/cgroup", group, "memory.max", "memory.current", ""};
  }
  return found;
}

// Narrows the memory by the limit of each group from ours up to the root. In a container the path may belong to another
// namespace, so that only the mount itself can be read; the walk ends there in any case.
void Narrow(const Hierarchy& hierarchy, MachineMemory* memory) {
  std::string group = hierarchy.group == "/" ? "" : hierarchy.group;
  while (true) {
    const std::string folder = hierarchy.mount + group + "/";
    if (const auto limit = ReadNumber(folder + hierarchy.limit)) {
      const std::string stat = folder + "memory.stat";
      const std::string prefix = hierarchy.stat_prefix;
      const uint64_t used = ReadNumber(folder + hierarchy.usage).value_or(0);
      const uint64_t droppable =
          FieldOrZero(stat, prefix + "inactive_file") + FieldOrZero(stat, prefix + "active_file");
      const uint64_t held = used - std::min(used, droppable);
      const uint64_t available = *limit - std::min(*limit, held);
      const std::string name = fmt::format("the control group {}", group.empty() ? "/" : group);
      if (*limit < memory->total_bytes) {
        memory->total_bytes = *limit;
        memory->total_of = name;
      }
      if (available < memory->available_bytes) {
        memory->available_bytes = available;
        memory->limited_by = name;
        memory->limit_bytes = *limit;
      }
    }
    if (group.empty()) return;
    group.resize(group.find_last_of('/') == std::string::npos ? 0 : group.find_last_of('/'));
  }
}

uint64_t KibToBytes(uint64_t kib) { return kib == kUnlimited ? kUnlimited : kib << 10; }

}  // namespace

MachineMemory ReadMachineMemory(const std::string& root) {
  const std::string meminfo = root + "/proc/meminfo";
  MachineMemory memory{.total_bytes = KibToBytes(Field(meminfo, "MemTotal")),
                       .available_bytes = KibToBytes(Field(meminfo, "MemAvailable")),
                       .total_of = "this machine",
                       .limited_by = "this machine"};
  memory.limit_bytes = memory.total_bytes;
  if (const auto hierarchy = FindHierarchy(root)) Narrow(*hierarchy, &memory);
  return memory;
}

NodeMemory ReadNodeMemory(int node, const std::string& root) {
  std::ifstream meminfo(fmt::format("{}/sys/devices/system/node/node{}/meminfo", root, node));
  NodeMemory memory;
  for (std::string line; std::getline(meminfo, line);) {  // "Node 1 MemFree:  123 kB"
    std::istringstream words(line);
    std::string key, skipped;
    uint64_t kib = 0;
    if (!(words >> skipped >> skipped >> key >> kib)) continue;
    if (key == "MemTotal:") memory.total_bytes = kib << 10;
    if (key == "MemFree:" || key == "Active(file):" || key == "Inactive(file):" || key == "SReclaimable:")
      memory.available_bytes += kib << 10;
  }
  return memory;
}

Status CheckMemoryHolds(uint64_t bytes, std::string_view what, std::string_view option, PromisedMemory* promised,
                        std::optional<int> node) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  MachineMemory memory = ReadMachineMemory();
  uint64_t taken = std::min(memory.available_bytes, PromisedMemory::Bytes());
  std::atomic<uint64_t>* const of_node =
      node ? &PromisedMemory::of_nodes_[static_cast<size_t>(*node) % PromisedMemory::of_nodes_.size()] : nullptr;
  if (node && bytes <= memory.available_bytes - taken) {
    const NodeMemory its = ReadNodeMemory(*node);
    memory.available_bytes = its.available_bytes;
    memory.limit_bytes = its.total_bytes;
    memory.limited_by = "the node";
    taken = std::min(memory.available_bytes, of_node->load(std::memory_order_relaxed));
  }
  if (bytes <= memory.available_bytes - taken) {
    if (promised == nullptr) return Status::Ok();
    assert(promised->bytes_ == 0);
    promised->bytes_ = bytes;
    promised->of_node_ = of_node;
    PromisedMemory::all_.fetch_add(bytes, std::memory_order_relaxed);
    if (of_node != nullptr) of_node->fetch_add(bytes, std::memory_order_relaxed);
    return Status::Ok();
  }
  return Status::NoSpace(fmt::format(
      "{} needs {} of memory and {} has {} available of {}{}: lower {}", what, ExactBytes(bytes), memory.limited_by,
      ExactBytes(memory.available_bytes - taken), ExactBytes(memory.limit_bytes),
      taken == 0 ? "" : fmt::format(", beside {} that this process is still to take", ExactBytes(taken)), option));
}

}  // namespace mezz
