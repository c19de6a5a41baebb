// SPDX-License-Identifier: Apache-2.0
// How a CSV file becomes requests: which column is what, as --format='csv:key=id,time=ts' says it, or as well-known
// names in the file's header tell it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "admission/curves/operation.h"
#include "cache/status.h"

namespace mezz {

// What a column may be. Those from kOffset on make block I/O: extents of devices, with kSize as their length.
enum class CsvRole : uint8_t {
  kKey,
  kTime,
  kSize,
  kOperation,
  kKeySize,
  kClient,
  kCount,    // the row stands for so many requests
  kDevice,   // of which the keys lie apart; text or a number
  kDevice2,  // both together name a device
  kOffset,   // in bytes
  kSector,   // in 512 bytes
  kSectors,  // length in 512 bytes
};
inline constexpr size_t kCsvRoles = 12;

enum class TimeUnit : uint8_t {
  kFind,     // by the column's name, or by the size of the first time
  kSeconds,  // with a fraction or without
  kMillis,
  kMicros,
  kNanos,
  kFileTime,  // Windows': 100 ns
};

// What --format says; what is empty is found.
struct CsvSpec {
  std::array<std::string, kCsvRoles> columns;  // a column's name, #N for the N-th; kSize, kOperation: or a constant
  char delimiter = 0;
  std::optional<bool> header;
  TimeUnit time_unit = TimeUnit::kFind;
  std::vector<std::pair<std::string, Operation>> operations;  // what a field says, in lower case

  std::string& column(CsvRole role) { return columns[static_cast<size_t>(role)]; }
  const std::string& column(CsvRole role) const { return columns[static_cast<size_t>(role)]; }
};

// Of `text`, "key=id,time=ts,size=bytes,op=type,delimiter=;"; empty: all is found.
Status ParseCsvSpec(std::string_view text, CsvSpec* spec);

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
// By count, of a line whose names say nothing. A blank only where there is no other.
char LikelyDelimiter(std::string_view line);
// Whether `first`, whose names say nothing, is a header all the same: where it has text, `second` has numbers. Both are
// judged by the columns that `layout` uses.
bool IsHeaderOver(const std::vector<std::string>& first, const std::vector<std::string>& second,
                  const CsvLayout& layout);

// A field of an operation's column, in lower case: get, read, r, ... Null: not known.
std::optional<Operation> OperationOfField(std::string_view text);

// The fields of one line, by libcsv.
std::vector<std::string> SplitCsvLine(std::string_view line, char delimiter);
}  // namespace mezz
