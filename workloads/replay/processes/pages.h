// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace mezz {

// What is resident of the memory that the process may write to, by the size of its pages.
struct PageCounts {
  uint64_t resident_bytes = 0;
  uint64_t huge_bytes = 0;  // of these, in pages of 2 MiB

  double huge_share() const {
    return resident_bytes == 0 ? 0 : static_cast<double>(huge_bytes) / static_cast<double>(resident_bytes);
  }
  static PageCounts Now();
};

// Puts the process's heaps, and what memkind mapped, into huge pages, and asks for them for what will be allocated
// there: what our SCM tier does with its own medium. A stock cache's blocks come from malloc, which asks for none, and
// would be compared on small pages. As far as the kernel lets it (MADV_COLLAPSE from Linux 6.1); what stays small is
// seen in PageCounts.
void UseHugePages();

}  // namespace mezz
