// SPDX-License-Identifier: Apache-2.0
// The keys of the URIs. Each key's row is the only place by which it is read, printed and documented.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cache/base/words.h"
#include "integration/options.h"

namespace mezz {

enum class TakenBy {
  kEveryUri,
  kNotSecondary,  // mezzanine://, and a program's own cache that is wrapped
  kDramTier,      // mezzanine://; accepted and not used if a program's own cache is wrapped
};
template <>
inline constexpr Words<3> kWordsOf<TakenBy> = {"all", "`mezzanine`, preload", "`mezzanine`; preload ignores it"};

enum class OfferedTo {
  kEverybody,
  kExperts,  // in a table of its own
  kNobody,   // retired: for this release a URI may still have it, and one line on stderr tells what to do
};

// How a key's value is read and printed.
struct ValueKind {
  // Reads `value` into the options, or refuses it, naming `key`.
  Status (*parse)(std::string_view key, std::string_view value, HybridCacheOptions* options);
  // Returns a value that `parse` reads back to the same options; empty if the URI needs no such key.
  std::string (*print)(const HybridCacheOptions& options);
  std::span<const std::string_view> words = {};  // all values; empty: there are more than words
};

struct OptionRow {
  std::string_view key;
  ValueKind kind;
  TakenBy taken_by = TakenBy::kEveryUri;
  bool for_experts = false;
  std::string_view values = {};    // as documented; empty: the words of `kind`
  std::string_view fallback = {};  // the default, as documented; empty: what `kind` prints
  std::string_view meaning = {};
  std::string_view instead = {};  // of a retired key, what to do now; it has no documentation

  OfferedTo offered_to() const {
    return !instead.empty() ? OfferedTo::kNobody : for_experts ? OfferedTo::kExperts : OfferedTo::kEverybody;
  }
};
std::span<const OptionRow> OptionTable();

// All values that the table prints, as key=value;key=value... Leaves out the keys that the URI does not take, and
// retired ones that have their default.
std::string PrintItems(const HybridCacheOptions& options, bool secondary);

// A table of docs/reference/options.md; a test compares them.
std::string OptionsAsMarkdown(OfferedTo whom);

// Replaces the names of our structs in a judge's sentence by the keys that the URI's user knows.
std::string InKeys(std::string_view message);

}  // namespace mezz
