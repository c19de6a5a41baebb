// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "cache/scm_tier.h"
#include "integration/options.h"

namespace mezz {

// Smaller blocks are copied. A copy of one costs less than its pin, on every medium; and glibc loads and stores its
// smallest copies (up to 512 bytes with 64-byte vectors) whatever the addresses, so adopting would write to the medium.
inline constexpr size_t kInPlaceBytesMin = 1024;

// Whether a hit that stays in the SCM tier is served where it lies; else it is copied. serve=auto weighs what the
// medium charges for either (docs/explanation/emulation.md).
bool IsServedInPlace(const HybridCacheOptions& options, ScmTier& scm, const PinnedBlock& block);

// The bytes of a hit, for who has them copied: where they lie, or unpacked into memory of this thread, good until its
// next call. Nothing: the block could not be unpacked, which is counted; a miss. Charges the model. An image is such a
// miss: whoever has the file's decompressor unpacks that.
std::optional<std::span<const std::byte>> BytesToCopy(ScmTier& scm, const PinnedBlock& block);

}  // namespace mezz
