// SPDX-License-Identifier: Apache-2.0
// What hardware costs: a commented YAML file in which each value carries its unit, its source and its date.
// docs/reference/plan.md describes the format; prices/ has two books.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cache/status.h"

namespace mezz::plan {

struct Date {
  int year = 0, month = 0, day = 0;
  auto operator<=>(const Date&) const = default;
};
// "2026-02-01". False if it is no day.
bool ParseDate(std::string_view text, Date* date);
int64_t DaysBetween(const Date& from, const Date& to);
Date Today();

// One value. low <= value <= high; equal where the source gives one figure. What has no public source is assumed, and
// then low and high are required: the planner tries both.
struct Priced {
  double value = 0;
  double low = 0;
  double high = 0;
  bool assumed = false;
  std::string source;
  Date date;
};

enum class ModuleKind { kDram, kScm, kFlash };
const char* ToString(ModuleKind kind);

struct Module {
  std::string name{};
  ModuleKind kind = ModuleKind::kDram;
  uint64_t bytes = 0;
  std::string slot{};        // what kind of slot it takes
  Priced price{};            // of one module, in the book's currency
  bool of_dram = false;      // the book gives the price as a multiple of DRAM's per GB: it moves with DRAM's
  Priced watts{};            // of one module
  std::string device{};      // SCM: a name of model=; flash: a name of --flash
  Priced endurance_bytes{};  // what may be written to one module; 0: it does not wear

  // Of memory GB are GiB, as modules are sold; of flash 1e9 bytes, as drives are.
  double gb() const { return static_cast<double>(bytes) / (kind == ModuleKind::kFlash ? 1e9 : 1 << 30); }
};

struct Server {
  std::string name;
  unsigned sockets = 0;
  unsigned cores = 0;                     // of all sockets
  unsigned channels = 0;                  // of memory, of all sockets: modules fill them evenly
  std::map<std::string, unsigned> slots;  // of all sockets, by kind
  Priced cpu;                             // one socket
  Priced chassis;                         // board, case, power supply, network, rack: all that is not listed elsewhere
  Priced watts;                           // without the modules
};

struct PriceBook {
  std::string path;
  std::string name;
  Date as_of;
  std::string currency;
  std::vector<Server> servers;
  std::vector<Module> modules;
  Priced energy;             // a kWh
  Priced pue;                // watts taken from the grid for each watt of the server
  Priced years;              // amortisation
  Priced qualification;      // of one more kind of server, once for the whole fleet
  std::string baseline;      // the server that --baseline means; empty: the cheapest that takes it
  double dram_price_gb = 0;  // of the cheapest DRAM module

  const Server* FindServer(std::string_view name) const;
};

// Unknown and repeated keys, missing units, sources and dates, and what contradicts itself are refused; the message
// names the file, the line, and what would do. *book is then undefined.
Status ReadPriceBook(const std::string& path, PriceBook* book);
Status ParsePriceBook(const std::string& path, const std::string& text, PriceBook* book);

// What a reader of the plan must know of the book: that it is old, and which values nobody has published.
std::vector<std::string> PriceBookWarnings(const PriceBook& book, const Date& today);

}  // namespace mezz::plan
