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

// Of the options, valid and with their sizes rounded down to whole segments. The rest is zero, and so is the checksum.
layout::Superblock SuperblockOf(const ScmOptions& options);
// With its checksum.
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
  layout::Superblock superblock{};  // of kWhole
  std::string why;                  // of kForeign and kUnusable: the rest of a sentence that begins with the medium
};

// The first kSuperblockSpace bytes of a medium, as FindSuperblock wants them: a copy that lies on a bad block is not
// read, and for one that is not there any more (bus_errors.h), or that, the other one stands in its place. Empty:
// neither can be read.
std::vector<std::byte> ReadHead(const Medium& medium);

// Takes the younger of the copies that are whole. `head`: the first kSuperblockSpace bytes; fewer if it has no more.
FoundSuperblock FindSuperblock(std::span<const std::byte> head);

// Why what the superblock describes is of no use to a tier of these options (as SuperblockOf takes them), as the rest
// of a sentence that begins with the medium; empty: it is of use, if of another capacity as far as that goes.
std::string WhyOfNoUse(const layout::Superblock& superblock, const ScmOptions& options);
// Of its key alone. Null: who asks has none.
std::string WhyOfNoUse(const layout::Superblock& superblock, const VerifyKey* key);

// The superblock of an open medium. Each change is written to one copy, made durable (Medium::Persist), and only then
// to the other: whenever it stops, one copy is whole, the younger one is what was to be or what was, and between
// changes both are the same, so that the loss of one goes back in time nowhere. Each copy is read again: who opens the
// medium could not tell a change that did not arrive from one that was never made.
//
// Thread-safe; each call blocks until the medium has it.
class SuperblockKeeper {
 public:
  // Sequence numbers that are reserved at once, so that none ever comes back: not even one whose segment header a cut
  // of power took, while records behind it stayed. At 4 MiB a segment the superblock is written each 16 GiB; and of
  // the 32 bits that a record carries a restart costs a millionth.
  static constexpr uint64_t kSequencesAtOnce = 4096;

  // Nothing is written yet. `medium` is not owned.
  SuperblockKeeper(const Medium& medium, const layout::Superblock& superblock)
      : medium_(medium), bad_(medium.BadRanges()), superblock_(superblock) {}

  // The magic alone, for a medium that has no superblock yet: if power is cut in the first Change, and only other parts
  // of it arrive, a medium without the magic is foreign to the next life.
  void PutMagic();

  enum class Stored : uint8_t {
    kLasts,    // in one copy at least: whoever opens the medium next finds it
    kNowhere,  // in none: he finds what was before, or no superblock; and so does Now()
  };
  // Applies `change` and writes it.
  [[nodiscard]] Stored Change(const std::function<void(layout::Superblock*)>& change);
  // The numbers [returned, returned + kSequencesAtOnce) are the caller's. Nothing: that is stored nowhere, so another
  // life would be given them again.
  [[nodiscard]] std::optional<uint64_t> ReserveSequences();

  layout::Superblock Now() const;

 private:
  bool WriteLocked(uint64_t at, const layout::Superblock& sealed) const;

  const Medium& medium_;
  const std::vector<BadRange> bad_;  // a copy that lies there is not written
  mutable Mutex mutex_;
  layout::Superblock superblock_;  // GUARDED_BY(mutex_)
};

}  // namespace mezz
