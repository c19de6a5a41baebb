// SPDX-License-Identifier: Apache-2.0
// What the readers of text formats share: taking a line apart, and showing what was wrong with it.
#pragma once

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cache/types.h"

namespace mezz {

inline std::string_view Trim(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

// What stands in front of the content: a byte-order mark of UTF-8.
inline std::string_view WithoutByteOrderMark(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  return text;
}

// The whole of `text` as a number below 2^64.
inline bool ParseNumber(std::string_view text, int base, uint64_t* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value, base);
  return error == std::errc() && end == text.data() + text.size();
}

// The same with a fraction, a sign or an exponent; "inf" and "nan" are numbers, too.
inline bool ParseDecimal(std::string_view text, double* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size();
}

inline bool IsNumber(std::string_view text) {
  uint64_t value = 0;
  return ParseNumber(text, 10, &value);
}
inline bool IsDecimal(std::string_view text) {
  double value = 0;
  return ParseDecimal(text, &value);
}

inline std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

// Where `word` begins in `words`, each of which stands between two blanks (" get read "); npos: it is none of them.
inline size_t FindWord(std::string_view words, std::string_view word) {
  if (word.empty() || word.find(' ') != std::string_view::npos) return std::string_view::npos;
  size_t at = words.find(word);
  while (at != std::string_view::npos && (words[at - 1] != ' ' || words[at + word.size()] != ' '))
    at = words.find(word, at + 1);
  return at;
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
constexpr size_t SplitFields(std::string_view line, char separator, std::array<std::string_view, kFields>* fields) {
  size_t count = 0;
  const char also = separator == ' ' ? '\t' : separator;
  for (size_t at = 0; at <= line.size();) {
    size_t end = at;
    while (end < line.size() && line[end] != separator && line[end] != also) ++end;
    if (separator != ' ' || end > at) {
      if (count < kFields) (*fields)[count] = line.substr(at, end - at);
      ++count;
    }
    at = end + 1;
  }
  return count;
}

// Splits at each `separator` into exactly kFields fields. Field `text` is free text that may hold separators too: it
// takes all that the fields before and behind it leave. False if there are fewer.
template <size_t kFields>
bool SplitAround(std::string_view line, char separator, size_t text, std::array<std::string_view, kFields>* fields) {
  for (size_t i = 0; i < text; ++i) {
    const size_t end = line.find(separator);
    if (end == std::string_view::npos) return false;
    (*fields)[i] = line.substr(0, end);
    line.remove_prefix(end + 1);
  }
  for (size_t i = kFields - 1; i > text; --i) {
    const size_t start = line.rfind(separator);
    if (start == std::string_view::npos) return false;
    (*fields)[i] = line.substr(start + 1);
    line.remove_suffix(line.size() - start);
  }
  (*fields)[text] = line;
  return true;
}

// Seconds with or without a fraction, such as 12.5, as microseconds. False for what is negative, no number, or beyond
// 2^64 microseconds.
inline bool ParseSeconds(std::string_view text, uint64_t* microseconds) {
  double seconds = 0;
  if (!ParseDecimal(text, &seconds) || !(seconds >= 0 && seconds < 1.8e13)) return false;
  *microseconds = static_cast<uint64_t>(seconds * 1e6 + 0.5);
  return true;
}

// How many decompressed bytes from the start of a file tell its format.
inline constexpr size_t kHeadBytes = 4096;

// Whether the first lines of `head` that are not blank, four at most and one at least, are what `is_record` says. A
// last line that `head` may have cut is left out, unless it is the only one.
template <typename IsRecord>
bool FirstLinesAre(std::string_view head, IsRecord&& is_record) {
  size_t seen = 0;
  for (size_t at = 0; at < head.size() && seen < 4;) {
    const size_t end = head.find('\n', at);
    if (end == std::string_view::npos && head.size() >= kHeadBytes && seen > 0) break;
    const std::string_view line = Trim(head.substr(at, end - at));
    at = end == std::string_view::npos ? head.size() : end + 1;
    if (line.empty()) continue;
    if (!is_record(line)) return false;
    ++seen;
  }
  return seen > 0;
}

}  // namespace mezz
