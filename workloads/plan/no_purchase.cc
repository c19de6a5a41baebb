// SPDX-License-Identifier: Apache-2.0
#include "workloads/plan/no_purchase.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "admission/policy.h"
#include "cache/base/text.h"
#include "cache/layout.h"
#include "cache/pack/codec_rules.h"
#include "workloads/plan/alternatives.h"
#include "workloads/plan/answer_text.h"
#include "workloads/plan/known_policies.h"

namespace mezz::plan {
namespace {

using nlohmann::json;

// To the MiB, so that the URI has whole ones.
uint64_t DramShare(uint64_t bytes, double share) {
  constexpr double kMiB = 1 << 20;
  return static_cast<uint64_t>(std::floor(static_cast<double>(bytes) * share / kMiB) * kMiB);
}

double PackRatio(const Traffic& traffic, const TierShares& shares) {
  const auto raw = static_cast<double>(layout::RecordBytes(static_cast<uint64_t>(traffic.block_bytes)));
  return shares.scm_record_bytes > 0 ? raw / shares.scm_record_bytes : 1;
}

MemorySplit JudgeSplit(const Question& question, const Answer& answer, uint64_t dram_bytes, uint64_t packed_bytes) {
  const Plan& baseline = answer.plans[answer.baseline];
  // Modules of exactly these sizes; they are there already, so neither draws or costs more than the baseline.
  Module dram{.kind = ModuleKind::kDram, .bytes = dram_bytes + question.reserved_bytes};
  Module packed{.kind = ModuleKind::kDram, .bytes = packed_bytes, .device = "none"};
  const Build build{
      .server = baseline.build.server, .dram = {&dram, 1}, .scm = {&packed, 1}, .flash = baseline.build.flash};
  MemorySplit split{.dram_bytes = dram_bytes, .packed_bytes = packed_bytes};
  split.figures = Judge(question, answer.load, build, baseline.cost, {});
  split.figures.watts = baseline.figures.watts;
  split.targets = Meets(question, answer.bounds, split.figures);
  split.pack_ratio = PackRatio(question.traffic, split.figures.prediction.shares);
  split.uri = UriOf(question, build);
  return split;
}

// Feasible before fast.
bool IsBetter(const MemorySplit& a, const MemorySplit& b) {
  if (a.targets.feasible != b.targets.feasible) return a.targets.feasible;
  return a.figures.prediction.mean_us.value < b.figures.prediction.mean_us.value;
}

bool ServesBetter(const MemorySplit& split, const Figures& baseline) {
  const Bracket &now = split.figures.prediction.mean_us, &before = baseline.prediction.mean_us;
  return now.value < before.value && now.high < before.high;
}

std::string Parts(const MemorySplit& split) {
  return fmt::format("{} as DRAM and {} packed", HumanBytes(split.dram_bytes), HumanBytes(split.packed_bytes));
}

// The target that is missed by most, and by how much.
std::string Missed(const Question& question, const MemorySplit& split) {
  size_t worst = 0;
  for (size_t i = 1; i < split.targets.slack.size(); ++i) {
    if (split.targets.slack[i] < split.targets.slack[worst]) worst = i;
  }
  return fmt::format("{} is missed by {:.1f} %", question.targets[worst].text, -100 * split.targets.slack[worst]);
}

// What it would cost to buy instead.
std::string BesidesPurchase(const Question& question, const Answer& answer) {
  if (answer.cheapest == kNone) return "no purchase does";
  const double cost = answer.plans[answer.cheapest].cost.total();
  return fmt::format("the cheapest purchase costs {}", Money(question.book, cost));
}

}  // namespace

std::string_view ToString(NoPurchaseVerdict verdict) {
  switch (verdict) {
    case NoPurchaseVerdict::kNotAsked:
      return "not_asked";
    case NoPurchaseVerdict::kRaw:
      return "raw";
    case NoPurchaseVerdict::kNoGain:
      return "no_gain";
    case NoPurchaseVerdict::kMisses:
      return "misses";
    case NoPurchaseVerdict::kRecommended:
      return "recommended";
  }
  return "";
}

NoPurchase PackWhatYouHave(const Question& question, const Answer& answer) {
  NoPurchase found;
  const Plan& baseline = answer.plans[answer.baseline];
  if (baseline.build.scm.bytes() > 0 || !IsIn(PolicyNames(), question.traffic.policy)) return found;
  found.verdict = NoPurchaseVerdict::kRaw;
  if (question.traffic.pack == "off") return found;
  found.verdict = NoPurchaseVerdict::kNoGain;
  const uint64_t memory = baseline.build.dram.bytes() - question.reserved_bytes;
  for (const double share : kBlockCacheShares) {
    const uint64_t dram = DramShare(memory, share), packed = memory - dram;
    const double own = OwnDramBytes(question.traffic, static_cast<double>(dram), static_cast<double>(packed),
                                    baseline.build.server->cores);
    if (own >= static_cast<double>(dram)) continue;
    found.splits.push_back(JudgeSplit(question, answer, dram, packed));
    if (found.best == kNone || IsBetter(found.splits.back(), found.splits[found.best]))
      found.best = found.splits.size() - 1;
  }
  if (found.best == kNone) return found;
  const MemorySplit& best = found.splits[found.best];
  if (best.pack_ratio < kPackingPaysFrom || !ServesBetter(best, baseline.figures)) return found;
  found.verdict = best.targets.feasible ? NoPurchaseVerdict::kRecommended : NoPurchaseVerdict::kMisses;
  found.uri = best.uri;
  return found;
}

std::string NoPurchaseSentence(const Question& question, const Answer& answer, const NoPurchase& found) {
  if (found.verdict == NoPurchaseVerdict::kNotAsked) return "";
  if (found.verdict == NoPurchaseVerdict::kRaw)
    return "no purchase: packing the memory you have is not judged, as the curve is of raw records; give --pack and "
           "the --pack_ratio of your data";
  const MemorySplit* const best = found.best == kNone ? nullptr : &found.splits[found.best];
  if (found.verdict == NoPurchaseVerdict::kNoGain)
    return fmt::format("no purchase: packing the memory you have gains nothing{}; use all of it as DRAM",
                       best == nullptr ? "" : fmt::format(": your blocks pack {:.2f} times", best->pack_ratio));
  const Prediction &now = best->figures.prediction, &before = answer.plans[answer.baseline].figures.prediction;
  const bool meets = found.verdict == NoPurchaseVerdict::kRecommended;
  return fmt::format(
      "no purchase: {}: {} of the baseline's memory ({}, {:.2f} times), {} operations/s instead of "
      "{}, a mean of {} instead of {}, P99 of {} instead of {}; {}; {}",
      meets ? "pack what you have" : "packing what you have serves better, but does not do", Parts(*best),
      question.traffic.pack, best->pack_ratio, Rate(now.throughput.value), Rate(before.throughput.value),
      Duration(now.mean_us.value), Duration(before.mean_us.value), Duration(now.p99_us.value),
      Duration(before.p99_us.value),
      !meets               ? Missed(question, *best)
      : best->targets.sure ? "meets the targets surely"
                           : "meets the targets",
      BesidesPurchase(question, answer));
}

json NoPurchaseJson(const Question& question, const Answer& answer, const NoPurchase& found) {
  if (found.verdict == NoPurchaseVerdict::kNotAsked) return {};
  json splits = json::array();
  for (const MemorySplit& split : found.splits) {
    const Prediction& p = split.figures.prediction;
    splits.push_back({{"dram_bytes", split.dram_bytes},
                      {"packed_bytes", split.packed_bytes},
                      {"pack_ratio", split.pack_ratio},
                      {"throughput", ToJson(p.throughput)},
                      {"mean_us", ToJson(p.mean_us)},
                      {"p99_us", ToJson(p.p99_us)},
                      {"miss", p.shares.miss()},
                      {"feasible", split.targets.feasible},
                      {"sure", split.targets.feasible && split.targets.sure}});
  }
  return {{"verdict", ToString(found.verdict)},
          {"best", found.best == kNone ? json() : json(found.best)},
          {"uri", found.uri},
          {"text", NoPurchaseSentence(question, answer, found)},
          {"splits", splits}};
}

}  // namespace mezz::plan
