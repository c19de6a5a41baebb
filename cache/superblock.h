// SPDX-License-Identifier: Apache-2.0
// Makes, judges and keeps the superblock: the only place that decides whether bytes on a medium are ours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cache/base/atomic.h"
#include "cache/layout.h"
#include "cache/media/medium.h"
#include "cache/options.h"
#include "cache/status.h"

namespace mezz {

// A superblock written when a file is created, before its space is reserved, so that a file whose maker died half-way
// is known as ours. It names no life of the medium; formatting replaces it.
inline constexpr uint64_t kProvisionalFormatId = 0;

// A superblock with what the options determine; all else, the checksum included, is zero. Of several media it is the
// first one's. REQUIRES: the options are valid.
layout::Superblock SuperblockOf(const ScmOptions& options);
// The superblock with its checksum filled in.
layout::Superblock Sealed(layout::Superblock superblock);

// What the first bytes of a medium hold.
struct FoundSuperblock {
  enum class What : uint8_t {
    kForeign,      // not ours: must not be written to
    kUnusable,     // ours, of another format version or byte order, or both copies are damaged: format it anew
    kProvisional,  // ours, and never formatted
    kWhole,
  };
  What what = What::kForeign;
  layout::Superblock superblock{};  // if kWhole
  std::string why;                  // if kForeign or kUnusable: the rest of a sentence whose subject is the medium
};

// Reads kSuperblockSpace bytes of a medium for FindSuperblock, where it, or one of several media, begins. A copy on a
// bad block is not read. In its place, and in that of a copy whose memory failed (bus_errors.h), stands the other copy.
// Empty: neither can be read.
std::vector<std::byte> ReadHead(const Medium& medium, uint64_t begin = 0);

// What several media hold together.
struct FoundMembers {
  FoundSuperblock found;   // of the life that is to go on; as FindSuperblock has it
  uint32_t readable = 0;   // a bit for each member that can be read and written
  uint32_t of_life = 0;    // those of `readable` that have records of that life, perhaps outdated ones
  uint32_t outdated = 0;   // those of `of_life` whose records are not valid: they were left out while the life went on
  uint32_t lost = 0;       // those that had valid records of that life, and are not of it: new ones, or not readable
  uint32_t of_others = 0;  // those of `readable` that belong to another cache
};
// Finds the youngest superblock that says of itself that it is of these media, in this order. One medium is all
// members.
FoundMembers FindMembers(const Medium& medium, const ScmOptions& options);

// Finds the younger of the copies that are whole. `head`: the first kSuperblockSpace bytes of the medium, or fewer if
// it has no more.
FoundSuperblock FindSuperblock(std::span<const std::byte> head);

// Why a tier of these options (as SuperblockOf takes them) cannot use what the superblock describes, as the rest of a
// sentence whose subject is the medium. Empty: it can. A medium of another capacity is used as far as it goes.
std::string WhyOfNoUse(const layout::Superblock& superblock, const ScmOptions& options);
// The same, judged by the key alone. A null `key` means that the caller has none.
std::string WhyOfNoUse(const layout::Superblock& superblock, const VerifyKey* key);

// The superblock of an open medium. A change is written to one copy and made durable (Medium::Persist), and only then
// to the other. So whenever the writing stops, one copy is whole, and the younger whole copy is that before the change
// or after it. Between changes both copies are the same, so the loss of one brings no older state back. Each copy is
// read again after it was written, because a later life could not tell a change that did not arrive from one that was
// never made.
//
// Thread-safe. Each call blocks until the change is on the medium.
class SuperblockKeeper {
 public:
  // How many sequence numbers are reserved at once. Reserved numbers are never used again, not even if a cut of power
  // lost a segment header and left the records behind it. With segments of 4 MiB the superblock is written once in 16
  // GiB. A restart uses up a millionth of the 32 bits that a record carries.
  static constexpr uint64_t kSequencesAtOnce = 4096;

  // Writes nothing. `medium` is not owned. Members of several media that are not in `superblock` are left out.
  SuperblockKeeper(const Medium& medium, const layout::Superblock& superblock)
      : medium_(medium), bad_(medium.BadRanges()), superblock_(superblock) {}

  // Writes the magic alone, to a medium without a superblock. Otherwise a cut of power in the first Change could leave
  // a medium without the magic, which the next life would refuse as foreign.
  void PutMagic();

  enum class Stored : uint8_t {
    kLasts,    // in one copy at least: the next Open of the medium, or of the others if one is lost, finds it
    kNowhere,  // in none: the next Open, and Now(), find what was before, or no superblock
  };
  // Applies `change` and writes it.
  [[nodiscard]] Stored Change(const std::function<void(layout::Superblock*)>& change);
  // Reserves the numbers [returned, returned + kSequencesAtOnce) for the caller. Empty: the reservation could not be
  // stored, so a later life would reserve them again.
  [[nodiscard]] std::optional<uint64_t> ReserveSequences();

  // Leaves members of several media out: a later life does not use their records. kNowhere: none is left.
  [[nodiscard]] Stored LeaveOut(uint32_t members);
  // Calls told(members) when Change leaves members out, before it returns. The caller of Change may hold locks. Call it
  // while no Change runs.
  void TellOfLost(std::function<void(uint32_t members)> told) { lost_ = std::move(told); }

  layout::Superblock Now() const;

 private:
  Stored StoreLocked(layout::Superblock* changed);
  bool WriteLocked(uint64_t at, const layout::Superblock& sealed) const;

  const Medium& medium_;
  const std::vector<BadRange> bad_;  // a copy that lies in one of them is not written
  mutable Mutex mutex_;
  layout::Superblock superblock_;  // GUARDED_BY(mutex_)
  std::function<void(uint32_t members)> lost_;
};

}  // namespace mezz
