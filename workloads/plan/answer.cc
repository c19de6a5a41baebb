// SPDX-License-Identifier: Apache-2.0
#include "workloads/plan/answer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include "admission/policy.h"
#include "cache/base/text.h"
#include "workloads/plan/judge.h"
#include "workloads/plan/known_policies.h"
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
  uint64_t slow_scm_bytes = 0;  // of ordered media; 0: one medium
};

Status ParseBaseline(const Question& question, BaselineSpec* spec) {
  const auto refused = [&](const std::string& why) {
    return Status::InvalidArgument(fmt::format(
        "--baseline={}: {}; it is [SERVER/]dram:SIZE[+scm:SIZE], such as dram:256G, or with a fast medium before a "
        "slow one dram:64G+scm:64G>256G",
        question.baseline, why));
  };
  std::string rest = question.baseline;
  spec->server = question.book.baseline;
  if (const size_t slash = rest.find('/'); slash != std::string::npos) {
    spec->server = rest.substr(0, slash);
    rest.erase(0, slash + 1);
    if (question.book.FindServer(spec->server) == nullptr)
      return refused(spec->server + " is no server of the price book");
  }
  if (rest.ends_with('+')) return refused("behind its last + stands nothing");
  while (!rest.empty()) {
    const size_t plus = std::min(rest.find('+'), rest.size());
    const std::string part = rest.substr(0, plus);
    rest.erase(0, plus + 1);
    const bool dram = part.starts_with("dram:");
    if (!dram && !part.starts_with("scm:"))
      return refused(fmt::format("\"{}\" is neither dram:SIZE nor scm:SIZE", part));
    if ((dram ? spec->dram_bytes : spec->scm_bytes) != 0) return refused("a tier is there twice");
    const std::string sizes = part.substr(part.find(':') + 1);
    const auto media = static_cast<size_t>(std::ranges::count(sizes, '>')) + 1;
    if (dram && media > 1) return refused("only SCM has a fast and a slow medium");
    if (media > kMediaMax) return refused("there are two media at most");
    if (sizes.starts_with('>') || sizes.ends_with('>')) return refused("a size stands on either side of >");
    MEZZ_RETURN_IF_ERROR(dram ? ParseBytes("--baseline", sizes, &spec->dram_bytes)
                              : ParseScmSizes("--baseline", sizes, &spec->scm_bytes, &spec->slow_scm_bytes));
  }
  return spec->dram_bytes == 0 ? refused("it has no DRAM") : Status::Ok();
}

// By how much two sizes differ, in logarithms.
double Distance(uint64_t bytes, uint64_t wanted) {
  return std::abs(std::log(static_cast<double>(bytes) / static_cast<double>(wanted)));
}

// The nearest of `sizes`, in their own order.
template <typename Size>
std::vector<Size> Nearest(const std::set<Size>& sizes, const auto& distance) {
  std::vector<Size> near(sizes.begin(), sizes.end());
  std::ranges::sort(near, {}, distance);
  near.resize(std::min<size_t>(near.size(), 4));
  std::ranges::sort(near);
  return near;
}

// What modules can give: DRAM, or, if there is such DRAM, SCM beside it, as it was asked for.
std::string Near(const std::vector<Build>& builds, const BaselineSpec& spec) {
  std::set<uint64_t> drams;
  std::set<std::pair<uint64_t, uint64_t>> media;  // the second is 0: one medium
  const bool ordered = spec.slow_scm_bytes != 0;
  for (const Build& build : builds) {
    if (!spec.server.empty() && build.server->name != spec.server) continue;
    drams.insert(build.dram.bytes());
    if (build.scm_bytes() != 0 && build.is_ordered() == ordered && build.dram.bytes() == spec.dram_bytes)
      media.emplace(build.scm.bytes(), build.slow_scm.bytes());
  }
  std::vector<std::string> texts;
  if (spec.scm_bytes == 0 || !drams.contains(spec.dram_bytes)) {
    for (uint64_t bytes : Nearest(drams, [&](uint64_t one) { return Distance(one, spec.dram_bytes); }))
      texts.push_back(HumanBytes(bytes));
    return fmt::format("DRAM of {} can be had", fmt::join(texts, ", "));
  }
  const auto distance = [&](const auto& sizes) {
    return Distance(sizes.first, spec.scm_bytes) + (ordered ? Distance(sizes.second, spec.slow_scm_bytes) : 0);
  };
  for (const auto& [fast, slow] : Nearest(media, distance))
    texts.push_back(ordered ? fmt::format("{}>{}", SizeText(fast), SizeText(slow)) : SizeText(fast));
  if (texts.empty())
    return fmt::format("beside that DRAM the book has no {}",
                       ordered ? "two kinds of SCM of which one is faster" : "SCM");
  return fmt::format("beside that DRAM scm:{} can be had", fmt::join(texts, ", "));
}

Status FindBaseline(const Question& question, const std::vector<Build>& builds, Build* found) {
  BaselineSpec spec;
  MEZZ_RETURN_IF_ERROR(ParseBaseline(question, &spec));
  double least = std::numeric_limits<double>::infinity();
  for (const Build& build : builds) {
    if ((!spec.server.empty() && build.server->name != spec.server) || build.dram.bytes() != spec.dram_bytes ||
        build.scm.bytes() != spec.scm_bytes || build.slow_scm.bytes() != spec.slow_scm_bytes)
      continue;
    const double cost = CostOf(question.book, build, /*new_kind=*/false, question.hosts).total();
    if (cost < least) {
      least = cost;
      *found = build;
    }
  }
  if (std::isfinite(least)) return Status::Ok();
  return Status::InvalidArgument(
      fmt::format("--baseline={}: no population of modules gives that{}; {}", question.baseline,
                  spec.server.empty() ? "" : fmt::format(" in {}", spec.server), Near(builds, spec)));
}

Plan Priced(const Question& question, const Build& build, const Build& baseline) {
  // Another server or another kind of memory must be qualified; more of the same need not.
  const bool new_kind = build.server != baseline.server ||
                        (build.scm.module != nullptr && baseline.scm.module == nullptr) ||
                        (build.is_ordered() && !baseline.is_ordered());
  Plan plan{.build = build};
  plan.cost = CostOf(question.book, build, new_kind, question.hosts);
  return plan;
}

// What of a build decides how it performs: those with the same do the same.
using MediumKey = std::tuple<uint64_t, std::string, unsigned>;
using PerformanceKey = std::tuple<std::string, uint64_t, MediumKey, MediumKey, std::string, unsigned>;
PerformanceKey KeyOf(const Build& build) {
  const auto medium = [](const Population& scm) {
    return MediumKey(scm.bytes(), scm.module == nullptr ? "" : scm.module->device, scm.count);
  };
  return {build.server->name,     build.dram.bytes(),         medium(build.scm),
          medium(build.slow_scm), build.flash.module->device, build.flash.count};
}

// Of two that do the same: no prices, no target of watts or of lifetime makes `a` the better one.
bool IsNoBetter(const Plan& a, const Plan& b) {
  const auto endurance = [](const Population& scm) {
    return scm.module == nullptr ? 0 : scm.module->endurance_bytes.value * scm.count;
  };
  return CostsNoLess(a, b) && a.build.watts() >= b.build.watts() && endurance(a.build.scm) <= endurance(b.build.scm) &&
         endurance(a.build.slow_scm) <= endurance(b.build.slow_scm);
}

// The least of each memory that holds all data.
class Enough {
 public:
  Enough(const Question& question, const std::vector<Build>& builds) : footprint_(DataBytes(question)) {
    for (const Build& build : builds) {
      uint64_t& dram = dram_.try_emplace(build.server, UINT64_MAX).first->second;
      if (DramCacheBytes(question, {.server = build.server, .dram = build.dram}) >= footprint_)
        dram = std::min(dram, build.dram.bytes());
      uint64_t& scm = ScmOf(build);
      if (Holds(build.scm_bytes())) scm = std::min(scm, build.scm_bytes());
    }
  }

  // A slow medium behind a fast one that holds all has nothing to hold.
  bool IsExceededBy(const Build& build) {
    if (footprint_ <= 0) return false;
    return build.dram.bytes() > dram_.at(build.server) || build.scm_bytes() > ScmOf(build) ||
           (build.is_ordered() && Holds(build.scm.bytes()));
  }

 private:
  bool Holds(uint64_t bytes) const { return static_cast<double>(bytes) >= footprint_; }
  // Of one medium, whatever it is; of ordered ones, with as much of the same fast one.
  uint64_t& ScmOf(const Build& build) {
    const auto [fast, count] =
        build.is_ordered() ? std::pair(build.scm.module, build.scm.count) : std::pair(nullptr, 0u);
    return scm_.try_emplace({build.server, fast, count}, UINT64_MAX).first->second;
  }

  const double footprint_;
  std::map<const Server*, uint64_t> dram_;
  std::map<std::tuple<const Server*, const Module*, unsigned>, uint64_t> scm_;
};

// Of plans that do the same, those that may be better than the others; none that has more memory than the data could
// fill, but one size; and no ordered media where the fast one alone is as cheap.
std::vector<Plan> Worthwhile(const Question& question, const std::vector<Build>& builds, const Build& baseline) {
  Enough enough(question, builds);
  std::map<PerformanceKey, std::vector<Plan>> best;
  for (const Build& build : builds) {
    const bool is_baseline = build == baseline;
    if (!is_baseline && enough.IsExceededBy(build)) continue;
    if (DramCacheBytes(question, build) <= 0) continue;
    if (!is_baseline && build.is_ordered() && IsBeatenByFastAlone(question.book, build)) continue;
    Plan plan = Priced(question, build, baseline);
    std::vector<Plan>& those = best[KeyOf(build)];
    const auto is_beaten = [&](const Plan& kept) { return IsNoBetter(plan, kept); };
    if (!is_baseline && std::ranges::any_of(those, is_beaten)) continue;
    std::erase_if(those, [&](const Plan& kept) { return !(kept.build == baseline) && IsNoBetter(kept, plan); });
    those.push_back(std::move(plan));
  }
  std::vector<Plan> plans;
  for (auto& [same, those] : best) std::ranges::move(those, std::back_inserter(plans));
  return plans;
}

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
