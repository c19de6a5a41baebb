// SPDX-License-Identifier: Apache-2.0
#include "workloads/plan/judge.h"

#include <algorithm>
#include <cassert>

#include "cache/base/text.h"
#include "workloads/plan/queueing.h"
#include "workloads/sim/alternatives.h"

namespace mezz::plan {
namespace {

constexpr double kSecondsAYear = 365.25 * 24 * 3600;

// docs/reference/options.md, "The URI": for each block of SCM, and times as many where records are packed.
constexpr double kIndexBytesPerBlock = 9.4;
// What the policies keep for each block of SCM and of DRAM (ghosts, sketch, miniatures, hit bits), and what any size
// takes: as their own dram_bytes() say (tests/unit/plan/own_dram_test.cc).
constexpr double kPolicyBytesPerScmBlock = 3.9, kPackedPolicyBytesPerScmBlock = 6;
constexpr double kPolicyBytesPerDramBlock = 9.4;
constexpr double kFixedBytes = 263 << 10;
// Workspaces, one for each thread that packs at once: Packer::DramBytesFor of 4 KiB.
double WorkspaceBytes(const std::string& pack) { return pack == "off" ? 0 : pack == "lz4" ? 11'992 : 212'696; }
double IndexFactor(const std::string& pack) { return pack == "zstd" ? 3.25 : pack == "lz4" ? 2.25 : 1; }

// Look-ups spread evenly find in each tier the share of the blocks that it holds.
TierShares Flatter(TierShares shares, double flat, double dram_bytes, double fast_bytes, double slow_bytes,
                   double footprint_bytes) {
  if (flat <= 0 || footprint_bytes <= 0) return shares;
  const double dram = std::min(1.0, dram_bytes / footprint_bytes);
  const double scm = std::min(1 - dram, (fast_bytes + slow_bytes) / footprint_bytes);
  const double slow = scm - std::min(scm, fast_bytes / footprint_bytes);
  // As DRAM evicts a block for each miss, and SCM takes it. It moves down for each that comes.
  const double writes = fast_bytes > 0 ? 1 - dram : 0;
  const double slow_writes = slow_bytes > 0 ? writes : 0;
  shares.dram = (1 - flat) * shares.dram + flat * dram;
  shares.scm = (1 - flat) * shares.scm + flat * scm;
  shares.slow_scm = (1 - flat) * shares.slow_scm + flat * slow;
  shares.slow_scm_writes = (1 - flat) * shares.slow_scm_writes + flat * slow_writes;
  shares.scm_unpacked *= 1 - flat;
  shares.scm_promoted *= 1 - flat;
  shares.scm_writes = (1 - flat) * shares.scm_writes + flat * writes;
  return shares;
}

Machine MachineOf(const Question& question, const Build& build) {
  Machine machine;
  machine.cores = build.server->cores;
  machine.costs = question.costs;
  const Module* const scm = build.scm.module;
  Status status = ParseScmModel(scm == nullptr ? "none" : scm->device, &machine.scm);
  assert(status.ok());  // the price book's reader and the flags' judge have seen both names
  machine.charges_packing = scm != nullptr && scm->kind == ModuleKind::kDram;
  machine.scm_modules = std::max(1u, build.scm.count);
  if (build.is_ordered()) {
    machine.slow_scm = MediumOf(*build.slow_scm.module);
    machine.slow_scm_modules = build.slow_scm.count;
  }
  status = ParseFlash(question.flash.empty() ? build.flash.module->device : question.flash, &machine.flash);
  assert(status.ok() && machine.flash != nullptr);
  machine.flash_devices = build.flash.count;
  return machine;
}

// Infinite: nothing is written, or it does not wear.
double LifetimeYears(const Population& scm, double written_bytes_per_s) {
  const double endurance = scm.module == nullptr ? 0 : scm.module->endurance_bytes.value * scm.count;
  return endurance > 0 && written_bytes_per_s > 0 ? endurance / written_bytes_per_s / kSecondsAYear : kInfinite;
}

}  // namespace

TierShares SharesOfMedia(const HitSurface& surface, double dram_bytes, double fast_bytes, double slow_bytes) {
  if (slow_bytes <= 0) return surface.At(dram_bytes, fast_bytes);
  TierShares shares = surface.At(dram_bytes, fast_bytes + slow_bytes);
  const TierShares alone = surface.At(dram_bytes, fast_bytes);
  shares.slow_scm = std::max(0.0, shares.scm - alone.scm);
  shares.slow_scm_writes = shares.scm_writes;
  shares.scm_writes = alone.scm_writes;
  return shares;
}

double OwnDramBytes(const Traffic& traffic, double dram_bytes, double scm_bytes, unsigned threads) {
  const auto alternative = sim::AlternativeOf(traffic.policy);
  const bool is_hybrid = !alternative || *alternative == sim::Alternative::kInlineMemory;
  if (scm_bytes <= 0 || !is_hybrid) return 0;
  const double index = kIndexBytesPerBlock * IndexFactor(traffic.pack);
  const double packing = threads * WorkspaceBytes(traffic.pack);
  const double policy = traffic.pack == "off" ? kPolicyBytesPerScmBlock : kPackedPolicyBytesPerScmBlock;
  return ((index + policy) * scm_bytes + kPolicyBytesPerDramBlock * dram_bytes) / traffic.block_bytes + kFixedBytes +
         packing;
}

double DramCacheBytes(const Question& question, const Build& build) {
  const double dram = static_cast<double>(build.dram.bytes()) - static_cast<double>(question.reserved_bytes);
  const auto scm = static_cast<double>(build.scm_bytes());
  return std::max(0.0, dram - OwnDramBytes(question.traffic, std::max(0.0, dram), scm, build.server->cores));
}

Status ParseScmSizes(std::string_view flag, std::string_view text, uint64_t* fast, uint64_t* slow) {
  const size_t order = text.find('>');
  MEZZ_RETURN_IF_ERROR(ParseBytes(flag, text.substr(0, order), fast));
  return order == std::string_view::npos ? Status::Ok() : ParseBytes(flag, text.substr(order + 1), slow);
}

Prediction Perform(const Question& question, const Load& load, const Build& build, const Change& change) {
  const double dram = DramCacheBytes(question, build);
  const auto fast = static_cast<double>(build.scm.bytes()), slow = static_cast<double>(build.slow_scm.bytes());
  const double growth = change.growth * question.growth;
  TierShares shares = SharesOfMedia(*question.surface, dram / growth, fast / growth, slow / growth);
  shares = Flatter(shares, change.flat, dram, fast, slow, question.traffic.footprint_bytes * growth);
  return Predict(MachineOf(question, build), question.traffic, shares, load);
}

Figures FiguresOf(const Build& build, const Cost& cost, const Prediction& prediction) {
  Figures figures{.prediction = prediction};
  figures.cost = cost.total();
  figures.watts = build.watts();
  const auto& media = figures.prediction.media;
  figures.media_lifetime_years = {LifetimeYears(build.scm, media[kFastMedium].written_bytes_per_s),
                                  LifetimeYears(build.slow_scm, media[kSlowMedium].written_bytes_per_s)};
  figures.lifetime_years = std::ranges::min(figures.media_lifetime_years);
  return figures;
}

Figures Judge(const Question& question, const Load& load, const Build& build, const Cost& cost, const Change& change) {
  return FiguresOf(build, cost, Perform(question, load, build, change));
}

Verdict Meets(const Question& question, const Bounds& bounds, const Figures& figures) {
  assert(bounds.value.size() == question.targets.size());
  Verdict verdict;
  for (size_t i = 0; i < bounds.value.size(); ++i) {
    const Target& target = question.targets[i];
    const double slack = Slack(target, bounds.value[i], ValueOf(figures, target.metric));
    verdict.slack.push_back(slack);
    verdict.feasible &= slack >= 0;
    verdict.sure &= Slack(target, bounds.worst[i], WorstOf(figures, target.metric, target.at_least)) >= 0;
  }
  return verdict;
}

}  // namespace mezz::plan
