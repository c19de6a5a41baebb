// SPDX-License-Identifier: Apache-2.0
// How a CSV file becomes requests, as --format='csv:key=id,time=ts' says it. csv_layout.h finds the rest.
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
#include "workloads/readers/csv_time.h"

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
inline constexpr std::string_view kCsvRoleNames[kCsvRoles] = {
    "key", "time", "size", "op", "key_size", "client", "count", "device", "device2", "offset", "sector", "sectors"};

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

// By count, of a line whose names say nothing. A blank only where there is no other.
char LikelyDelimiter(std::string_view line);

// A field of an operation's column, in lower case: get, read, r, ... Null: not known.
std::optional<Operation> OperationOfField(std::string_view text);

// The fields of one line, by libcsv.
std::vector<std::string> SplitCsvLine(std::string_view line, char delimiter);

}  // namespace mezz
