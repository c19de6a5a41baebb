// SPDX-License-Identifier: Apache-2.0
// The makers behind OpenMedium.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cache/media/medium.h"
#include "cache/media/preparer.h"

namespace mezz {

// Whose bytes lie on a medium: what its first bytes must be, and what stands there first.
struct MediumFormat {
  static constexpr size_t kHeadBytes = 4096;
  static constexpr size_t kProvisionalBytes = 192;
  static constexpr size_t kMagicBytes = 16;  // with which they begin
  // Judges the first bytes, at most kHeadBytes (none: it is new), of a medium before one is changed. It has
  // `medium_bytes`, and `wanted` are to be used. ok: may be, and *existing tells whether there is something to keep.
  // The message is the rest of a sentence that begins with the medium's name.
  Status (*judge)(const ScmOptions& options, std::span<const std::byte> head, uint64_t medium_bytes, uint64_t wanted,
                  bool* existing);
  // What a new file begins with until it is formatted, so that one whose maker died half-way is known as ours.
  std::array<std::byte, kProvisionalBytes> (*provisional)(const ScmOptions& options, uint64_t bytes);
};
extern const MediumFormat kCacheFormat;  // of the SCM tier

struct MediumOrder {
  const ScmOptions& options;  // valid
  uint64_t bytes = 0;         // the capacity, rounded down to whole segments
  uint64_t first_bytes = 0;   // of which so many are to be ready when the maker returns
  const MediumFormat& format = kCacheFormat;
};

Status OpenFileMedium(const MediumOrder& order, std::unique_ptr<Medium>* medium, std::unique_ptr<Preparer>* preparer,
                      bool* existing);
Status OpenNumaMedium(const MediumOrder& order, std::unique_ptr<Medium>* medium, std::unique_ptr<Preparer>* preparer);
Status OpenAnonymousMedium(const MediumOrder& order, std::unique_ptr<Medium>* medium,
                           std::unique_ptr<Preparer>* preparer);

// For the makers: prepares the first part of a mapped medium.
Status PrepareFirstPart(const MediumOrder& order, std::byte* base, std::string_view name,
                        std::function<int(uint64_t offset, uint64_t bytes)> reserve,
                        std::unique_ptr<Preparer>* preparer, PromisedMemory promised, std::vector<BadRange> bad = {});

}  // namespace mezz
