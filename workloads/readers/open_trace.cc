// SPDX-License-Identifier: Apache-2.0
#include "workloads/readers/open_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "workloads/readers/compressed_file.h"
#include "workloads/readers/csv_spec.h"
#include "workloads/readers/fields.h"
#include "workloads/readers/foreign_content.h"
#include "workloads/readers/skip_bad.h"
#include "workloads/readers/trace_formats.h"
#include "workloads/requests/wrapped_source.h"

namespace mezz {
namespace {

using Kind = TraceFormat::Kind;
using Head = std::string_view;  // the first kHeadBytes, decompressed

// The first line that says something has several fields: text, but no list of keys.
bool HasColumns(Head head) {
  while (!head.empty()) {
    const size_t end = std::min(head.find('\n'), head.size());
    const Head line = Trim(head.substr(0, end));
    head.remove_prefix(std::min(end + 1, head.size()));
    if (!line.empty() && line.front() != '#') return line.find_first_of(",;|\t \r") != Head::npos;
  }
  return false;
}
// "csv:key=id,...": the columns as the user says them.
constexpr std::string_view kCsvPrefix = "csv:";

// In the order in which they are tried.
constexpr const TraceFormat* kFormats[] = {
    &kBigEndian64Format,
    &kBigEndian32Format,
    &kLittleEndian64Format,
    &kLittleEndian32Format,
    &kLcsFormat,
    &kOracleGeneralFormat,
    &kVscsi1Format,
    &kVscsi2Format,
    &kCloudPhysicsFormat,
    &kMezzCsvFormat,
    &kLineageFormat,
    &kMetaKvFormat,
    &kMetaBlockFormat,
    &kRocksdbBlockCsvFormat,
    &kTwitterFormat,
    &kMetaCdnFormat,
    &kWikiCdnFormat,
    &kWikiCdnTextFormat,
    &kMsrFormat,
    &kAlibabaBlockFormat,
    &kFiuFormat,
    &kSystor17Format,
    &kTencentCbsFormat,
    &kSpcFormat,
    &kMqsimFormat,
    &kRocksdbBlockFormat,
    &kRocksdbQueryFormat,
    &kCsvFormat,       // behind all whose header is their own
    &kArcPagesFormat,  // before arc: OLTP's records are pages, and its reader refuses all else
    &kArcFormat,
    &kLirsFormat,
    &kTextKeysFormat};

std::string KnownFormats() {
  std::string text;
  for (const TraceFormat* format : kFormats) {
    if (!text.empty()) text += "; ";
    text += fmt::format("{}: {}", format->name, format->about);
  }
  return text;
}

const TraceFormat* FindByName(std::string_view name) {
  if (name.starts_with(kCsvPrefix)) name = kCsvPrefix.substr(0, kCsvPrefix.size() - 1);
  const auto* found = std::ranges::find(kFormats, name, &TraceFormat::name);
  return found == std::end(kFormats) ? nullptr : *found;
}

bool IsAuto(std::string_view name) { return name.empty() || name == "auto"; }

bool IsLetter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

bool Tells(const TraceFormat& format, Head head) { return format.Matches(head) || format.MayMatch(head); }

// An ending tells where no letter follows, any other word where none stands before it: "uniform-" is no "orm-".
bool NameTells(std::string_view path, const TraceFormat& format) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return std::ranges::any_of(format.file_name_parts, [name](std::string_view part) {
    if (part.empty()) return false;
    for (size_t at = name.find(part); at != std::string_view::npos; at = name.find(part, at + 1)) {
      const size_t behind = at + part.size();
      const bool is_ending = part.starts_with('.');
      if (is_ending ? behind == name.size() || !IsLetter(name[behind]) : at == 0 || !IsLetter(name[at - 1]))
        return true;
    }
    return false;
  });
}

// Of raw keys the name is the only witness: all of it must say that they are keys. Returns what it says else.
std::string DoubtfulName(std::string_view path, const TraceFormat& format, std::string_view compression) {
  constexpr std::pair<std::string_view, std::string_view> kEndings[] = {
      {".gz", "gzip"}, {".zst", "zstd"}, {".zstd", "zstd"}, {".xz", "xz"}, {".lz4", "lz4"}, {".bz2", "bzip2"}};
  const std::string_view name = path.substr(path.rfind('/') + 1);
  std::string_view ending = name.substr(std::min(name.rfind('.'), name.size()));
  const auto* known = std::ranges::find(kEndings, ending, &std::pair<std::string_view, std::string_view>::first);
  const std::string_view stem = known == std::end(kEndings) ? name : name.substr(0, name.size() - ending.size());
  if (known != std::end(kEndings) && known->second != compression)
    return fmt::format("its name ends in {}, and its content does not begin as {} does", ending, known->second);
  for (const std::string_view part : format.file_name_parts) {
    const size_t at = part.starts_with('.') ? stem.rfind(part) : std::string_view::npos;
    if (at == std::string_view::npos || at + part.size() == stem.size()) continue;
    return fmt::format("its name goes on behind {} with {}, and nothing else tells keys", part,
                       stem.substr(at + part.size()));
  }
  return {};
}

const TraceFormat* Guess(std::string_view path, Head head) {
  const bool is_text = kTextKeysFormat.MayMatch(head);
  const auto first = [](auto&& is_it) -> const TraceFormat* {
    const auto* found = std::ranges::find_if(kFormats, [&](const TraceFormat* format) { return is_it(*format); });
    return found == std::end(kFormats) ? nullptr : *found;
  };
  if (const TraceFormat* sure = first([&](const TraceFormat& f) { return f.Matches(head); })) return sure;
  const TraceFormat* named = first([&](const TraceFormat& f) {
    return NameTells(path, f) && f.AllowsName(head) && !(is_text && f.kind == Kind::kBinary);
  });
  const TraceFormat* found = named != nullptr ? named : first([&](const TraceFormat& f) { return f.MayMatch(head); });
  // Whose reader asks which column is the key.
  return found != nullptr && found->name == "text" && HasColumns(head) ? FindByName("csv") : found;
}

// A source whose format was guessed says of what.
class Guessed final : public WrappedSource {
 public:
  Guessed(std::unique_ptr<RequestSource> source, const TraceFormat& format)
      : WrappedSource(std::move(source)), format_(format) {}
  bool Next(Request* request) override { return source_->Next(request); }
  std::vector<std::string> remarks() const override {
    std::vector<std::string> remarks = source_->remarks();
    remarks.push_back(
        fmt::format("taken for {} by the shape of its lines alone ({}); if it is something else, say "
                    "--format=NAME, or the columns as --format='csv:...'",
                    format_.name, format_.shape));
    return remarks;
  }

 private:
  const TraceFormat& format_;
};

// `*by_shape`, if not null: whether nothing but that told the format.
Status FindFormat(const std::string& path, std::string_view format_name, const TraceFormat** format,
                  bool* by_shape = nullptr) {
  MEZZ_RETURN_IF_ERROR(CheckTraceFormat(format_name));
  const bool guess = IsAuto(format_name);
  *format = FindByName(format_name);
  std::unique_ptr<CompressedFile> file;
  MEZZ_RETURN_IF_ERROR(CompressedFile::Open(path, &file));
  char head[kHeadBytes];
  size_t head_bytes = 0;
  // A stream that is damaged later on is the reader's to report.
  if (Status read = file->Read(head, sizeof(head), &head_bytes); !read.ok() && head_bytes == 0) return read;
  if (head_bytes == 0) return Status::InvalidArgument(fmt::format("trace {}: it holds no requests", path));
  const bool as_text = guess || (*format)->kind == Kind::kText;
  const std::string foreign =
      ForeignContent({head, head_bytes}, {.unpacked = !file->compression().empty(), .text = as_text, .guessed = guess});
  if (!foreign.empty()) return Status::InvalidArgument(fmt::format("trace {}: this is {}", path, foreign));
  const Head content = WithoutByteOrderMark({head, head_bytes});
  if (guess) *format = Guess(path, content);
  if (guess && (*format == nullptr || !Tells(**format, content))) {
    const std::string unread = ForeignName(path);
    if (!unread.empty()) return Status::InvalidArgument(fmt::format("trace {}: {}", path, unread));
  }
  const bool by_name_alone =
      guess && *format != nullptr && (*format)->kind == Kind::kBinary && !Tells(**format, content);
  const std::string doubt = by_name_alone ? DoubtfulName(path, **format, file->compression()) : std::string();
  if (!doubt.empty()) {
    return Status::InvalidArgument(
        fmt::format("trace {}: {}; say --format={} if these are keys", path, doubt, (*format)->name));
  }
  // Behind bzip2 the name is not taken for enough.
  if (by_name_alone && file->compression() == "bzip2") {
    return Status::InvalidArgument(
        fmt::format("trace {}: of raw keys in bzip2 the name is not enough; say --format={}", path, (*format)->name));
  }
  if (by_shape != nullptr)
    *by_shape = guess && *format != nullptr && !(*format)->shape.empty() && !NameTells(path, **format) &&
                std::isdigit(static_cast<unsigned char>(content.front())) != 0;
  if (*format != nullptr) return Status::Ok();
  return Status::InvalidArgument(fmt::format(
      "trace {}: neither content nor name tells its format; name it with --format ({})", path, KnownFormats()));
}

}  // namespace

std::vector<std::string_view> TraceFormatNames() {
  std::vector<std::string_view> names;
  for (const TraceFormat* format : kFormats) names.push_back(format->name);
  return names;
}

std::string_view AboutTraceFormat(std::string_view name) {
  const TraceFormat* format = FindByName(name);
  return format == nullptr ? std::string_view() : format->about;
}

Status CheckTraceFormat(std::string_view name) {
  CsvSpec spec;
  if (name.starts_with(kCsvPrefix)) return ParseCsvSpec(name.substr(kCsvPrefix.size()), &spec);
  if (IsAuto(name) || FindByName(name) != nullptr) return Status::Ok();
  return Status::InvalidArgument(fmt::format("--format={} is not known; auto, or one of {}", name, KnownFormats()));
}

Status FindTraceFormat(const std::string& path, std::string_view format, std::string* name) {
  const TraceFormat* found = nullptr;
  MEZZ_RETURN_IF_ERROR(FindFormat(path, format, &found));
  *name = format.starts_with(kCsvPrefix) ? format : found->name;
  return Status::Ok();
}

Status OpenTrace(const std::string& path, const OpenOptions& options, std::unique_ptr<RequestSource>* source) {
  const TraceFormat* format = nullptr;
  bool by_shape = false;
  MEZZ_RETURN_IF_ERROR(FindFormat(path, options.format, &format, &by_shape));
  std::string_view columns = format->columns;
  if (options.format.starts_with(kCsvPrefix)) columns = std::string_view(options.format).substr(kCsvPrefix.size());
  CsvSpec spec;
  MEZZ_RETURN_IF_ERROR(ParseCsvSpec(columns, &spec));
  std::unique_ptr<RequestSource> opened =
      format->make == nullptr ? MakeCsvOf(path, std::move(spec)) : format->make(path);
  if (options.skip_bad) opened = SkipBad(std::move(opened));
  if (by_shape) opened = std::make_unique<Guessed>(std::move(opened), *format);
  MEZZ_RETURN_IF_ERROR(opened->Rewind());
  *source = std::move(opened);
  return Status::Ok();
}

Status OpenTrace(const std::string& path, std::string_view format, std::unique_ptr<RequestSource>* source) {
  return OpenTrace(path, OpenOptions{.format = std::string(format)}, source);
}

}  // namespace mezz
