// SPDX-License-Identifier: Apache-2.0
// CSV with any columns (RFC 4180; other delimiters, line ends LF or CRLF, a byte-order mark, Excel's first line
// "sep=;"), taken apart by libcsv. csv_layout.h says which column is what.
//
// Keys: a decimal number below 2^64 without leading zeros, or 0x and hexadecimal digits, is that number; all else is
// text and hashed. Numbers of rows that go back in time are counted. See csv_formats.cc for what has a name of its own.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "admission/curves/key_map.h"
#include "workloads/readers/block_io.h"
#include "workloads/readers/csv_layout.h"
#include "workloads/readers/csv_record.h"
#include "workloads/readers/csv_spec.h"
#include "workloads/readers/csv_time.h"
#include "workloads/readers/fields.h"
#include "workloads/readers/key_hash.h"
#include "workloads/readers/trace_file.h"
#include "workloads/readers/trace_formats.h"

namespace mezz {
namespace {

constexpr uint64_t kRowCountMax = 1'000'000;  // more requests in one row are damage

// "1.23457E+12": what a spreadsheet, or a column of floats, makes of a long number.
bool IsRounded(std::string_view text) {
  if (text.find_first_of("eE") == std::string_view::npos || text.find_first_of(".+") == std::string_view::npos)
    return false;
  return IsDecimal(text);
}

uint64_t KeyOf(std::string_view text) {
  uint64_t key = 0;
  const bool zero_ahead = text.size() > 1 && text[0] == '0';
  if (!zero_ahead && ParseNumber(text, 10, &key)) return key;
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  if (hex && ParseNumber(text.substr(2), 16, &key)) return key;
  return HashKey(text);
}

bool IsNotKnown(std::string_view text) {
  return text.empty() || text == "-" || text == "nan" || text == "NaN" || text == "null" || text == "NULL";
}

// A whole number, also as columns of floats have it ("4096.0", "1e+06").
bool ParseWhole(std::string_view text, uint64_t* value) {
  if (ParseNumber(text, 10, value)) return true;
  if (IsRounded(text) && text.find('.') != std::string_view::npos) return false;
  double number = 0;
  if (!ParseDecimal(text, &number) || !(number >= 0 && number < 1e15)) return false;
  *value = static_cast<uint64_t>(number);
  return number == std::floor(number);
}

class Csv final : public TraceFile {
 public:
  Csv(std::string path, CsvSpec spec) : TraceFile(std::move(path)), spec_(std::move(spec)) {}

  Status Rewind() override {
    started_ = false;
    left_ = 0;
    back_in_time_ = 0;
    empty_ = 0;
    headers_again_ = 0;
    last_us_ = 0;
    more_lines_.clear();
    return TraceFile::Rewind();
  }

  bool Next(Request* request) override {
    while (left_ == 0) {
      if (!started_ && !Start()) return false;
      if (first_is_record_) {
        first_is_record_ = false;
      } else if (!TakeRecord()) {
        return false;
      }
      if (!TakeRow()) return false;
    }
    --left_;
    *request = request_;
    return true;
  }

  std::vector<std::string> remarks() const override {
    std::vector<std::string> remarks;
    if (started_) remarks.push_back(Understood(layout_, unit_));
    if (back_in_time_ > 0)
      remarks.push_back(fmt::format("{} requests are at an earlier time than the one before; they stay where they are",
                                    back_in_time_));
    if (empty_ > 0) remarks.push_back(EmptyIoRemark(empty_));
    if (headers_again_ > 0)
      remarks.push_back(fmt::format("{} lines repeat the header and are left out", headers_again_));
    return remarks;
  }

 private:
  bool Start();
  bool TakeFirst(std::string_view* line);
  bool HasHeaderUnsaid(const std::vector<std::string>& first, char delimiter);
  bool TakeRecord();
  bool FailRecord(std::string_view message);
  bool IsHeaderAgain() const;
  bool TakeRow();
  bool TakeTime();
  bool TakeOperation();
  bool TakePlace(uint64_t bytes);
  bool TakeDevice(uint64_t* device);
  bool FailField(CsvRole role, std::string_view want) {
    return Fail(fmt::format("field {} is \"{}\"; want {}", layout_.name(role), Shown(record_.field(role)), want));
  }
  bool TakeNumber(CsvRole role, uint64_t max, uint64_t* value) {
    if (!layout_.has(role)) return true;
    if (ParseWhole(record_.field(role), value) && *value <= max) return true;
    return FailField(role, fmt::format("a whole number up to {}{}", max,
                                       IsRounded(record_.field(role)) ? ", not a rounded one" : ""));
  }
  // 0: not known.
  bool TakeSize(CsvRole role, uint64_t* value) {
    if (!layout_.has(role)) return true;
    if (!IsNotKnown(record_.field(role))) return TakeNumber(role, UINT32_MAX, value);
    *value = 0;
    return true;
  }

  const CsvSpec spec_;
  CsvLayout layout_;
  CsvRecord record_;
  bool started_ = false;
  bool first_is_record_ = false;
  uint64_t first_line_ = 0;       // of the record
  std::vector<Line> more_lines_;  // of the record, behind its first
  size_t columns_ = 0;
  TimeUnit unit_ = TimeUnit::kFind;
  Request request_;
  uint64_t left_ = 0;  // of the row: requests still to be given
  std::string last_operation_;
  Operation last_known_ = Operation::kGet;
  uint64_t last_us_ = 0;
  uint64_t back_in_time_ = 0;
  uint64_t empty_ = 0;          // I/O of length 0
  uint64_t headers_again_ = 0;  // lines that repeat the header
  KeyMap devices_;              // that are text, numbered as they come; kept by Rewind()
  std::string device_;
};

// The next line that is not blank, without its end. Tabs at its ends are delimiters.
bool Csv::TakeFirst(std::string_view* line) {
  do {
    if (!TakeLine(line)) return false;
  } while (Trim(*line).empty());
  if (line->ends_with('\r')) line->remove_suffix(1);
  return true;
}

// A line of '#' above the header; "# time,id,size" is the header. Where columns are known by their numbers a key may
// begin so, but for "# ".
bool IsComment(const CsvSpec& spec, std::string_view line) {
  if (!line.starts_with('#') || spec.header == false) return false;
  if (std::ranges::any_of(spec.columns, [](const std::string& column) { return column.starts_with('#'); }))
    return line.starts_with("# ");
  const std::string_view text = Trim(line.substr(1));
  if (DelimiterOfHeader(text) != 0) return false;
  const std::vector<std::string> fields =
      SplitCsvLine(text, spec.delimiter != 0 ? spec.delimiter : LikelyDelimiter(text));
  return std::ranges::none_of(fields, [&](const std::string& field) {
    return !field.empty() && std::ranges::find(spec.columns, field) != spec.columns.end();
  });
}

bool Csv::Start() {
  std::string_view line;
  if (!TakeFirst(&line)) return false;
  CsvSpec spec = spec_;
  if (line.starts_with("\xff\xfe") || line.starts_with("\xfe\xff") || line.find('\0') != std::string_view::npos)
    return FailForGood("this is text in UTF-16, or no text; make it UTF-8, such as with iconv -f UTF-16 -t UTF-8");
  if (line.starts_with("sep=") && line.size() == 5) {
    if (spec.delimiter == 0) spec.delimiter = line[4];
    if (!TakeFirst(&line)) return false;
  }
  while (IsComment(spec, line)) {
    if (!TakeFirst(&line)) return false;
  }
  first_line_ = line_number();
  const std::string_view header = line.starts_with('#') ? Trim(line.substr(1)) : line;
  const char found = spec.delimiter != 0 ? spec.delimiter : DelimiterOfHeader(header);
  const char delimiter = found != 0 ? found : LikelyDelimiter(line);
  const std::string first(found != 0 ? header : line);
  if (first.find('\r') != std::string::npos)
    return FailForGood("its lines end in single carriage returns; make these line feeds, such as with tr '\\r' '\\n'");
  const std::vector<std::string> fields = SplitCsvLine(first, delimiter);
  for (const std::string& field : fields) {
    if (field != "extent_bytes" && field != "batch_left") continue;
    return FailForGood(
        fmt::format("this was mezz_csv, and another program wrote it anew ({}); write it with commas, "
                    "without quotes and with all of its columns",
                    Shown(first)));
  }
  std::string wrong = ResolveCsv(spec, fields, &layout_);
  if (wrong.empty() && !layout_.has_header && !spec.header && HasHeaderUnsaid(fields, delimiter)) {
    spec.header = true;
    wrong = ResolveCsv(spec, fields, &layout_);
  }
  if (!wrong.empty()) return FailForGood(wrong);
  BlameLine(first_line_);
  layout_.delimiter = delimiter;
  columns_ = fields.size();
  unit_ = layout_.time_unit;
  record_.Start(delimiter, &layout_);
  started_ = true;
  first_is_record_ = !layout_.has_header;
  if (first_is_record_) record_.Feed(first);
  return true;
}

// By the line that follows.
bool Csv::HasHeaderUnsaid(const std::vector<std::string>& first, char delimiter) {
  std::string_view line;
  if (!TakeFirst(&line)) return false;
  std::vector<Line> next;
  next.push_back({line_number(), std::string(line)});
  const bool is = IsHeaderOver(first, SplitCsvLine(line, delimiter), layout_);
  PutBack(std::move(next));
  return is;
}

// Of a record that goes over lines because of a stray quote, only the first is lost.
bool Csv::FailRecord(std::string_view message) {
  PutBack(std::move(more_lines_));
  more_lines_.clear();
  BlameLine(first_line_);
  return Fail(message);
}

// The next record that is not blank, over several lines if a quoted field holds their ends.
bool Csv::TakeRecord() {
  record_.Clear();
  more_lines_.clear();
  bool open = false;
  std::string_view line;
  while (record_.records() == 0) {
    if (!TakeLine(&line)) {
      record_.Reset();
      if (!status().ok()) PutBack(std::move(more_lines_));
      if (!open || !status().ok()) return false;
      return FailRecord("a quote opens in this record and is not closed");
    }
    if (open) {
      more_lines_.push_back({line_number(), std::string(line)});
    } else {
      first_line_ = line_number();
    }
    open = open || !Trim(line).empty();
    record_.Feed(line);
    if (record_.records() == 0 && record_.fed() > CsvRecord::kBytesMax && open) {
      record_.Reset();
      return FailRecord(
          fmt::format("a quote opens in this record and is not closed within {} bytes", CsvRecord::kBytesMax));
    }
  }
  if (record_.records() > 1) return Fail("a carriage return stands within the line; lines end in LF or CRLF");
  return true;
}

bool Csv::TakeRow() {
  if (record_.fields() != columns_) {
    return FailRecord(fmt::format("{} fields; the {} has {}", record_.fields(),
                                  layout_.has_header ? "header" : "first line", columns_));
  }
  if (layout_.has_header && IsHeaderAgain()) {
    ++headers_again_;
    left_ = 0;
    return true;
  }
  request_ = {.operation = layout_.operation.value_or(Operation::kGet)};
  uint64_t size = layout_.size, key_size = 0, client = 0, count = 1;
  if (!TakeTime() || !TakeOperation()) return false;
  if (!TakeSize(CsvRole::kKeySize, &key_size) || !TakeSize(CsvRole::kSize, &size)) return false;
  if (!TakeNumber(CsvRole::kCount, kRowCountMax, &count)) return false;
  if (layout_.has(CsvRole::kClient)) {
    const std::string_view text = record_.field(CsvRole::kClient);
    if (!ParseNumber(text, 10, &client) || client > UINT32_MAX) client = HashKey(text) | 1;
  }
  request_.key_bytes = static_cast<uint32_t>(key_size);
  request_.client = static_cast<uint32_t>(client);
  left_ = count;
  if (!layout_.has(CsvRole::kKey)) {
    if (TakePlace(size)) return true;
    left_ = 0;
    return false;
  }
  const std::string_view key = record_.field(CsvRole::kKey);
  left_ = 0;
  if (key.empty()) return FailField(CsvRole::kKey, "a key");
  if (IsRounded(key))
    return FailField(CsvRole::kKey, "a key that is not rounded; write the column as text or whole numbers");
  request_.key = KeyOf(key);
  request_.value_bytes = static_cast<uint32_t>(size);
  left_ = count;
  return true;
}

// As `cat` makes of two files.
bool Csv::IsHeaderAgain() const {
  for (size_t i = 0; i < kCsvRoles; ++i) {
    if (!layout_.names[i].empty() && record_.field(static_cast<CsvRole>(i)) != layout_.names[i]) return false;
  }
  return true;
}

// A time that is not told is that of the request before.
bool Csv::TakeTime() {
  if (!layout_.has(CsvRole::kTime)) return true;
  const std::string_view text = record_.field(CsvRole::kTime);
  request_.time_us = last_us_;
  if (text.empty()) return true;
  if (unit_ == TimeUnit::kFind && text != "0") unit_ = UnitOfTime(text);  // all clocks have a 0
  if (IsRounded(text) && text.find('-') == std::string_view::npos)
    return FailField(CsvRole::kTime, "a time that is not rounded");
  if (!ParseTime(text, unit_, &request_.time_us))
    return FailField(CsvRole::kTime, "a time, such as 12.5 or 2026-11-27T12:00:00Z");
  back_in_time_ += request_.time_us < last_us_;
  last_us_ = request_.time_us;
  return true;
}

bool Csv::TakeOperation() {
  if (!layout_.has(CsvRole::kOperation)) return true;
  const std::string_view text = record_.field(CsvRole::kOperation);
  if (text.empty()) return true;
  if (text != last_operation_) {
    const std::string lower = Lower(text);
    const auto named = std::ranges::find(spec_.operations, lower, &std::pair<std::string, Operation>::first);
    const std::optional<Operation> known =
        named != spec_.operations.end() ? std::optional(named->second) : OperationOfField(lower);
    if (!known)
      return FailField(
          CsvRole::kOperation,
          "get, put, read, write, delete or the like; say what it means, such as put=1, in --format='csv:...'");
    last_operation_ = text;
    last_known_ = *known;
  }
  request_.operation = last_known_;
  return true;
}

bool Csv::TakePlace(uint64_t bytes) {
  uint64_t offset = 0, sector = 0, sectors = 0;
  if (!TakeNumber(CsvRole::kOffset, UINT64_MAX, &offset) || !TakeNumber(CsvRole::kSector, UINT64_MAX, &sector))
    return false;
  if (!TakeNumber(CsvRole::kSectors, kExtentBytesMax / kSectorBytes, &sectors)) return false;
  const bool in_bytes = layout_.has(CsvRole::kOffset);
  BlockIo io{.sector = in_bytes ? offset / kSectorBytes : sector,
             .length = layout_.has(CsvRole::kSectors) ? sectors * kSectorBytes : bytes,
             .device_name = layout_.name(CsvRole::kDevice),
             .sector_name = layout_.name(in_bytes ? CsvRole::kOffset : CsvRole::kSector),
             .length_name = layout_.name(layout_.has(CsvRole::kSectors) ? CsvRole::kSectors : CsvRole::kSize)};
  if (!TakeDevice(&io.device)) return false;
  const std::string problem = TakeExtent(io, &request_);
  if (!problem.empty()) return Fail(problem);
  if (request_.extent_bytes == 0) {
    ++empty_;
    left_ = 0;
  }
  if (in_bytes) request_.key += offset % kSectorBytes;
  return true;
}

// One column's numbers are the devices' own; all else is numbered from the last device down, as it comes.
bool Csv::TakeDevice(uint64_t* device) {
  if (!layout_.has(CsvRole::kDevice)) return true;
  const std::string_view text = record_.field(CsvRole::kDevice);
  if (!layout_.has(CsvRole::kDevice2) && ParseNumber(text, 10, device)) {
    if (*device < kDevicesMax - devices_.size()) return true;
    return FailField(CsvRole::kDevice, fmt::format("a device up to {}", kDevicesMax - devices_.size() - 1));
  }
  device_.assign(text).append(1, '\0').append(record_.field(CsvRole::kDevice2));
  const uint64_t number = devices_.Number(HashKey(device_));
  if (number >= kDevicesMax) return FailField(CsvRole::kDevice, fmt::format("one of {} devices at most", kDevicesMax));
  *device = layout_.has(CsvRole::kDevice2) ? number : kDevicesMax - 1 - number;
  return true;
}

bool LooksLikeCsv(std::string_view head) {
  std::string_view text = head;
  for (int lines = 0; lines < 3 && !text.empty();) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = Trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (IsComment(CsvSpec(), line)) continue;
    ++lines;
    if (line.empty() || line.starts_with("sep=")) continue;
    if (line.starts_with('#')) line = Trim(line.substr(1));
    const bool is_text =
        std::ranges::none_of(line, [](char c) { return static_cast<unsigned char>(c) < ' ' && c != '\t'; });
    return is_text && DelimiterOfHeader(line) != 0;
  }
  return false;
}

}  // namespace

constexpr TraceFormat kCsvFormat = {
    .name = "csv",
    .about = "CSV by the names in its header, or csv:key=id,time=ts,size=bytes,op=type,delimiter=; by yours",
    .matches = &LooksLikeCsv};

std::unique_ptr<RequestSource> MakeCsvOf(std::string path, CsvSpec spec) {
  return std::make_unique<Csv>(std::move(path), std::move(spec));
}

}  // namespace mezz
