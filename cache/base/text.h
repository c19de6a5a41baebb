// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include "cache/status.h"

namespace mezz {

// The size for a reader: "1.5 GiB". Whole numbers have no fraction ("4 MiB"); below 1 KiB it is in bytes.
std::string HumanBytes(uint64_t bytes);

// The exact size for messages: "1073741824 bytes (1 GiB)".
std::string ExactBytes(uint64_t bytes);

// The exact size as an option spells it: "256M", in the largest unit that leaves a whole number.
std::string SizeText(uint64_t bytes);

// Parses a size: "64M" is 67108864. It is a whole number of bytes, or of K, M, G or T in either case. An error, which
// names `what`, for zero, signs, fractions, other suffixes and overflow; *bytes then stays as it is.
Status ParseBytes(std::string_view what, std::string_view text, uint64_t* bytes);

// Whether the whole of `text` is such a number: without spaces or a plus, and in the range of the type. Else *number is
// what it happens to be.
template <typename Number>
bool ParseNumber(std::string_view text, Number* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size();
}

// Parses true and 1, false and 0. Refuses others, naming `what`.
Status ParseBool(std::string_view what, std::string_view text, bool* value);

// Parses a time: "30s", "500ms" or 0. Refuses others, and what is longer than a day, naming `what`; *ms then stays as
// it is.
Status ParseTime(std::string_view what, std::string_view text, uint64_t* ms);

// Takes `prefix` off the front of `text`. False: it does not begin so.
bool TakePrefix(std::string_view prefix, std::string_view* text);

// What `text_of` says of each item: "few, many".
template <typename Items, typename TextOf>
std::string Listed(const Items& items, TextOf text_of) {
  std::string list;
  for (const auto& item : items) {
    if (!list.empty()) list += ", ";
    list += std::invoke(text_of, item);
  }
  return list;
}

// The operating system's text for `error`.
std::string ErrnoText(int error);

// Of `words` the one that whoever wrote `word` may have meant, in whatever case; empty: none is near.
std::string_view NearestWord(std::string_view word, std::span<const std::string_view> words);

}  // namespace mezz
