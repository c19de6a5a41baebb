// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <mntent.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <utility>

#include "cache/base/text.h"
#include "cache/media/medium.h"
#include "workloads/plan/devices/dax_device.h"
#include "workloads/plan/devices/place.h"

namespace mezz::plan {
namespace {

namespace fs = std::filesystem;

// A smaller tier is of no use.
constexpr uint64_t kPlaceBytesMin = kFirstBytesMin;

std::string FirstWord(const std::string& path) {
  std::ifstream file(path);
  std::string word;
  file >> word;
  return word;
}

// "0x40000000" or "1073741824"; what is not there, or no number, is `otherwise`.
int64_t NumberIn(const std::string& path, int64_t otherwise) {
  std::string word = FirstWord(path);
  const int base = word.starts_with("0x") ? 16 : 10;
  const size_t begin = base == 16 ? 2 : 0;
  int64_t number = 0;
  const auto [stop, error] = std::from_chars(word.data() + begin, word.data() + word.size(), number, base);
  return error == std::errc() && stop == word.data() + word.size() && begin < word.size() ? number : otherwise;
}

// The number behind `prefix` in a file's name.
std::optional<int> NumberBehind(std::string_view prefix, std::string_view name) {
  int number = 0;
  if (!name.starts_with(prefix)) return std::nullopt;
  const auto [stop, error] = std::from_chars(name.data() + prefix.size(), name.data() + name.size(), number);
  return error == std::errc() && stop == name.data() + name.size() ? std::optional(number) : std::nullopt;
}

std::vector<std::string> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    names.push_back(entry->path().filename().string());
  std::ranges::sort(names);
  return names;
}

struct Node {
  bool has_cpus = false;
  NodeMemory memory;
};
std::map<int, Node> ReadNodes(const std::string& root) {
  const std::string folder = root + "/sys/devices/system/node";
  std::map<int, Node> nodes;
  for (const std::string& name : NamesIn(folder)) {
    const std::optional<int> number = NumberBehind("node", name);
    if (!number) continue;
    nodes[*number] = {.has_cpus = !FirstWord(fmt::format("{}/{}/cpulist", folder, name)).empty(),
                      .memory = ReadNodeMemory(*number, root)};
  }
  return nodes;
}

// Whether `number` is in a list as the kernel prints it: "0-3,8".
bool IsListed(int number, const std::string& list) {
  std::istringstream ranges(list);
  for (std::string range; std::getline(ranges, range, ',');) {
    int first = 0, last = 0;
    const int read = std::sscanf(range.c_str(), "%d-%d", &first, &last);
    if (read >= 1 && number >= first && number <= (read == 1 ? first : last)) return true;
  }
  return false;
}

// The nodes whose memory this process may use, as the kernel lists them; empty: it does not tell.
std::string AllowedNodes(const std::string& root) {
  std::ifstream status(root + "/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    std::istringstream words(line);
    std::string name, list;
    if (words >> name >> list && name == "Mems_allowed_list:") return list;
  }
  return "";
}

void AddNodes(const Surroundings& surroundings, const std::map<int, Node>& nodes, std::vector<Place>* places) {
  const std::string allowed = AllowedNodes(surroundings.root);
  for (const auto& [number, node] : nodes) {
    if (node.has_cpus || node.memory.total_bytes == 0) continue;
    Place& place = places->emplace_back();
    place.kind = PlaceKind::kNumaNode;
    place.node = number;
    place.total_bytes = node.memory.total_bytes;
    place.available_bytes = node.memory.available_bytes;
    if (!allowed.empty() && !IsListed(number, allowed)) {
      place.trouble = fmt::format(
          "this process may use memory of the nodes {} only: add {} to cpuset.mems of its control group (systemd: "
          "AllowedMemoryNodes=)",
          allowed, number);
    } else if (place.available_bytes < kPlaceBytesMin) {
      place.trouble = fmt::format("{} of it is free: move other programs' memory off the node (numactl --membind)",
                                  HumanBytes(place.available_bytes));
    }
  }
}

// Where the memory of a device went that the kernel has taken as its own.
std::string TakenAsMemory(const std::string& device, int node, const std::map<int, Node>& nodes) {
  const std::string back = fmt::format("daxctl reconfigure-device --mode=devdax -f {}", device);
  const auto found = nodes.find(node);
  if (found == nodes.end() || found->second.memory.total_bytes == 0)
    return fmt::format("its memory is the kernel's (mode system-ram) and not online: daxctl online-memory {}, or {}",
                       device, back);
  if (found->second.has_cpus) {
    return fmt::format("its memory has joined node {}, which has processors, so that nothing tells it from DRAM: {}",
                       node, back);
  }
  return fmt::format("its memory is node {} now (mode system-ram): use scm=SIZE@numa:{}; {} makes it a device again",
                     node, node, back);
}

void AddDaxDevices(const Surroundings& surroundings, const std::map<int, Node>& nodes, std::vector<Place>* places) {
  const std::string folder = surroundings.root + "/sys/bus/dax/devices";
  for (const std::string& name : NamesIn(folder)) {
    const std::string attributes = fmt::format("{}/{}", folder, name);
    Place& place = places->emplace_back();
    place.kind = PlaceKind::kDaxDevice;
    place.path = fmt::format("/dev/{}", name);
    place.total_bytes = place.available_bytes =
        static_cast<uint64_t>(std::max<int64_t>(NumberIn(attributes + "/size", 0), 0));
    place.alignment = static_cast<uint64_t>(std::max<int64_t>(NumberIn(attributes + "/align", 2 << 20), 4096));
    place.node = static_cast<int>(NumberIn(attributes + "/target_node", -1));
    std::error_code none;
    const std::string driver = fs::read_symlink(attributes + "/driver", none).filename().string();
    if (place.total_bytes < kPlaceBytesMin) {
      place.trouble = fmt::format("it has {} of memory: make one with daxctl create-device, or ndctl create-namespace",
                                  HumanBytes(place.total_bytes));
    } else if (driver == "kmem") {
      place.trouble = TakenAsMemory(name, place.node, nodes);
    } else if (driver != "device_dax") {
      place.trouble = fmt::format("no driver of devdax has it: daxctl reconfigure-device --mode=devdax {}", name);
    } else {
      JudgeDaxDevice(surroundings.root, &place);
    }
  }
}

// A mount that may do: its kind, and what its options say.
struct Mount {
  PlaceKind kind = PlaceKind::kTmpfs;
  std::string folder;
  std::string trouble;
  std::string remark;
};

// "dax=always" of "rw,dax=always,size=1k"; empty: there is no such option.
std::string OptionOf(const mntent& entry, const char* name) {
  const char* const found = hasmntopt(&entry, name);
  if (found == nullptr) return "";
  const std::string_view rest = found;
  return std::string(rest.substr(0, rest.find(',')));
}

bool JudgeMount(const mntent& entry, Mount* mount) {
  const std::string_view type = entry.mnt_type, device = entry.mnt_fsname;
  mount->folder = entry.mnt_dir;
  // The kernel's own trees hold no files of programs.
  for (const std::string_view tree : {"/proc/", "/sys/"}) {
    if (mount->folder.starts_with(tree)) return false;
  }
  if (!OptionOf(entry, "ro").empty()) mount->trouble = "it is mounted read-only: mount -o remount,rw";
  if (type == "tmpfs") return true;
  if (type != "ext4" && type != "xfs") return false;
  mount->kind = PlaceKind::kDaxMount;
  const std::string dax = OptionOf(entry, "dax");
  if (dax == "dax" || dax == "dax=always") return true;
  if (dax == "dax=inode") {
    mount->remark =
        "files are mapped by DAX where they are marked so: xfs_io -c 'chattr +x' on the folder, or mount "
        "with -o dax=always";
    return true;
  }
  if (!device.starts_with("/dev/pmem")) return false;
  mount->trouble = fmt::format(
      "{} is persistent memory and mounted without DAX: umount it, and mount -o dax=always (blocks of 4 KiB; xfs: "
      "made with -m reflink=0)",
      device);
  return true;
}

struct CloseMounts {
  void operator()(FILE* table) const { endmntent(table); }
};

// Where one folder is mounted over twice, the later mount is seen.
std::vector<Mount> ReadMounts(const std::string& root) {
  std::vector<Mount> mounts;
  const std::unique_ptr<FILE, CloseMounts> table(setmntent((root + "/proc/self/mounts").c_str(), "re"));
  if (table == nullptr) return mounts;
  mntent entry{};
  std::vector<char> text(64 << 10);
  while (getmntent_r(table.get(), &entry, text.data(), static_cast<int>(text.size())) != nullptr) {
    std::erase_if(mounts, [&](const Mount& mount) { return mount.folder == entry.mnt_dir; });
    if (Mount mount; JudgeMount(entry, &mount)) mounts.push_back(std::move(mount));
  }
  return mounts;
}

// What the file system itself says against it.
std::string TroubleOf(const FileSpace& space) {
  if (!space.writable) {
    return "this process may not write there: run this as the user of the database, or give that user a folder there "
           "(install -d -o USER)";
  }
  if (space.total_bytes != 0 && space.total_bytes < kPlaceBytesMin)
    return fmt::format("it has {} in all: mount it with a larger size=", HumanBytes(space.total_bytes));
  if (space.total_bytes != 0 && space.available_bytes < kPlaceBytesMin) {
    return fmt::format("it is full: {} of {} are left; remove files, or mount it with a larger size=",
                       HumanBytes(space.available_bytes), HumanBytes(space.total_bytes));
  }
  return "";
}

void AddMounts(const Surroundings& surroundings, PlaceKind kind, const std::vector<Mount>& mounts,
               std::vector<Place>* places) {
  std::map<uint64_t, std::string> seen;
  for (const Mount& mount : mounts) {
    if (mount.kind != kind) continue;
    FileSpace space;
    const Status status = surroundings.read_space(surroundings.root + mount.folder, &space);
    Place place{.kind = kind, .path = mount.folder, .trouble = mount.trouble};
    place.total_bytes = space.total_bytes;
    place.available_bytes = space.available_bytes;
    if (!mount.remark.empty()) place.remarks.push_back(mount.remark);
    if (!status.ok()) {
      place.trouble = status.message();
    } else if (const auto [first, is_new] = seen.insert({space.file_system, mount.folder}); !is_new) {
      place.trouble = fmt::format("it is the same file system as {}", first->second);
    } else if (place.trouble.empty()) {
      place.trouble = TroubleOf(space);
    }
    places->push_back(std::move(place));
  }
}

}  // namespace

std::string_view ToString(PlaceKind kind) {
  switch (kind) {
    case PlaceKind::kNumaNode:
      return "numa_node";
    case PlaceKind::kDaxDevice:
      return "dax_device";
    case PlaceKind::kDaxMount:
      return "dax_mount";
    case PlaceKind::kTmpfs:
      return "tmpfs";
    case PlaceKind::kProcess:
      break;
  }
  return "process";
}

std::string NameOf(const Place& place) {
  if (place.kind == PlaceKind::kNumaNode) return fmt::format("numa:{}", place.node);
  return place.kind == PlaceKind::kProcess ? "dram" : place.path;
}

Status ReadFileSpace(const std::string& folder, FileSpace* space) {
  struct statvfs found {};
  struct stat folder_stat {};
  if (statvfs(folder.c_str(), &found) != 0 || stat(folder.c_str(), &folder_stat) != 0) {
    return Status::IoError(
        fmt::format("this process may not look at it ({}): run this as the user of the database", ErrnoText(errno)));
  }
  *space = {.total_bytes = found.f_blocks * found.f_frsize,
            .available_bytes = found.f_bavail * found.f_frsize,
            .file_system = folder_stat.st_dev,
            .writable = access(folder.c_str(), W_OK | X_OK) == 0};
  return Status::Ok();
}

std::vector<Place> FindPlaces(const Surroundings& surroundings) {
  std::vector<Place> places;
  const std::map<int, Node> nodes = ReadNodes(surroundings.root);
  AddNodes(surroundings, nodes, &places);
  AddDaxDevices(surroundings, nodes, &places);
  const std::vector<Mount> mounts = ReadMounts(surroundings.root);
  AddMounts(surroundings, PlaceKind::kDaxMount, mounts, &places);
  AddMounts(surroundings, PlaceKind::kTmpfs, mounts, &places);
  const MachineMemory memory = ReadMachineMemory(surroundings.root);
  places.push_back(
      {.kind = PlaceKind::kProcess, .total_bytes = memory.total_bytes, .available_bytes = memory.available_bytes});
  return places;
}

}  // namespace mezz::plan
