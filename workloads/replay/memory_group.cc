// SPDX-License-Identifier: Apache-2.0
#include "workloads/replay/memory_group.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>

namespace mezz {
namespace {

struct Hierarchy {
  std::string own_group;   // the folder of this process's group
  const char* limit_file;  // in a group
};

// Whether "a,b,c" lists `word`.
bool Lists(const std::string& list, const std::string& word) {
  return fmt::format(",{},", list).find(fmt::format(",{},", word)) != std::string::npos;
}

// The path of this process in the hierarchy of `controller`; empty: of cgroup v2.
std::optional<std::string> OwnPath(const std::string& controller) {
  std::ifstream groups("/proc/self/cgroup");  // 4:memory:/a/b or 0::/a/b
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (controller.empty() ? controllers.empty() : Lists(controllers, controller)) return line.substr(second + 1);
  }
  return std::nullopt;
}

// The folder of this process's group, where the hierarchy is mounted.
std::optional<std::string> OwnGroup(const std::string& type, const std::string& controller) {
  const std::optional<std::string> own = OwnPath(controller);
  if (!own) return std::nullopt;
  std::ifstream mounts("/proc/self/mountinfo");  // ID PARENT DEVICE ROOT MOUNT OPTIONS ... - TYPE SOURCE OPTIONS
  for (std::string line; std::getline(mounts, line);) {
    if (line.find(fmt::format(" - {} ", type)) == std::string::npos) continue;
    if (!controller.empty() && !Lists(line.substr(line.rfind(' ') + 1), controller)) continue;
    std::istringstream fields(line);
    std::string skipped, root, mount;
    fields >> skipped >> skipped >> skipped >> root >> mount;
    const std::string below = root != "/" && own->starts_with(root) ? own->substr(root.size()) : *own;
    return below == "/" ? mount : mount + below;
  }
  return std::nullopt;
}

bool HasWord(const std::string& path, const std::string& word) {
  std::ifstream file(path);
  for (std::string found; file >> found;) {
    if (found == word) return true;
  }
  return false;
}

Status NotHere(const std::string& why) {
  return Status::NotSupported(fmt::format("no memory cgroup can be made here: {}", why));
}

Status FindHierarchy(Hierarchy* found) {
  if (const auto v1 = OwnGroup("cgroup", "memory")) {
    *found = {*v1, "memory.limit_in_bytes"};
    return Status::Ok();
  }
  const auto v2 = OwnGroup("cgroup2", "");
  if (!v2) return NotHere("no hierarchy with the memory controller is mounted");
  if (!HasWord(*v2 + "/cgroup.subtree_control", "memory")) {
    return NotHere(
        fmt::format("{}/cgroup.subtree_control does not hand the memory controller down; run in a group "
                    "that does (systemd-run --scope -p Delegate=yes)",
                    *v2));
  }
  *found = {*v2, "memory.max"};
  return Status::Ok();
}

}  // namespace

Status MemoryGroup::Create(uint64_t bytes_max, std::unique_ptr<MemoryGroup>* group) {
  static std::atomic<unsigned> made{0};
  Hierarchy hierarchy;
  MEZZ_RETURN_IF_ERROR(FindHierarchy(&hierarchy));
  std::unique_ptr<MemoryGroup> created(new MemoryGroup());
  const std::string path =
      fmt::format("{}/mezz_replay.{}.{}", hierarchy.own_group, getpid(), made.fetch_add(1, std::memory_order_relaxed));
  if (mkdir(path.c_str(), 0700) != 0) return NotHere(fmt::format("{}: {}", path, std::strerror(errno)));
  created->path_ = path;
  created->limit_path_ = fmt::format("{}/{}", path, hierarchy.limit_file);
  std::ofstream file(created->limit_path_);
  file << bytes_max << std::flush;
  if (!file) return NotHere(fmt::format("{} takes no limit", created->limit_path_));
  created->procs_fd_ = open((path + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC);
  if (created->procs_fd_ < 0) return NotHere(fmt::format("{}/cgroup.procs: {}", path, std::strerror(errno)));
  *group = std::move(created);
  return Status::Ok();
}

void MemoryGroup::SetLimit(uint64_t bytes_max) { std::ofstream(limit_path_) << bytes_max << std::flush; }

MemoryGroup::~MemoryGroup() {
  if (procs_fd_ >= 0) close(procs_fd_);
  if (!path_.empty()) rmdir(path_.c_str());
}

}  // namespace mezz
