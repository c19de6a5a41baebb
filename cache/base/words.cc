// SPDX-License-Identifier: Apache-2.0
#include "cache/base/words.h"

#include "cache/base/invalid.h"

namespace mezz {

std::string ListOf(std::span<const std::string_view> words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : i + 1 == words.size() ? " or " : ", ", words[i]);
  return text;
}

Status UnknownWord(std::string_view what, std::string_view text, std::span<const std::string_view> words) {
  return Invalid("{}={} is unknown: choose {}", what, text, ListOf(words));
}

}  // namespace mezz
