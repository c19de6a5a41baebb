// SPDX-License-Identifier: Apache-2.0
#include "workloads/readers/open_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "workloads/readers/compressed_file.h"
#include "workloads/readers/trace_formats.h"

namespace mezz {
namespace {

using Head = std::string_view;  // the first bytes, decompressed

bool LooksLikeKeys(Head head) {
  return !head.empty() && std::all_of(head.begin(), head.end(), [](char c) {
    return c >= ' ' && c <= '~' ? true : c == '\n' || c == '\r' || c == '\t';
  });
}
bool Never(Head) { return false; }  // no mark of their own
bool LooksLikeCloudPhysics(Head head) { return head.starts_with("version,time,op,size,lbn"); }

struct TraceFormat {
  std::string_view name;
  std::string_view about;
  std::vector<std::string_view> file_name_parts;  // any of them in the file's name tells the format
  bool (*matches)(Head head);
  std::unique_ptr<RequestSource> (*make)(std::string path);
};

const std::vector<TraceFormat>& Formats() {
  static const std::vector<TraceFormat> formats = {
      {"be64", "raw big-endian 64-bit keys (scarab-recs)", {"scarab", ".be64"}, &Never, &MakeBigEndian64},
      {"be32",
       "raw big-endian 32-bit keys (orm-busy, web07)",
       {"orm-", "web07", "web12", ".be32"},
       &Never,
       &MakeBigEndian32},
      {"cloudphysics_csv", "block I/O: version,time,op,size,lbn", {}, &LooksLikeCloudPhysics, &MakeCloudPhysicsCsv},
      // Before "arc": OLTP's records are pages, and its reader refuses a file whose records are anything else.
      {"arc_pages", "ARC list whose records are one page each (OLTP)", {"OLTP.lis"}, &Never, &MakeArcPages},
      {"arc", "ARC list of extents in 512-byte sectors (P1 to P14)", {".lis"}, &Never, &MakeArc},
      {"lirs",
       "one decimal block a line, lines of * skipped",
       {".lirs", "sprite.trace", "loop.trace", "multi1.trace", "multi2.trace", "multi3.trace"},
       &Never,
       &MakeLirs},
      {"text", "one decimal or 0x-hexadecimal key a line", {".keys", ".txt"}, &LooksLikeKeys, &MakeTextKeys},
  };
  return formats;
}

std::string KnownFormats() {
  std::string text;
  for (const TraceFormat& format : Formats()) {
    if (!text.empty()) text += "; ";
    text += fmt::format("{}: {}", format.name, format.about);
  }
  return text;
}

const TraceFormat* FindByFileName(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  for (const TraceFormat& format : Formats()) {
    for (std::string_view part : format.file_name_parts) {
      if (name.find(part) != std::string_view::npos) return &format;
    }
  }
  return nullptr;
}

const TraceFormat* FindByContent(Head head) {
  for (const TraceFormat& format : Formats()) {
    if (format.matches(head)) return &format;
  }
  return nullptr;
}

}  // namespace

std::vector<std::string_view> TraceFormatNames() {
  std::vector<std::string_view> names;
  for (const TraceFormat& format : Formats()) names.push_back(format.name);
  return names;
}

Status OpenTrace(const std::string& path, std::string_view format_name, std::unique_ptr<RequestSource>* source) {
  const TraceFormat* format = nullptr;
  for (const TraceFormat& known : Formats()) {
    if (known.name == format_name) format = &known;
  }
  if (!format_name.empty() && format == nullptr) {
    return Status::InvalidArgument(fmt::format("--format={} is not known; one of {}", format_name, KnownFormats()));
  }
  std::unique_ptr<CompressedFile> file;
  MEZZ_RETURN_IF_ERROR(CompressedFile::Open(path, &file));
  char head[256];
  size_t head_bytes = 0;
  MEZZ_RETURN_IF_ERROR(file->Read(head, sizeof(head), &head_bytes));
  if (head_bytes == 0) return Status::InvalidArgument(fmt::format("trace {}: it holds no requests", path));
  if (format == nullptr) format = FindByFileName(path);
  if (format == nullptr) format = FindByContent({head, head_bytes});
  if (format == nullptr) {
    return Status::InvalidArgument(fmt::format(
        "trace {}: neither name nor content tells its format; name it with --format ({})", path, KnownFormats()));
  }
  std::unique_ptr<RequestSource> opened = format->make(path);
  MEZZ_RETURN_IF_ERROR(opened->Rewind());
  *source = std::move(opened);
  return Status::Ok();
}

}  // namespace mezz
