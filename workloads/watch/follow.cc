// SPDX-License-Identifier: Apache-2.0
#include "workloads/watch/follow.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "workloads/watch/metrics_source.h"

namespace mezz::watch {
namespace {

using Samples = MetricSamples;

constexpr size_t kReasonsShown = 3;

std::string Count(double number) {
  if (number >= 1e6) return fmt::format("{:.1f}M", number / 1e6);
  if (number >= 1e4) return fmt::format("{:.1f}k", number / 1e3);
  return fmt::format("{:.0f}", number);
}

// Rates between two looks.
class Flow {
 public:
  Flow(const Samples& before, const Samples& now, double seconds)
      : before_(before), now_(now), seconds_(std::max(seconds, 1e-3)) {}

  double PerSecond(std::string_view name, Samples::Labels labels = {}) const {
    return (now_.Sum(name, labels) - before_.Sum(name, labels)) / seconds_;
  }
  // Counters of one cache only grow.
  bool IsAnotherCache() const {
    return std::ranges::any_of(std::initializer_list<std::string_view>{"insert_total", "dram_hit_total", "miss_total",
                                                                       "scm_put_total", "scm_written_bytes_total"},
                               [this](std::string_view name) { return now_.Sum(name) < before_.Sum(name); });
  }

  // Why blocks that left DRAM were not stored in SCM: what the tier could not, and what the policy would not.
  std::vector<std::pair<std::string, double>> Refusals() const {
    std::map<std::string, double> by_reason = now_.SumsBy("refused_total", "reason");
    by_reason.erase("policy");  // its reasons stand with its decisions
    Subtract(before_.SumsBy("refused_total", "reason"), &by_reason);
    const Samples::Labels dropped = {{"point", "dram_eviction"}, {"action", "drop"}};
    std::map<std::string, double> of_policy = now_.SumsBy("decision_total", "reason", dropped);
    Subtract(before_.SumsBy("decision_total", "reason", dropped), &of_policy);
    for (const auto& [reason, count] : of_policy) by_reason[reason] += count;
    std::vector<std::pair<std::string, double>> reasons;
    for (const auto& [reason, count] : by_reason) {
      if (count > 0) reasons.emplace_back(reason, count / seconds_);
    }
    std::ranges::stable_sort(reasons, std::greater<>(), [](const auto& one) { return one.second; });
    return reasons;
  }

  const Samples& now() const { return now_; }

 private:
  static void Subtract(const std::map<std::string, double>& before, std::map<std::string, double>* now) {
    for (auto& [reason, count] : *now) {
      if (const auto found = before.find(reason); found != before.end()) count -= found->second;
    }
  }

  const Samples& before_;
  const Samples& now_;
  const double seconds_;
};

std::string HitsText(double dram, double scm, double miss) {
  const double all = dram + scm + miss;
  if (all <= 0) return "no look-ups";
  const auto percent = [all](double part) { return 100 * part / all; };
  return fmt::format("{} look-ups/s: DRAM {:.1f} %, SCM {:.1f} %, misses {:.1f} %", Count(all), percent(dram),
                     percent(scm), percent(miss));
}
std::string HitsText(const Flow& flow) {
  return HitsText(flow.PerSecond("dram_hit_total"), flow.PerSecond("scm_hit_total"), flow.PerSecond("miss_total"));
}
std::string HitsText(const Flow& flow, std::string_view role) {
  const Samples::Label label{"role", role};
  return HitsText(flow.PerSecond("dram_hit_total", {label}), flow.PerSecond("scm_hit_total", {label}),
                  flow.PerSecond("miss_total", {label}));
}

std::string RefusalsText(const Flow& flow) {
  const auto reasons = flow.Refusals();
  double all = 0;
  std::string first;
  for (size_t i = 0; i < reasons.size(); ++i) {
    all += reasons[i].second;
    if (i < kReasonsShown)
      first += fmt::format("{}{} {}", i == 0 ? "" : ", ", reasons[i].first, Count(reasons[i].second));
  }
  return fmt::format("{}/s{}{}{}", Count(all), first.empty() ? "" : " (", first, first.empty() ? "" : ")");
}

std::string UsageText(const Samples& now, std::string_view tier) {
  const std::string used = fmt::format("{}_usage_bytes", tier), capacity = fmt::format("{}_capacity_bytes", tier);
  if (!now.Has(used)) return fmt::format("{} in all", BytesText(now.Sum(capacity)));
  return fmt::format("{} of {}", BytesText(now.Sum(used)), BytesText(now.Sum(capacity)));
}

constexpr std::string_view kAnew = "the cache was opened anew\n";

}  // namespace

std::string FollowLine(const Samples& before, const Samples& now, double seconds) {
  const Flow flow(before, now, seconds);
  if (flow.IsAnotherCache()) return std::string(kAnew);
  return fmt::format("{} | demoted {}/s | refused {} | SCM written {}/s, used {} | DRAM used {}\n", HitsText(flow),
                     Count(flow.PerSecond("demotion_total")), RefusalsText(flow),
                     BytesText(flow.PerSecond("scm_written_bytes_total")), UsageText(now, "scm"),
                     UsageText(now, "dram"));
}

std::string FollowScreen(const Samples& before, const Samples& now, double seconds) {
  const Flow flow(before, now, seconds);
  if (flow.IsAnotherCache()) return std::string(kAnew);
  std::string text = fmt::format("RocksDB {}, policy={}, {}\n\n{}\n", now.Info("rocksdb"), now.Info("policy"),
                                 now.Info("description"), HitsText(flow));
  const auto out = std::back_inserter(text);
  for (const auto& [role, misses] : now.SumsBy("miss_total", "role")) {
    const std::string hits = HitsText(flow, role);
    if (hits != "no look-ups") fmt::format_to(out, "  {:<10} {}\n", role, hits);
  }
  fmt::format_to(out, "demoted   {}/s, promoted {}/s\nrefused   {}\n", Count(flow.PerSecond("demotion_total")),
                 Count(flow.PerSecond("promotion_total")), RefusalsText(flow));
  fmt::format_to(out, "SCM       {}, {} blocks, {}/s written\nDRAM      {}\n", UsageText(now, "scm"),
                 Count(now.Sum("scm_resident_blocks")), BytesText(flow.PerSecond("scm_written_bytes_total")),
                 UsageText(now, "dram"));
  return text;
}

Status Follow(const FollowOptions& options) {
  constexpr std::string_view kClear = "\x1b[H\x1b[2J";
  Samples before, now;
  bool fresh = false;
  MEZZ_RETURN_IF_ERROR(options.read(&before, &fresh));
  double seconds = 0;
  for (uint64_t shown = 0; options.count == 0 || shown < options.count;) {
    seconds += options.wait(options.every);
    MEZZ_RETURN_IF_ERROR(options.read(&now, &fresh));
    if (!fresh && seconds > std::chrono::duration<double>(kStaleAfter).count())
      return Status::NotFound(
          fmt::format("the file was not written for {:.0f} s, and a running cache writes it every "
                      "ten: that cache has ended, or it has another file",
                      seconds));
    if (!fresh) continue;
    options.show(options.screen ? fmt::format("{}{}", kClear, FollowScreen(before, now, seconds))
                                : FollowLine(before, now, seconds));
    before = std::move(now);
    seconds = 0;
    ++shown;
  }
  return Status::Ok();
}

}  // namespace mezz::watch
