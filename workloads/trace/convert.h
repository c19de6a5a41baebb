// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cache/status.h"
#include "workloads/requests/progress.h"

namespace mezz {

struct ConvertOptions {
  std::string path = "";
  std::string format = "auto";  // empty or auto: found
  bool skip_bad = false;
  std::string to = "";   // of WriterFormats()
  std::string out = "";  // compressed if it ends in .zst, .gz or .xz
  // Extents are cut into blocks of so many bytes, unless all are kept in a format that takes extents.
  uint32_t unit_bytes = 4096;
  uint32_t unknown_bytes = 1;  // of keys of which no request tells the size, where the format needs one
  double rate = 1;             // share of the keys to keep: SpatialSample
  uint64_t seed = 1;
  uint64_t memory_bytes_max = uint64_t{8} << 30;

  Status Validate() const;
};

struct ConvertSummary {
  uint64_t requests = 0;             // written
  uint64_t operations = 0;           // of them, other than get, which the format does not tell apart
  uint64_t damaged_records = 0;      // left out
  std::vector<std::string> remarks;  // of the reader and of the writer
};

// Reads a trace and writes another. A trace that cannot be read or written to its end leaves no file.
Status ConvertTrace(const ConvertOptions& options, ConvertSummary* summary, Progress* progress = nullptr);

}  // namespace mezz
