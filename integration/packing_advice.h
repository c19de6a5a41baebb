// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "cache/counters.h"
#include "cache/media/medium.h"
#include "cache/options.h"
#include "cache/pack/codec_rules.h"
#include "fmt/format.h"

namespace mezz {

// No advice is given before so many blocks have been packed or tried.
inline constexpr uint64_t kPackingTriesMin = 1000;

// A line of the report for a medium of ordinary DRAM, of this process or on tmpfs, if the blocks do not pack well;
// empty otherwise. A block that did not pack counts as one of mean size.
inline std::string PackingAdvice(MediumKind kind, const MediumInfo& medium, const CounterSnapshot& counters) {
  if (kind == MediumKind::kNumaNode || medium.emulated || medium.persistent_memory) return "";
  const uint64_t packed = counters[Event::kScmPackedPut], rejected = counters[Event::kPackRejected];
  if (packed + rejected < kPackingTriesMin) return "";
  const double mean =
      static_cast<double>(counters[Event::kScmPackedPutBytes]) / static_cast<double>(std::max<uint64_t>(packed, 1));
  const double in_vain = packed == 0 ? 1 : static_cast<double>(rejected) * mean;
  const double ratio = (static_cast<double>(counters[Event::kScmPackedPutBytes]) + in_vain) /
                       (static_cast<double>(counters[Event::kScmPackedPutStored]) + in_vain);
  if (ratio >= kPackingPaysFrom) return "";
  return fmt::format("advice: your blocks pack {:.1f} times: use all of this memory as DRAM cache\n", ratio);
}

}  // namespace mezz
