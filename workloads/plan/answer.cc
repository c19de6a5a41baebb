// SPDX-License-Identifier: Apache-2.0
#include "workloads/plan/answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include "cache/base/text.h"
#include "workloads/plan/judge.h"
#include "workloads/plan/sensitivity.h"

namespace mezz::plan {
namespace {

// More than any server holds counts as that.
double DataBytes(const Question& question) {
  constexpr double kMost = 1e18;
  return std::clamp(question.traffic.footprint_bytes * question.growth, 0.0, kMost);
}

struct BaselineSpec {
  std::string server;
  uint64_t dram_bytes = 0;
  uint64_t scm_bytes = 0;
};

Status ParseBaseline(const Question& question, BaselineSpec* spec) {
  const auto refused = [&](const std::string& why) {
    return Status::InvalidArgument(fmt::format(
        "--baseline={}: {}; it is [SERVER/]dram:SIZE[+scm:SIZE], such as dram:256G", question.baseline, why));
  };
  std::string rest = question.baseline;
  spec->server = question.book.baseline;
  if (const size_t slash = rest.find('/'); slash != std::string::npos) {
    spec->server = rest.substr(0, slash);
    rest.erase(0, slash + 1);
    if (question.book.FindServer(spec->server) == nullptr)
      return refused(spec->server + " is no server of the price book");
  }
  while (!rest.empty()) {
    const size_t plus = std::min(rest.find('+'), rest.size());
    const std::string part = rest.substr(0, plus);
    rest.erase(0, plus + 1);
    const bool dram = part.starts_with("dram:");
    if (!dram && !part.starts_with("scm:"))
      return refused(fmt::format("\"{}\" is neither dram:SIZE nor scm:SIZE", part));
    uint64_t* const bytes = dram ? &spec->dram_bytes : &spec->scm_bytes;
    if (*bytes != 0) return refused("a tier is there twice");
    MEZZ_RETURN_IF_ERROR(ParseBytes("--baseline", part.substr(part.find(':') + 1), bytes));
  }
  return spec->dram_bytes == 0 ? refused("it has no DRAM") : Status::Ok();
}

// What modules can give, nearest first.
std::string Near(const std::vector<Build>& builds, const BaselineSpec& spec) {
  std::set<uint64_t> sizes;
  for (const Build& build : builds) {
    if (spec.server.empty() || build.server->name == spec.server) sizes.insert(build.dram.bytes());
  }
  std::vector<uint64_t> near(sizes.begin(), sizes.end());
  const auto distance = [&](uint64_t bytes) {
    return std::abs(std::log(static_cast<double>(bytes) / static_cast<double>(spec.dram_bytes)));
  };
  std::sort(near.begin(), near.end(), [&](uint64_t a, uint64_t b) { return distance(a) < distance(b); });
  near.resize(std::min<size_t>(near.size(), 4));
  std::sort(near.begin(), near.end());
  std::string text;
  for (uint64_t bytes : near) text += fmt::format("{}{}", text.empty() ? "" : ", ", HumanBytes(bytes));
  return text;
}

Status FindBaseline(const Question& question, const std::vector<Build>& builds, Build* found) {
  BaselineSpec spec;
  MEZZ_RETURN_IF_ERROR(ParseBaseline(question, &spec));
  double least = std::numeric_limits<double>::infinity();
  for (const Build& build : builds) {
    if ((!spec.server.empty() && build.server->name != spec.server) || build.dram.bytes() != spec.dram_bytes ||
        build.scm.bytes() != spec.scm_bytes)
      continue;
    const double cost = CostOf(question.book, build, /*new_kind=*/false, question.hosts).total();
    if (cost < least) {
      least = cost;
      *found = build;
    }
  }
  if (std::isfinite(least)) return Status::Ok();
  return Status::InvalidArgument(
      fmt::format("--baseline={}: no population of modules gives that{}; DRAM of {} can be had", question.baseline,
                  spec.server.empty() ? "" : fmt::format(" in {}", spec.server), Near(builds, spec)));
}

Plan Priced(const Question& question, const Build& build, const Build& baseline) {
  // Another server or another kind of memory must be qualified; more of the same need not.
  const bool new_kind =
      build.server != baseline.server || (build.scm.module != nullptr && baseline.scm.module == nullptr);
  Plan plan{.build = build};
  plan.cost = CostOf(question.book, build, new_kind, question.hosts);
  return plan;
}

// Of two that do the same: no prices, no target of watts or of lifetime makes `a` the better one.
bool IsNoBetter(const Plan& a, const Plan& b) {
  const auto endurance = [](const Population& scm) {
    return scm.module == nullptr ? 0 : scm.module->endurance_bytes.value * scm.count;
  };
  return CostsNoLess(a, b) && a.build.watts() >= b.build.watts() && endurance(a.build.scm) <= endurance(b.build.scm);
}

// Of plans that do the same, those that may be better than the others; none that has more memory than the data could
// fill, but one size.
std::vector<Plan> Worthwhile(const Question& question, const std::vector<Build>& builds, const Build& baseline) {
  const double footprint = DataBytes(question);
  std::map<const Server*, std::pair<uint64_t, uint64_t>> enough;  // the least DRAM and SCM that hold all
  for (const Build& build : builds) {
    auto& [dram, scm] = enough.try_emplace(build.server, UINT64_MAX, UINT64_MAX).first->second;
    if (DramCacheBytes(question, {.server = build.server, .dram = build.dram}) >= footprint)
      dram = std::min(dram, build.dram.bytes());
    if (static_cast<double>(build.scm.bytes()) >= footprint) scm = std::min(scm, build.scm.bytes());
  }
  using Same = std::tuple<std::string, uint64_t, uint64_t, std::string, unsigned, std::string, unsigned>;
  std::map<Same, std::vector<Plan>> best;
  for (const Build& build : builds) {
    const auto& [dram, scm] = enough[build.server];
    const bool is_baseline = build == baseline;
    if (!is_baseline && footprint > 0 && (build.dram.bytes() > dram || build.scm.bytes() > scm)) continue;
    if (DramCacheBytes(question, build) <= 0) continue;
    Plan plan = Priced(question, build, baseline);
    const std::string medium = build.scm.module == nullptr ? "" : build.scm.module->device;
    const Same same{build.server->name, build.dram.bytes(),         build.scm.bytes(), medium,
                    build.scm.count,    build.flash.module->device, build.flash.count};
    std::vector<Plan>& those = best[same];
    const auto is_beaten = [&](const Plan& kept) { return IsNoBetter(plan, kept); };
    if (!is_baseline && std::ranges::any_of(those, is_beaten)) continue;
    std::erase_if(those, [&](const Plan& kept) { return !(kept.build == baseline) && IsNoBetter(kept, plan); });
    those.push_back(std::move(plan));
  }
  std::vector<Plan> plans;
  for (auto& [same, those] : best) std::ranges::move(those, std::back_inserter(plans));
  return plans;
}

void MarkFrontier(std::vector<Plan>* plans) {
  double fastest = -1;
  for (Plan& plan : *plans) {
    const double throughput = plan.figures.prediction.throughput.value;
    plan.on_frontier = throughput > fastest * (1 + 1e-9);
    if (plan.on_frontier) fastest = throughput;
  }
}

size_t IndexOf(const std::vector<Plan>& plans, const Build& build) {
  const auto at = std::find_if(plans.begin(), plans.end(), [&](const Plan& plan) { return plan.build == build; });
  return at == plans.end() ? kNone : static_cast<size_t>(at - plans.begin());
}

// If nothing is feasible: the plan whose worst target is missed by least, and that target.
void FindNearest(Answer* answer) {
  double best = -std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < answer->plans.size(); ++i) {
    const std::vector<double>& slack = answer->plans[i].slack;
    const auto worst = std::min_element(slack.begin(), slack.end());
    if (*worst <= best) continue;
    best = *worst;
    answer->nearest = i;
    answer->blocked_by = static_cast<size_t>(worst - slack.begin());
  }
}

// Its drives hold the data, and it meets the targets.
bool Takes(const Question& question, const Answer& answer, const Plan& plan, const Change& change) {
  return static_cast<double>(plan.build.flash.bytes()) >= DataBytes(question) * change.growth &&
         Meets(question, answer.bounds, Judge(question, answer.load, plan.build, plan.cost, change)).feasible;
}

// The largest change that the build still takes, by bisection between `from`, which it takes, and `most`.
double Limit(const Question& question, const Answer& answer, const Plan& plan, double from, double most,
             const auto& change) {
  const auto holds = [&](double x) { return Takes(question, answer, plan, change(x)); };
  if (holds(most)) return most;
  constexpr int kHalvings = 20;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (from + most) / 2;
    (holds(middle) ? from : most) = middle;
  }
  return from;
}

Withstands HowMuch(const Question& question, const Answer& answer, double from, double most, const auto& change) {
  Withstands withstands{.most = most};
  withstands.limit = Limit(question, answer, answer.plans[answer.cheapest], from, most, change);
  if (withstands.limit >= most) return withstands;
  const Change beyond = change(withstands.limit + (most - from) / 100);
  for (size_t i = 0; i < answer.plans.size(); ++i) {  // by cost
    if (!Takes(question, answer, answer.plans[i], beyond)) continue;
    withstands.next = i;
    break;
  }
  return withstands;
}

// From the cheapest plan on, each time to the plan that gives most throughput for a unit of money more: the frontier's
// concave hull, so that each further unit buys less than the one before.
void FillNextDollars(Answer* answer) {
  constexpr double kLeast = 1e-3;  // of the throughput: less is nothing
  size_t from = answer->cheapest;
  for (;;) {
    const Plan& a = answer->plans[from];
    const double cost = a.cost.total(), throughput = a.figures.prediction.throughput.value;
    NextDollar best{.from = from};
    for (size_t to : answer->frontier) {
      const Plan& b = answer->plans[to];
      const double more = b.figures.prediction.throughput.value - throughput, paid = b.cost.total() - cost;
      if (!b.feasible || paid <= 0 || more <= kLeast * throughput) continue;
      if (best.to != kNone && more * best.cost <= best.throughput * paid) continue;
      best = {.from = from,
              .to = to,
              .cost = paid,
              .throughput = more,
              .p99_us = b.figures.prediction.p99_us.value - a.figures.prediction.p99_us.value};
    }
    if (best.to == kNone) return;
    answer->next_dollars.push_back(best);
    from = best.to;
  }
}

// Only what can be an answer at some prices, and what it is compared with, is told.
void DropOthers(Answer* answer) {
  const std::vector<bool> can = CanBeCheapest(answer->plans);
  std::vector<Plan> kept;
  const std::set<size_t> named = {answer->baseline, answer->nearest, answer->growth.next, answer->flatter.next};
  std::vector<size_t> now(answer->plans.size(), kNone);
  for (size_t i = 0; i < answer->plans.size(); ++i) {
    if (!can[i] && !answer->plans[i].on_frontier && !named.contains(i)) continue;
    now[i] = kept.size();
    kept.push_back(std::move(answer->plans[i]));
  }
  for (size_t* index : {&answer->baseline, &answer->nearest, &answer->growth.next, &answer->flatter.next}) {
    if (*index != kNone) *index = now[*index];
  }
  answer->plans = std::move(kept);
}

void Choose(const Question& question, Answer* answer) {
  answer->cheapest = CheapestAt(answer->plans, kAsListed);
  answer->cheapest_dram = CheapestAt(answer->plans, kAsListed, Among::kWithoutScm);
  for (size_t i = 0; i < answer->plans.size(); ++i) {
    if (answer->plans[i].on_frontier) answer->frontier.push_back(i);
  }
  if (answer->cheapest == kNone) return;
  FillNextDollars(answer);
  for (size_t knob = 0; knob < kKnobs; ++knob) {
    answer->sensitivity.push_back(
        HowLongItStays(question.book, answer->plans, answer->cheapest, static_cast<Knob>(knob)));
  }
  answer->break_even_scm = BreakEven(answer->plans, Knob::kScm);
  answer->break_even_dram = BreakEven(answer->plans, Knob::kDram);
  answer->uri = UriOf(question, answer->plans[answer->cheapest].build);
}

}  // namespace

std::string UriOf(const Question& question, const Build& build) {
  if (build.scm.module == nullptr) return "";
  const std::string& device = build.scm.module->device;
  std::string uri = fmt::format("mezzanine://dram_total={};scm={}@{};",
                                SizeText(build.dram.bytes() - question.reserved_bytes), SizeText(build.scm.bytes()),
                                device == "cxl"    ? "numa:1"
                                : device == "none" ? "dram"
                                                   : "/mnt/pmem0/mezz");
  const uint64_t block = std::bit_floor(static_cast<uint64_t>(std::llround(question.traffic.block_bytes * 4 / 3)));
  if (block != 4096) uri += fmt::format("block={};", SizeText(block));
  if (question.traffic.pack != "off") uri += fmt::format("pack={};", question.traffic.pack);
  return fmt::format("{}policy={}", uri, question.traffic.policy);
}

Status MakeAnswer(const Question& question, Answer* answer) {
  constexpr double kMostGrowth = 16;
  *answer = Answer();
  const std::vector<Build> builds = AllBuilds(question.book, static_cast<uint64_t>(DataBytes(question)));
  if (builds.empty())
    return Status::InvalidArgument(fmt::format("{}: no server has slots for drives that hold the data, {}",
                                               question.book.path,
                                               HumanBytes(static_cast<uint64_t>(DataBytes(question)))));
  Build baseline;
  MEZZ_RETURN_IF_ERROR(FindBaseline(question, builds, &baseline));
  if (DramCacheBytes(question, baseline) <= 0)
    return Status::InvalidArgument("--dram_reserved leaves the baseline no DRAM for its cache; reserve less");
  answer->load = question.load;
  if (answer->load.closed && answer->load.threads == 0) answer->load.threads = baseline.server->cores;
  answer->plans = Worthwhile(question, builds, baseline);
  answer->considered = builds.size();
  std::stable_sort(answer->plans.begin(), answer->plans.end(),
                   [](const Plan& a, const Plan& b) { return a.cost.total() < b.cost.total(); });
  for (Plan& plan : answer->plans) plan.figures = Judge(question, answer->load, plan.build, plan.cost, {});
  answer->baseline = IndexOf(answer->plans, baseline);
  const Figures& compared = answer->plans[answer->baseline].figures;
  for (const Target& target : question.targets) {
    answer->bounds.value.push_back(target.Bound(compared));
    answer->bounds.worst.push_back(target.WorstBound(compared));
  }
  for (Plan& plan : answer->plans) {
    Verdict verdict = Meets(question, answer->bounds, plan.figures);
    plan.slack = std::move(verdict.slack);
    plan.feasible = verdict.feasible;
    plan.sure = verdict.feasible && verdict.sure;
  }
  MarkFrontier(&answer->plans);
  answer->cheapest = CheapestAt(answer->plans, kAsListed);
  if (answer->cheapest == kNone) {
    FindNearest(answer);
  } else {
    answer->growth = HowMuch(question, *answer, 1, kMostGrowth, [](double x) { return Change{.growth = x}; });
    if (question.traffic.footprint_bytes > 0)
      answer->flatter = HowMuch(question, *answer, 0, 1, [](double x) { return Change{.flat = x}; });
  }
  DropOthers(answer);
  Choose(question, answer);
  answer->warnings = PriceBookWarnings(question.book, question.today);
  return Status::Ok();
}

}  // namespace mezz::plan
