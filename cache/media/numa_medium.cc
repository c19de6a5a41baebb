// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <numa.h>
#include <numaif.h>

#include <cerrno>
#include <memory>
#include <string>
#include <utility>

#include "cache/base/machine_memory.h"
#include "cache/base/text.h"
#include "cache/media/anonymous_medium.h"
#include "cache/media/near_media.h"
#include "cache/media/open.h"

namespace mezz {
namespace {

struct BitmaskDeleter {
  void operator()(bitmask* mask) const { numa_bitmask_free(mask); }
};
using Bitmask = std::unique_ptr<bitmask, BitmaskDeleter>;

std::string NodeList() {
  std::string list;
  for (int node = 0; node <= numa_max_node(); ++node) {
    if (!numa_bitmask_isbitset(numa_all_nodes_ptr, static_cast<unsigned>(node))) continue;
    list += fmt::format("{}{}", list.empty() ? "" : ", ", node);
  }
  return list;
}

bool HasMemoryForUs(int node) {
  return node <= numa_max_node() && numa_bitmask_isbitset(numa_all_nodes_ptr, static_cast<unsigned>(node));
}

Status CheckNode(int node, uint64_t bytes, PromisedMemory* promised) {
  if (numa_available() < 0) {
    return Status::NotSupported(
        fmt::format("numa_node={} cannot be used: this kernel has no NUMA support; choose another medium", node));
  }
  if (!HasMemoryForUs(node)) {
    return Status::InvalidArgument(fmt::format(
        "numa_node={} has no memory this process may use: choose one of {} (numactl --hardware)", node, NodeList()));
  }
  const NodeMemory memory = ReadNodeMemory(node);
  if (memory.total_bytes == 0) {
    return Status::InvalidArgument(fmt::format("numa_node={} has no memory: choose one of {}", node, NodeList()));
  }
  if (bytes > memory.total_bytes) {
    return Status::NoSpace(fmt::format("numa_node={} holds {} and capacity_bytes needs {}: lower capacity_bytes", node,
                                       ExactBytes(memory.total_bytes), ExactBytes(bytes)));
  }
  // A control group's limit holds for the memory of every node, and who is bound to one is killed there.
  return CheckMemoryHolds(bytes, fmt::format("numa_node={}", node), "capacity_bytes", promised, node);
}

// Binds the medium's memory to the node. Strictly, as memory of another node would be another medium than the user
// named.
Status Bind(const Medium& medium, int node) {
  const Bitmask nodes(numa_allocate_nodemask());
  numa_bitmask_setbit(nodes.get(), static_cast<unsigned>(node));
  if (mbind(medium.base(), medium.bytes(), MPOL_BIND, nodes->maskp, nodes->size + 1, 0) == 0) return Status::Ok();
  const int error = errno;
  if (error == EPERM || error == ENOSYS) {
    return Status::NotSupported(
        fmt::format("numa_node={} cannot be bound to: mbind is not permitted here ({}); allow it (containers: "
                    "CAP_SYS_NICE) or choose another medium",
                    node, ErrnoText(error)));
  }
  return Status::IoError(
      fmt::format("numa_node={} cannot be bound to ({}): choose another node or medium", node, ErrnoText(error)));
}

}  // namespace

Status OpenNumaMedium(const MediumOrder& order, std::unique_ptr<Medium>* medium, std::unique_ptr<Preparer>* preparer) {
  const int node = order.options.numa_node;
  PromisedMemory promised;
  MEZZ_RETURN_IF_ERROR(CheckNode(node, order.bytes, &promised));
  const std::string name = fmt::format("numa_node={}", node);
  auto memory = std::make_unique<AnonymousMedium>();
  MEZZ_RETURN_IF_ERROR(memory->Reserve(order.bytes, name, order.address()));
  MEZZ_RETURN_IF_ERROR(Bind(*memory, node));
  MEZZ_RETURN_IF_ERROR(PrepareFirstPart(order, memory->base(), name, {}, preparer, std::move(promised)));
  const bool ordinary_dram = NodeHasCpus(node);
  memory->Describe(
      {.description = fmt::format("numa node {} ({})", node, ordinary_dram ? "DRAM, with CPUs" : "no CPUs"),
       .granularity = StoreGranularity::kPage,
       .persistent_memory = false,
       .emulated = order.options.model != MediumModelName::kNone});
  *medium = std::move(memory);
  return Status::Ok();
}

}  // namespace mezz
