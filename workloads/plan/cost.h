// SPDX-License-Identifier: Apache-2.0
// Servers that can be bought, and what one of them costs until it is written off.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cache/media/model.h"
#include "workloads/plan/price_book.h"

namespace mezz::plan {

// `count` equal modules. No modules: module is null.
struct Population {
  const Module* module = nullptr;
  unsigned count = 0;

  uint64_t bytes() const { return module == nullptr ? 0 : count * module->bytes; }
  double watts() const { return module == nullptr ? 0 : count * module->watts.value; }
};

// What a module of SCM behaves as.
MediumModel MediumOf(const Module& scm);

// A server with its modules; points into the price book.
struct Build {
  const Server* server = nullptr;
  Population dram{}, scm{};
  Population slow_scm{};  // of ordered media: `scm` is then the fast one, whose blocks move down to this
  Population flash{};

  bool operator==(const Build& other) const;
  bool is_ordered() const { return slow_scm.module != nullptr; }
  uint64_t scm_bytes() const { return scm.bytes() + slow_scm.bytes(); }
  double watts() const { return server->watts.value + dram.watts() + scm.watts() + slow_scm.watts() + flash.watts(); }
  // "one_socket 64 GiB + 128 GiB cxl > 256 GiB optane100, 1 x nvme_2T"
  std::string Name() const;
};

// All that fit: DRAM modules fill the channels evenly (1, 2, ... for each channel, or one for every 2nd, 3rd, ...
// channel), SCM modules are a power of two or fill the channels so; all may share the slots. Two kinds of SCM are
// ordered media if the devices differ in the time of a random read: the faster one comes first. Flash is the fewest
// drives of a kind that hold `data_bytes`, and twice as many.
std::vector<Build> AllBuilds(const PriceBook& book, uint64_t data_bytes);

// Whether the bytes of both ordered media can be had of the faster device alone, in the same server and beside the same
// DRAM, for no more money at any prices and for no more watts, with no less bandwidth, and without wear. That serves
// the same hits sooner and writes each record once, so no target and no price makes the ordered one the better.
// REQUIRES: build.is_ordered().
bool IsBeatenByFastAlone(const PriceBook& book, const Build& build);

// What a server's cost is made of. A factor of one multiplies the amounts that name it: what if it cost more, or less?
enum class CostItem : uint8_t { kDram, kScm, kFlash, kCpu, kChassis, kEnergy, kQualification, kCount };
inline constexpr size_t kCostItems = static_cast<size_t>(CostItem::kCount);
std::string_view ToString(CostItem item);
using CostFactors = std::array<double, kCostItems>;
inline constexpr CostFactors kAsListed = {1, 1, 1, 1, 1, 1, 1};

// One line of the bill. The amount is to be multiplied with the factor of each item.
struct CostStep {
  CostItem item;
  bool with_dram = false;  // priced as a multiple of DRAM: the factor of kDram multiplies it, too
  std::string text{};      // "4 x rdimm_64: 4 x 885 USD"
  double amount = 0;

  double At(const CostFactors& factors) const {
    const double own = amount * factors[static_cast<size_t>(item)];
    return with_dram ? own * factors[static_cast<size_t>(CostItem::kDram)] : own;
  }
};

// Of one server, over the years of amortisation, in the book's currency.
struct Cost {
  std::vector<CostStep> steps;

  double At(const CostFactors& factors) const;
  double total() const { return At(kAsListed); }
};
// `new_kind`: no such server is in use yet, so its qualification is shared by `hosts`.
Cost CostOf(const PriceBook& book, const Build& build, bool new_kind, double hosts);

// How far the book itself lets an item's factor go: the least low / value and the greatest high / value of its prices.
struct FactorRange {
  double low = 1;
  double high = 1;
  bool assumed = false;
  std::string source;  // of the price with the widest range
  Date date;
};
FactorRange RangeOf(const PriceBook& book, CostItem item);

}  // namespace mezz::plan
