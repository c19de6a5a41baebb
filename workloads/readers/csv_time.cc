// SPDX-License-Identifier: Apache-2.0
#include "workloads/readers/csv_time.h"

#include <algorithm>
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

// Takes the zone off the end: Z, +01:00, -0530 or +01. False: it is none of these.
bool TakeZone(std::string_view* text, int64_t* east_seconds) {
  *east_seconds = 0;
  if (text->ends_with('Z') || text->ends_with('z')) {
    text->remove_suffix(1);
    return true;
  }
  const size_t time = std::min(text->find(':'), text->size());  // a date has '-', too
  const size_t sign = text->find_first_of("+-", time);
  if (sign == std::string_view::npos) return true;
  const std::string_view zone = text->substr(sign + 1);
  const size_t minutes_at = zone.size() == 5 && zone[2] == ':' ? 3 : 2;
  uint64_t hours = 0, minutes = 0;
  if (zone.size() < 2 || !ParseNumber(zone.substr(0, 2), 10, &hours) || hours > 23) return false;
  if (zone.size() > 2 && (zone.size() != minutes_at + 2 || !ParseNumber(zone.substr(minutes_at), 10, &minutes)))
    return false;
  if (minutes > 59) return false;
  *east_seconds = static_cast<int64_t>((hours * 60 + minutes) * 60) * ((*text)[sign] == '-' ? -1 : 1);
  *text = Trim(text->substr(0, sign));
  return true;
}

// ISO 8601, with a blank for the T, too: a day, a minute or a second, which may have a fraction; UTC unless it says
// another zone.
bool ParseDate(std::string_view text, uint64_t* microseconds) {
  constexpr std::string_view kShape = "dddd-dd-dd dd:dd:dd";
  constexpr size_t kDay = 10, kMinute = 16;  // bytes of it
  int64_t east_seconds = 0;
  if (!TakeZone(&text, &east_seconds)) return false;
  if (text.size() < kShape.size() && text.size() != kDay && text.size() != kMinute) return false;
  std::array<unsigned, 6> numbers{};
  size_t at = 0;
  for (size_t i = 0; i < std::min(text.size(), kShape.size()); ++i) {
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
  if (east_seconds > static_cast<int64_t>(seconds)) return false;
  *microseconds = (seconds - static_cast<uint64_t>(east_seconds)) * 1'000'000 + fraction;
  return true;
}

}  // namespace

TimeUnit UnitOfName(std::string_view name) {
  constexpr std::string_view kNames[] = {"",
                                         " s sec seconds ",
                                         " ms msec millis milliseconds ",
                                         " us usec micros microseconds ",
                                         " ns nsec nanos nanoseconds ",
                                         " filetime "};
  const auto* found = std::ranges::find_if(
      kNames, [name](std::string_view names) { return FindWord(names, name) != std::string_view::npos; });
  return found == std::end(kNames) ? TimeUnit::kFind : static_cast<TimeUnit>(found - kNames);
}

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
  if (!ParseDecimal(text, &value)) return ParseDate(text, microseconds);
  value = value * static_cast<double>(scale.times) / static_cast<double>(scale.part);
  if (!(value >= 0 && value < 1.8e19)) return false;
  *microseconds = static_cast<uint64_t>(value + 0.5);
  return true;
}

}  // namespace mezz
