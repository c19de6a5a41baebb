// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace mezz {

enum class TimeUnit : uint8_t {
  kFind,     // by the column's name, or by the size of the first time
  kSeconds,  // with a fraction or without
  kMillis,
  kMicros,
  kNanos,
  kFileTime,  // Windows': 100 ns
};

// Of "ms", "millis" and the like, in lower case; kFind: of none.
TimeUnit UnitOfName(std::string_view name);

// The unit that a first time has if it is a date of this century, by its size; small ones are seconds since some start.
TimeUnit UnitOfTime(std::string_view text);

// A time as microseconds: a number, with a fraction or without, in `unit`, or ISO 8601 ("2019-11-17T01:02:03.5Z", a
// blank for the T, no zone but Z). False: it is none.
bool ParseTime(std::string_view text, TimeUnit unit, uint64_t* microseconds);

}  // namespace mezz
