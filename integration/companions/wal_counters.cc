// SPDX-License-Identifier: Apache-2.0
#include "integration/companions/wal_counters.h"

#include "fmt/format.h"

namespace mezz {

uint64_t WalCounters::Fallbacks() const {
  uint64_t sum = 0;
  for (auto event = static_cast<size_t>(WalEvent::kFallbackAbsent); event < counts_.size(); ++event)
    sum += Get(static_cast<WalEvent>(event));
  return sum;
}

std::string WalCounters::ToString() const {
  std::string text;
  for (size_t event = 0; event < counts_.size(); ++event)
    text += fmt::format("{}: {}\n", mezz::ToString(static_cast<WalEvent>(event)), Get(static_cast<WalEvent>(event)));
  return text;
}

}  // namespace mezz
