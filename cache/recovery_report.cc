// SPDX-License-Identifier: Apache-2.0
#include "cache/recovery_report.h"

#include <fmt/format.h>

#include "cache/base/text.h"

namespace mezz {

std::string RecoveryReport::ToString() const {
  switch (outcome) {
    case Outcome::kNothingThere:
      return {};
    case Outcome::kDiscarded:
      if (why.ends_with("cold")) return why;
      return fmt::format("{}: its blocks are discarded", why);
    case Outcome::kRecovered:
      break;
  }
  const std::string how = from_snapshot ? " by the snapshot of its index"
                          : no_snapshot.empty()
                              ? std::string()
                              : fmt::format(", record by record: the snapshot of its index {}", no_snapshot);
  return fmt::format("was {}: {} blocks of {} are back{}{}, from {} segments in {} ms{}, and {} are not{}{}{}",
                     clean ? "closed" : "not closed", records, HumanBytes(bytes), running ? " so far" : "",
                     in_dram != 0 ? fmt::format(" ({} of them lay in DRAM too)", in_dram) : "", segments, milliseconds,
                     how, dropped, given_up != 0 ? fmt::format("; {} segments were given up", given_up) : "",
                     timed_out ? ": recovery_budget was over" : "",
                     without_memory != 0 ? fmt::format("; there was no memory for {} of them", without_memory) : "");
}

}  // namespace mezz
