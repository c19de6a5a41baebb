// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cache/counters.h"
#include "cache/media/medium.h"
#include "cache/options.h"
#include "cache/pack/codec_rules.h"
#include "fmt/format.h"

namespace mezz {

// Whether a medium that is described so is persistent memory: a device of it, or a file that DAX maps.
inline bool IsPersistentMemory(std::string_view description) {
  return description.starts_with("devdax ") || description.ends_with("-dax)");
}

// A line of the report for a medium of ordinary DRAM, of this process or on tmpfs, if the blocks do not pack well;
// empty otherwise.
inline std::string PackingAdvice(MediumKind kind, const MediumInfo& medium, const CounterSnapshot& counters) {
  if (kind == MediumKind::kNumaNode || medium.emulated || medium.persistent_memory) return "";
  const uint64_t packed = counters[Event::kScmPackedPut], rejected = counters[Event::kPackRejected];
  if (packed + rejected < kPackingTriesMin) return "";
  const double ratio =
      PackingRatio(static_cast<double>(packed), static_cast<double>(counters[Event::kScmPackedPutBytes]),
                   static_cast<double>(counters[Event::kScmPackedPutStored]), static_cast<double>(rejected));
  if (ratio >= kPackingPaysFrom) return "";
  return fmt::format("advice: your blocks pack {:.1f} times: use all of this memory as DRAM cache\n", ratio);
}

}  // namespace mezz
