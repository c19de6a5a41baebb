// SPDX-License-Identifier: Apache-2.0
// Which column of a CSV file is what, by what the user says and by well-known names in its header.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/readers/csv_spec.h"

namespace mezz {

// Which column of a file is what.
struct CsvLayout {
  static constexpr uint8_t kUnused = 0xff;

  std::vector<uint8_t> role_of;              // by column: a CsvRole, or kUnused
  std::array<std::string, kCsvRoles> names;  // of the columns that are used, for messages
  bool has_header = false;
  char delimiter = ',';
  TimeUnit time_unit = TimeUnit::kFind;
  uint32_t size = 0;                   // of all, where no column tells it; 0: not known
  std::optional<Operation> operation;  // of all, likewise
  std::string unused;                  // names of the columns that are passed over
  bool has(CsvRole role) const { return !names[static_cast<size_t>(role)].empty(); }
  std::string_view name(CsvRole role) const { return names[static_cast<size_t>(role)]; }
};

// `fields` are those of the first line. What is wrong, or empty.
std::string ResolveCsv(const CsvSpec& spec, const std::vector<std::string>& fields, CsvLayout* layout);

// What the layout is, in one line: "key=id, time=ts in seconds, size=bytes; not used: ttl".
std::string Understood(const CsvLayout& layout, TimeUnit unit);

// The delimiter of a header that begins with `line`, if well-known names in it tell keys or block I/O; else 0. A header
// of one column has a comma.
char DelimiterOfHeader(std::string_view line);
// Whether `first`, whose names say nothing, is a header all the same: where it has text, `second` has numbers. Both are
// judged by the columns that `layout` uses.
bool IsHeaderOver(const std::vector<std::string>& first, const std::vector<std::string>& second,
                  const CsvLayout& layout);

}  // namespace mezz
