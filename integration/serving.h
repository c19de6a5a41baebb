// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "cache/scm_tier.h"
#include "integration/options.h"

namespace mezz {

// Smaller blocks are copied, for two reasons. On every medium a copy of one costs less than its pin. And glibc's memcpy
// stores its smallest copies (up to 512 bytes with 64-byte vectors) even if source and destination are the same, so
// adopting would write to the medium.
inline constexpr size_t kInPlaceBytesMin = 1024;

// Whether a hit that stays in the SCM tier is served in place; else it is copied. serve=auto compares what the medium
// charges for each (docs/explanation/emulation.md).
bool IsServedInPlace(const HybridCacheOptions& options, ScmTier& scm, const PinnedBlock& block);

// The bytes of a hit, to be copied by the caller. They lie in SCM, or are unpacked into memory of this thread, which
// its next call reuses. Returns nullopt if the block could not be unpacked; that is counted, and is a miss. Images are
// not unpacked here, because that needs the file's decompressor. Charges the medium's model.
std::optional<std::span<const std::byte>> BytesToCopy(ScmTier& scm, const PinnedBlock& block);

}  // namespace mezz
