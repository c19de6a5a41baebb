// SPDX-License-Identifier: Apache-2.0
#include "workloads/readers/named_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "workloads/readers/fields.h"

namespace mezz {
namespace {

template <typename Visit>
size_t VisitFields(std::string_view line, Visit&& visit) {
  size_t count = 0;
  for (size_t at = 0; at <= line.size(); ++count) {
    const size_t end = std::min(line.find(',', at), line.size());
    visit(count, line.substr(at, end - at));
    at = end + 1;
  }
  return count;
}

}  // namespace

NamedCsv::NamedCsv(std::string path, std::vector<Column> columns)
    : TraceFile(std::move(path)), columns_(std::move(columns)) {
  row_.count = 0;
}

Status NamedCsv::Rewind() {
  row_.count = 0;
  places_.clear();
  return TraceFile::Rewind();
}

bool NamedCsv::Next(Request* request) {
  while (row_.count == 0) {
    std::string_view line;
    if (!TakeFilledLine(&line)) return false;
    if (places_.empty() && line.starts_with('#')) {
      TakeComment(line);
      continue;
    }
    if (places_.empty()) {
      if (!TakeHeader(line)) return false;
      continue;
    }
    row_ = {};
    if (SplitRow(line) && TakeRow(&row_)) continue;
    row_.count = 0;
    return false;
  }
  --row_.count;
  *request = row_.request;
  if (row_.request.recorded != Recorded::kUnknown) {
    request->recorded = row_.misses > 0 ? Recorded::kMiss : Recorded::kHit;
    row_.misses -= row_.misses > 0 ? 1 : 0;
  }
  return true;
}

// "# sample_rate=0.01" stands before the header of a sample that mezz_trace has made.
void NamedCsv::TakeComment(std::string_view line) {
  constexpr std::string_view kRate = "sample_rate=";
  const size_t at = line.find(kRate);
  double rate = 0;
  if (at == std::string_view::npos) return;
  std::from_chars(line.data() + at + kRate.size(), line.data() + line.size(), rate);
  if (rate > 0 && rate <= 1) sample_rate_ = rate;
}

std::vector<std::string> NamedCsv::remarks() const {
  if (sample_rate_ == 1) return {};
  return {fmt::format("a sample of {:.6g} of the keys, so its sizes are a sample's", sample_rate_)};
}

bool NamedCsv::TakeHeader(std::string_view line) {
  present_.assign(columns_.size() + 1, false);
  fields_.assign(columns_.size() + 1, {});
  VisitFields(line, [this](size_t, std::string_view name) {
    const auto known = std::ranges::find(columns_, Trim(name), &Column::name);
    places_.push_back(static_cast<size_t>(known - columns_.begin()));
    present_[places_.back()] = true;
  });
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (!columns_[i].required || present_[i]) continue;
    places_.clear();
    return FailForGood(fmt::format("the header \"{}\" does not name a column {}", Shown(line), columns_[i].name));
  }
  return true;
}

bool NamedCsv::SplitRow(std::string_view line) {
  const size_t count = VisitFields(line, [this](size_t place, std::string_view field) {
    if (place < places_.size()) fields_[places_[place]] = field;
  });
  if (count == places_.size()) return true;
  return Fail(fmt::format("{} fields in \"{}\"; the header names {}", count, Shown(line), places_.size()));
}

bool NamedCsv::ParseColumn(size_t column, uint64_t max, uint64_t* value) {
  return !present_[column] || ParseField(columns_[column].name, field(column), max, value);
}

bool NamedCsv::FailColumn(size_t column, std::string_view want) {
  return Fail(fmt::format("field {} is \"{}\"; want {}", columns_[column].name, Shown(field(column)), want));
}

bool HeaderNames(std::string_view head, std::initializer_list<std::string_view> columns) {
  std::string_view line = head.substr(0, head.find('\n'));
  for (; !head.empty() && (line.starts_with('#') || Trim(line).empty()); line = head.substr(0, head.find('\n')))
    head.remove_prefix(std::min(line.size() + 1, head.size()));
  return std::ranges::all_of(columns, [line](std::string_view column) {
    bool named = false;
    VisitFields(line, [&](size_t, std::string_view name) { named = named || Trim(name) == column; });
    return named;
  });
}

}  // namespace mezz
