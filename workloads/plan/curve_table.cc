// SPDX-License-Identifier: Apache-2.0
#include "workloads/plan/curve_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "cache/base/text.h"

namespace mezz::plan {
namespace {

std::string Size(uint64_t bytes) { return bytes == 0 ? "none" : HumanBytes(bytes); }

// Samples that hold everything are all one; seeds of the policy differ.
bool HasBands(const Curve& curve) {
  const auto differ = [](const CurvePoint& point) {
    return std::ranges::adjacent_find(point.seeds, std::not_equal_to<>()) != point.seeds.end();
  };
  return !curve.exact() || std::ranges::any_of(curve.points, differ);
}

std::string HowLooked(const Curve& curve) {
  if (!curve.exact()) return fmt::format("{} samples at rates from {:.2g} on", curve.form.seeds, curve.rate_min);
  return HasBands(curve) ? fmt::format("exact, {} seeds of the policy", curve.form.seeds) : "exact";
}

}  // namespace

std::string CurveTable(const Curve& curve) {
  const CurveForm& form = curve.form;
  const CurveSums& sums = curve.sums;
  std::string text = fmt::format("{}, {} of records, {}: {} requests, {} blocks, {}; {}\n\n", form.policy,
                                 form.pack == "off" ? "no packing" : form.pack + " packing",
                                 sums.hosts == 1 ? curve.traces.front() : fmt::format("{} traces", sums.hosts),
                                 sums.requests, sums.blocks, HumanBytes(sums.footprint_bytes), HowLooked(curve));
  text += fmt::format("hit ratio %  {:>10}\n{:>11}", "SCM", "DRAM");
  for (const uint64_t scm : form.scm) text += fmt::format(" {:>9}", Size(scm));
  double widest = 0;
  for (size_t dram = 0; dram < form.dram.size(); ++dram) {
    text += fmt::format("\n{:>11}", Size(form.dram[dram]));
    for (size_t scm = 0; scm < form.scm.size(); ++scm) {
      const HitShares shares = curve.Shares(curve.point(dram, scm));
      widest = std::max(widest, shares.both.band);
      text += fmt::format(" {:9.2f}", 100 * shares.both.value);
    }
  }
  text += !HasBands(curve) ? "\n"
                           : fmt::format("\n\nknown to +-{:.2f} points at worst, in 95 of 100 cases\n", 100 * widest);
  for (const std::string& warning : curve.warnings) text += fmt::format("warning: {}\n", warning);
  return text;
}

}  // namespace mezz::plan
