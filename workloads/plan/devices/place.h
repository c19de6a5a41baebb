// SPDX-License-Identifier: Apache-2.0
// The places of a machine where an SCM tier could lie.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cache/base/machine_memory.h"
#include "cache/status.h"

namespace mezz::plan {

enum class PlaceKind : uint8_t {
  kNumaNode,   // a NUMA node with memory and without processors: CXL, KMEM-DAX
  kDaxDevice,  // of /sys/bus/dax: a devdax device, or one whose memory is a NUMA node now
  kDaxMount,   // a file system whose files are mapped by DAX
  kTmpfs,
  kProcess,  // memory of the process itself: there everywhere, and what the others are compared with
};
std::string_view ToString(PlaceKind kind);  // "numa_node", "dax_device", "dax_mount", "tmpfs", "process"
// Whether what lies there counts as memory of the process's control group.
constexpr bool TakesMemory(PlaceKind kind) { return kind != PlaceKind::kDaxDevice && kind != PlaceKind::kDaxMount; }

// What one thread measured there, in some quarters of a second.
struct PlaceSpeed {
  uint64_t scratch_bytes = 0;      // the bytes that it read and wrote, over and over
  double read_ns = 0;              // of one read of 4 KiB at a random place
  double write_bytes_per_s = 0;    // in order; 0: nothing was written, as there is data
  bool persistent_memory = false;  // the kernel granted MAP_SYNC, or it is devdax
  std::string medium{};            // as the cache's report would call it
};

struct Place {
  PlaceKind kind = PlaceKind::kProcess;
  std::string path{};            // a device, or the folder where a file system is mounted; empty for the others
  int node = -1;                 // of kNumaNode; of kDaxDevice the node that its memory is, or would be
  uint64_t total_bytes = 0;      // 0: it has no bound of its own
  uint64_t available_bytes = 0;  // of them, as the place itself tells
  uint64_t alignment = 0;        // of kDaxDevice: a mapping is a multiple of it
  std::string trouble{};         // why a tier cannot lie there, and what to do; empty: it can
  std::vector<std::string> remarks{};

  std::optional<PlaceSpeed> speed{};
  std::string not_measured{};  // why, where a tier could lie; empty if there is a speed
  std::string uri{};           // a cache that uses it; empty if there is trouble
};
// "numa:1", "dram", or the path.
std::string NameOf(const Place& place);

// The space of a file system.
struct FileSpace {
  uint64_t total_bytes = 0;  // 0: it has no bound of its own
  uint64_t available_bytes = 0;
  uint64_t file_system = 0;  // its number: two mounts of one have the same
  bool writable = false;     // by this process
};
Status ReadFileSpace(const std::string& folder, FileSpace* space);

// The machine. Tests have made-up ones.
struct Surroundings {
  std::string root;  // stands before /proc, /sys, /dev and where file systems are mounted
  std::function<Status(const std::string& folder, FileSpace* space)> read_space = &ReadFileSpace;
};

// Finds all places, those with trouble too, by kind. A DAX device is opened and its first 4 KiB are read; nothing else
// is touched. Call ContainBusErrors before, as the device's memory may fail.
std::vector<Place> FindPlaces(const Surroundings& surroundings);

}  // namespace mezz::plan
