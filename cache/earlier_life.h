// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cache/authenticator.h"
#include "cache/layout.h"
#include "cache/media/medium.h"
#include "cache/options.h"
#include "cache/recovery_report.h"
#include "cache/segment_log.h"
#include "cache/status.h"
#include "cache/superblock.h"
#include "cache/tombstones.h"
#include "cache/types.h"

namespace mezz {

// What an earlier life left on a medium, and what of it a tier that is being opened uses.
//
// Not thread-safe. Used by Open and the close alone, but for report(), which never changes after TakeOver.
class EarlierLife {
 public:
  // `options` must be effective, and hold the key itself where verify=keyed. Neither argument is owned.
  EarlierLife(const Medium& medium, const ScmOptions& options) : medium_(medium), options_(options) {}

  // Reads the superblock, the bad blocks and the tombstones, and decides what is used. `existing`: the medium has a
  // superblock of ours. Writes nothing, but for the headers of media that were left out while that life went on.
  //
  // Errors: no copy of the superblock can be read; too few segments are without bad blocks; one of several media is
  // another cache's; recovery=require, and what was there cannot be used, or not all of it is there.
  Status TakeOver(bool existing);

  // Whether the medium has a whole superblock, and whether the blocks of that life are used.
  bool exists() const { return exists_; }
  bool is_used() const { return is_used_; }
  // The superblock that the tier begins with: that of the earlier life, or a new one.
  const layout::Superblock& superblock() const { return superblock_; }
  // Segments that must not be used, because they hold bad blocks or their medium cannot be read.
  std::span<const SegmentId> bad() const { return bad_; }
  // Those of several media that can be read and written, a bit each.
  uint32_t members() const { return members_; }
  // Empty until the outcome is known, which a recovery tells otherwise (Recoverer::report).
  const RecoveryReport& report() const { return report_; }
  // Whether records of an earlier life may lie anywhere.
  bool left_records() const { return left_records_; }
  // What was erased; null: nothing. The caller takes it.
  std::shared_ptr<const ErasedKeys> TakeErasedKeys() { return std::move(erased_); }
  const ErasedKeys* erased() const { return erased_.get(); }
  // Null without verify=keyed. The caller takes it.
  std::unique_ptr<Authenticator> TakeAuthenticator() { return std::move(authenticator_); }

  // Forgets records beyond the end of a smaller life, which left them there. It did not know their dictionaries'
  // numbers, so they must not be found again, and it wiped nothing there. An error: the medium does not take that.
  // REQUIRES: is_used(), and `log` was not provided.
  Status ForgetBeyond(SegmentLog* log);

 private:
  Status FindBadSegments();
  bool ReadErasedKeys(const layout::Superblock& found);
  layout::Superblock Begin(const FoundSuperblock& found);
  uint32_t ForgetOutdated(uint32_t members);
  std::string Describe(uint32_t members) const;
  Status JudgeLost(uint32_t members) const;
  void TellOfUnreadable() const;

  const Medium& medium_;
  const ScmOptions& options_;
  bool exists_ = false, is_used_ = false, left_records_ = false;
  uint32_t members_ = 0;
  layout::Superblock superblock_{};
  std::vector<SegmentId> bad_;
  RecoveryReport report_;
  std::shared_ptr<const ErasedKeys> erased_;
  std::unique_ptr<Authenticator> authenticator_;
};

}  // namespace mezz
