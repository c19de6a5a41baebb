// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "cache/base/text.h"
#include "workloads/plan/answer.h"
#include "workloads/plan/answer_text.h"

namespace mezz::plan {
namespace {

std::string Marks(const Answer& answer, size_t index) {
  std::string marks;
  if (index == answer.baseline) marks += 'B';
  if (index == answer.cheapest) marks += '*';
  if (index == answer.nearest) marks += 'N';
  if (answer.plans[index].on_frontier) marks += 'F';
  return marks;
}

std::string Row(const Answer& answer, size_t index, size_t name_columns) {
  const Plan& plan = answer.plans[index];
  const Prediction& p = plan.figures.prediction;
  const double worst = *std::min_element(plan.slack.begin(), plan.slack.end());
  return fmt::format("{:<3} {:<{}} {:>9.0f} {:>8} {:>15} {:>9} {:>9} {:>5.1f} {:>5.1f} {:>4.0f} {:>7} {}\n",
                     Marks(answer, index), plan.build.Name(), name_columns, plan.cost.total(), Rate(p.throughput.value),
                     fmt::format("{}-{}", Rate(p.throughput.low), Rate(p.throughput.high)), Duration(p.p50_us.value),
                     Duration(p.p99_us.value), 100 * p.shares.dram, 100 * p.shares.scm, 100 * p.cpu_share,
                     worst < -10 ? "far" : fmt::format("{:+.1f}%", 100 * worst),
                     plan.sure       ? "sure"
                     : plan.feasible ? "likely"
                                     : "no");
}

// Of the frontier, those that each do at least 2 % more than the one before.
std::set<size_t> Telling(const Answer& answer) {
  constexpr double kStep = 1.02;
  std::set<size_t> shown;
  double last = 0;
  for (size_t index : answer.frontier) {
    const double throughput = answer.plans[index].figures.prediction.throughput.value;
    if (throughput < kStep * last) continue;
    last = throughput;
    shown.insert(index);
  }
  return shown;
}

std::string Bill(const Question& question, const Plan& plan) {
  std::string text = fmt::format("{}\n", plan.build.Name());
  for (const CostStep& step : plan.cost.steps) text += fmt::format("  {:>12.2f}  {}\n", step.amount, step.text);
  return fmt::format("{}  {:>12.2f}  {} over {:.3g} years\n", text, plan.cost.total(), question.book.currency,
                     question.book.years.value);
}

std::string FleetText(const Question& question, const Answer& answer) {
  const Plan &plan = answer.plans[answer.cheapest], &baseline = answer.plans[answer.baseline];
  const double a = plan.cost.total(), b = baseline.cost.total();
  const double relative = plan.figures.prediction.throughput.value / baseline.figures.prediction.throughput.value;
  return fmt::format(
      "fleet of {:.0f}: {} instead of {} ({:+.1f} %), {:.1f} kW instead of {:.1f}; each host does {:.1f} % of the "
      "baseline's\n",
      question.hosts, Money(question.book, question.hosts * a), Money(question.book, question.hosts * b),
      100 * (a / b - 1), question.hosts * plan.figures.watts / 1e3, question.hosts * baseline.figures.watts / 1e3,
      100 * relative);
}

// What the SCM does and how long it lasts; of ordered media, by medium.
std::string ScmText(const Plan& plan) {
  const Figures& figures = plan.figures;
  const Prediction& p = figures.prediction;
  if (!plan.build.is_ordered())
    return !std::isfinite(figures.lifetime_years)
               ? ""
               : fmt::format("SCM lasts {:.1f} years at {:.0f} MB/s of writes\n", figures.lifetime_years,
                             p.scm_written_bytes_per_s / 1e6);
  std::string text;
  const Population* const populations[] = {&plan.build.scm, &plan.build.slow_scm};
  for (size_t i = 0; i < kMediaMax; ++i) {
    const MediumFigures& medium = p.media[i];
    const double years = figures.media_lifetime_years[i];
    text += fmt::format("{} SCM, {} of {}: finds {:.1f} % of the look-ups, is written {:.0f} MB/s{}\n",
                        i == kFastMedium ? "fast" : "slow", HumanBytes(populations[i]->bytes()),
                        populations[i]->module->device, 100 * medium.hit, medium.written_bytes_per_s / 1e6,
                        std::isfinite(years) ? fmt::format(", lasts {:.1f} years", years) : "");
  }
  return text;
}

std::string Chosen(const Question& question, const Answer& answer) {
  const Plan& plan = answer.plans[answer.cheapest];
  std::string text = fmt::format("\ncheapest that meets the targets: {}", Bill(question, plan));
  if (answer.baseline != answer.cheapest)
    text += fmt::format("baseline: {}", Bill(question, answer.plans[answer.baseline]));
  for (size_t i = 0; i < question.targets.size(); ++i) {
    const Target& target = question.targets[i];
    text += fmt::format("{}: {:.5g} {}, bound {:.5g}, margin {:+.1f} %{}\n", target.text,
                        ValueOf(plan.figures, target.metric), UnitOf(target.metric), answer.bounds.value[i],
                        100 * plan.slack[i],
                        Slack(target, answer.bounds.worst[i], WorstOf(plan.figures, target.metric, target.at_least)) < 0
                            ? ", missed at the bad end of what is not known"
                            : "");
  }
  text += ScmText(plan);
  text += fmt::format("\n{}", FleetText(question, answer));
  constexpr size_t kStepsShown = 6;  // the JSON has all
  for (size_t i = 0; i < std::min(kStepsShown, answer.next_dollars.size()); ++i) {
    const NextDollar& next = answer.next_dollars[i];
    const std::string p99 =
        !std::isfinite(next.p99_us) || std::abs(next.p99_us) < 0.5 ? "" : fmt::format(", P99 {:+.1f} us", next.p99_us);
    text += fmt::format("{} more buys {} ops/s more{}: {}\n", Money(question.book, next.cost), Rate(next.throughput),
                        p99, answer.plans[next.to].build.Name());
  }
  text += "\n";
  for (const Stays& stays : answer.sensitivity)
    text += fmt::format("{}\n", Wrapped(StaysText(question, answer, stays)));
  text += fmt::format("{}\n{}\n{}\n", GrowthText(answer), FlatterText(answer), BreakEvenText(question, answer));
  if (!answer.uri.empty()) text += fmt::format("\n{}\n", answer.uri);
  return text;
}

// Of the CSV; empty: it does not wear.
std::string YearsText(double years) { return std::isfinite(years) ? fmt::format("{:.3g}", years) : ""; }

}  // namespace

std::string AnswerTable(const Question& question, const Answer& answer) {
  const Traffic& t = question.traffic;
  std::string text = fmt::format(
      "{}: {} of blocks of {:.0f} bytes, policy {}; {}\nprices: {} of {:04}-{:02}-{:02}, {}\ncosts of operations: {}\n"
      "{} servers judged\n\n",
      t.name,
      t.footprint_bytes > 0 ? HumanBytes(static_cast<uint64_t>(t.footprint_bytes * question.growth))
                            : "an unknown footprint",
      t.block_bytes, t.policy,
      answer.load.closed ? fmt::format("{} threads, closed loop", answer.load.threads)
                         : fmt::format("{} operations a second", Rate(answer.load.rate)),
      question.book.name, question.book.as_of.year, question.book.as_of.month, question.book.as_of.day,
      question.book.path, question.costs.source, answer.considered);
  std::set<size_t> shown = Telling(answer);
  for (size_t index : {answer.baseline, answer.cheapest, answer.cheapest_dram, answer.nearest}) {
    if (index != kNone) shown.insert(index);
  }
  size_t columns = 56;
  for (size_t index : shown) {
    const Build& build = answer.plans[index].build;
    if (build.is_ordered()) columns = std::max(columns, build.Name().size());
  }
  text += fmt::format("{:<3} {:<{}} {:>9} {:>8} {:>15} {:>9} {:>9} {:>5} {:>5} {:>4} {:>7} {}\n", "", "server", columns,
                      question.book.currency, "ops/s", "low-high", "P50", "P99", "DRAM%", "SCM%", "CPU%", "margin",
                      "meets");
  for (size_t index : shown) text += Row(answer, index, columns);
  text += "B baseline, * cheapest that meets the targets, F frontier: nothing cheaper is as fast\n";
  text += answer.cheapest == kNone ? fmt::format("\n{}\n", BlockedText(question, answer)) : Chosen(question, answer);
  for (const std::string& warning : answer.warnings)
    text += fmt::format("{}\n", Wrapped(fmt::format("warning: {}", warning)));
  return text;
}

std::string AnswerCsv(const Question& question, const Answer& answer) {
  std::string text =
      "server,sockets,cores,dram_bytes,scm_bytes,scm_device,flash,cost,currency,watts,throughput,throughput_low,"
      "throughput_high,mean_us,p50_us,p95_us,p99_us,dram_hit,scm_hit,miss,cpu_share,flash_reads_per_s,scm_written_"
      "bytes_per_s,"
      "lifetime_years,feasible,sure,on_frontier,baseline,cheapest,slow_scm_bytes,slow_scm_device,slow_scm_hit,"
      "slow_scm_written_bytes_per_s,slow_scm_lifetime_years\n";
  for (size_t i = 0; i < answer.plans.size(); ++i) {
    const Plan& plan = answer.plans[i];
    const Build& b = plan.build;
    const Prediction& p = plan.figures.prediction;
    text +=
        fmt::format("{},{},{},{},{},{},{}x{},{:.2f},{},{:.1f},", b.server->name, b.server->sockets, b.server->cores,
                    b.dram.bytes(), b.scm.bytes(), b.scm.module == nullptr ? "" : b.scm.module->device, b.flash.count,
                    b.flash.module->name, plan.cost.total(), question.book.currency, plan.figures.watts);
    text +=
        fmt::format("{:.6g},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g},{:.4g},{:.6g},{:.6g},{},",
                    p.throughput.value, p.throughput.low, p.throughput.high, p.mean_us.value, p.p50_us.value,
                    p.p95_us.value, p.p99_us.value, p.shares.dram, p.shares.scm, p.shares.miss(), p.cpu_share,
                    p.flash_reads_per_s, p.scm_written_bytes_per_s, YearsText(plan.figures.lifetime_years));
    text += fmt::format("{:d},{:d},{:d},{:d},{:d},", plan.feasible, plan.sure, plan.on_frontier, i == answer.baseline,
                        i == answer.cheapest);
    const MediumFigures& slow = p.media[kSlowMedium];
    text += fmt::format("{},{},{:.6g},{:.6g},{}\n", b.slow_scm.bytes(), b.is_ordered() ? b.slow_scm.module->device : "",
                        slow.hit, slow.written_bytes_per_s, YearsText(plan.figures.media_lifetime_years[kSlowMedium]));
  }
  return text;
}

}  // namespace mezz::plan
