// SPDX-License-Identifier: Apache-2.0
#include "integration/companions/watched_families.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "integration/tell.h"
#include "rocksdb/env.h"
#include "rocksdb/metadata.h"
#include "rocksdb/utilities/options_util.h"

namespace mezz {
namespace {

struct Section {
  Level0Triggers triggers;
  bool level = true;
  bool automatic = true;
};

void Take(std::string_view key, std::string_view value, Section* section) {
  const auto number = [&](int* to) { std::from_chars(value.data(), value.data() + value.size(), *to); };
  if (key == "level0_slowdown_writes_trigger") number(&section->triggers.slowdown);
  if (key == "level0_stop_writes_trigger") number(&section->triggers.stop);
  if (key == "compaction_style") section->level = value == "kCompactionStyleLevel";
  if (key == "disable_auto_compactions") section->automatic = value == "false";
}

// Of the way to a stop: 0 and less before writes are delayed, 1 at the stop.
double Filled(int files, const Level0Triggers& triggers) {
  return static_cast<double>(files - triggers.slowdown) / (triggers.stop - triggers.slowdown);
}

}  // namespace

std::map<std::string, Level0Triggers> TriggersIn(std::string_view options_file) {
  constexpr std::string_view kFamily = "[CFOptions \"";
  std::map<std::string, Section> sections;
  Section* section = nullptr;
  while (!options_file.empty()) {
    std::string_view line = options_file.substr(0, options_file.find('\n'));
    options_file.remove_prefix(std::min(line.size() + 1, options_file.size()));
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    if (line.starts_with('[')) {
      const bool family = line.starts_with(kFamily) && line.ends_with("\"]");
      section =
          family ? &sections[std::string(line.substr(kFamily.size(), line.size() - kFamily.size() - 2))] : nullptr;
    } else if (const size_t equals = line.find('='); section != nullptr && equals != std::string_view::npos) {
      Take(line.substr(0, equals), line.substr(equals + 1), section);
    }
  }
  std::map<std::string, Level0Triggers> triggers;
  for (const auto& [family, found] : sections) {
    if (found.level && found.automatic && found.triggers.stop - found.triggers.slowdown >= kTriggersApartMin)
      triggers[family] = found.triggers;
  }
  return triggers;
}

const Level0Triggers* WatchedFamilies::TriggersOf(const std::string& family) {
  const auto [known, first] = triggers_.try_emplace(family);
  if (first) {
    std::string name, text;
    rocksdb::Env* const env = db_->GetEnv();
    if (rocksdb::GetLatestOptionsFileName(db_->GetName(), env, &name).ok())
      rocksdb::ReadFileToString(env, fmt::format("{}/{}", db_->GetName(), name), &text).PermitUncheckedError();
    const auto found = TriggersIn(text);
    if (const auto ours = found.find(family); ours != found.end())
      known->second = ours->second;
    else
      Tell(
          fmt::format("{}: write_throttle does not look at the column family {}: it needs level compaction, and "
                      "level0_stop_writes_trigger {} above level0_slowdown_writes_trigger",
                      db_->GetName(), family, kTriggersApartMin));
  }
  return known->second ? &*known->second : nullptr;
}

void WatchedFamilies::Add(const FamilyReports& reports, WriteState* state) {
  if (std::ranges::all_of(reports,
                          [](const auto& report) { return report.first == rocksdb::kDefaultColumnFamilyName; }))
    return;
  std::vector<rocksdb::ColumnFamilyMetaData> families;
  db_->GetAllColumnFamilyMetaData(&families);
  double most = Filled(state->level0_files, {state->slowdown_trigger, state->stop_trigger});
  for (const rocksdb::ColumnFamilyMetaData& family : families) {
    const auto report = reports.find(family.name);
    if (report == reports.end() || family.name == rocksdb::kDefaultColumnFamilyName || family.levels.empty()) continue;
    const Level0Triggers* const triggers = TriggersOf(family.name);
    if (triggers == nullptr) continue;
    const auto files = static_cast<int>(family.levels.front().files.size());
    state->limited_elsewhere |= report->second && files < triggers->slowdown;
    if (Filled(files, *triggers) <= most) continue;
    most = Filled(files, *triggers);
    state->level0_files = files;
    state->slowdown_trigger = triggers->slowdown;
    state->stop_trigger = triggers->stop;
  }
}

}  // namespace mezz
