// SPDX-License-Identifier: Apache-2.0
#include "integration/share_text.h"

#include <algorithm>
#include <array>
#include <optional>

#include "cache/base/invalid.h"
#include "cache/base/text.h"

namespace mezz {
namespace {

constexpr std::array<std::string_view, 4> kPercentKeys = {"reserve", "max", "dram_reserve", "dram_max"};
constexpr std::string_view kPriorityKey = "priority";

// What was given.
struct Limits {
  std::array<std::optional<unsigned>, kPercentKeys.size()> percents;
  std::optional<SharePriority> priority;

  // False: it is no limit, or was given before.
  bool Take(std::string_view key, std::string_view value) {
    const auto number = static_cast<size_t>(std::ranges::find(kPercentKeys, key) - kPercentKeys.begin());
    if (number < percents.size()) {
      if (value.ends_with('%')) value.remove_suffix(1);
      return !percents[number] && ParseNumber(value, &percents[number].emplace()) && *percents[number] <= 100;
    }
    return key == kPriorityKey && !priority && ParseWord(key, value, &priority.emplace()).ok();
  }
  // Those of both tiers, unless DRAM has its own.
  DatabaseLimits Both() const {
    const ShareLimits scm = {.reserved_percent = percents[0].value_or(0),
                             .max_percent = percents[1].value_or(100),
                             .priority = priority.value_or(SharePriority::kNormal)};
    return {.scm = scm,
            .dram = {.reserved_percent = percents[2].value_or(scm.reserved_percent),
                     .max_percent = percents[3].value_or(scm.max_percent),
                     .priority = scm.priority}};
  }
};

}  // namespace

Status ParseShare(std::string_view key, std::string_view value, HybridCacheOptions* options) {
  const std::string_view name = value.substr(0, value.find(':'));
  if (name.empty()) return Invalid("{}={}: accepted are NAME and NAME:LIMIT,...", key, value);
  Limits given;
  std::string_view rest = value.substr(name.size());
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const std::string_view limit = rest.substr(0, rest.find(','));
    rest.remove_prefix(limit.size());
    const size_t equals = std::min(limit.find('='), limit.size());
    if (given.Take(limit.substr(0, equals), limit.substr(std::min(equals + 1, limit.size())))) continue;
    return Invalid(
        "{}={}: \"{}\" is no limit; each of reserve=P%, max=P%, dram_reserve=P%, dram_max=P% with P from 0 to 100, and "
        "priority={} may be given once",
        key, value, limit, ListOf(kWordsOf<SharePriority>));
  }
  const DatabaseLimits limits = given.Both();
  MEZZ_RETURN_IF_ERROR(CheckLimits(name, limits.scm, 0));
  MEZZ_RETURN_IF_ERROR(CheckLimits(name, limits.dram, 0, "dram_"));
  options->share = name;
  options->share_limits = limits;
  return Status::Ok();
}

std::string ShareText(const HybridCacheOptions& options) {
  if (options.share.empty()) return "";
  const ShareLimits& scm = options.share_limits.scm;
  const ShareLimits& dram = options.share_limits.dram;
  std::string text;
  const auto add = [&](bool wanted, std::string_view key, const auto& limit) {
    if (wanted) text += fmt::format("{}{}={}", text.empty() ? ":" : ",", key, limit);
  };
  const auto add_percent = [&](size_t number, unsigned percent, unsigned otherwise) {
    add(percent != otherwise, kPercentKeys[number], fmt::format("{}%", percent));
  };
  add_percent(0, scm.reserved_percent, 0);
  add_percent(1, scm.max_percent, 100);
  add(scm.priority != SharePriority::kNormal, kPriorityKey, ToString(scm.priority));
  add_percent(2, dram.reserved_percent, scm.reserved_percent);
  add_percent(3, dram.max_percent, scm.max_percent);
  return options.share + text;
}

}  // namespace mezz
