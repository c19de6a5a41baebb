// SPDX-License-Identifier: Apache-2.0
// The words for the values of an enumeration. They stand once, beside it: what options, reports and messages say of its
// values is made of them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cache/status.h"

namespace mezz {

template <size_t kCount>
using Words = std::array<std::string_view, kCount>;

// Of Enum, whose values count from 0: a word for each, in their order. An enumeration specialises it, directly behind
// itself.
template <typename Enum>
inline constexpr Words<0> kWordsOf{};

template <typename Enum>
concept Worded = !kWordsOf<Enum>.empty();

// Whether the enumeration has such a value; a cast may make others.
template <Worded Enum>
constexpr bool HasWord(Enum value) {
  return static_cast<size_t>(value) < kWordsOf<Enum>.size();
}

template <Worded Enum>
constexpr std::string_view ToString(Enum value) {
  static_assert(!kWordsOf<Enum>.back().empty(), "fewer words than values");
  return HasWord(value) ? kWordsOf<Enum>[static_cast<size_t>(value)] : "unknown";
}

template <Worded Enum>
constexpr std::optional<Enum> ValueOfWord(std::string_view word) {
  const auto known = std::ranges::find(kWordsOf<Enum>, word);
  if (known == kWordsOf<Enum>.end()) return std::nullopt;
  return static_cast<Enum>(known - kWordsOf<Enum>.begin());
}

// The words for a message: "off, lz4 or zstd".
std::string ListOf(std::span<const std::string_view> words);
// That `what` cannot be `text`, and which words it can be.
Status UnknownWord(std::string_view what, std::string_view text, std::span<const std::string_view> words);

// Finds the value of a word. Refuses others by UnknownWord; *value then stays as it is.
template <Worded Enum>
Status ParseWord(std::string_view what, std::string_view text, Enum* value) {
  const std::optional<Enum> known = ValueOfWord<Enum>(text);
  if (!known) return UnknownWord(what, text, kWordsOf<Enum>);
  *value = *known;
  return Status::Ok();
}

// Refuses a value that the enumeration has not.
template <Worded Enum>
Status CheckKnown(std::string_view what, Enum value) {
  return HasWord(value) ? Status::Ok() : UnknownWord(what, std::to_string(static_cast<int>(value)), kWordsOf<Enum>);
}

}  // namespace mezz
