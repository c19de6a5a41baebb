// SPDX-License-Identifier: Apache-2.0
#include "cache/scm_shares.h"

#include "cache/tier_parts.h"

namespace mezz {

Status ScmShares::Add(std::string_view name, const ShareLimits& limits, ShareId* id) {
  if (!parts_.guard.InParent())
    return Status::NotSupported("a forked child cannot add shares to its parent's SCM tier");
  return parts_.log.owners().AddShare(name, limits, id);
}

Status ScmShares::Change(ShareId id, const ShareLimits& limits) {
  if (!parts_.guard.InParent())
    return Status::NotSupported("a forked child cannot change shares of its parent's SCM tier");
  return parts_.log.owners().ChangeShare(id, limits);
}

void ScmShares::Remove(ShareId id) {
  if (parts_.guard.InParent()) parts_.log.owners().RemoveShare(id);
}

ShareUse ScmShares::UseOf(ShareId id) const {
  if (!parts_.guard.InParent()) return {};
  const SegmentOwners::Use use = parts_.log.owners().UseOf(id);
  const uint64_t segment_bytes = parts_.log.segment_bytes();
  return {.bytes = use.held * segment_bytes,
          .reserved_bytes = use.reserved * segment_bytes,
          .max_bytes = use.max * segment_bytes};
}

}  // namespace mezz
