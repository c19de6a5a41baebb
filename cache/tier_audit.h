// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "cache/index.h"
#include "cache/record.h"
#include "cache/scm_figures.h"
#include "cache/tier_parts.h"

namespace mezz {

// Checks that each word of the index names a whole record of its key, where records may lie, and that what is counted
// is there. For ScmTier::Audit, which knows the capacity and the DRAM besides. Use it once. REQUIRES: no other call to
// the tier runs.
class TierAudit {
 public:
  explicit TierAudit(const TierParts& parts) : parts_(parts) {}
  ScmAudit Run();

 private:
  void AuditWord(Index::Entry entry);
  void AuditPacked(const record::Header& header, const std::function<void(std::string_view)>& violation);

  const TierParts& parts_;
  ScmAudit audit_;
  std::unordered_set<std::string> keys_;
};

}  // namespace mezz
