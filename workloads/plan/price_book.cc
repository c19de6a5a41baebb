// SPDX-License-Identifier: Apache-2.0
#include "workloads/plan/price_book.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <utility>

namespace mezz::plan {
namespace {

std::chrono::sys_days DaysOf(const Date& date) {
  using std::chrono::day, std::chrono::month, std::chrono::year;
  return year(date.year) / month(static_cast<unsigned>(date.month)) / day(static_cast<unsigned>(date.day));
}

}  // namespace

const char* ToString(ModuleKind kind) {
  return kind == ModuleKind::kDram ? "dram" : kind == ModuleKind::kScm ? "scm" : "flash";
}

bool ParseDate(std::string_view text, Date* date) {
  constexpr size_t kLength = 10;  // 2026-02-01
  if (text.size() != kLength || text[4] != '-' || text[7] != '-') return false;
  const auto number = [&](size_t at, size_t length, int* value) {
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + at + length, *value);
    return error == std::errc() && end == text.data() + at + length && *value >= 0;
  };
  if (!number(0, 4, &date->year) || !number(5, 2, &date->month) || !number(8, 2, &date->day)) return false;
  using std::chrono::day, std::chrono::month, std::chrono::year;
  return (year(date->year) / month(static_cast<unsigned>(date->month)) / day(static_cast<unsigned>(date->day))).ok();
}

int64_t DaysBetween(const Date& from, const Date& to) { return (DaysOf(to) - DaysOf(from)).count(); }

Date Today() {
  const std::chrono::year_month_day day(std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now()));
  return {.year = static_cast<int>(day.year()),
          .month = static_cast<int>(static_cast<unsigned>(day.month())),
          .day = static_cast<int>(static_cast<unsigned>(day.day()))};
}

const Server* PriceBook::FindServer(std::string_view wanted) const {
  const auto at = std::find_if(servers.begin(), servers.end(), [&](const Server& one) { return one.name == wanted; });
  return at == servers.end() ? nullptr : &*at;
}

std::vector<std::string> PriceBookWarnings(const PriceBook& book, const Date& today) {
  constexpr int64_t kYearDays = 365;
  std::vector<std::string> warnings;
  const int64_t age = DaysBetween(book.as_of, today);
  if (age > kYearDays)
    warnings.push_back(
        fmt::format("the prices of {} are {} days old; look them up anew before you buy", book.name, age));
  if (age < 0) warnings.push_back(fmt::format("the prices of {} are of a day to come", book.name));
  std::vector<std::string> assumed;
  const auto note = [&](const std::string& what, const Priced& priced) {
    if (priced.assumed) assumed.push_back(what);
  };
  for (const Server& server : book.servers) {
    note(server.name + ".cpu", server.cpu);
    note(server.name + ".chassis", server.chassis);
    note(server.name + ".watts", server.watts);
  }
  for (const Module& module : book.modules) {
    note(module.name + ".price", module.price);
    note(module.name + ".watts", module.watts);
  }
  note("energy", book.energy);
  note("pue", book.pue);
  note("amortisation", book.years);
  note("qualification", book.qualification);
  if (!assumed.empty()) warnings.push_back(fmt::format("assumed, not published: {}", fmt::join(assumed, ", ")));
  return warnings;
}

}  // namespace mezz::plan
