// SPDX-License-Identifier: Apache-2.0
#include "workloads/plan/answer_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "cache/base/text.h"
#include "workloads/plan/sensitivity.h"

namespace mezz::plan {
namespace {

constexpr std::array<const char*, kCostItems> kLabels = {"DRAM",    "SCM",    "flash",        "processors",
                                                         "chassis", "energy", "qualification"};

std::string Factor(double factor) { return fmt::format("{:.3g} times", factor); }

// SCM's price as the share of DRAM's per GB that it then is, of the cheapest plan that has any.
std::string ScmOfDram(const Question& question, const Answer& answer, double factor) {
  const size_t with = CheapestAt(answer.plans, kAsListed, Among::kWithScm);
  if (with == kNone) return "";
  double price = 0, gb = 0;  // of ordered media, both
  for (const Population* scm : {&answer.plans[with].build.scm, &answer.plans[with].build.slow_scm}) {
    if (scm->module == nullptr) continue;
    price += scm->count * scm->module->price.value;
    gb += scm->count * scm->module->gb();
  }
  return fmt::format(" ({:.2g} of DRAM a GB)", factor * price / gb / question.book.dram_price_gb);
}

std::string Then(const Answer& answer, size_t plan) {
  return plan == kNone ? "" : fmt::format("; then {}", answer.plans[plan].build.Name());
}

std::string Point(const Answer& answer, size_t plan) {
  return plan == answer.cheapest ? "the same" : answer.plans[plan].build.Name();
}

}  // namespace

std::string Money(const PriceBook& book, double amount) {
  if (std::abs(amount) >= 1e6) return fmt::format("{:.2f}M {}", amount / 1e6, book.currency);
  if (std::abs(amount) >= 1e5) return fmt::format("{:.0f}k {}", amount / 1e3, book.currency);
  return fmt::format("{:.0f} {}", amount, book.currency);
}

std::string Rate(double per_s) {
  if (per_s >= 1e6) return fmt::format("{:.2f}M", per_s / 1e6);
  return per_s >= 1e3 ? fmt::format("{:.1f}k", per_s / 1e3) : fmt::format("{:.0f}", per_s);
}

std::string Wrapped(std::string text) {
  constexpr size_t kColumns = 120;
  for (size_t start = 0; text.size() - start > kColumns;) {
    const size_t blank = text.rfind(' ', start + kColumns);
    if (blank == std::string::npos || blank <= start) break;
    text.replace(blank, 1, "\n  ");
    start = blank + 1;
  }
  return text;
}

std::string Duration(double us) {
  if (!std::isfinite(us)) return "never";  // the queue has no end
  if (us >= 1e4) return fmt::format("{:.1f} ms", us / 1e3);
  return us >= 100 ? fmt::format("{:.0f} us", us) : fmt::format("{:.1f} us", us);
}

std::string StaysText(const Question& question, const Answer& answer, const Stays& stays) {
  const char* const label = kLabels[static_cast<size_t>(stays.item)];
  const bool is_scm = stays.item == CostItem::kScm;
  const auto price = [&](double factor) {
    return Factor(factor) + (is_scm ? ScmOfDram(question, answer, factor) : "");
  };
  std::string text;
  if (std::isinf(stays.high) && stays.low == 0) {
    text = fmt::format("stays best at any price of {}", label);
  } else if (std::isinf(stays.high)) {
    text = fmt::format("stays best down to {} the price of {}{}", price(stays.low), label, Then(answer, stays.below));
  } else {
    text = fmt::format("stays best up to {} the price of {}{}", price(stays.high), label, Then(answer, stays.above));
    if (stays.low > 0) text += fmt::format("; and down to {}{}", price(stays.low), Then(answer, stays.below));
  }
  if (stays.range.low == 1 && stays.range.high == 1) return text;
  return fmt::format("{}. The book's {:.2g} to {:.2g} times{}: {}, {}", text, stays.range.low, stays.range.high,
                     stays.range.assumed ? ", assumed" : "", Point(answer, stays.at_low), Point(answer, stays.at_high));
}

std::string GrowthText(const Answer& answer) {
  if (answer.growth.limit >= answer.growth.most)
    return fmt::format("meets the targets up to {} times the data", answer.growth.most);
  return fmt::format("meets the targets until the data are {:.2f} times as much{}", answer.growth.limit,
                     Then(answer, answer.growth.next));
}

std::string FlatterText(const Answer& answer) {
  if (answer.flatter.most == 0) return "the footprint is not known, so nothing is said of flatter skew";
  if (answer.flatter.limit >= answer.flatter.most)
    return "meets the targets even if all look-ups spread evenly over the data";
  return fmt::format("meets the targets until {:.1f} % of the look-ups spread evenly over the data{}",
                     100 * answer.flatter.limit, Then(answer, answer.flatter.next));
}

std::string BreakEvenText(const Question& question, const Answer& answer) {
  if (answer.cheapest == kNone || answer.cheapest_dram == kNone) return "DRAM alone meets the targets at no size";
  if (answer.break_even_scm == 0) return "no price of SCM makes it and DRAM alone cost the same";
  std::string text = fmt::format("SCM and DRAM alone cost the same when SCM costs {}{} what it does",
                                 Factor(answer.break_even_scm), ScmOfDram(question, answer, answer.break_even_scm));
  if (answer.break_even_dram > 0) text += fmt::format(", or DRAM {}", Factor(answer.break_even_dram));
  return text;
}

std::string BlockedText(const Question& question, const Answer& answer) {
  if (answer.nearest == kNone) return "";
  const Plan& plan = answer.plans[answer.nearest];
  const Target& target = question.targets[answer.blocked_by];
  const auto with_unit = [&](double value) {  // a queue that only grows has no figure
    return std::isfinite(value) ? fmt::format("{:.4g} {}", value, UnitOf(target.metric)) : std::string("no end");
  };
  return fmt::format(
      "nothing meets the targets. Nearest is {}; \"{}\" blocks it: {}, and {} is asked for. Its bottleneck "
      "is {}",
      plan.build.Name(), target.text, with_unit(ValueOf(plan.figures, target.metric)),
      with_unit(answer.bounds.value[answer.blocked_by]), plan.figures.prediction.bottleneck);
}

}  // namespace mezz::plan
