// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace mezz {

inline constexpr uint64_t kHugePageBytes = 2 << 20;

// Whether the kernel can populate a mapping and report a shortage (Linux 5.14); without it a shortage is a signal.
bool KernelCanPopulate();

// How a chunk lies in memory after its first and last page were made present.
enum class PageSize { kHuge, kSmall };

// The steps of preparing a chunk; each changes no byte, whoever else writes. Errors are errnos, 0 is success.
//
// Makes the first and the last page present, and tells whether the kernel gave one huge page for all of the chunk.
int TouchEnds(std::byte* at, uint64_t bytes, PageSize* pages);
// Asks for one huge page in place of the small ones (Linux 6.1). What is absent then comes as part of it: for a chunk
// of which only the ends are present that is several times quicker than populating it by small pages.
int Collapse(std::byte* at, uint64_t bytes);
// Makes every page present and writable.
int Populate(std::byte* at, uint64_t bytes);

}  // namespace mezz
