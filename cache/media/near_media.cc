// SPDX-License-Identifier: Apache-2.0
#include "cache/media/near_media.h"

#include <fmt/format.h>
#include <numa.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <system_error>

namespace mezz {
namespace {

unsigned NodeOfThisThread() {
  unsigned cpu = 0, node = 0;
  return getcpu(&cpu, &node) == 0 ? node : 0;
}

NumaMap MapOfThisMachine() {
  NumaMap map;
  if (numa_available() < 0) return map;
  for (int node = 0; node <= numa_max_node(); ++node) map.has_cpus.push_back(NodeHasCpus(node));
  map.distance = [](unsigned from, unsigned to) { return numa_distance(static_cast<int>(from), static_cast<int>(to)); };
  return map;
}

// The media of the level that are nearest to a node.
uint32_t NearestOf(const ScmOptions& options, std::span<const int> node_of, const NumaMap& map, unsigned node,
                   Level level) {
  uint32_t nearest = 0;
  int least = std::numeric_limits<int>::max();
  for (size_t i = 0; i < node_of.size(); ++i) {
    if (options.members[i].level != level) continue;
    const int distance = map.distance(node, static_cast<unsigned>(node_of[i]));
    if (distance < least) nearest = 0;
    least = std::min(least, distance);
    if (distance == least) nearest |= 1u << i;
  }
  return nearest;
}

}  // namespace

bool NodeHasCpus(int node) {
  bitmask* const cpus = numa_allocate_cpumask();
  const bool has = numa_node_to_cpus(node, cpus) == 0 && numa_bitmask_weight(cpus) > 0;
  numa_bitmask_free(cpus);
  return has;
}

NearMedia FindNearMedia(const ScmOptions& options, std::span<const int> node_of, const NumaMap& map) {
  NearMedia near;
  const auto has_node = [&](int node) { return node >= 0 && static_cast<size_t>(node) < map.has_cpus.size(); };
  if (node_of.size() < 2 || !std::ranges::all_of(node_of, has_node)) return near;
  std::vector<uint32_t> near_of_group;
  for (unsigned node = 0; node < map.has_cpus.size(); ++node) {
    NearMedia::Node& one = near.nodes.emplace_back(NearMedia::Node{.near = (1u << node_of.size()) - 1});
    if (!map.has_cpus[node]) continue;
    one.near =
        NearestOf(options, node_of, map, node, Level::kFast) | NearestOf(options, node_of, map, node, Level::kSlow);
    const auto at = std::ranges::find(near_of_group, one.near);
    one.group = static_cast<unsigned>(at - near_of_group.begin());
    if (at == near_of_group.end()) near_of_group.push_back(one.near);
  }
  // Where all processors have the same media near, the farther ones would be filled last for nothing.
  if (near_of_group.size() < 2) return {};
  near.groups = static_cast<unsigned>(near_of_group.size());
  near.node_of_thread = NodeOfThisThread;
  return near;
}

NearMedia FindNearMedia(const ScmOptions& options) {
  std::vector<int> node_of;
  for (const ScmMember& member : options.members)
    node_of.push_back(member.medium == MediumKind::kFile ? NodeOfDevice(member.path, "/sys") : member.numa_node);
  return node_of.empty() ? NearMedia() : FindNearMedia(options, node_of, MapOfThisMachine());
}

// The device's directory, or one above it, tells: that of the region or of the bus.
int NodeOfDevice(const std::string& path, const std::string& sysfs) {
  struct stat file {};
  if (stat(path.c_str(), &file) != 0) return -1;
  const bool is_device = S_ISCHR(file.st_mode);
  const dev_t device = is_device ? file.st_rdev : file.st_dev;
  std::error_code error;
  const std::filesystem::path root = std::filesystem::canonical(sysfs, error);
  std::filesystem::path at = std::filesystem::canonical(
      fmt::format("{}/dev/{}/{}:{}", sysfs, is_device ? "char" : "block", major(device), minor(device)), error);
  if (error) return -1;
  for (; at.has_relative_path() && at != root; at = at.parent_path()) {
    for (const char* const name : {"numa_node", "device/numa_node"}) {
      int node = -1;
      if (std::ifstream(at / name) >> node && node >= 0) return node;
    }
  }
  return -1;
}

}  // namespace mezz
