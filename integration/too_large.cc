// SPDX-License-Identifier: Apache-2.0
#include "integration/too_large.h"

#include <fmt/format.h>

#include <bit>

#include "cache/base/if_memory.h"
#include "cache/base/text.h"
#include "integration/tell.h"

namespace mezz {

void TooLargeWarning::Tell(const ScmOptions& scm, size_t block_bytes_max, BlockRole role, size_t bytes) {
  if (told_.load(std::memory_order_relaxed) || told_.exchange(true, std::memory_order_relaxed)) return;
  (void)IfThereIsMemory([&] {
    const uint64_t segment = std::bit_ceil(bytes + bytes / 8);  // some more may come
    const bool can = segment <= kSegmentBytesMax && scm.capacity_bytes / kSegmentsMin >= segment;
    mezz::Tell(
        fmt::format("{}: a block of {} ({}) fits no segment, which holds {}: such blocks stay in DRAM or are read from "
                    "flash. {}",
                    scm.ToString(), HumanBytes(bytes), mezz::ToString(role), HumanBytes(block_bytes_max),
                    can ? fmt::format("Set segment={}, or partition filters and indexes", SizeText(segment))
                        : "Partition filters and indexes, or give more scm and segment"));
  });
}

}  // namespace mezz
