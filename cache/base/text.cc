// SPDX-License-Identifier: Apache-2.0
#include "cache/base/text.h"

#include <fmt/format.h>

#include <bit>
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

std::string ErrnoText(int error) { return std::generic_category().message(error); }

}  // namespace mezz
