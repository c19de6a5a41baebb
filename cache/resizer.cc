// SPDX-License-Identifier: Apache-2.0
#include "cache/resizer.h"

#include <fmt/format.h>

#include <mutex>

#include "cache/log_rules.h"

namespace mezz {

// Why no size can be changed; `asked` is the subject of the sentence. Ok: it can.
Status Resizer::MayResize(const std::string& asked) const {
  if (parts_.faults.IsOver())
    return Status::NotSupported(asked + ", and the tier has closed itself after faults of its medium: reopen it");
  if (!parts_.guard.InParent()) return Status::NotSupported(asked + " in a forked child: ask the parent");
  return Status::Ok();
}

Status Resizer::SetCapacity(uint64_t bytes) {
  const std::string asked = fmt::format("SCM capacity {} is asked for", bytes);
  MEZZ_RETURN_IF_ERROR(MayResize(asked));
  const uint64_t wanted = bytes / parts_.log.segment_bytes();
  if (wanted > parts_.log.segments())
    return Status::InvalidArgument(
        fmt::format("SCM capacity {} is more than the {} the tier was opened with; reopen it", bytes,
                    parts_.log.segments() * parts_.log.segment_bytes()));
  if (bytes != 0 && wanted < kSegmentsMin)
    return Status::InvalidArgument(fmt::format("SCM capacity {} is less than {} segments of {}; use 0 to switch it off",
                                               bytes, kSegmentsMin, parts_.log.segment_bytes()));
  if (parts_.tombstones.TrimTo(static_cast<uint32_t>(wanted)) == SuperblockKeeper::Stored::kNowhere) {
    parts_.faults.CloseWithoutSuperblock();
    fault_handler_->Handle();
    return Status::IoError(fmt::format("{}, and {} does not take its superblock any more: the tier has closed itself",
                                       asked, parts_.medium.info().description));
  }
  parts_.reclaimer.ShrinkTo(static_cast<uint32_t>(wanted));
  if (wanted == 0 && parts_.stage != nullptr) parts_.stage->ForgetAll();
  if (parts_.trainer != nullptr) parts_.trainer->Wake();  // what found no room on the medium may find it now
  return Status::Ok();
}

// Whether the tier, and the member's level of it, can go on with so many segments of the member.
Status Resizer::CheckMemberLimit(const std::string& asked, size_t member, uint32_t wanted) const {
  const LogMembers& members = parts_.log.members();
  uint32_t in_all = 0, in_level = 0;
  for (size_t i = 0; i < members.count(); ++i) {
    const uint32_t left = parts_.log.space().PresentOf(i, i == member ? wanted : members.limit(i));
    in_all += left;
    if (parts_.log.LevelOfMember(i) == parts_.log.LevelOfMember(member)) in_level += left;
  }
  if (in_all < kSegmentsMin)
    return Status::InvalidArgument(
        fmt::format("{}, which leaves the tier {} segments, and {} are the least: keep more of one of its media", asked,
                    in_all, kSegmentsMin));
  if (in_level != 0 && in_level < log_rules::kSegmentsOfLevelMin)
    return Status::InvalidArgument(
        fmt::format("{}, which leaves its level {} segments of {}, and {} are the least: "
                    "keep more, or nothing",
                    asked, in_level, parts_.log.segment_bytes(), log_rules::kSegmentsOfLevelMin));
  return Status::Ok();
}

// What moves lies in the index, so an earlier life's blocks come back first.
Status Resizer::SetMemberCapacity(size_t member, uint64_t bytes) {
  const std::string asked = fmt::format("capacity {} of medium {} is asked for", bytes, member + 1);
  MEZZ_RETURN_IF_ERROR(MayResize(asked));
  const LogMembers& members = parts_.log.members();
  if (member >= members.count())
    return Status::InvalidArgument(
        fmt::format("{}, and the tier has {}: count from 1, as the report does", asked, members.count()));
  if (members.count() == 1) return SetCapacity(bytes);
  const uint64_t wanted = bytes / parts_.log.segment_bytes(), most = members.end(member) - members.begin(member);
  if (wanted > most)
    return Status::InvalidArgument(
        fmt::format("{}, and it was opened with {}; reopen the tier", asked, most * parts_.log.segment_bytes()));
  if (bytes != 0 && wanted == 0)
    return Status::InvalidArgument(
        fmt::format("{}, which is less than a segment of {}; use 0 to empty it", asked, parts_.log.segment_bytes()));
  if (members.IsOut(SegmentId{members.begin(member)}))
    return Status::NotSupported(fmt::format("{}, and it has failed and is not used any more: reopen the tier", asked));
  if (parts_.recoverer != nullptr) parts_.recoverer->Wait();
  {
    const std::lock_guard one_at_a_time(resizing_);
    MEZZ_RETURN_IF_ERROR(CheckMemberLimit(asked, member, static_cast<uint32_t>(wanted)));
    parts_.log.space().LimitMember(member, static_cast<uint32_t>(wanted));
    parts_.reclaimer.EmptyWithdrawn();
  }
  if (parts_.trainer != nullptr) parts_.trainer->Wake();
  fault_handler_->Handle();  // the medium may have failed meanwhile
  return Status::Ok();
}

}  // namespace mezz
