// SPDX-License-Identifier: Apache-2.0
// The keys of the URIs: each is read, printed and documented by its row here and nowhere else.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "integration/options.h"

namespace mezz {

enum class TakenBy {
  kEveryUri,
  kNotSecondary,  // mezzanine://, also where a program's own cache is wrapped
  kDramTier,      // mezzanine://; where a program's own cache is wrapped it is taken and not used
};

struct OptionRow {
  std::string_view key;
  std::string_view member;  // what the judges of ScmOptions call it; empty: as the key
  std::string_view values;
  std::string_view fallback;  // the default
  std::string_view meaning;
  TakenBy taken_by;
  // Reads `value` into the options, or refuses it; `row` is there for the sentence.
  Status (*parse)(const OptionRow& row, std::string_view value, HybridCacheOptions* options);
  // A value that `parse` reads back to the same; empty: nothing to say.
  std::string (*print)(const HybridCacheOptions& options);
};
std::span<const OptionRow> OptionTable();

// key=value;key=value... with all that the table prints, for a URI that takes them.
std::string PrintItems(const HybridCacheOptions& options, bool secondary);

// The table of docs/reference/options.md.
std::string OptionsAsMarkdown();

// Replaces the names of our structs in a judge's sentence by the keys that the URI's user knows.
std::string InKeys(std::string_view message);

// "256M": a size as the URI spells it, exactly.
std::string SizeText(uint64_t bytes);

}  // namespace mezz
