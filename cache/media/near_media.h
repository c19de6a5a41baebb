// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cache/options.h"

namespace mezz {

// Which of several media are near which processors: where each socket has a medium of its own, its threads write to
// that one while it has room.
struct NearMedia {
  struct Node {
    uint32_t near = 0;   // a bit for each medium that no other of its level is nearer than
    unsigned group = 0;  // nodes to which the same media are near have one number, from 0 on
  };
  std::vector<Node> nodes;  // by number; empty: all media are alike, or it is not known where they lie
  unsigned groups = 0;
  // The node of the calling thread's processor at this moment. A test may exchange it.
  unsigned (*node_of_thread)() = nullptr;

  bool empty() const { return nodes.empty(); }
  Node OfThisThread() const {
    if (empty()) return {.near = UINT32_MAX};
    const unsigned node = node_of_thread();
    return nodes[node < nodes.size() ? node : 0];
  }
};

// As this machine has them. Empty for one medium.
NearMedia FindNearMedia(const ScmOptions& options);

// Whether the node has processors. REQUIRES: this kernel has NUMA support (numa_available).
bool NodeHasCpus(int node);

// The nodes of a machine. A test makes one up.
struct NumaMap {
  std::vector<bool> has_cpus;                                 // by node
  std::function<int(unsigned from, unsigned to)> distance{};  // as the firmware tells it: 10 is the node itself
};
// The same of media that lie on `node_of[i]`; -1: it is not known where.
NearMedia FindNearMedia(const ScmOptions& options, std::span<const int> node_of, const NumaMap& map);

// The node next to which the device of this file lies, or the device file itself; -1: the kernel does not tell. Regular
// files on DAX and devdax have one, and so have ordinary drives. `sysfs` is /sys.
int NodeOfDevice(const std::string& path, const std::string& sysfs);

}  // namespace mezz
