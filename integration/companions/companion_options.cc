// SPDX-License-Identifier: Apache-2.0
#include "integration/companions/companion_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "cache/base/invalid.h"
#include "cache/base/text.h"

namespace mezz {
namespace {

using Options = CompanionOptions;

template <typename Number>
Status ParseWhole(std::string_view key, std::string_view text, Number* to) {
  if (!text.starts_with('-') && ParseNumber(text, to)) return Status::Ok();
  return Invalid("{}={}: accepted are whole numbers", key, text);
}

struct Key {
  std::string_view name;
  bool Options::*companion;  // that it is of
  Status (*parse)(std::string_view key, std::string_view text, Options* options);
};

constexpr Key kKeys[] = {
    {"write_throttle", nullptr, [](auto k, auto text, Options* o) { return ParseBool(k, text, &o->write_throttle); }},
    {"write_throttle_rate", &Options::write_throttle,
     [](auto k, auto text, Options* o) { return ParseBytes(k, text, &o->write_throttle_rate); }},
    {"dynamic_level0", nullptr, [](auto k, auto text, Options* o) { return ParseBool(k, text, &o->dynamic_level0); }},
    {"level0_few", &Options::dynamic_level0,
     [](auto k, auto text, Options* o) { return ParseWhole(k, text, &o->level0.few); }},
    {"level0_many", &Options::dynamic_level0,
     [](auto k, auto text, Options* o) { return ParseWhole(k, text, &o->level0.many); }},
    {"level0_write_percent", &Options::dynamic_level0,
     [](auto k, auto text, Options* o) { return ParseWhole(k, text, &o->level0.write_percent); }},
    {"level0_band_percent", &Options::dynamic_level0,
     [](auto k, auto text, Options* o) { return ParseWhole(k, text, &o->level0.band_percent); }},
    {"level0_half_life_ms", &Options::dynamic_level0,
     [](auto k, auto text, Options* o) { return ParseWhole(k, text, &o->level0.half_life_ms); }},
    {"adoc", nullptr, [](auto k, auto text, Options* o) { return ParseBool(k, text, &o->adoc); }},
    {"adoc_jobs_max", &Options::adoc,
     [](auto k, auto text, Options* o) { return ParseWhole(k, text, &o->adoc_bounds.jobs_max); }},
    {"adoc_write_buffer_max", &Options::adoc,
     [](auto k, auto text, Options* o) { return ParseBytes(k, text, &o->adoc_bounds.write_buffer_max); }},
};

// The switch of a companion.
std::string_view NameOf(bool Options::*companion) {
  return companion == &Options::write_throttle   ? "write_throttle"
         : companion == &Options::dynamic_level0 ? "dynamic_level0"
                                                 : "adoc";
}

Status ParseItem(std::string_view item, std::set<std::string_view>* seen, Options* options) {
  const size_t equals = item.find('=');
  const std::string_view name = item.substr(0, equals);
  const auto* const key = std::ranges::find(kKeys, name, &Key::name);
  if (equals == std::string_view::npos || key == std::end(kKeys)) {
    return Invalid("\"{}\" is not known; the keys are {}, each as key=value", item, Listed(kKeys, &Key::name));
  }
  if (!seen->insert(name).second) return Invalid("{} is given twice", name);
  return key->parse(name, item.substr(equals + 1), options);
}

// A key of a companion that does not run would do nothing.
Status CheckOwners(const std::set<std::string_view>& seen, const Options& options) {
  for (const Key& key : kKeys) {
    if (key.companion == nullptr || !seen.contains(key.name) || options.*key.companion) continue;
    return Invalid("{} is given, but not {}=true", key.name, NameOf(key.companion));
  }
  return Status::Ok();
}

Status Prefixed(const Status& status) {
  if (status.ok()) return status;
  return Invalid("{} {}", kCompanionsScheme, status.message());
}

Status Parse(std::string_view text, Options* options) {
  if (text.starts_with(kCompanionsScheme)) text.remove_prefix(kCompanionsScheme.size());
  std::set<std::string_view> seen;
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of(";,"), text.size());
    MEZZ_RETURN_IF_ERROR(ParseItem(text.substr(0, end), &seen, options));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  MEZZ_RETURN_IF_ERROR(CheckOwners(seen, *options));
  return options->Validate();
}

}  // namespace

Status CompanionOptions::Validate() const {
  if (!write_throttle && !dynamic_level0 && !adoc) {
    return Invalid("no companion is asked for: write_throttle=true, dynamic_level0=true, adoc=true");
  }
  std::vector<OptionClaim> claims;
  for (const auto companion : {&Options::write_throttle, &Options::dynamic_level0, &Options::adoc}) {
    Options alone;
    alone.*companion = this->*companion;
    const std::vector<OptionClaim> more = ClaimsOf(alone);
    MEZZ_RETURN_IF_ERROR(CheckClaims(claims, more));
    claims.insert(claims.end(), more.begin(), more.end());
  }
  // RocksDB's own lowest rate: a rate that is not above it cannot be held up.
  constexpr uint64_t kLowest = 16 << 10;
  if (write_throttle && write_throttle_rate != 0 && write_throttle_rate <= kLowest) {
    return Invalid("write_throttle_rate={}: give more than {}, RocksDB's lowest rate", write_throttle_rate, kLowest);
  }
  return dynamic_level0 ? level0.Validate() : Status::Ok();
}

std::string CompanionOptions::ToText() const {
  std::string text;
  if (write_throttle) text += "write_throttle=true;";
  if (write_throttle && write_throttle_rate != 0) text += fmt::format("write_throttle_rate={};", write_throttle_rate);
  if (dynamic_level0) {
    text += fmt::format(
        "dynamic_level0=true;level0_few={};level0_many={};level0_write_percent={};level0_band_percent={};"
        "level0_half_life_ms={};",
        level0.few, level0.many, level0.write_percent, level0.band_percent, level0.half_life_ms);
  }
  if (adoc) text += "adoc=true;";
  if (adoc && adoc_bounds.jobs_max != 0) text += fmt::format("adoc_jobs_max={};", adoc_bounds.jobs_max);
  if (adoc && adoc_bounds.write_buffer_max != 0)
    text += fmt::format("adoc_write_buffer_max={};", adoc_bounds.write_buffer_max);
  if (!text.empty()) text.pop_back();
  return text;
}

Status ParseCompanions(std::string_view text, CompanionOptions* options) {
  CompanionOptions parsed;
  MEZZ_RETURN_IF_ERROR(Prefixed(Parse(text, &parsed)));
  *options = parsed;
  return Status::Ok();
}

std::vector<OptionClaim> ClaimsOf(const CompanionOptions& options) {
  std::vector<OptionClaim> claims;
  if (options.write_throttle) claims.push_back({"write_throttle", "delayed_write_rate"});
  if (options.dynamic_level0) {
    for (const std::string_view option :
         {"write_buffer_size", "max_write_buffer_number", "arena_block_size", "level0_file_num_compaction_trigger",
          "level0_slowdown_writes_trigger", "level0_stop_writes_trigger"}) {
      claims.push_back({"dynamic_level0", option});
    }
  }
  if (options.adoc) {
    for (const std::string_view option :
         {"max_background_jobs", "write_buffer_size", "target_file_size_base", "max_bytes_for_level_base"}) {
      claims.push_back({"adoc", option});
    }
  }
  return claims;
}

Status CheckClaims(const std::vector<OptionClaim>& held, const std::vector<OptionClaim>& more) {
  for (const OptionClaim& claim : more) {
    const auto other = std::ranges::find(held, claim.option, &OptionClaim::option);
    if (other == held.end()) continue;
    return Invalid(
        "{} sets {}, which another companion of this database, {}, sets already: "
        "give the database one of them",
        claim.companion, claim.option, other->companion);
  }
  return Status::Ok();
}

}  // namespace mezz
