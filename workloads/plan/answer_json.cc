// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "workloads/plan/answer.h"
#include "workloads/plan/answer_text.h"
#include "workloads/plan/judge.h"

namespace mezz::plan {
namespace {

using nlohmann::json;

json Finite(double value) { return std::isfinite(value) ? json(value) : json(); }
json Index(size_t index) { return index == kNone ? json() : json(index); }
json DateText(const Date& date) { return fmt::format("{:04}-{:02}-{:02}", date.year, date.month, date.day); }

json ToJson(const Population& modules) {
  if (modules.module == nullptr) return {};
  return {{"module", modules.module->name},
          {"count", modules.count},
          {"bytes", modules.bytes()},
          {"device", modules.module->device}};
}

json MediaToJson(const Plan& plan) {
  if (!plan.build.is_ordered()) return {};
  json media = json::array();
  for (size_t i = 0; i < kMediaMax; ++i) {
    const MediumFigures& medium = plan.figures.prediction.media[i];
    media.push_back({{"hit", medium.hit},
                     {"read_bytes_per_s", medium.read_bytes_per_s},
                     {"written_bytes_per_s", medium.written_bytes_per_s},
                     {"share", medium.share},
                     {"lifetime_years", Finite(plan.figures.media_lifetime_years[i])}});
  }
  return media;
}

json ToJson(const CostStep& step) {
  json items = {ToString(step.item)};
  if (step.with_dram) items.push_back(ToString(CostItem::kDram));
  return {{"items", items}, {"text", step.text}, {"amount", step.amount}};
}

json CostToJson(const PriceBook& book, const Cost& cost) {
  json steps = json::array();
  for (const CostStep& step : cost.steps) steps.push_back(ToJson(step));
  return {{"total", cost.total()}, {"per_year", cost.total() / book.years.value}, {"steps", steps}};
}

json PlanToJson(const Question& question, const Plan& plan) {
  const Prediction& p = plan.figures.prediction;
  json slack = json::array();
  for (double one : plan.slack) slack.push_back(Finite(one));
  return {{"name", plan.build.Name()},
          {"server", plan.build.server->name},
          {"sockets", plan.build.server->sockets},
          {"cores", plan.build.server->cores},
          {"dram", ToJson(plan.build.dram)},
          {"scm", ToJson(plan.build.scm)},
          {"slow_scm", ToJson(plan.build.slow_scm)},
          {"media", MediaToJson(plan)},
          {"flash", ToJson(plan.build.flash)},
          {"dram_cache_bytes", DramCacheBytes(question, plan.build)},
          {"cost", CostToJson(question.book, plan.cost)},
          {"throughput", ToJson(p.throughput)},
          {"mean_us", ToJson(p.mean_us)},
          {"p50_us", ToJson(p.p50_us)},
          {"p95_us", ToJson(p.p95_us)},
          {"p99_us", ToJson(p.p99_us)},
          {"flash_reads_per_s", p.flash_reads_per_s},
          {"flash_bytes_per_s", p.flash_bytes_per_s},
          {"scm_read_bytes_per_s", p.scm_read_bytes_per_s},
          {"scm_written_bytes_per_s", p.scm_written_bytes_per_s},
          {"cpu_share", p.cpu_share},
          {"scm_share", p.scm_share},
          {"flash_share", p.flash_share},
          {"watts", plan.figures.watts},
          {"lifetime_years", Finite(plan.figures.lifetime_years)},
          {"dram_hit", p.shares.dram},
          {"scm_hit", p.shares.scm},
          {"miss", p.shares.miss()},
          {"miss_band", p.shares.miss_band},
          {"bottleneck", p.bottleneck},
          {"slack", slack},
          {"feasible", plan.feasible},
          {"sure", plan.sure},
          {"on_frontier", plan.on_frontier}};
}

json TargetsToJson(const Question& question, const Answer& answer) {
  json all = json::array();
  for (size_t i = 0; i < question.targets.size(); ++i) {
    const Target& target = question.targets[i];
    all.push_back({{"text", target.text},
                   {"metric", NameOf(target.metric)},
                   {"unit", UnitOf(target.metric)},
                   {"at_least", target.at_least},
                   {"of_baseline", target.of_baseline},
                   {"bound", answer.bounds.value[i]}});
  }
  return all;
}

json CostItemsToJson(const PriceBook& book) {
  json all = json::array();
  for (size_t i = 0; i < kCostItems; ++i) {
    const auto item = static_cast<CostItem>(i);
    const FactorRange range = RangeOf(book, item);
    all.push_back({{"name", ToString(item)},
                   {"low", range.low},
                   {"high", range.high},
                   {"assumed", range.assumed},
                   {"source", range.source},
                   {"date", DateText(range.date)}});
  }
  return all;
}

json SensitivityToJson(const Question& question, const Answer& answer) {
  json all = json::array();
  for (const Stays& stays : answer.sensitivity) {
    all.push_back({{"item", ToString(stays.item)},
                   {"low", stays.low == 0 ? json() : json(stays.low)},
                   {"high", Finite(stays.high)},
                   {"below", Index(stays.below)},
                   {"above", Index(stays.above)},
                   {"at_low", Index(stays.at_low)},
                   {"at_high", Index(stays.at_high)},
                   {"text", StaysText(question, answer, stays)}});
  }
  return all;
}

json NextDollarsToJson(const Answer& answer) {
  json all = json::array();
  for (const NextDollar& next : answer.next_dollars) {
    all.push_back({{"from", next.from},
                   {"to", next.to},
                   {"cost", next.cost},
                   {"throughput", next.throughput},
                   {"p99_us", next.p99_us},
                   {"throughput_per_cost", next.throughput / next.cost}});
  }
  return all;
}

json ToJson(const Withstands& withstands, const std::string& text) {
  return {{"limit", withstands.limit}, {"most", withstands.most}, {"next", Index(withstands.next)}, {"text", text}};
}

json FleetToJson(const Question& question, const Answer& answer) {
  if (answer.cheapest == kNone) return {};
  const Plan &plan = answer.plans[answer.cheapest], &baseline = answer.plans[answer.baseline];
  const double total = question.hosts * plan.cost.total();
  const double before = question.hosts * baseline.cost.total();
  const double slower = baseline.figures.prediction.throughput.value / plan.figures.prediction.throughput.value;
  return {{"hosts", question.hosts},
          {"total", total},
          {"baseline_total", before},
          {"saving", before - total},
          {"saving_share", 1 - total / before},
          {"watts", question.hosts * plan.figures.watts},
          {"baseline_watts", question.hosts * baseline.figures.watts},
          {"hosts_for_baseline_throughput", std::ceil(question.hosts * slower - 1e-9)}};
}

// At most so many sizes, the ends among them.
std::vector<uint64_t> Thinned(const std::set<uint64_t>& sizes) {
  constexpr size_t kMost = 12;
  std::vector<uint64_t> all(sizes.begin(), sizes.end()), kept;
  if (all.size() <= kMost) return all;
  for (size_t i = 0; i < kMost; ++i) kept.push_back(all[i * (all.size() - 1) / (kMost - 1)]);
  return kept;
}

// Modules of exactly these sizes, as many as the model has; of ordered media, each with the model's share of the bytes.
class SizedBuild {
 public:
  SizedBuild(const Build& model, const Module* scm, uint64_t dram_bytes, uint64_t scm_bytes)
      : dram_{.bytes = dram_bytes}, build_{.server = model.server, .dram = {&dram_, 1}, .flash = model.flash} {
    if (scm == nullptr || scm_bytes == 0) return;
    const double slow_share =
        static_cast<double>(model.slow_scm.bytes()) / static_cast<double>(std::max<uint64_t>(1, model.scm_bytes()));
    const auto slow_bytes = static_cast<uint64_t>(slow_share * static_cast<double>(scm_bytes));
    build_.scm = Sized(*scm, std::max(1u, model.scm.count), scm_bytes - slow_bytes, &scm_);
    if (model.is_ordered())
      build_.slow_scm = Sized(*model.slow_scm.module, model.slow_scm.count, slow_bytes, &slow_scm_);
  }
  SizedBuild(const SizedBuild&) = delete;
  SizedBuild& operator=(const SizedBuild&) = delete;

  const Build& build() const { return build_; }

 private:
  static Population Sized(const Module& like, unsigned count, uint64_t bytes, Module* module) {
    *module = like;
    module->bytes = bytes / count;
    return {module, count};
  }

  Module dram_, scm_{}, slow_scm_{};
  Build build_;
};

json SurfaceToJson(const Question& question, const Answer& answer) {
  const Build& model = answer.plans[answer.cheapest == kNone ? answer.baseline : answer.cheapest].build;
  std::set<uint64_t> drams, scms = {0};
  const Module* scm = model.scm.module;
  for (const Build& build : AllBuilds(question.book, 0)) {
    if (build.server != model.server) continue;
    if (DramCacheBytes(question, {.server = build.server, .dram = build.dram}) > 0) drams.insert(build.dram.bytes());
    if (scm == nullptr) scm = build.scm.module;
    if (build.scm_bytes() != 0 && build.is_ordered() == model.is_ordered()) scms.insert(build.scm_bytes());
  }
  json surface = {{"dram_bytes", Thinned(drams)}, {"scm_bytes", Thinned(scms)}};
  for (uint64_t dram : Thinned(drams)) {
    json rows[5];
    for (uint64_t bytes : Thinned(scms)) {
      const SizedBuild sized(model, scm, dram, bytes);
      const Prediction p = Perform(question, answer.load, sized.build(), {});
      const double cells[5] = {p.shares.dram, p.shares.scm, p.shares.miss(), p.throughput.value, p.p99_us.value};
      for (size_t i = 0; i < 5; ++i) rows[i].push_back(Finite(cells[i]));
    }
    static constexpr const char* kNames[5] = {"dram_hit", "scm_hit", "miss", "throughput", "p99_us"};
    for (size_t i = 0; i < 5; ++i) surface[kNames[i]].push_back(rows[i]);
  }
  return surface;
}

json InputsToJson(const Question& question, const Answer& answer) {
  const PriceBook& book = question.book;
  const Traffic& t = question.traffic;
  const OperationCosts& costs = question.costs;
  return {{"price_book",
           {{"name", book.name},
            {"path", book.path},
            {"as_of", DateText(book.as_of)},
            {"currency", book.currency},
            {"years", book.years.value}}},
          {"workload",
           {{"name", t.name},
            {"policy", t.policy},
            {"pack", t.pack},
            {"curve", t.curve},
            {"block_bytes", t.block_bytes},
            {"flash_bytes", t.flash_bytes},
            {"lookups_per_operation", t.lookups_per_operation},
            {"reads_per_miss", t.reads_per_miss},
            {"footprint_bytes", t.footprint_bytes},
            {"growth", question.growth}}},
          {"load",
           {{"loop", answer.load.closed ? "closed" : "open"},
            {"threads", answer.load.threads},
            {"rate", answer.load.rate}}},
          {"costs",
           {{"base", ToJson(costs.base)},
            {"scm_hit", ToJson(costs.scm_hit)},
            {"flash_read", ToJson(costs.flash_read)},
            {"flash_wait", ToJson(costs.flash_wait)},
            {"source", costs.source}}},
          {"hosts", question.hosts},
          {"considered", answer.considered},
          {"warnings", answer.warnings},
          {"targets", TargetsToJson(question, answer)},
          {"cost_items", CostItemsToJson(book)}};
}

}  // namespace

json AnswerJson(const Question& question, const Answer& answer) {
  json all = InputsToJson(question, answer);
  all["plans"] = json::array();
  for (const Plan& plan : answer.plans) all["plans"].push_back(PlanToJson(question, plan));
  all.update({{"baseline", Index(answer.baseline)},
              {"cheapest", Index(answer.cheapest)},
              {"cheapest_dram", Index(answer.cheapest_dram)},
              {"nearest", Index(answer.nearest)},
              {"blocked_by", Index(answer.blocked_by)},
              {"blocked_text", BlockedText(question, answer)},
              {"frontier", answer.frontier},
              {"next_dollars", NextDollarsToJson(answer)},
              {"sensitivity", SensitivityToJson(question, answer)},
              {"fleet", FleetToJson(question, answer)},
              {"uri", answer.uri},
              {"surface", SurfaceToJson(question, answer)}});
  if (answer.cheapest == kNone) return all;
  all["growth"] = ToJson(answer.growth, GrowthText(answer));
  all["flatter"] = ToJson(answer.flatter, FlatterText(answer));
  all["break_even"] = {{"scm", answer.break_even_scm == 0 ? json() : json(answer.break_even_scm)},
                       {"dram", answer.break_even_dram == 0 ? json() : json(answer.break_even_dram)},
                       {"text", BreakEvenText(question, answer)}};
  return all;
}

}  // namespace mezz::plan
