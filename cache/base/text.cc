// SPDX-License-Identifier: Apache-2.0
#include "cache/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <system_error>
#include <utility>
#include <vector>

#include "cache/base/invalid.h"

namespace mezz {
namespace {

// Levenshtein's.
size_t Distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({changed, row[j] + 1, row[j - 1] + 1}));
    }
  }
  return row[b.size()];
}

}  // namespace

std::string HumanBytes(uint64_t bytes) {
  static constexpr const char* kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  const int unit = bytes == 0 ? 0 : (std::bit_width(bytes) - 1) / 10;
  const uint64_t unit_bytes = uint64_t{1} << (10 * unit);
  if (bytes % unit_bytes == 0) return fmt::format("{} {}", bytes / unit_bytes, kUnits[unit]);
  return fmt::format("{:.1f} {}", static_cast<double>(bytes) / static_cast<double>(unit_bytes), kUnits[unit]);
}

std::string ExactBytes(uint64_t bytes) {
  if (bytes < 1024) return HumanBytes(bytes);
  return fmt::format("{} bytes ({})", bytes, HumanBytes(bytes));
}

std::string SizeText(uint64_t bytes) {
  constexpr std::string_view kSuffixes = "KMGT";
  size_t shift = 0;
  while (shift < kSuffixes.size() && bytes != 0 && bytes % 1024 == 0) {
    bytes /= 1024;
    ++shift;
  }
  return shift == 0 ? fmt::format("{}", bytes) : fmt::format("{}{}", bytes, kSuffixes[shift - 1]);
}

Status ParseBytes(std::string_view what, std::string_view text, uint64_t* bytes) {
  std::string_view digits = text;
  unsigned shift = 0;
  if (!digits.empty()) {
    const size_t suffix = std::string_view("KMGTkmgt").find(digits.back());
    if (suffix != std::string_view::npos) {
      shift = 10 * (static_cast<unsigned>(suffix % 4) + 1);
      digits.remove_suffix(1);
    }
  }
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) {
    return Invalid("{}={}: a size is a whole number of bytes, or one followed by K, M, G or T, for example 256M", what,
                   text);
  }
  uint64_t value = 0;
  if (!ParseNumber(digits, &value) || value > std::numeric_limits<uint64_t>::max() >> shift)
    return Invalid("{}={}: more than 64 bits can count", what, text);
  if (value == 0) return Invalid("{}={}: must be larger than zero", what, text);
  *bytes = value << shift;
  return Status::Ok();
}

Status ParseBool(std::string_view what, std::string_view text, bool* value) {
  *value = text == "true" || text == "1";
  if (*value || text == "false" || text == "0") return Status::Ok();
  return Invalid("{}={}: accepted are true, false, 1 and 0", what, text);
}

Status ParseTime(std::string_view what, std::string_view text, uint64_t* ms) {
  constexpr uint64_t kMsMax = 24ull * 3600 * 1000;
  const uint64_t unit_ms = text.ends_with("ms") ? 1 : 1000;
  std::string_view digits = text;
  digits.remove_suffix(text.ends_with("ms") ? 2 : text.ends_with("s") ? 1 : 0);
  uint64_t count = 0;
  const bool read = ParseNumber(digits, &count) && (count == 0 || digits.size() != text.size());
  if (!read || count > kMsMax / unit_ms)
    return Invalid("{}={}: accepted are 0 and a whole number with s or ms, of a day at most", what, text);
  *ms = count * unit_ms;
  return Status::Ok();
}

bool TakePrefix(std::string_view prefix, std::string_view* text) {
  if (!text->starts_with(prefix)) return false;
  text->remove_prefix(prefix.size());
  return true;
}

std::string ErrnoText(int error) { return std::generic_category().message(error); }

std::string_view NearestWord(std::string_view word, std::span<const std::string_view> words) {
  std::string plain(word);
  std::ranges::transform(plain, plain.begin(), [](char c) {
    return c == '-' ? '_' : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  std::string_view nearest;
  size_t least = std::max<size_t>(2, plain.size() / 3) + 1;
  for (const std::string_view known : words) {
    const bool extends =
        plain.size() >= 3 && known.size() >= 3 && (plain.starts_with(known) || known.starts_with(plain));
    const size_t distance = extends ? std::min<size_t>(1, Distance(plain, known)) : Distance(plain, known);
    if (distance >= least) continue;
    least = distance;
    nearest = known;
  }
  return nearest;
}

}  // namespace mezz
