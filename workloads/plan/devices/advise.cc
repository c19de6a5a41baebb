// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "cache/base/text.h"
#include "cache/media/medium.h"
#include "workloads/plan/devices/devices.h"

namespace mezz::plan {
namespace {

constexpr uint64_t kTierBytesMin = kFirstBytesMin;
constexpr uint64_t kTierBytesMax = uint64_t{4} << 40;  // what scm= takes
// Index and policy take 16 bytes for each 4 KiB in either tier, and packing doubles what SCM holds. This leaves half of
// the DRAM for blocks.
constexpr uint64_t kScmOfDramMax = 64;

// A size that reads well: whole GiB from 16 on, whole 64 MiB from 1 GiB on, else whole MiB.
uint64_t Rounded(uint64_t bytes) {
  constexpr uint64_t kMiB = 1 << 20, kGiB = 1 << 30;
  const uint64_t unit = bytes >= 16 * kGiB ? kGiB : bytes >= kGiB ? 64 * kMiB : kMiB;
  return bytes / unit * unit;
}

// Pages of the kernel's own, and of others, come and go.
uint64_t WithoutReserve(uint64_t bytes) { return bytes - bytes / 20; }

struct Sizes {
  uint64_t dram = 0, scm = 0;
};

Sizes Divide(const MachineMemory& memory, const Place& place) {
  const uint64_t available = memory.available_bytes;
  const uint64_t of_place = place.total_bytes == 0 ? available : WithoutReserve(place.available_bytes);
  Sizes sizes;
  if (!TakesMemory(place.kind)) {
    sizes = {.dram = available / 4, .scm = of_place};
  } else if (place.kind == PlaceKind::kNumaNode) {
    // The node is part of what the machine has available; a control group counts it too.
    const uint64_t scm = std::min(of_place, available / 4 * 3);
    sizes = {.dram = (available - scm) / 4, .scm = scm};
  } else {
    const uint64_t half = available / 2;
    sizes = {.dram = half / 4, .scm = std::min(of_place, half / 4 * 3)};
  }
  sizes.dram = Rounded(sizes.dram);
  sizes.scm = Rounded(std::min({sizes.scm, kTierBytesMax, sizes.dram * kScmOfDramMax}));
  return sizes;
}

std::string UriOf(const Place& place, const Sizes& sizes) {
  const std::string head = fmt::format("mezzanine://dram_total={};scm={}@", SizeText(sizes.dram), SizeText(sizes.scm));
  switch (place.kind) {
    case PlaceKind::kNumaNode:
      return fmt::format("{}numa:{}", head, place.node);
    case PlaceKind::kProcess:
      return head + "dram";
    case PlaceKind::kDaxDevice:
      return fmt::format("{}{}", head, place.path);
    default:
      return fmt::format("{}{}{}mezz", head, place.path, place.path.ends_with('/') ? "" : "/");
  }
}

}  // namespace

void Advise(const MachineMemory& memory, std::vector<Place>* places) {
  for (Place& place : *places) {
    if (!place.trouble.empty()) continue;
    const Sizes sizes = Divide(memory, place);
    if (sizes.scm < kTierBytesMin || sizes.dram < kTierBytesMin) {
      place.trouble = fmt::format(
          "{} has {} available of {}, which is too little for both tiers: raise it, or end "
          "other programs",
          memory.limited_by, HumanBytes(memory.available_bytes), HumanBytes(memory.limit_bytes));
      continue;
    }
    if (place.path.find(';') != std::string::npos) {
      place.trouble = "its path contains ';', which ends a value of the URI: mount it elsewhere";
      continue;
    }
    if (place.kind == PlaceKind::kTmpfs && sizes.scm < place.available_bytes / 2) {
      place.remarks.push_back(fmt::format("what lies there is memory, of which {} has {} available", memory.limited_by,
                                          HumanBytes(memory.available_bytes)));
    }
    place.uri = UriOf(place, sizes);
  }
}

}  // namespace mezz::plan
