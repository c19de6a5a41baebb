// SPDX-License-Identifier: Apache-2.0
#include "workloads/readers/csv_spec.h"

#include <csv.h>
#include <fmt/format.h>

#include <algorithm>

#include "workloads/readers/fields.h"

namespace mezz {
namespace {

Status Bad(std::string_view setting, std::string_view wants) {
  return Status::InvalidArgument(fmt::format("--format=csv: \"{}\" is not understood; {}", setting, wants));
}

Status ParseDelimiter(std::string_view setting, std::string_view value, char* delimiter) {
  constexpr std::pair<std::string_view, char> kNames[] = {{"comma", ','}, {"semicolon", ';'}, {"tab", '\t'},
                                                          {"\\t", '\t'},  {"space", ' '},     {"pipe", '|'}};
  for (const auto& [name, c] : kNames) {
    if (value != name) continue;
    *delimiter = c;
    return Status::Ok();
  }
  const bool one = value.size() == 1 && value[0] != '"' && value[0] != '\n' && value[0] != '\r';
  if (!one) return Bad(setting, "delimiter is one character, or comma, semicolon, tab, space or pipe");
  *delimiter = value[0];
  return Status::Ok();
}

void AddOperations(std::string_view values, Operation operation, CsvSpec* spec) {
  for (size_t at = 0; at <= values.size();) {
    const size_t end = std::min(values.find('|', at), values.size());
    spec->operations.emplace_back(Lower(values.substr(at, end - at)), operation);
    at = end + 1;
  }
}

Status ParseSetting(std::string_view setting, CsvSpec* spec) {
  const size_t equals = setting.find('=');
  const std::string_view name = setting.substr(0, equals);
  const std::string_view value = equals == std::string_view::npos ? std::string_view() : setting.substr(equals + 1);
  if (value.empty()) return Bad(setting, "settings are name=value with commas between them, such as key=id,time=ts");
  const bool again = (name == "delimiter" && spec->delimiter != 0) || (name == "header" && spec->header) ||
                     (name == "time_unit" && spec->time_unit != TimeUnit::kFind);
  if (again) return Bad(setting, fmt::format("{} is named twice", name));
  if (name == "delimiter") return ParseDelimiter(setting, value, &spec->delimiter);
  if (name == "header") {
    if (value != "yes" && value != "no") return Bad(setting, "header is yes or no");
    spec->header = value == "yes";
    return Status::Ok();
  }
  if (name == "time_unit") {
    spec->time_unit = UnitOfName(value);
    return spec->time_unit != TimeUnit::kFind ? Status::Ok() : Bad(setting, "time_unit is s, ms, us, ns or filetime");
  }
  if (const std::optional<Operation> operation = ValueOfWord<Operation>(name)) {
    AddOperations(value, *operation, spec);
    return Status::Ok();
  }
  const auto* role = std::ranges::find(kCsvRoleNames, name);
  if (role == std::end(kCsvRoleNames)) {
    return Bad(setting,
               "it names key, time, size, op, key_size, client, count, device, device2, offset, sector, sectors, "
               "delimiter, header, time_unit, or what an operation is called, such as put=1");
  }
  std::string& column = spec->columns[static_cast<size_t>(role - std::begin(kCsvRoleNames))];
  if (!column.empty()) return Bad(setting, fmt::format("{} is named twice", name));
  column = value;
  return Status::Ok();
}

void TakeField(void* bytes, size_t size, void* fields) {
  static_cast<std::vector<std::string>*>(fields)->emplace_back(static_cast<const char*>(bytes), size);
}

}  // namespace

Status ParseCsvSpec(std::string_view text, CsvSpec* spec) {
  *spec = {};
  for (size_t at = 0; !text.empty() && at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    MEZZ_RETURN_IF_ERROR(ParseSetting(text.substr(at, end - at), spec));
    at = end + 1;
  }
  return Status::Ok();
}

char LikelyDelimiter(std::string_view line) {
  char likely = ',';
  for (const char delimiter : {';', '\t', '|'}) {
    if (std::ranges::count(line, delimiter) > std::ranges::count(line, likely)) likely = delimiter;
  }
  return std::ranges::count(line, likely) == 0 && line.find(' ') != std::string_view::npos ? ' ' : likely;
}

std::optional<Operation> OperationOfField(std::string_view text) {
  constexpr std::pair<Operation, std::string_view> kKnown[] = {
      {Operation::kGet, " get gets read r rd getx head get_lease lookup fetch load select "},
      {Operation::kMultiGet, " mget multiget "},
      {Operation::kPut, " put set write w wr add replace cas insert update upsert store set_lease post "},
      {Operation::kMerge, " append prepend incr decr merge "},
      {Operation::kDelete, " delete del remove purge invalidate "},
      {Operation::kSeek, " seek scan "}};
  for (const auto& [operation, words] : kKnown) {
    if (FindWord(words, text) != std::string_view::npos) return operation;
  }
  return std::nullopt;
}

std::vector<std::string> SplitCsvLine(std::string_view line, char delimiter) {
  std::vector<std::string> fields;
  csv_parser parser;
  if (csv_init(&parser, 0) != 0) return fields;
  csv_set_delim(&parser, static_cast<unsigned char>(delimiter));
  csv_parse(&parser, line.data(), line.size(), &TakeField, nullptr, &fields);
  csv_fini(&parser, &TakeField, nullptr, &fields);
  csv_free(&parser);
  if (delimiter == ' ') std::erase(fields, "");
  return fields;
}

}  // namespace mezz
