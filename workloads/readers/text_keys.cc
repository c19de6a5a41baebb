// SPDX-License-Identifier: Apache-2.0
// One key a line, decimal or 0x-prefixed hexadecimal. Blank lines and lines that start with '#' are skipped.
#include <fmt/format.h>

#include <charconv>

#include "workloads/readers/trace_file.h"
#include "workloads/readers/trace_formats.h"

namespace mezz {
namespace {

std::string_view Trim(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

bool ParseKey(std::string_view text, uint64_t* key) {
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  if (hex) text.remove_prefix(2);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *key, hex ? 16 : 10);
  return error == std::errc() && end == text.data() + text.size();
}

// Garbage is shown, but not all of it and nothing a terminal would act on.
std::string Shown(std::string_view text) {
  std::string shown;
  for (char c : text.substr(0, 40)) shown += c >= ' ' && c <= '~' ? c : '?';
  if (text.size() > 40) shown += "...";
  return shown;
}

class TextKeys final : public TraceFile {
 public:
  explicit TextKeys(std::string path) : TraceFile(std::move(path)) {}

  bool Next(Request* request) override {
    std::string_view line;
    do {
      if (!TakeLine(&line)) return false;
      line = Trim(line);
    } while (line.empty() || line.front() == '#');
    *request = Request{};
    if (ParseKey(line, &request->key)) return true;
    return Fail(
        fmt::format("\"{}\" is not a key; want a decimal or 0x-prefixed hexadecimal number below 2^64", Shown(line)));
  }
};

}  // namespace

std::unique_ptr<RequestSource> MakeTextKeys(std::string path) { return std::make_unique<TextKeys>(std::move(path)); }

}  // namespace mezz
