// SPDX-License-Identifier: Apache-2.0
#include "cache/base/text.h"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <limits>
#include <system_error>

namespace mezz {

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
  const bool only_digits = !digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos;
  if (!only_digits) {
    return Status::InvalidArgument(fmt::format(
        "{}={}: a size is a whole number of bytes, or one followed by K, M, G or T, for example 256M", what, text));
  }
  uint64_t value = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (parsed.ec != std::errc() || value > std::numeric_limits<uint64_t>::max() >> shift) {
    return Status::InvalidArgument(fmt::format("{}={}: more than 64 bits can count", what, text));
  }
  if (value == 0) return Status::InvalidArgument(fmt::format("{}={}: must be larger than zero", what, text));
  *bytes = value << shift;
  return Status::Ok();
}

std::string ErrnoText(int error) { return std::generic_category().message(error); }

}  // namespace mezz
