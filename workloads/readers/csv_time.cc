// SPDX-License-Identifier: Apache-2.0
#include "workloads/readers/csv_time.h"

#include <array>
#include <charconv>
#include <chrono>

#include "workloads/readers/fields.h"

namespace mezz {
namespace {

// Microseconds are `times` of it, or a `part`-th.
struct Scale {
  uint64_t times, part;
};
constexpr Scale ScaleOf(TimeUnit unit) {
  switch (unit) {
    case TimeUnit::kFind:
    case TimeUnit::kSeconds:
      return {1'000'000, 1};
    case TimeUnit::kMillis:
      return {1000, 1};
    case TimeUnit::kMicros:
      return {1, 1};
    case TimeUnit::kNanos:
      return {1, 1000};
    case TimeUnit::kFileTime:
      return {1, 10};
  }
  return {1, 1};
}

bool ParseDate(std::string_view text, uint64_t* microseconds) {
  constexpr std::string_view kShape = "dddd-dd-dd dd:dd:dd";
  if (text.ends_with('Z')) text.remove_suffix(1);
  if (text.size() < kShape.size()) return false;
  std::array<unsigned, 6> numbers{};
  size_t at = 0;
  for (size_t i = 0; i < kShape.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    const bool fits = kShape[i] == 'd' ? digit : text[i] == kShape[i] || (kShape[i] == ' ' && text[i] == 'T');
    if (!fits) return false;
    if (digit) numbers[at] = numbers[at] * 10 + static_cast<unsigned>(text[i] - '0');
    if (!digit) ++at;
  }
  const std::chrono::year_month_day day{std::chrono::year(static_cast<int>(numbers[0])), std::chrono::month(numbers[1]),
                                        std::chrono::day(numbers[2])};
  if (!day.ok() || numbers[0] < 1970 || numbers[3] > 23 || numbers[4] > 59 || numbers[5] > 60) return false;
  uint64_t fraction = 0;
  if (text.size() > kShape.size()) {
    const std::string_view digits = text.substr(kShape.size());
    if (digits[0] != '.' || !ParseSeconds(std::string("0").append(digits), &fraction)) return false;
  }
  const auto days = static_cast<uint64_t>(std::chrono::sys_days(day).time_since_epoch().count());
  const uint64_t seconds = ((days * 24 + numbers[3]) * 60 + numbers[4]) * 60 + numbers[5];
  *microseconds = seconds * 1'000'000 + fraction;
  return true;
}

}  // namespace

TimeUnit UnitOfTime(std::string_view text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  if (value < 1e11) return TimeUnit::kSeconds;
  if (value < 1e14) return TimeUnit::kMillis;
  if (value < 1e17) return TimeUnit::kMicros;
  constexpr double kYear1970 = 116'444'736e9;  // of file times; 2100 is 157'7..e9
  return value >= kYear1970 && value < 1.6e17 ? TimeUnit::kFileTime : TimeUnit::kNanos;
}

bool ParseTime(std::string_view text, TimeUnit unit, uint64_t* microseconds) {
  const Scale scale = ScaleOf(unit);
  if (uint64_t whole = 0; ParseNumber(text, 10, &whole)) {
    if (whole > UINT64_MAX / scale.times) return false;
    *microseconds = whole * scale.times / scale.part;
    return true;
  }
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return ParseDate(text, microseconds);
  value = value * static_cast<double>(scale.times) / static_cast<double>(scale.part);
  if (!(value >= 0 && value < 1.8e19)) return false;
  *microseconds = static_cast<uint64_t>(value + 0.5);
  return true;
}

}  // namespace mezz
