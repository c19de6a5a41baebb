// SPDX-License-Identifier: Apache-2.0
// What the companions can be told, and the text that spells it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cache/status.h"
#include "integration/companions/adoc.h"
#include "integration/companions/dynamic_level0.h"

namespace mezz {

struct CompanionOptions {
  bool write_throttle = false;
  // Bytes a second below which writes are never held in the first stage. 0: the database's own delayed_write_rate.
  uint64_t write_throttle_rate = 0;
  bool dynamic_level0 = false;
  DynamicLevel0Options level0;
  bool adoc = false;
  AdocOptions adoc_bounds;
  // Monotonic nanoseconds. Empty: std::chrono::steady_clock. For tests.
  std::function<uint64_t()> now_ns;

  // Judges all that can be judged without a database.
  Status Validate() const;
  // What ParseCompanions reads back to the same.
  std::string ToText() const;
};

inline constexpr std::string_view kCompanionsScheme = "mezzanine_companions://";

// key=value;key=value... (or with commas, for OPTIONS files), with or without the scheme in front:
// write_throttle=true|false, write_throttle_rate=SIZE (a second), dynamic_level0=true|false, level0_few, level0_many,
// level0_write_percent, level0_band_percent, level0_half_life_ms, adoc=true|false, adoc_jobs_max,
// adoc_write_buffer_max=SIZE. Unknown, repeated and malformed keys are refused by
// name, and keys of a companion that is not asked for. What is parsed is valid.
Status ParseCompanions(std::string_view text, CompanionOptions* options);

// An option of RocksDB that a companion sets: no two may set the same of one database.
struct OptionClaim {
  std::string_view companion;
  std::string_view option;
};
std::vector<OptionClaim> ClaimsOf(const CompanionOptions& options);
// Refuses, naming both and the option, if `more` claims what `held` has.
Status CheckClaims(const std::vector<OptionClaim>& held, const std::vector<OptionClaim>& more);

}  // namespace mezz
