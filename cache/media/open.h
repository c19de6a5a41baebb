// SPDX-License-Identifier: Apache-2.0
// The functions behind OpenMedium, one for each kind of medium.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cache/media/address_range.h"
#include "cache/media/medium.h"
#include "cache/media/preparer.h"

namespace mezz {

// How the first bytes of a medium tell whose it is, and what a new one begins with.
struct MediumFormat {
  static constexpr size_t kHeadBytes = 4096;
  static constexpr size_t kProvisionalBytes = 192;
  static constexpr size_t kMagicBytes = 16;  // how many bytes the magic has, with which a medium begins
  // Judges the first bytes of a medium, at most kHeadBytes, before one is changed. An empty `head` means that the
  // medium is new. It has `medium_bytes`, of which `wanted` are to be used. ok: it may be used, and *existing tells
  // whether there is something to keep. The message is the rest of a sentence whose subject is the medium's name.
  Status (*judge)(const ScmOptions& options, std::span<const std::byte> head, uint64_t medium_bytes, uint64_t wanted,
                  bool* existing);
  // The first bytes of a new file until it is formatted, so that a file whose maker died half-way is known as ours.
  std::array<std::byte, kProvisionalBytes> (*provisional)(const ScmOptions& options, uint64_t bytes);
};
extern const MediumFormat kCacheFormat;  // of the SCM tier

struct MediumOrder {
  const ScmOptions& options;  // valid, and of one medium
  uint64_t bytes = 0;         // the capacity, rounded down to whole segments
  uint64_t first_bytes = 0;   // how many of them must be ready when the function returns
  const MediumFormat& format = kCacheFormat;
  // Where the medium is to be mapped; null: anywhere. It outlives the medium.
  AddressRange* range = nullptr;
  uint64_t range_offset = 0;
  std::span<const ScmMember> earlier = {};  // of several media, those that are open already
  std::byte* address() const { return range == nullptr ? nullptr : range->base() + range_offset; }
};

Status OpenFileMedium(const MediumOrder& order, std::unique_ptr<Medium>* medium, std::unique_ptr<Preparer>* preparer,
                      bool* existing);
Status OpenNumaMedium(const MediumOrder& order, std::unique_ptr<Medium>* medium, std::unique_ptr<Preparer>* preparer);
Status OpenAnonymousMedium(const MediumOrder& order, std::unique_ptr<Medium>* medium,
                           std::unique_ptr<Preparer>* preparer);

// Opens all members, one after the other; what was opened is undone if one is refused. `order` has all their bytes.
Status OpenStripedMedium(const MediumOrder& order, std::unique_ptr<Medium>* medium, std::unique_ptr<Preparer>* preparer,
                         bool* existing);
// Opens one medium.
Status OpenOneMedium(const MediumOrder& order, std::unique_ptr<Medium>* medium, std::unique_ptr<Preparer>* preparer,
                     bool* existing);

// Medium::Persist for media whose pages are written back. (msync takes a non-const address, but stores nothing.)
bool SyncPages(const void* from, size_t bytes);

// Prepares the first part of a mapped medium, for these functions.
Status PrepareFirstPart(const MediumOrder& order, std::byte* base, std::string_view name,
                        std::function<int(uint64_t offset, uint64_t bytes)> reserve,
                        std::unique_ptr<Preparer>* preparer, PromisedMemory promised, std::vector<BadRange> bad = {});

}  // namespace mezz
