// SPDX-License-Identifier: Apache-2.0
// What the readers of text formats share: taking a line apart, and showing what was wrong with it.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace mezz {

inline std::string_view Trim(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

// The whole of `text` as a number below 2^64.
inline bool ParseNumber(std::string_view text, int base, uint64_t* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value, base);
  return error == std::errc() && end == text.data() + text.size();
}

// Garbage is shown, but not all of it and nothing a terminal would act on.
inline std::string Shown(std::string_view text) {
  std::string shown;
  for (char c : text.substr(0, 40)) shown += c >= ' ' && c <= '~' ? c : '?';
  if (text.size() > 40) shown += "...";
  return shown;
}

// Splits at each `separator`; for ' ', at each run of spaces and tabs. Returns the number of fields, which may be more
// than were stored.
template <size_t kFields>
size_t SplitFields(std::string_view line, char separator, std::array<std::string_view, kFields>* fields) {
  size_t count = 0;
  const std::string_view separators = separator == ' ' ? std::string_view(" \t") : std::string_view(&separator, 1);
  for (size_t at = 0; at <= line.size();) {
    const size_t end = std::min(line.find_first_of(separators, at), line.size());
    if (separator != ' ' || end > at) {
      if (count < kFields) (*fields)[count] = line.substr(at, end - at);
      ++count;
    }
    at = end + 1;
  }
  return count;
}

}  // namespace mezz
