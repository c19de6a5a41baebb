// SPDX-License-Identifier: Apache-2.0
#include "workloads/plan/answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <set>

#include "admission/policy.h"
#include "cache/base/text.h"
#include "workloads/plan/baseline.h"
#include "workloads/plan/candidates.h"
#include "workloads/plan/judge.h"
#include "workloads/plan/known_policies.h"
#include "workloads/plan/sensitivity.h"

namespace mezz::plan {
namespace {

// Each performance once, however many modules give it.
void JudgeAll(const Question& question, Answer* answer) {
  std::map<PerformanceKey, Prediction> known;
  for (Plan& plan : answer->plans) {
    const auto [at, is_new] = known.try_emplace(KeyOf(plan.build));
    if (is_new) at->second = Perform(question, answer->load, plan.build, {});
    plan.figures = FiguresOf(plan.build, plan.cost, at->second);
  }
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
  for (size_t item = 0; item < kCostItems; ++item) {
    answer->sensitivity.push_back(
        HowLongItStays(question.book, answer->plans, answer->cheapest, static_cast<CostItem>(item)));
  }
  answer->break_even_scm = BreakEven(answer->plans, CostItem::kScm);
  answer->break_even_dram = BreakEven(answer->plans, CostItem::kDram);
  answer->uri = UriOf(question, answer->plans[answer->cheapest].build);
}

}  // namespace

std::string UriOf(const Question& question, const Build& build) {
  if (build.scm.module == nullptr) return "";
  const auto medium = [](const Population& scm) {
    const std::string& device = scm.module->device;
    return fmt::format("{}@{}", SizeText(scm.bytes()),
                       device == "cxl"    ? "numa:1"
                       : device == "none" ? "dram"
                                          : "/mnt/pmem0/mezz");
  };
  std::string uri =
      fmt::format("mezzanine://dram_total={};scm={}{};", SizeText(build.dram.bytes() - question.reserved_bytes),
                  medium(build.scm), build.is_ordered() ? ">" + medium(build.slow_scm) : "");
  const uint64_t block = std::bit_floor(static_cast<uint64_t>(std::llround(question.traffic.block_bytes * 4 / 3)));
  if (block != 4096) uri += fmt::format("block={};", SizeText(block));
  if (question.traffic.pack != "off") uri += fmt::format("pack={};", question.traffic.pack);
  return fmt::format("{}policy={}", uri, question.traffic.policy);
}

Status MakeAnswer(const Question& question, Answer* answer) {
  constexpr double kMostGrowth = 16;
  *answer = Answer();
  std::vector<Build> builds = AllBuilds(question.book, static_cast<uint64_t>(DataBytes(question)));
  if (!IsIn(PolicyNames(), question.traffic.policy))  // only the hybrid cache orders media
    std::erase_if(builds, [](const Build& build) { return build.is_ordered(); });
  if (builds.empty())
    return Status::InvalidArgument(fmt::format("{}: no server has slots for drives that hold the data, {}",
                                               question.book.path,
                                               HumanBytes(static_cast<uint64_t>(DataBytes(question)))));
  Build baseline;
  MEZZ_RETURN_IF_ERROR(FindBaseline(question, builds, &baseline));
  if (DramCacheBytes(question, baseline) <= 0)
    return Status::InvalidArgument(
        fmt::format("--dram_reserved={} leaves the baseline no DRAM for its cache; reserve less",
                    SizeText(question.reserved_bytes)));
  answer->load = question.load;
  if (answer->load.closed && answer->load.threads == 0) answer->load.threads = baseline.server->cores;
  answer->plans = Worthwhile(question, builds, baseline);
  answer->considered = builds.size();
  std::stable_sort(answer->plans.begin(), answer->plans.end(),
                   [](const Plan& a, const Plan& b) { return a.cost.total() < b.cost.total(); });
  JudgeAll(question, answer);
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
