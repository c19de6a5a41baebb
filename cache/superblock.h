// SPDX-License-Identifier: Apache-2.0
// Makes and judges the superblock: the only place that decides whether bytes on a medium are ours.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cache/layout.h"
#include "cache/status.h"

namespace mezz {

// A superblock written when a file is created, before its space is reserved, so that a file whose maker died half-way
// is known as ours. It names no life of the medium; formatting replaces it.
inline constexpr uint64_t kProvisionalFormatId = 0;

layout::Superblock MakeSuperblock(uint64_t capacity_bytes, uint64_t segment_bytes, uint64_t hash_seed,
                                  uint64_t format_id, uint64_t host_version);

// Judges the first `bytes` bytes of a medium.
//   ok, !*damaged   `*superblock` is valid and ours (provisional if its format_id says so)
//   ok, *damaged    ours by its magic, but the checksum fails: format the medium again
//   kForeignFile    not ours: must not be written to
//   kNotSupported   ours, of another format version or byte order: must not be written to
// The message is the rest of a sentence that begins with the name of the medium.
Status ReadSuperblock(const std::byte* from, size_t bytes, layout::Superblock* superblock, bool* damaged);

}  // namespace mezz
