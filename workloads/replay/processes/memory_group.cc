// SPDX-License-Identifier: Apache-2.0
#include "workloads/replay/processes/memory_group.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
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

bool WriteTo(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text << std::flush;
  return file.good();
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

// Where this process goes if it must leave its group.
std::string OwnLeafName() { return fmt::format("mezz_replay.{}", getpid()); }

bool IsOurs(const std::string& pid) {
  if (pid == std::to_string(getpid())) return true;
  std::ifstream status(fmt::format("/proc/{}/status", pid));
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("PPid:")) return std::strtol(line.c_str() + 5, nullptr, 10) == getpid();
  }
  return false;
}

void MoveOurs(const std::string& from, const std::string& to) {
  std::ifstream procs(from + "/cgroup.procs");
  for (std::string pid; procs >> pid;) {
    if (IsOurs(pid)) (void)WriteTo(to + "/cgroup.procs", pid);
  }
}

// A group of cgroup v2 either has processes or hands controllers down. So this process, and those it started, leave
// their group for one below it; that goes with its parent, as a scope of systemd does at the end of its last process.
Status HandMemoryDown(const std::string& group) {
  const std::string leaf = fmt::format("{}/{}", group, OwnLeafName());
  if (mkdir(leaf.c_str(), 0700) != 0) return NotHere(fmt::format("{}: {}", leaf, std::strerror(errno)));
  MoveOurs(group, leaf);
  if (WriteTo(group + "/cgroup.subtree_control", "+memory")) return Status::Ok();
  MoveOurs(leaf, group);
  rmdir(leaf.c_str());
  return NotHere(
      fmt::format("{} does not hand the memory controller down, as it holds other processes; run mezz_replay in "
                  "a group of its own (systemd-run --scope -p Delegate=yes)",
                  group));
}

Status FindHierarchy(Hierarchy* found) {
  if (const auto v1 = OwnGroup("cgroup", "memory")) {
    *found = {*v1, "memory.limit_in_bytes"};
    return Status::Ok();
  }
  const auto v2 = OwnGroup("cgroup2", "");
  if (!v2) return NotHere("no hierarchy with the memory controller is mounted");
  const size_t parent_ends = v2->rfind('/');
  const bool moved_before = v2->substr(parent_ends + 1) == OwnLeafName();
  *found = {moved_before ? v2->substr(0, parent_ends) : *v2, "memory.max"};
  if (HasWord(found->own_group + "/cgroup.subtree_control", "memory")) return Status::Ok();
  if (!HasWord(found->own_group + "/cgroup.controllers", "memory")) {
    return NotHere(
        fmt::format("{} does not have the memory controller; run in a group that has "
                    "(systemd-run --scope -p Delegate=yes)",
                    found->own_group));
  }
  return HandMemoryDown(found->own_group);
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
  if (!WriteTo(created->limit_path_, std::to_string(bytes_max))) {
    return NotHere(fmt::format("{} takes no limit", created->limit_path_));
  }
  created->procs_fd_ = open((path + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC);
  if (created->procs_fd_ < 0) return NotHere(fmt::format("{}/cgroup.procs: {}", path, std::strerror(errno)));
  *group = std::move(created);
  return Status::Ok();
}

void MemoryGroup::SetLimit(uint64_t bytes_max) { (void)WriteTo(limit_path_, std::to_string(bytes_max)); }

MemoryGroup::~MemoryGroup() {
  if (procs_fd_ >= 0) close(procs_fd_);
  if (!path_.empty()) rmdir(path_.c_str());
}

}  // namespace mezz
