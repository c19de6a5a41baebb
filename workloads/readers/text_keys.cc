// SPDX-License-Identifier: Apache-2.0
// One key a line, decimal or 0x-prefixed hexadecimal. A byte-order mark and blank lines are skipped, and in format text
// lines that start with
// '#', in format lirs (the LIRS authors' traces) lines that start with '*'.
#include <fmt/format.h>

#include "workloads/readers/csv_spec.h"
#include "workloads/readers/fields.h"
#include "workloads/readers/trace_file.h"
#include "workloads/readers/trace_formats.h"

namespace mezz {
namespace {

bool ParseKey(std::string_view text, uint64_t* key) {
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  if (hex) text.remove_prefix(2);
  return ParseNumber(text, hex ? 16 : 10, key);
}

class TextKeys final : public TraceFile {
 public:
  TextKeys(std::string path, char comment) : TraceFile(std::move(path)), comment_(comment) {}

  bool Next(Request* request) override {
    std::string_view line;
    do {
      if (!TakeFilledLine(&line)) return false;
    } while (line.front() == comment_);
    *request = Request{};
    if (ParseKey(line, &request->key)) return true;
    return Fail(fmt::format(
        "\"{}\" is not a key; want a decimal or 0x-prefixed hexadecimal number below 2^64 (of lines that are "
        "keys as text: --format=csv:key=#1)",
        Shown(line)));
  }

 private:
  const char comment_;
};

}  // namespace

std::unique_ptr<RequestSource> MakeTextKeys(std::string path) {
  return std::make_unique<TextKeys>(std::move(path), '#');
}
std::unique_ptr<RequestSource> MakeLirs(std::string path) { return std::make_unique<TextKeys>(std::move(path), '*'); }

}  // namespace mezz
