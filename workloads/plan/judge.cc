// SPDX-License-Identifier: Apache-2.0
#include "workloads/plan/judge.h"

#include <algorithm>
#include <cassert>

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
TierShares Flatter(TierShares shares, double flat, double dram_bytes, double scm_bytes, double footprint_bytes) {
  if (flat <= 0 || footprint_bytes <= 0) return shares;
  const double dram = std::min(1.0, dram_bytes / footprint_bytes);
  const double scm = std::min(1 - dram, scm_bytes / footprint_bytes);
  // As DRAM evicts a block for each miss, and SCM takes it.
  const double writes = scm_bytes > 0 ? 1 - dram : 0;
  shares.dram = (1 - flat) * shares.dram + flat * dram;
  shares.scm = (1 - flat) * shares.scm + flat * scm;
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
  status = ParseFlash(question.flash.empty() ? build.flash.module->device : question.flash, &machine.flash);
  assert(status.ok() && machine.flash != nullptr);
  machine.flash_devices = build.flash.count;
  return machine;
}

}  // namespace

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
  const auto scm = static_cast<double>(build.scm.bytes());
  return std::max(0.0, dram - OwnDramBytes(question.traffic, std::max(0.0, dram), scm, build.server->cores));
}

Figures Judge(const Question& question, const Load& load, const Build& build, const Cost& cost, const Change& change) {
  const double dram = DramCacheBytes(question, build);
  const auto scm = static_cast<double>(build.scm.bytes());
  const double growth = change.growth * question.growth;
  TierShares shares = question.surface->At(dram / growth, scm / growth);
  shares = Flatter(shares, change.flat, dram, scm, question.traffic.footprint_bytes * growth);
  Figures figures;
  figures.prediction = Predict(MachineOf(question, build), question.traffic, shares, load);
  figures.cost = cost.total();
  figures.watts = build.watts();
  const double written = figures.prediction.scm_written_bytes_per_s;
  const double endurance = build.scm.module == nullptr ? 0 : build.scm.module->endurance_bytes.value * build.scm.count;
  figures.lifetime_years = endurance > 0 && written > 0 ? endurance / written / kSecondsAYear : kInfinite;
  return figures;
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
