// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace mezz {

inline constexpr uint64_t kHugePageBytes = 2 << 20;

// Whether the kernel can populate a mapping and report a shortage (Linux 5.14). Without that, a shortage is a signal.
bool KernelCanPopulate();

// How a chunk lies in memory after its first and last page were made present.
enum class PageSize { kHuge, kSmall };

// The steps of preparing a chunk. None changes a byte, even if others write meanwhile. Each returns 0 or an errno.
//
// Makes the first and the last page present, and tells whether the kernel gave one huge page for all of the chunk.
int TouchEnds(std::byte* at, uint64_t bytes, PageSize* pages);
// Asks for one huge page in place of the small ones (Linux 6.1). Absent pages then come as part of it. For a chunk of
// which only the ends are present this is several times as fast as populating it with small pages.
int Collapse(std::byte* at, uint64_t bytes);
// Makes every page present and writable.
int Populate(std::byte* at, uint64_t bytes);

}  // namespace mezz
