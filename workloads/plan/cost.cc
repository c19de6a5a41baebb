// SPDX-License-Identifier: Apache-2.0
#include "workloads/plan/cost.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <initializer_list>
#include <map>
#include <set>
#include <utility>

#include "cache/base/text.h"
#include "workloads/plan/performance.h"

namespace mezz::plan {
namespace {

constexpr double kHoursAYear = 365.25 * 24;

unsigned SlotsOf(const Server& server, const Module& module) {
  const auto at = server.slots.find(module.slot);
  return at == server.slots.end() ? 0 : at->second;
}

// A module for every channel, several for every channel, or one for every n-th: what keeps the channels even.
std::set<unsigned> EvenCounts(const Server& server, unsigned slots) {
  std::set<unsigned> counts;
  for (unsigned count = server.sockets; count <= slots; count += server.sockets) {
    if (server.channels % count == 0 || count % server.channels == 0) counts.insert(count);
  }
  return counts;
}

std::vector<Population> PopulationsOf(const PriceBook& book, const Server& server, ModuleKind kind) {
  std::vector<Population> all;
  for (const Module& module : book.modules) {
    if (module.kind != kind) continue;
    const unsigned slots = SlotsOf(server, module);
    std::set<unsigned> counts = EvenCounts(server, slots);
    if (kind == ModuleKind::kScm) {
      for (unsigned count = 1; count <= slots; count *= 2) counts.insert(count);
    }
    for (unsigned count : counts) all.push_back({&module, count});
  }
  return all;
}

std::vector<Population> FlashOf(const PriceBook& book, const Server& server, uint64_t data_bytes) {
  std::vector<Population> all;
  for (const Module& module : book.modules) {
    if (module.kind != ModuleKind::kFlash) continue;
    const auto fewest = static_cast<unsigned>(std::max<uint64_t>(1, (data_bytes + module.bytes - 1) / module.bytes));
    for (unsigned count : {fewest, 2 * fewest}) {
      if (count <= SlotsOf(server, module)) all.push_back({&module, count});
    }
  }
  return all;
}

// Each population by itself has its slots.
bool FitTogether(const Server& server, std::initializer_list<Population> populations) {
  std::map<std::string_view, unsigned> taken;
  for (const Population& one : populations) {
    if (one.module == nullptr) continue;
    unsigned& count = taken[one.module->slot];
    count += one.count;
    if (count > SlotsOf(server, *one.module)) return false;
  }
  return true;
}

bool IsFaster(const Module& a, const Module& b) { return MediumOf(a).random_read_ns < MediumOf(b).random_read_ns; }

// None, one medium, and two that are ordered.
std::vector<std::pair<Population, Population>> ScmChoices(const PriceBook& book, const Server& server) {
  std::vector<std::pair<Population, Population>> choices(1);
  const std::vector<Population> all = PopulationsOf(book, server, ModuleKind::kScm);
  for (const Population& one : all) choices.emplace_back(one, Population{});
  for (const Population& fast : all) {
    for (const Population& slow : all) {
      if (IsFaster(*fast.module, *slow.module)) choices.emplace_back(fast, slow);
    }
  }
  return choices;
}

CostStep ModuleStep(const PriceBook& book, CostItem item, const Population& modules) {
  const Module& module = *modules.module;
  return {.item = item,
          .with_dram = module.of_dram,
          .text = fmt::format("{} x {} of {} at {:.6g} {}", modules.count, module.name, HumanBytes(module.bytes),
                              module.price.value, book.currency),
          .amount = modules.count * module.price.value};
}

std::vector<const Priced*> PricesOf(const PriceBook& book, CostItem item) {
  std::vector<const Priced*> all;
  const auto modules = [&](ModuleKind kind) {
    for (const Module& module : book.modules) {
      if (module.kind == kind) all.push_back(&module.price);
    }
  };
  switch (item) {
    case CostItem::kDram:
      modules(ModuleKind::kDram);
      break;
    case CostItem::kScm:
      modules(ModuleKind::kScm);
      break;
    case CostItem::kFlash:
      modules(ModuleKind::kFlash);
      break;
    case CostItem::kCpu:
      for (const Server& server : book.servers) all.push_back(&server.cpu);
      break;
    case CostItem::kChassis:
      for (const Server& server : book.servers) all.push_back(&server.chassis);
      break;
    case CostItem::kEnergy:
      all = {&book.energy};
      break;
    case CostItem::kQualification:
      all = {&book.qualification};
      break;
    case CostItem::kCount:
      break;
  }
  return all;
}

}  // namespace

bool Build::operator==(const Build& other) const {
  const auto same = [](const Population& a, const Population& b) { return a.module == b.module && a.count == b.count; };
  return server == other.server && same(dram, other.dram) && same(scm, other.scm) && same(slow_scm, other.slow_scm) &&
         same(flash, other.flash);
}

std::string Build::Name() const {
  std::string name = fmt::format("{} {}", server->name, HumanBytes(dram.bytes()));
  if (scm.module != nullptr) name += fmt::format(" + {} {}", HumanBytes(scm.bytes()), scm.module->device);
  if (is_ordered()) name += fmt::format(" > {} {}", HumanBytes(slow_scm.bytes()), slow_scm.module->device);
  if (flash.module != nullptr) name += fmt::format(", {} x {}", flash.count, flash.module->name);
  return name;
}

std::vector<Build> AllBuilds(const PriceBook& book, uint64_t data_bytes) {
  std::vector<Build> all;
  for (const Server& server : book.servers) {
    const auto scms = ScmChoices(book, server);
    for (const Population& flash : FlashOf(book, server, data_bytes)) {
      for (const Population& dram : PopulationsOf(book, server, ModuleKind::kDram)) {
        for (const auto& [scm, slow] : scms) {
          if (FitTogether(server, {dram, scm, slow}))
            all.push_back({.server = &server, .dram = dram, .scm = scm, .slow_scm = slow, .flash = flash});
        }
      }
    }
  }
  return all;
}

MediumModel MediumOf(const Module& scm) {
  MediumModel medium{};
  const Status status = ParseScmModel(scm.device, &medium);
  assert(status.ok());  // the book's reader has seen the name
  return medium;
}

bool IsBeatenByFastAlone(const PriceBook& book, const Build& build) {
  const auto price = [](const Population& scm) { return scm.count * scm.module->price.value; };
  const Population &fast = build.scm, &slow = build.slow_scm;
  const MediumModel fast_medium = MediumOf(*fast.module), slow_medium = MediumOf(*slow.module);
  const auto bandwidth = [&](double MediumModel::*of) {
    return fast.count * fast_medium.*of + slow.count * slow_medium.*of;
  };
  return std::ranges::any_of(PopulationsOf(book, *build.server, ModuleKind::kScm), [&](const Population& alone) {
    const Module& module = *alone.module;
    return module.device == fast.module->device && alone.bytes() == build.scm_bytes() &&
           module.of_dram == fast.module->of_dram && module.of_dram == slow.module->of_dram &&
           price(alone) <= price(fast) + price(slow) && alone.watts() <= fast.watts() + slow.watts() &&
           module.endurance_bytes.value == 0 &&
           alone.count * fast_medium.read_bytes_per_ns >= bandwidth(&MediumModel::read_bytes_per_ns) &&
           alone.count * fast_medium.write_bytes_per_ns >= bandwidth(&MediumModel::write_bytes_per_ns) &&
           FitTogether(*build.server, {build.dram, alone});
  });
}

std::string_view ToString(CostItem item) {
  static constexpr std::array<std::string_view, kCostItems> kNames = {"dram",    "scm",    "flash",        "cpu",
                                                                      "chassis", "energy", "qualification"};
  return kNames[static_cast<size_t>(item)];
}

double Cost::At(const CostFactors& factors) const {
  double sum = 0;
  for (const CostStep& step : steps) sum += step.At(factors);
  return sum;
}

Cost CostOf(const PriceBook& book, const Build& build, bool new_kind, double hosts) {
  assert(hosts >= 1);
  const Server& server = *build.server;
  Cost cost;
  cost.steps.push_back(
      {.item = CostItem::kChassis, .text = fmt::format("{}: chassis", server.name), .amount = server.chassis.value});
  cost.steps.push_back(
      {.item = CostItem::kCpu,
       .text = fmt::format("{} x processor at {:.6g} {}", server.sockets, server.cpu.value, book.currency),
       .amount = server.sockets * server.cpu.value});
  cost.steps.push_back(ModuleStep(book, CostItem::kDram, build.dram));
  for (const Population* scm : {&build.scm, &build.slow_scm}) {
    if (scm->module != nullptr) cost.steps.push_back(ModuleStep(book, CostItem::kScm, *scm));
  }
  if (build.flash.module != nullptr) cost.steps.push_back(ModuleStep(book, CostItem::kFlash, build.flash));
  const double kwh = build.watts() / 1e3 * book.pue.value * kHoursAYear * book.years.value;
  cost.steps.push_back({.item = CostItem::kEnergy,
                        .text = fmt::format("{:.0f} W x PUE {:.3g} x {:.3g} years at {:.4g} {}/kWh", build.watts(),
                                            book.pue.value, book.years.value, book.energy.value, book.currency),
                        .amount = kwh * book.energy.value});
  if (new_kind && book.qualification.value > 0) {
    cost.steps.push_back({.item = CostItem::kQualification,
                          .text = fmt::format("qualification: {:.6g} {} over {:.0f} hosts", book.qualification.value,
                                              book.currency, hosts),
                          .amount = book.qualification.value / hosts});
  }
  return cost;
}

FactorRange RangeOf(const PriceBook& book, CostItem item) {
  FactorRange range;
  double widest = 0;
  for (const Priced* price : PricesOf(book, item)) {
    range.assumed |= price->assumed;
    if (price->value <= 0) continue;
    range.low = std::min(range.low, price->low / price->value);
    range.high = std::max(range.high, price->high / price->value);
    const double width = (price->high - price->low) / price->value;
    if (range.source.empty() || width > widest) {
      widest = width;
      range.source = price->source;
      range.date = price->date;
    }
  }
  if (item == CostItem::kEnergy && book.pue.value > 0) {  // a dearer kWh or more of them: the bill is the same
    range.low *= book.pue.low / book.pue.value;
    range.high *= book.pue.high / book.pue.value;
    range.assumed |= book.pue.assumed;
  }
  return range;
}

}  // namespace mezz::plan
