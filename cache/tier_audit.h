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
// is there. Use it once. REQUIRES: no other call to the tier runs.
class TierAudit {
 public:
  TierAudit(TierParts& parts, const ScmFigures& figures) : parts_(parts), figures_(figures) {}
  ScmAudit Run();

 private:
  void AuditWord(Index::Entry entry);
  void AuditPacked(const record::Header& header, const std::function<void(std::string_view)>& violation);

  TierParts& parts_;
  const ScmFigures& figures_;
  ScmAudit audit_;
  std::unordered_set<std::string> keys_;
};

}  // namespace mezz
