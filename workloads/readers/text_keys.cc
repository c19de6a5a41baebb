// SPDX-License-Identifier: Apache-2.0
// One key a line, decimal or 0x-prefixed hexadecimal. A byte-order mark and blank lines are skipped, and in format text
// lines that start with
// '#', in format lirs (the LIRS authors' traces) lines that start with '*'.
#include <fmt/format.h>

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

// How many bytes of UTF-8 a character has that begins with `lead`; 0: none begins so.
size_t Utf8Bytes(unsigned char lead) {
  if (lead < 0x80) return lead >= ' ' || lead == '\n' || lead == '\r' || lead == '\t' ? 1 : 0;
  if (lead >= 0xc2 && lead < 0xe0) return 2;
  if (lead >= 0xe0 && lead < 0xf0) return 3;
  return lead >= 0xf0 && lead < 0xf5 ? 4 : 0;
}
// ASCII or UTF-8. The last character may be cut.
bool IsText(std::string_view head) {
  for (size_t at = 0; at < head.size();) {
    const size_t bytes = head[at] == '\x7f' ? 0 : Utf8Bytes(static_cast<unsigned char>(head[at]));
    if (bytes == 0) return false;
    for (size_t i = at + 1; i < std::min(at + bytes, head.size()); ++i) {
      if ((static_cast<unsigned char>(head[i]) & 0xc0) != 0x80) return false;
    }
    at += bytes;
  }
  return !head.empty();
}

}  // namespace

constexpr TraceFormat kLirsFormat = {
    .name = "lirs",
    .about = "one decimal block a line, lines of * skipped",
    .file_name_parts = {".lirs", "sprite.trace", "loop.trace", "multi1.trace", "multi2.trace", "multi3.trace"},
    .make = [](std::string path) -> std::unique_ptr<RequestSource> {
      return std::make_unique<TextKeys>(std::move(path), '*');
    }};
constexpr TraceFormat kTextKeysFormat = {.name = "text",
                                         .about = "one decimal or 0x-hexadecimal key a line",
                                         .file_name_parts = {".keys", ".txt"},
                                         .may_match = &IsText,
                                         .make = [](std::string path) -> std::unique_ptr<RequestSource> {
                                           return std::make_unique<TextKeys>(std::move(path), '#');
                                         }};

}  // namespace mezz
