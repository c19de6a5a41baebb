// SPDX-License-Identifier: Apache-2.0
// What is reported of a window, and of a second of one: each figure once, with where it comes from and how it is shown.
// The JSON, the CSV, the tables on the terminal, --compare and the page are made from these tables: a new figure is a
// line in one of them.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "workloads/replay/engine/digest.h"

namespace mezz {

// What a figure is of, and so how the page shows it.
enum class Unit : uint8_t {
  kCount,
  kPerSecond,
  kTimes,
  kSeconds,
  kMicroseconds,
  kShare,  // 0 to 1
  kBytesPerSecond,
  kBytesPerOp,
  kReadsPerOp,
  kPerOp,
  kSecondsPerMop,
};
std::string_view ToString(Unit unit);  // "us", "B/op"

// Empty: the window has no such figure.
using Figure = std::variant<std::monostate, uint64_t, double>;

// A column of a table on the terminal.
struct Column {
  enum class Text : uint8_t { kCompact, kFixed };
  int place = 0;  // from the left; 0: in no column
  std::string_view top{}, bottom{};
  int width = 0;
  Text text = Text::kCompact;
  int decimals = 0;  // kFixed
  double scale = 1;

  // At most three digits that mean something, right-aligned.
  std::string Show(double value) const;
};

struct Field {
  enum class Json : uint8_t { kAlways, kBlockMode };
  std::string_view name{};  // in JSON ("a.b": b in the object a), of the CSV's column
  Unit unit = Unit::kCount;
  Figure (*of)(const WindowRow&) = nullptr;

  Json json = Json::kAlways;
  std::string_view title{};     // in the page's table; empty: the page shows its name
  std::string_view compared{};  // in the table of --compare; empty: is not compared
  int csv_place = 0;            // from the left, constant for those who count columns; 0: in no column
  int csv_decimals = 0;
  Column db{};     // of --mode=db
  Column block{};  // of --mode=block
};
// In the order of the page and of --compare.
std::span<const Field> WindowFields();

// A figure of a point of a row's series.
struct SeriesField {
  std::string_view name{};
  Unit unit = Unit::kCount;
  double (*of)(const SeriesPoint&) = nullptr;
  std::string_view panel{};  // the page's chart: the sum of the figures of that title; empty: in none
};
std::span<const SeriesField> SeriesFields();

// ---- What is made from the tables

// Adds the figures of `row` that results of the mode hold.
void AddFigures(const WindowRow& row, bool block_mode, nlohmann::json* to);
nlohmann::json ToJson(const SeriesPoint& point);

double NumberOf(const Figure& figure);  // of an empty one: 0
// A figure as the CSV has it.
std::string CsvText(const Field& field, const WindowRow& row);
// The fields that have a column in the mode's table, from the left.
std::vector<const Field*> TableFields(bool block_mode);

// What the page must know of both tables: {"window": [{"name", "unit", "title"}], "series": [{"name", "unit",
// "panel"}]}.
nlohmann::json FieldsForPage();

}  // namespace mezz
