// SPDX-License-Identifier: Apache-2.0
#include "workloads/replay/processes/pages.h"

#include <sys/mman.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "cache/types.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

namespace mezz {
namespace {

constexpr uint64_t kHugePageBytes = 2 << 20;
constexpr uint64_t kPieceBytes = 16 * kHugePageBytes;
constexpr uint64_t kHeapBytesMax = uint64_t{1} << 40;  // a sanitizer's shadow is larger

struct Mapping {
  uint64_t begin = 0;
  uint64_t end = 0;
  bool writable = false;
};

// Heaps, as malloc and mmap make them, and memkind's file. malloc reserves more than it can write to yet: what lies
// there later is to be huge too, so memory without any right counts as well.
std::vector<Mapping> Heaps() {
  std::vector<Mapping> heaps;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    Mapping mapping;
    char rights[5] = "";
    int path_at = 0;
    if (std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %4s %*s %*s %*s %n", &mapping.begin, &mapping.end, rights,
                    &path_at) != 3 ||
        path_at == 0) {
      continue;
    }
    const std::string_view access(rights);
    const std::string_view path = std::string_view(line).substr(path_at);
    const bool heap = access[3] == 'p' && (path.empty() || path == "[heap]");
    const bool memkind = access[3] == 's' && path.find("/memkind.") != std::string_view::npos;
    mapping.writable = access.starts_with("rw");
    if ((heap || memkind) && (mapping.writable || access.starts_with("---"))) heaps.push_back(mapping);
  }
  return heaps;
}

}  // namespace

// A mapping's line has its rights, and those after it what it holds: "Rss:   12 kB".
PageCounts PageCounts::Now() {
  PageCounts counts;
  bool writable = false;
  std::ifstream smaps("/proc/self/smaps");
  for (std::string line; std::getline(smaps, line);) {
    char rights[5] = "";
    if (std::sscanf(line.c_str(), "%*x-%*x %4s", rights) == 1) writable = rights[1] == 'w';
    const size_t colon = line.find(':');
    if (!writable || colon == std::string::npos) continue;
    const std::string_view name = std::string_view(line).substr(0, colon);
    const uint64_t bytes = std::strtoull(line.c_str() + colon + 1, nullptr, 10) * 1024;
    if (name == "Rss") counts.resident_bytes += bytes;
    if (name == "AnonHugePages" || name == "ShmemPmdMapped" || name == "FilePmdMapped") counts.huge_bytes += bytes;
  }
  return counts;
}

void UseHugePages() {
  for (const Mapping& heap : Heaps()) {
    const uint64_t begin = RoundUp(heap.begin, kHugePageBytes);
    const uint64_t end = heap.end / kHugePageBytes * kHugePageBytes;
    if (begin >= end || end - begin > kHeapBytesMax) continue;
    madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
    // In pieces: some failures end a call, and the rest can still be had. Each call costs a flush of all processors'
    // lists of pages.
    for (uint64_t at = begin; heap.writable && at < end; at += kPieceBytes)
      madvise(reinterpret_cast<void*>(at), std::min(kPieceBytes, end - at), MADV_COLLAPSE);
  }
}

}  // namespace mezz
