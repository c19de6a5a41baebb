// SPDX-License-Identifier: Apache-2.0
#include "workloads/readers/csv_layout.h"

#include <fmt/format.h>

#include <algorithm>

#include "cache/base/text.h"
#include "workloads/readers/csv_time.h"
#include "workloads/readers/fields.h"

namespace mezz {
namespace {

// Well-known names by role, best first, each between two blanks. Blanks, '_' and '-' of a header do not count, nor does
// case.
constexpr std::string_view kWellKnown[kCsvRoles] = {
    " key id objid objectid obj object cachekey itemid item blockid block pageid page url uri hashedpathquery "
    "hashedhostpathquery documentid docid contentid fileid filename keyid keyhash hashedkey anonymizedkey "
    "objecthash ",
    " time timestamp ts t datetime date optime realtime unixtime epoch relativeunix relativetime clocktime arrival "
    "arrivaltime requesttime eventtime starttime ",
    " size bytes objsize objectsize valuesize valsize valuebytes responsesize contentlength blocksize reqsize "
    "requestsize iosize length len nbytes sizebytes filesize itemsize pagesize ",
    " op operation optype opcode opname type iotype reqtype requesttype cmd command method rw verb action ",
    " keysize keybytes ksize keylen keylength ",
    " client clientid user userid tenant tenantid thread tid ",
    " opcount count ",
    " device deviceid dev disk disknumber diskid lun volume volumeid asu ",
    "",
    " offset byteoffset offsetbytes address ",
    " lba lbn sector startsector startlba ",
    " sectors nsectors sectorcount numsectors "};

// Where among them the name stands that a header's is; npos: nowhere.
size_t RankOf(CsvRole role, std::string_view normal) { return FindWord(kWellKnown[static_cast<size_t>(role)], normal); }
// A header's name without what people write differently; the first of a header may follow a '#'.
std::string Plain(std::string_view name) {
  std::string plain = Lower(name);
  std::erase_if(plain, [](char c) { return std::string_view(" _-#\"").find(c) != std::string_view::npos; });
  return plain;
}

// "time_us", "timestamp (ms)": the name without its unit, and the unit.
std::string WithoutUnit(std::string_view name, TimeUnit* unit) {
  std::string lower = Lower(Trim(name));
  if (lower.ends_with(')') || lower.ends_with(']')) lower.pop_back();
  const size_t at = lower.find_last_of("_ ([");
  if (at == std::string::npos) return Plain(name);
  const TimeUnit known = UnitOfName(std::string_view(lower).substr(at + 1));
  if (known == TimeUnit::kFind) return Plain(name);
  *unit = known;
  return Plain(std::string_view(lower).substr(0, at));
}

std::string Normal(CsvRole role, std::string_view name, TimeUnit* unit) {
  return role == CsvRole::kTime ? WithoutUnit(name, unit) : Plain(name);
}
bool NamesOne(CsvRole role, std::string_view field) {
  TimeUnit unit{};
  return RankOf(role, Normal(role, field, &unit)) != std::string_view::npos;
}

bool TellsRequests(const std::vector<std::string>& fields) {
  const auto any = [&](CsvRole role) {
    return std::ranges::any_of(fields, [role](const std::string& field) { return NamesOne(role, field); });
  };
  if (std::ranges::any_of(fields, [](const std::string& field) { return IsNumber(field); })) return false;
  return any(CsvRole::kKey) ||
         ((any(CsvRole::kOffset) || any(CsvRole::kSector)) && (any(CsvRole::kSize) || any(CsvRole::kSectors)));
}

constexpr std::string_view kDelimiters = ",;\t|";

class Resolver {
 public:
  Resolver(const CsvSpec& spec, const std::vector<std::string>& fields, CsvLayout* layout)
      : spec_(spec), fields_(fields), layout_(*layout) {}

  std::string Run() {
    layout_ = {};
    layout_.role_of.assign(fields_.size(), CsvLayout::kUnused);
    layout_.time_unit = spec_.time_unit;
    FindHeader();
    for (size_t i = 0; i < kCsvRoles; ++i) {
      std::string wrong = Named(static_cast<CsvRole>(i));
      if (!wrong.empty()) return wrong;
    }
    const bool io_named = !spec_.column(CsvRole::kOffset).empty() || !spec_.column(CsvRole::kSector).empty();
    if (layout_.has_header) {
      std::string wrong = Known(io_named);
      if (!wrong.empty()) return wrong;
    }
    return Check();
  }

 private:
  void FindHeader() {
    bool by_name = false;
    for (size_t i = 0; i < kCsvRoles; ++i) {
      const std::string& column = spec_.columns[i];
      if (column.empty() || column[0] == '#' || IsConstant(static_cast<CsvRole>(i), column)) continue;
      by_name = by_name || std::ranges::find(fields_, column) != fields_.end();
    }
    layout_.has_header = spec_.header.value_or(by_name || TellsRequests(fields_));
  }

  // 4096 for a size, get for an operation: no header has such a name.
  static bool IsConstant(CsvRole role, const std::string& column) {
    if (role == CsvRole::kSize) return IsNumber(column);
    return role == CsvRole::kOperation && OperationOfField(Lower(column)).has_value();
  }

  void Take(size_t place, CsvRole role) {
    layout_.role_of[place] = static_cast<uint8_t>(role);
    layout_.names[static_cast<size_t>(role)] =
        layout_.has_header && !fields_[place].empty() ? fields_[place] : fmt::format("#{}", place + 1);
    TimeUnit unit = TimeUnit::kFind;
    if (role == CsvRole::kTime && layout_.has_header) WithoutUnit(fields_[place], &unit);
    if (role == CsvRole::kTime && layout_.time_unit == TimeUnit::kFind) layout_.time_unit = unit;
  }

  // What the spec says of `role`.
  std::string Named(CsvRole role) {
    const std::string& column = spec_.column(role);
    if (column.empty()) return {};
    const std::string_view setting = kCsvRoleNames[static_cast<size_t>(role)];
    size_t place = fields_.size();
    uint64_t number = 0;
    if (column[0] == '#' && ParseNumber(std::string_view(column).substr(1), 10, &number)) {
      if (number == 0 || number > fields_.size())
        return fmt::format("{}={} is no column: the first line has {}", setting, column, fields_.size());
      place = number - 1;
    } else if (layout_.has_header && !IsConstant(role, column)) {
      const auto found = std::ranges::find(fields_, column);
      place = static_cast<size_t>(found - fields_.begin());
      if (std::ranges::count(fields_, column) > 1)
        return fmt::format("{}={} is the name of two columns; say #N, the column's number", setting, column);
    }
    if (place == fields_.size()) return Constant(role, setting, column);
    if (layout_.role_of[place] != CsvLayout::kUnused)
      return fmt::format("{}={} is the column that {} is, too", setting, column, kCsvRoleNames[layout_.role_of[place]]);
    Take(place, role);
    return {};
  }

  std::string Constant(CsvRole role, std::string_view setting, const std::string& column) {
    uint64_t number = 0;
    if (role == CsvRole::kSize && ParseNumber(column, 10, &number) && number <= UINT32_MAX) {
      layout_.size = static_cast<uint32_t>(number);
      return {};
    }
    if (role == CsvRole::kOperation) layout_.operation = OperationOfField(Lower(column));
    if (role == CsvRole::kOperation && layout_.operation) return {};
    return fmt::format("{}={} is no column of its header; there are {}{}", setting, column, Listed(fields_, Shown),
                       layout_.has_header ? "" : " (is that a header? say header=yes, or name columns by number: #1)");
  }

  // Well-known names in the header, for what the spec leaves open. Its own words for a key, or for I/O, stand for both.
  std::string Known(bool io_named) {
    if (!io_named && !layout_.has(CsvRole::kKey)) {
      std::string wrong = KnownKey();
      if (!wrong.empty()) return wrong;
    }
    const bool io = !layout_.has(CsvRole::kKey);
    for (size_t i = 0; i < kCsvRoles; ++i) {
      const auto role = static_cast<CsvRole>(i);
      const bool of_io = role >= CsvRole::kDevice;
      if (role == CsvRole::kKey || layout_.has(role) || (of_io && !io)) continue;
      if (role == CsvRole::kSize && (layout_.size != 0 || layout_.has(CsvRole::kSectors))) continue;
      if (role == CsvRole::kOperation && layout_.operation) continue;
      if (role == CsvRole::kSector && layout_.has(CsvRole::kOffset)) continue;
      if (role == CsvRole::kSectors && (layout_.has(CsvRole::kSize) || layout_.size != 0)) continue;
      const size_t place = FindKnown(role);
      if (place == fields_.size()) continue;
      if (std::ranges::count(fields_, fields_[place]) > 1)
        return fmt::format("{} is the name of two columns; say which is what by number, such as --format='csv:{}=#{}'",
                           Shown(fields_[place]), kCsvRoleNames[i], place + 1);
      Take(place, role);
    }
    return {};
  }

  // The best of the well-known names that is there and free.
  size_t FindKnown(CsvRole role) const {
    size_t best = fields_.size(), rank = std::string_view::npos;
    for (size_t place = 0; place < fields_.size(); ++place) {
      TimeUnit unit{};
      if (layout_.role_of[place] != CsvLayout::kUnused) continue;
      const size_t own = RankOf(role, Normal(role, fields_[place], &unit));
      if (own < rank) best = place;
      rank = std::min(rank, own);
    }
    return best;
  }

  std::string KnownKey() {
    std::vector<size_t> places;
    for (size_t place = 0; place < fields_.size(); ++place) {
      if (layout_.role_of[place] == CsvLayout::kUnused && NamesOne(CsvRole::kKey, fields_[place]))
        places.push_back(place);
    }
    if (places.empty()) return {};
    const std::string& name = fields_[places[0]];
    if (places.size() > 1 && fields_[places[1]] == name)
      return fmt::format(
          "{} is the name of two columns; say which is the key by number, such as --format='csv:key=#{}'", Shown(name),
          places[0] + 1);
    if (places.size() > 1) {
      return fmt::format("its columns {} and {} may both be the key; say which, such as --format='csv:key={}'",
                         Shown(name), Shown(fields_[places[1]]), Shown(name));
    }
    const bool by_sector = FindKnown(CsvRole::kOffset) == fields_.size();
    const size_t place = FindKnown(by_sector ? CsvRole::kSector : CsvRole::kOffset);
    const bool has_length = FindKnown(CsvRole::kSize) < fields_.size() ||
                            FindKnown(CsvRole::kSectors) < fields_.size() || layout_.size != 0;
    if (place < fields_.size() && has_length) {
      return fmt::format(
          "its column {} may be the key, and {} the place on a device; say which, --format='csv:key={}' "
          "or --format='csv:{}={}'",
          Shown(name), Shown(fields_[place]), Shown(name), by_sector ? "sector" : "offset", Shown(fields_[place]));
    }
    Take(places[0], CsvRole::kKey);
    return {};
  }

  std::string Check() {
    std::vector<std::string> unused;
    for (size_t place = 0; place < fields_.size(); ++place) {
      if (layout_.role_of[place] == CsvLayout::kUnused && layout_.has_header && !fields_[place].empty())
        unused.push_back(fields_[place]);
    }
    layout_.unused = Listed(unused, Shown);
    const bool io = layout_.has(CsvRole::kOffset) || layout_.has(CsvRole::kSector);
    if (io && layout_.has(CsvRole::kKey))
      return "a key and a place on a device are one too many; name key, or offset or sector";
    if (layout_.has(CsvRole::kOffset) && layout_.has(CsvRole::kSector))
      return "offset (bytes) and sector (512 bytes) are one too many; name one";
    if (layout_.has(CsvRole::kSectors) && (layout_.has(CsvRole::kSize) || layout_.size != 0))
      return "size (bytes) and sectors (512 bytes) are one too many; name one";
    for (const CsvRole role : {CsvRole::kDevice, CsvRole::kDevice2, CsvRole::kSectors}) {
      if (!io && layout_.has(role))
        return fmt::format("{} goes with offset or sector, and the key alone tells what is asked for",
                           kCsvRoleNames[static_cast<size_t>(role)]);
    }
    if (io && !layout_.has(CsvRole::kSize) && !layout_.has(CsvRole::kSectors) && layout_.size == 0)
      return "the length of a read or write is missing; name size (bytes) or sectors";
    if (io || layout_.has(CsvRole::kKey)) return {};
    return fmt::format("no column is known as the key; say which: --format='csv:key=NAME' or key=#1 (there are {})",
                       Listed(fields_, Shown));
  }

  const CsvSpec& spec_;
  const std::vector<std::string>& fields_;
  CsvLayout& layout_;
};

}  // namespace

std::string ResolveCsv(const CsvSpec& spec, const std::vector<std::string>& fields, CsvLayout* layout) {
  return Resolver(spec, fields, layout).Run();
}

std::string Understood(const CsvLayout& layout, TimeUnit unit) {
  std::string text = "read as CSV";
  constexpr std::pair<char, std::string_view> kNames[] = {
      {';', "semicolons"}, {'\t', "tabs"}, {'|', "pipes"}, {' ', "blanks"}};
  const auto* delimiter = std::ranges::find(kNames, layout.delimiter, &std::pair<char, std::string_view>::first);
  if (delimiter != std::end(kNames)) text += fmt::format(" with {}", delimiter->second);
  if (!layout.has_header) text += " without a header";
  std::string_view separator = ": ";
  for (size_t i = 0; i < kCsvRoles; ++i) {
    if (layout.names[i].empty()) continue;
    text += fmt::format("{}{}={}", separator, kCsvRoleNames[i], Shown(layout.names[i]));
    separator = ", ";
    if (static_cast<CsvRole>(i) != CsvRole::kTime) continue;
    constexpr std::string_view kUnits[] = {
        "", " in seconds", " in milliseconds", " in microseconds", " in nanoseconds", " as Windows file time"};
    text += kUnits[static_cast<size_t>(unit)];
  }
  if (layout.size != 0) text += fmt::format(", size={} for all", layout.size);
  if (layout.operation) text += fmt::format(", op={} for all", ToString(*layout.operation));
  if (!layout.unused.empty()) text += fmt::format("; not used: {}", layout.unused);
  return text;
}
char DelimiterOfHeader(std::string_view line) {
  for (const char delimiter : kDelimiters) {
    if (line.find(delimiter) != std::string_view::npos && TellsRequests(SplitCsvLine(line, delimiter)))
      return delimiter;
  }
  if (line.find_first_of(kDelimiters) == std::string_view::npos) {
    if (TellsRequests(SplitCsvLine(line, ','))) return ',';
    if (line.find(' ') != std::string_view::npos && TellsRequests(SplitCsvLine(line, ' '))) return ' ';
  }
  return 0;
}
bool IsHeaderOver(const std::vector<std::string>& first, const std::vector<std::string>& second,
                  const CsvLayout& layout) {
  if (first.size() != second.size()) return false;
  bool is_header = false;
  for (size_t place = 0; place < first.size(); ++place) {
    if (layout.role_of[place] == CsvLayout::kUnused) continue;
    if (IsDecimal(first[place])) return false;
    is_header = is_header || IsDecimal(second[place]);
  }
  return is_header;
}

}  // namespace mezz
