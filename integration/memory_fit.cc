// SPDX-License-Identifier: Apache-2.0
#include "integration/memory_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "cache/base/text.h"

namespace mezz {
namespace {

// HyperClockCache maps a table that would serve a capacity full of its smallest entries (64 bytes for each 450 or so),
// and ends the process if it cannot.
constexpr uint64_t kHyperClockTableShare = 4;
constexpr double kIndexBytesOfBlock = 9.4;

Status TooLarge(std::string_view what, uint64_t needed, std::string_view lower, const Machine& machine) {
  return Status::NoSpace(fmt::format("{} needs {} of memory, and {} has {}: lower {}", what, HumanBytes(needed),
                                     machine.memory_of, HumanBytes(machine.memory_bytes), lower));
}

uint64_t IndexBytes(const ScmOptions& scm) {
  return static_cast<uint64_t>(kIndexBytesOfBlock * static_cast<double>(scm.capacity_bytes) / scm.expected_block_bytes);
}

std::string ScmText(const ScmOptions& scm) {
  return fmt::format("scm={} with block={}", SizeText(scm.capacity_bytes), SizeText(scm.expected_block_bytes));
}

uint64_t ScmSideBytes(const ScmOptions& scm) {
  uint64_t memory_bytes = scm.members.empty() && scm.medium != MediumKind::kFile ? scm.capacity_bytes : 0;
  for (const ScmMember& member : scm.members) {
    if (member.medium != MediumKind::kFile) memory_bytes += std::min(member.capacity_bytes, kCapacityBytesMax);
  }
  return IndexBytes(scm) + memory_bytes;
}

}  // namespace

Status CheckScmSideFits(const ScmOptions& scm, const Machine& machine) {
  if (ScmSideBytes(scm) <= machine.memory_bytes) return Status::Ok();
  if (IndexBytes(scm) > machine.memory_bytes) {
    return TooLarge(fmt::format("the index of {}", ScmText(scm)), IndexBytes(scm), "scm, or raise block", machine);
  }
  return TooLarge(fmt::format("scm={} ({})", SizeText(scm.capacity_bytes), scm.MediumText()), ScmSideBytes(scm), "scm",
                  machine);
}

Status CheckDramFits(const HybridCacheOptions& options, const Machine& machine) {
  const std::string dram = fmt::format("dram={}", SizeText(options.dram_bytes));
  if (options.dram_bytes > machine.memory_bytes) return TooLarge(dram, options.dram_bytes, "dram", machine);
  const uint64_t scm_side = ScmSideBytes(options.scm);
  if (scm_side > machine.memory_bytes - options.dram_bytes) {
    return TooLarge(fmt::format("{}, together with {} for {} ({})", dram, HumanBytes(scm_side), ScmText(options.scm),
                                options.scm.MediumText()),
                    options.dram_bytes + scm_side, "dram or scm", machine);
  }
  const uint64_t table_bytes = options.dram_bytes / kHyperClockTableShare;
  if (options.dram_cache == DramCacheKind::kHyperClock && !machine.can_map(std::max<uint64_t>(table_bytes, 1))) {
    return Status::NoSpace(
        fmt::format("{}: HyperClockCache maps up to {} for its table, and this process may not: lower dram, "
                    "or raise ulimit -v",
                    dram, HumanBytes(table_bytes)));
  }
  return Status::Ok();
}

Status CheckTotalFits(uint64_t dram_total_bytes, const Machine& machine) {
  if (dram_total_bytes <= machine.memory_bytes) return Status::Ok();
  return TooLarge(fmt::format("dram_total={}", SizeText(dram_total_bytes)), dram_total_bytes, "dram_total", machine);
}

}  // namespace mezz
