// SPDX-License-Identifier: Apache-2.0
#include "workloads/readers/csv_spec.h"

#include <csv.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "workloads/readers/fields.h"

namespace mezz {
namespace {

constexpr std::string_view kRoleNames[kCsvRoles] = {"key",   "time",   "size",    "op",     "key_size", "client",
                                                    "count", "device", "device2", "offset", "sector",   "sectors"};
constexpr std::string_view kDelimiters = ",;\t|";

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
size_t RankOf(CsvRole role, std::string_view normal) {
  return kWellKnown[static_cast<size_t>(role)].find(fmt::format(" {} ", normal));
}

constexpr std::pair<std::string_view, TimeUnit> kUnitNames[] = {
    {"s", TimeUnit::kSeconds},           {"sec", TimeUnit::kSeconds},         {"seconds", TimeUnit::kSeconds},
    {"ms", TimeUnit::kMillis},           {"msec", TimeUnit::kMillis},         {"millis", TimeUnit::kMillis},
    {"milliseconds", TimeUnit::kMillis}, {"us", TimeUnit::kMicros},           {"usec", TimeUnit::kMicros},
    {"micros", TimeUnit::kMicros},       {"microseconds", TimeUnit::kMicros}, {"ns", TimeUnit::kNanos},
    {"nsec", TimeUnit::kNanos},          {"nanos", TimeUnit::kNanos},         {"nanoseconds", TimeUnit::kNanos},
    {"filetime", TimeUnit::kFileTime}};

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

// A header's name without what people write differently; the first of a header may follow a '#'.
std::string Plain(std::string_view name) {
  std::string plain;
  for (const char c : name) {
    if (c != ' ' && c != '_' && c != '-' && c != '#' && c != '"')
      plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return plain;
}

// "time_us", "timestamp (ms)": the name without its unit, and the unit.
std::string WithoutUnit(std::string_view name, TimeUnit* unit) {
  std::string lower = Lower(Trim(name));
  if (lower.ends_with(')') || lower.ends_with(']')) lower.pop_back();
  const size_t at = lower.find_last_of("_ ([");
  if (at == std::string::npos) return Plain(name);
  for (const auto& [text, known] : kUnitNames) {
    if (std::string_view(lower).substr(at + 1) != text) continue;
    *unit = known;
    return Plain(std::string_view(lower).substr(0, at));
  }
  return Plain(name);
}

std::string Normal(CsvRole role, std::string_view name, TimeUnit* unit) {
  return role == CsvRole::kTime ? WithoutUnit(name, unit) : Plain(name);
}

bool IsNumber(std::string_view text) {
  uint64_t value = 0;
  return ParseNumber(text, 10, &value);
}
bool IsDecimal(std::string_view text) {
  double value = 0;
  return ParseDecimal(text, &value);
}

Status Bad(std::string_view setting, std::string_view wants) {
  return Status::InvalidArgument(fmt::format("--format=csv: \"{}\" is not understood; {}", setting, wants));
}

Status ParseDelimiter(std::string_view setting, std::string_view value, char* delimiter) {
  constexpr std::pair<std::string_view, char> kNames[] = {{"comma", ','}, {"semicolon", ';'}, {"tab", '\t'},
                                                          {"\\t", '\t'},  {"space", ' '},     {"pipe", '|'}};
  for (const auto& [name, c] : kNames) {
    if (value != name) continue;
    *delimiter = c;
    return Status::Ok();
  }
  const bool one = value.size() == 1 && value[0] != '"' && value[0] != '\n' && value[0] != '\r';
  if (!one) return Bad(setting, "delimiter is one character, or comma, semicolon, tab, space or pipe");
  *delimiter = value[0];
  return Status::Ok();
}

void AddOperations(std::string_view values, Operation operation, CsvSpec* spec) {
  for (size_t at = 0; at <= values.size();) {
    const size_t end = std::min(values.find('|', at), values.size());
    spec->operations.emplace_back(Lower(values.substr(at, end - at)), operation);
    at = end + 1;
  }
}

Status ParseSetting(std::string_view setting, CsvSpec* spec) {
  const size_t equals = setting.find('=');
  const std::string_view name = setting.substr(0, equals);
  const std::string_view value = equals == std::string_view::npos ? std::string_view() : setting.substr(equals + 1);
  if (value.empty()) return Bad(setting, "settings are name=value with commas between them, such as key=id,time=ts");
  const bool again = (name == "delimiter" && spec->delimiter != 0) || (name == "header" && spec->header) ||
                     (name == "time_unit" && spec->time_unit != TimeUnit::kFind);
  if (again) return Bad(setting, fmt::format("{} is named twice", name));
  if (name == "delimiter") return ParseDelimiter(setting, value, &spec->delimiter);
  if (name == "header") {
    if (value != "yes" && value != "no") return Bad(setting, "header is yes or no");
    spec->header = value == "yes";
    return Status::Ok();
  }
  if (name == "time_unit") {
    for (const auto& [text, unit] : kUnitNames) {
      if (value != text) continue;
      spec->time_unit = unit;
      return Status::Ok();
    }
    return Bad(setting, "time_unit is s, ms, us, ns or filetime");
  }
  if (const std::optional<Operation> operation = OperationOfName(name)) {
    AddOperations(value, *operation, spec);
    return Status::Ok();
  }
  const auto* role = std::ranges::find(kRoleNames, name);
  if (role == std::end(kRoleNames)) {
    return Bad(setting,
               "it names key, time, size, op, key_size, client, count, device, device2, offset, sector, sectors, "
               "delimiter, header, time_unit, or what an operation is called, such as put=1");
  }
  std::string& column = spec->columns[static_cast<size_t>(role - std::begin(kRoleNames))];
  if (!column.empty()) return Bad(setting, fmt::format("{} is named twice", name));
  column = value;
  return Status::Ok();
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
    const std::string_view setting = kRoleNames[static_cast<size_t>(role)];
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
      return fmt::format("{}={} is the column that {} is, too", setting, column, kRoleNames[layout_.role_of[place]]);
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
    std::string names;
    for (const std::string& field : fields_) names += fmt::format("{}{}", names.empty() ? "" : ", ", Shown(field));
    return fmt::format("{}={} is no column of its header; there are {}{}", setting, column, names,
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
                           Shown(fields_[place]), kRoleNames[i], place + 1);
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
    for (size_t place = 0; place < fields_.size(); ++place) {
      if (layout_.role_of[place] != CsvLayout::kUnused || !layout_.has_header || fields_[place].empty()) continue;
      layout_.unused += fmt::format("{}{}", layout_.unused.empty() ? "" : ", ", Shown(fields_[place]));
    }
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
                           kRoleNames[static_cast<size_t>(role)]);
    }
    if (io && !layout_.has(CsvRole::kSize) && !layout_.has(CsvRole::kSectors) && layout_.size == 0)
      return "the length of a read or write is missing; name size (bytes) or sectors";
    if (io || layout_.has(CsvRole::kKey)) return {};
    std::string names;
    for (const std::string& field : fields_) names += fmt::format("{}{}", names.empty() ? "" : ", ", Shown(field));
    return fmt::format("no column is known as the key; say which: --format='csv:key=NAME' or key=#1 (there are {})",
                       names);
  }

  const CsvSpec& spec_;
  const std::vector<std::string>& fields_;
  CsvLayout& layout_;
};

void TakeField(void* bytes, size_t size, void* fields) {
  static_cast<std::vector<std::string>*>(fields)->emplace_back(static_cast<const char*>(bytes), size);
}

}  // namespace

Status ParseCsvSpec(std::string_view text, CsvSpec* spec) {
  *spec = {};
  for (size_t at = 0; !text.empty() && at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    MEZZ_RETURN_IF_ERROR(ParseSetting(text.substr(at, end - at), spec));
    at = end + 1;
  }
  return Status::Ok();
}

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
    text += fmt::format("{}{}={}", separator, kRoleNames[i], Shown(layout.names[i]));
    separator = ", ";
    if (static_cast<CsvRole>(i) != CsvRole::kTime) continue;
    constexpr std::string_view kUnits[] = {
        "", " in seconds", " in milliseconds", " in microseconds", " in nanoseconds", " as Windows file time"};
    text += kUnits[static_cast<size_t>(unit)];
  }
  if (layout.size != 0) text += fmt::format(", size={} for all", layout.size);
  if (layout.operation) text += fmt::format(", op={} for all", OperationName(*layout.operation));
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

char LikelyDelimiter(std::string_view line) {
  char likely = ',';
  for (const char delimiter : {';', '\t', '|'}) {
    if (std::ranges::count(line, delimiter) > std::ranges::count(line, likely)) likely = delimiter;
  }
  return std::ranges::count(line, likely) == 0 && line.find(' ') != std::string_view::npos ? ' ' : likely;
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

std::optional<Operation> OperationOfField(std::string_view text) {
  constexpr std::pair<std::string_view, Operation> kKnown[] = {
      {"get", Operation::kGet},       {"gets", Operation::kGet},
      {"read", Operation::kGet},      {"r", Operation::kGet},
      {"rd", Operation::kGet},        {"getx", Operation::kGet},
      {"head", Operation::kGet},      {"get_lease", Operation::kGet},
      {"lookup", Operation::kGet},    {"fetch", Operation::kGet},
      {"load", Operation::kGet},      {"select", Operation::kGet},
      {"mget", Operation::kMultiGet}, {"multiget", Operation::kMultiGet},
      {"put", Operation::kPut},       {"set", Operation::kPut},
      {"write", Operation::kPut},     {"w", Operation::kPut},
      {"wr", Operation::kPut},        {"add", Operation::kPut},
      {"replace", Operation::kPut},   {"cas", Operation::kPut},
      {"insert", Operation::kPut},    {"update", Operation::kPut},
      {"upsert", Operation::kPut},    {"store", Operation::kPut},
      {"set_lease", Operation::kPut}, {"post", Operation::kPut},
      {"append", Operation::kMerge},  {"prepend", Operation::kMerge},
      {"incr", Operation::kMerge},    {"decr", Operation::kMerge},
      {"merge", Operation::kMerge},   {"delete", Operation::kDelete},
      {"del", Operation::kDelete},    {"remove", Operation::kDelete},
      {"purge", Operation::kDelete},  {"invalidate", Operation::kDelete},
      {"seek", Operation::kSeek},     {"scan", Operation::kSeek}};
  const auto* found = std::ranges::find(kKnown, text, &std::pair<std::string_view, Operation>::first);
  return found == std::end(kKnown) ? std::nullopt : std::optional(found->second);
}

std::vector<std::string> SplitCsvLine(std::string_view line, char delimiter) {
  std::vector<std::string> fields;
  csv_parser parser;
  if (csv_init(&parser, 0) != 0) return fields;
  csv_set_delim(&parser, static_cast<unsigned char>(delimiter));
  csv_parse(&parser, line.data(), line.size(), &TakeField, nullptr, &fields);
  csv_fini(&parser, &TakeField, nullptr, &fields);
  csv_free(&parser);
  if (delimiter == ' ') std::erase(fields, "");
  return fields;
}

}  // namespace mezz
