// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <initializer_list>
#include <set>
#include <system_error>

#include "cache/base/invalid.h"
#include "cache/base/read_file.h"
#include "cache/base/text.h"
#include "workloads/plan/performance.h"
#include "workloads/plan/price_book.h"

namespace mezz::plan {
namespace {

struct Unit {
  std::string name;
  double factor = 1;
  bool of_dram = false;  // a multiple of what a GB of DRAM costs
};

// Reads one file. The first complaint is kept, and names file and line; what follows it is of no account.
class Reader {
 public:
  Reader(const std::string& path, PriceBook* book) : path_(path), book_(*book) {}

  Status Read(const YAML::Node& root);

 private:
  // Keys of a mapping: all of them known, none twice, those required there.
  bool Keys(const YAML::Node& node, const std::string& what, std::initializer_list<const char*> required,
            std::initializer_list<const char*> optional);
  std::string Text(const YAML::Node& node, const std::string& what);
  double Number(const YAML::Node& node, const std::string& what);
  unsigned Count(const YAML::Node& node, const std::string& what);
  uint64_t Size(const YAML::Node& node, const std::string& what);
  bool Flag(const YAML::Node& node, const std::string& what);
  Date DateOf(const YAML::Node& node, const std::string& what);
  // A value with its unit, one of `units`. *unit is the unit taken.
  Priced Value(const YAML::Node& node, const std::string& what, const std::vector<Unit>& units, Unit* unit = nullptr);
  const Unit* UnitOf(const YAML::Node& node, const std::string& what, const std::vector<Unit>& units);
  void CheckRange(const YAML::Node& node, const std::string& what, const Priced& priced, bool has_range);

  void ReadServer(const YAML::Node& node);
  void ReadSlots(const YAML::Node& node, const std::string& what, Server* server);
  void ReadModule(const YAML::Node& node);
  void CheckDevice(const YAML::Node& node, const Module& module);
  void PriceByDram();
  void CheckTogether(const YAML::Node& root);

  void Fail(const YAML::Node& node, const std::string& why) { FailAt(node.Mark(), why); }
  void FailAt(const YAML::Mark& mark, const std::string& why) {
    if (status_.ok()) status_ = Invalid("{}:{}: {}", path_, mark.line + 1, why);
  }

  const std::string& path_;
  PriceBook& book_;
  Status status_;
};

bool Reader::Keys(const YAML::Node& node, const std::string& what, std::initializer_list<const char*> required,
                  std::initializer_list<const char*> optional) {
  if (!node.IsMap()) {
    Fail(node, fmt::format("{} is to be keys with values", what));
    return false;
  }
  std::vector<std::string> known(required.begin(), required.end());
  known.insert(known.end(), optional.begin(), optional.end());
  std::set<std::string> seen;
  for (const auto& entry : node) {
    const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
    if (std::find(known.begin(), known.end(), key) == known.end())
      Fail(entry.first, fmt::format("\"{}\" is no key of {}; there are {}", key, what, fmt::join(known, ", ")));
    if (!seen.insert(key).second) Fail(entry.first, fmt::format("{} has \"{}\" twice; leave one out", what, key));
  }
  for (const char* key : required) {
    if (!seen.contains(key)) Fail(node, fmt::format("{} lacks \"{}\"", what, key));
  }
  return status_.ok();
}

std::string Reader::Text(const YAML::Node& node, const std::string& what) {
  if (!node.IsScalar() || node.Scalar().empty()) {
    Fail(node, fmt::format("{} is to be a text", what));
    return "";
  }
  return node.Scalar();
}

double Reader::Number(const YAML::Node& node, const std::string& what) {
  const std::string text = node.IsScalar() ? node.Scalar() : "";
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && std::isfinite(value) && value >= 0) return value;
  Fail(node, fmt::format("{} is \"{}\"; it is to be a number, not negative, its unit apart", what, text));
  return 0;
}

unsigned Reader::Count(const YAML::Node& node, const std::string& what) {
  constexpr double kMost = 65536;
  const double value = Number(node, what);
  if (status_.ok() && (value != std::floor(value) || value < 1 || value > kMost))
    Fail(node, fmt::format("{} is {}; it is to be a whole number from 1 to {}", what, node.Scalar(), kMost));
  return status_.ok() ? static_cast<unsigned>(value) : 1;
}

uint64_t Reader::Size(const YAML::Node& node, const std::string& what) {
  uint64_t bytes = 1;
  const Status status = ParseBytes(what, node.IsScalar() ? node.Scalar() : "", &bytes);
  if (!status.ok()) Fail(node, status.message());
  return bytes;
}

bool Reader::Flag(const YAML::Node& node, const std::string& what) {
  const std::string text = node.IsScalar() ? node.Scalar() : "";
  if (text != "true" && text != "false") Fail(node, fmt::format("{} is \"{}\"; it is true or false", what, text));
  return text == "true";
}

Date Reader::DateOf(const YAML::Node& node, const std::string& what) {
  Date date;
  const std::string text = node.IsScalar() ? node.Scalar() : "";
  if (!ParseDate(text, &date)) Fail(node, fmt::format("{} is \"{}\"; it is to be a day: 2026-02-01", what, text));
  return date;
}

const Unit* Reader::UnitOf(const YAML::Node& node, const std::string& what, const std::vector<Unit>& units) {
  const std::string text = Text(node, what + ".unit");
  const auto unit = std::ranges::find(units, text, &Unit::name);
  if (unit != units.end()) return &*unit;
  Fail(node, fmt::format("the unit of {} is \"{}\"; it is {}", what, text, Listed(units, &Unit::name)));
  return nullptr;
}

void Reader::CheckRange(const YAML::Node& node, const std::string& what, const Priced& priced, bool has_range) {
  if (priced.low > priced.value || priced.high < priced.value)
    Fail(node, fmt::format("{}: low <= value <= high does not hold", what));
  if (priced.assumed && (!has_range || priced.low == priced.high))
    Fail(node, fmt::format("{} is assumed, so it needs low and high: the planner tries both", what));
  if (book_.as_of < priced.date)
    Fail(node, fmt::format("{} is of a later day than the book's as_of; bring that up to date", what));
}

Priced Reader::Value(const YAML::Node& node, const std::string& what, const std::vector<Unit>& units, Unit* taken) {
  Priced priced;
  if (!status_.ok() || !Keys(node, what, {"value", "unit", "source", "date"}, {"low", "high", "assumed"}))
    return priced;
  const Unit* const unit = UnitOf(node["unit"], what, units);
  if (unit == nullptr) return priced;
  if (taken != nullptr) *taken = *unit;
  const auto scaled = [&](const char* key, double otherwise) {
    const YAML::Node one = node[key];
    return one ? Number(one, fmt::format("{}.{}", what, key)) * unit->factor : otherwise;
  };
  priced.value = scaled("value", 0);
  priced.low = scaled("low", priced.value);
  priced.high = scaled("high", priced.value);
  priced.assumed = node["assumed"] && Flag(node["assumed"], what + ".assumed");
  priced.source = Text(node["source"], what + ".source");
  priced.date = DateOf(node["date"], what + ".date");
  CheckRange(node, what, priced, node["low"] && node["high"]);
  return priced;
}

void Reader::ReadSlots(const YAML::Node& node, const std::string& what, Server* server) {
  if (!node.IsMap() || node.size() == 0) return Fail(node, fmt::format("{}.slots is to be kinds with counts", what));
  for (const auto& entry : node) {
    const std::string kind = Text(entry.first, what + ".slots");
    const unsigned count = Count(entry.second, fmt::format("{}.slots.{}", what, kind));
    if (!server->slots.emplace(kind, count).second)
      Fail(entry.first, fmt::format("{}.slots has {} twice; leave one out", what, kind));
  }
}

void Reader::ReadServer(const YAML::Node& node) {
  if (!status_.ok() ||
      !Keys(node, "a server", {"name", "sockets", "cores", "channels", "slots", "cpu", "chassis", "watts"}, {}))
    return;
  Server server;
  server.name = Text(node["name"], "a server's name");
  const std::string& what = server.name;
  server.sockets = Count(node["sockets"], what + ".sockets");
  server.cores = Count(node["cores"], what + ".cores");
  server.channels = Count(node["channels"], what + ".channels");
  ReadSlots(node["slots"], what, &server);
  server.cpu = Value(node["cpu"], what + ".cpu", {{.name = book_.currency + "/socket"}});
  server.chassis = Value(node["chassis"], what + ".chassis", {{.name = book_.currency + "/server"}});
  server.watts = Value(node["watts"], what + ".watts", {{.name = "W/server"}});
  if (server.cores > kCoresMax)
    Fail(node["cores"], fmt::format("{}.cores is {}: a server has {} at most", what, server.cores, kCoresMax));
  if (server.cores % server.sockets != 0 || server.channels % server.sockets != 0)
    Fail(node, fmt::format("{} has {} sockets, but {} cores and {} channels: they do not divide evenly", what,
                           server.sockets, server.cores, server.channels));
  if (book_.FindServer(server.name) != nullptr) Fail(node, fmt::format("two servers are called {}", what));
  book_.servers.push_back(std::move(server));
}

void Reader::CheckDevice(const YAML::Node& node, const Module& module) {
  Status status;
  MediumModel medium{};
  const FlashModel* flash = nullptr;
  if (module.kind == ModuleKind::kScm) status = ParseScmModel(module.device, &medium);
  if (module.kind == ModuleKind::kFlash) {
    status = ParseFlash(module.device, &flash);
    if (status.ok() && flash == nullptr) status = Invalid("disk is no model; name one of --flash");
  }
  if (!status.ok()) Fail(node, fmt::format("{}.device: {}", module.name, status.message()));
}

void Reader::ReadModule(const YAML::Node& node) {
  if (!status_.ok() ||
      !Keys(node, "a module", {"name", "kind", "size", "slot", "price", "watts"}, {"device", "endurance"}))
    return;
  Module module;
  module.name = Text(node["name"], "a module's name");
  const std::string& what = module.name;
  const std::string kind = Text(node["kind"], what + ".kind");
  if (kind == "scm") {
    module.kind = ModuleKind::kScm;
  } else if (kind == "flash") {
    module.kind = ModuleKind::kFlash;
  } else if (kind != "dram") {
    Fail(node["kind"], fmt::format("{}.kind is \"{}\"; it is dram, scm or flash", what, kind));
  }
  module.bytes = Size(node["size"], what + ".size");
  module.slot = Text(node["slot"], what + ".slot");
  std::vector<Unit> prices = {{.name = book_.currency + "/module"},
                              {.name = book_.currency + "/GB", .factor = module.gb()}};
  if (module.kind == ModuleKind::kScm) prices.push_back({.name = "DRAM/GB", .factor = module.gb(), .of_dram = true});
  Unit unit;
  module.price = Value(node["price"], what + ".price", prices, &unit);
  module.of_dram = unit.of_dram;
  module.watts = Value(node["watts"], what + ".watts", {{.name = "W/module"}});
  if ((module.kind == ModuleKind::kDram) == node["device"].IsDefined())
    Fail(node, fmt::format("{}: scm and flash have a device, dram has none", what));
  if (node["device"]) {
    module.device = Text(node["device"], what + ".device");
    CheckDevice(node["device"], module);
  }
  if (node["endurance"])
    module.endurance_bytes = Value(node["endurance"], what + ".endurance",
                                   {{.name = "PB/module", .factor = 1e15}, {.name = "TB/module", .factor = 1e12}});
  for (const Module& other : book_.modules) {
    if (other.name == module.name) Fail(node, fmt::format("two modules are called {}", what));
  }
  const auto has_slot = [&](const Server& server) { return server.slots.contains(module.slot); };
  if (std::none_of(book_.servers.begin(), book_.servers.end(), has_slot))
    Fail(node["slot"], fmt::format("{} takes a slot {}, which no server has", what, module.slot));
  book_.modules.push_back(std::move(module));
}

// What costs nothing, because it is there already, is no price.
void Reader::PriceByDram() {
  for (const Module& module : book_.modules) {
    if (module.kind != ModuleKind::kDram || module.price.value == 0) continue;
    const double price_gb = module.price.value / module.gb();
    if (book_.dram_price_gb == 0 || price_gb < book_.dram_price_gb) book_.dram_price_gb = price_gb;
  }
  for (Module& module : book_.modules) {
    if (!module.of_dram) continue;
    for (double* price : {&module.price.value, &module.price.low, &module.price.high}) *price *= book_.dram_price_gb;
  }
}

void Reader::CheckTogether(const YAML::Node& root) {
  for (const ModuleKind kind : {ModuleKind::kDram, ModuleKind::kFlash}) {
    const auto is = [&](const Module& module) { return module.kind == kind; };
    if (std::none_of(book_.modules.begin(), book_.modules.end(), is))
      Fail(root["modules"], fmt::format("there is no module of kind {}", ToString(kind)));
  }
  if (book_.pue.value < 1) Fail(root["pue"], "pue is below 1: a server cannot take less from the grid than it uses");
  if (book_.years.value <= 0) Fail(root["amortisation"], "amortisation is 0 years");
  if (!book_.baseline.empty() && book_.FindServer(book_.baseline) == nullptr)
    Fail(root["baseline_server"], fmt::format("baseline_server {} is none of the servers", book_.baseline));
}

Status Reader::Read(const YAML::Node& root) {
  if (!Keys(root, "a price book",
            {"name", "as_of", "currency", "servers", "modules", "energy", "pue", "amortisation", "qualification"},
            {"baseline_server"}))
    return status_;
  book_.name = Text(root["name"], "name");
  book_.as_of = DateOf(root["as_of"], "as_of");
  book_.currency = Text(root["currency"], "currency");
  for (const char* list : {"servers", "modules"}) {
    if (!root[list].IsSequence() || root[list].size() == 0) Fail(root[list], fmt::format("{} is to be a list", list));
  }
  if (!status_.ok()) return status_;
  for (const YAML::Node& node : root["servers"]) ReadServer(node);
  for (const YAML::Node& node : root["modules"]) ReadModule(node);
  book_.energy = Value(root["energy"], "energy", {{.name = book_.currency + "/kWh"}});
  book_.pue = Value(root["pue"], "pue", {{.name = "ratio"}});
  book_.years = Value(root["amortisation"], "amortisation", {{.name = "years"}});
  book_.qualification = Value(root["qualification"], "qualification", {{.name = book_.currency + "/SKU"}});
  if (root["baseline_server"]) book_.baseline = Text(root["baseline_server"], "baseline_server");
  if (!status_.ok()) return status_;
  PriceByDram();
  CheckTogether(root);
  return status_;
}

}  // namespace

Status ParsePriceBook(const std::string& path, const std::string& text, PriceBook* book) {
  *book = PriceBook();
  book->path = path;
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(text);
    if (documents.size() != 1)
      return Invalid("{}: a price book is one YAML document, and here are {}", path, documents.size());
    return Reader(path, book).Read(documents[0]);
  } catch (const YAML::Exception& error) {
    return Invalid("{}:{}: this is no YAML: {}", path, error.mark.line + 1, error.msg);
  }
}

Status ReadPriceBook(const std::string& path, PriceBook* book) {
  std::string text;
  if (!ReadWholeFile(path, &text)) return Status::NotFound(fmt::format("--prices={} cannot be read", path));
  return ParsePriceBook(path, text, book);
}

}  // namespace mezz::plan
