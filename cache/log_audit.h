// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cache/log_parts.h"
#include "cache/pack/dictionaries.h"
#include "cache/segment_table.h"
#include "cache/types.h"

namespace mezz {

// Checks what the rooms of a log say against the table of its segments, and appends a sentence for each contradiction.
// REQUIRES: the caller holds the log's mutex, and no other call runs.
class LogAudit {
 public:
  using State = SegmentTable::State;

  // Neither is owned.
  LogAudit(const LogParts& parts, std::vector<std::string>* violations)
      : parts_(parts), violations_(*violations), listed_(parts.segments) {}

  // Tells of a list that a room keeps, and of segments that it counts without a list. Before Check.
  void AddList(std::span<const SegmentId> list, State state);
  void AddCount(size_t segments) { all_ += segments; }
  // `dictionaries` may be null.
  void Check(const Dictionaries* dictionaries);

 private:
  void NoteListed(SegmentId id, State state);
  void CheckSegment(SegmentId id);
  void CheckDictionaries(const Dictionaries* dictionaries);
  void CheckShares();
  void CheckCounts();

  const LogParts& parts_;
  std::vector<std::string>& violations_;
  std::vector<uint32_t> listed_;  // how often each segment is in a list
  size_t all_ = 0;                // in the lists that were told of, and counted
  uint32_t unready_ = 0, quarantined_ = 0;
  std::array<uint32_t, Dictionaries::kSlots> dictionary_holds_{};
  std::array<std::array<uint32_t, kSharesMax>, kLevels> held_{};
};

}  // namespace mezz
