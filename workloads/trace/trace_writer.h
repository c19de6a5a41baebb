// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cache/status.h"
#include "workloads/requests/request.h"

namespace mezz {

// Writes requests as a trace. Single-threaded.
class TraceWriter {
 public:
  virtual ~TraceWriter() = default;
  // What the format does not say is left out. REQUIRES: no extent, unless the format takes them.
  virtual Status Write(const Request& request) = 0;
  // The file has its name only after this.
  virtual Status Finish() = 0;
  // What was written that the requests did not tell, a sentence each; known after Finish().
  virtual std::vector<std::string> remarks() const { return {}; }
};

// A format that can be written; the name is the reader's, too.
struct WriterFormat {
  std::string_view name;
  std::string_view keeps;  // of a request
  bool takes_extents = false;
  bool keeps_operations = false;
};
const std::vector<WriterFormat>& WriterFormats();
// Null: not known.
const WriterFormat* FindWriterFormat(std::string_view name);

struct WriterOptions {
  std::string path = "";    // compressed if it ends in .zst, .gz or .xz
  std::string format = "";  // of WriterFormats()
  // oracle_general is written at the end, because its records point forward; refuse what needs more.
  uint64_t memory_bytes_max = uint64_t{8} << 30;
  // The size of keys of which no request tells it, where the format needs one.
  uint32_t unknown_bytes = 1;
  double sample_rate = 1;  // RequestSource::sample_rate() of what is written; mezz_csv says it
};
Status OpenTraceWriter(const WriterOptions& options, std::unique_ptr<TraceWriter>* writer);

}  // namespace mezz
