// SPDX-License-Identifier: Apache-2.0
// The keys of the URIs. Each key's row is the only place by which it is read, printed and documented.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "cache/base/text.h"
#include "integration/options.h"

namespace mezz {

enum class TakenBy {
  kEveryUri,
  kNotSecondary,  // mezzanine://, and a program's own cache that is wrapped
  kDramTier,      // mezzanine://; accepted and not used if a program's own cache is wrapped
};

enum class OfferedTo {
  kEverybody,
  kExperts,  // in a table of its own
  kNobody,   // retired: for this release a URI may still have it, and one line on stderr tells what to do
};

struct OptionRow {
  std::string_view key;
  std::string_view member;  // its name in errors of ScmOptions::Validate; empty if that is the key
  std::string_view values;
  std::string_view fallback;  // the default
  std::string_view meaning;
  TakenBy taken_by;
  // Reads `value` into the options, or refuses it; the error is worded by `row`.
  Status (*parse)(const OptionRow& row, std::string_view value, HybridCacheOptions* options);
  // Returns a value that `parse` reads back to the same options; empty if the URI needs no such key.
  std::string (*print)(const HybridCacheOptions& options);
  OfferedTo offered_to = OfferedTo::kEverybody;
  std::string_view instead = {};  // of a retired key, what to do now; it has no `meaning`
};
std::span<const OptionRow> OptionTable();

// All values that the table prints, as key=value;key=value... Leaves out the keys that the URI does not take, and
// retired ones that have their default.
std::string PrintItems(const HybridCacheOptions& options, bool secondary);

// A table of docs/reference/options.md; a test compares them.
std::string OptionsAsMarkdown(OfferedTo whom);

// Where the first of several places of `scm` ends: at a comma or > that a size and @ follow, as a path may have these,
// too.
size_t EndOfPlace(std::string_view value);

// Where a path has a comma or > behind which no path goes on: what stands there was to be another medium, and is one,
// or is nothing, a size or a place alone, or a misspelt size. The path's size: nowhere.
size_t FindLostMedium(std::string_view path);

// Replaces the names of our structs in a judge's sentence by the keys that the URI's user knows.
std::string InKeys(std::string_view message);

}  // namespace mezz
