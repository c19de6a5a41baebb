// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "cache/status.h"

namespace mezz {

// A control group below this process's own that lets its processes have so many bytes of memory, the page cache that
// they fill included. Of cgroup v2, for which this process may move to a group below its own, or of v1 where that has
// the memory controller. Gone when this object goes, which must be after its processes.
class MemoryGroup {
 public:
  // NotSupported, with what stands in the way, where the machine does not let us.
  static Status Create(uint64_t bytes_max, std::unique_ptr<MemoryGroup>* group);
  ~MemoryGroup();

  // Another limit from now on; kept as it is if its processes hold more than the kernel can take back.
  void SetLimit(uint64_t bytes_max);

  // A process that writes "0" here joins.
  int procs_fd() const { return procs_fd_; }

 private:
  MemoryGroup() = default;

  std::string path_;
  std::string limit_path_;
  int procs_fd_ = -1;
};

}  // namespace mezz
