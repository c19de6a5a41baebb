// SPDX-License-Identifier: Apache-2.0
#include "workloads/plan/predict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "cache/base/text.h"
#include "workloads/plan/answer_text.h"
#include "workloads/plan/calibrate.h"
#include "workloads/plan/curve_surface.h"
#include "workloads/plan/judge.h"
#include "workloads/plan/run_plan.h"
#include "workloads/program/program.h"
#include "workloads/sim/options.h"

namespace mezz::plan {
namespace {

using nlohmann::json;

struct Sizes {
  uint64_t dram = 0;
  uint64_t scm = 0;
  uint64_t slow_scm = 0;  // of ordered media; 0: one medium
};

// REQUIRES: there is an item.
bool LacksSize(std::string_view item) {
  const auto parts = [](char c) { return c == '+' || c == '>'; };
  const auto both = [&](char a, char b) { return parts(a) && parts(b); };
  return parts(item.front()) || parts(item.back()) || std::ranges::adjacent_find(item, both) != item.end();
}

Status ParseSizes(const std::string& text, std::vector<Sizes>* all) {
  if (text.empty()) return Status::InvalidArgument("--sizes is missing; name tiers as DRAM+SCM: 256M+1G,512M");
  std::vector<std::string> items;
  MEZZ_RETURN_IF_ERROR(sim::ParseList("sizes", text, &items));
  for (const std::string_view one : items) {
    if (LacksSize(one))
      return Status::InvalidArgument(
          fmt::format("--sizes={}: \"{}\" lacks a size; it is DRAM, DRAM+SCM or DRAM+FAST>SLOW", text, one));
    const size_t plus = std::min(one.find('+'), one.size());
    Sizes sizes;
    MEZZ_RETURN_IF_ERROR(ParseBytes("--sizes", one.substr(0, plus), &sizes.dram));
    if (plus < one.size())
      MEZZ_RETURN_IF_ERROR(ParseScmSizes("--sizes", one.substr(plus + 1), &sizes.scm, &sizes.slow_scm));
    all->push_back(sizes);
  }
  return Status::Ok();
}

// One model, or those of the fast and the slow medium.
Status ParseModels(const PredictOptions& options, Machine* machine) {
  const size_t comma = options.model.find(',');
  MEZZ_RETURN_IF_ERROR(ParseScmModel(options.model.substr(0, comma), &machine->scm));
  if (comma == std::string::npos) return Status::Ok();
  MEZZ_RETURN_IF_ERROR(ParseScmModel(options.model.substr(comma + 1), &machine->slow_scm));
  if (machine->scm.random_read_ns >= machine->slow_scm.random_read_ns)
    return Status::InvalidArgument(
        fmt::format("--model={}: of ordered media the faster comes first, such as cxl,optane100", options.model));
  machine->slow_scm_modules = machine->scm_modules;
  return Status::Ok();
}

Status MachineOf(const PredictOptions& options, Machine* machine, Calibration* calibration) {
  MEZZ_RETURN_IF_ERROR(ChooseCalibration(options.calibration, options.lookups_per_operation, calibration));
  machine->costs = calibration->costs;
  machine->cores = options.cores > 0 ? options.cores : std::max(1u, std::thread::hardware_concurrency());
  machine->scm_modules = std::max(1u, options.scm_modules);
  MEZZ_RETURN_IF_ERROR(ParseModels(options, machine));
  machine->scm_emulated = options.emulated && options.model != "none";
  const bool disk = options.flash == "disk";
  if (disk && machine->costs.flash_wait.value <= 0)
    return Status::InvalidArgument("--flash=disk needs a --calibration in which the disk was read");
  if (!disk) machine->costs.flash_wait = {};
  // Of a disk the wait is known and the shape is not: a drive's is taken.
  return ParseFlash(disk ? "nvme_flash" : options.flash, &machine->flash);
}

// Of ordered media `scm_hit` and `scm_written_bytes_per_s` are of both.
json RowOf(const Sizes& sizes, const Prediction& p) {
  return {{"dram_bytes", sizes.dram},
          {"scm_bytes", sizes.scm},
          {"slow_scm_bytes", sizes.slow_scm},
          {"slow_scm_hit", p.media[kSlowMedium].hit},
          {"slow_scm_written_bytes_per_s", p.media[kSlowMedium].written_bytes_per_s},
          {"dram_hit", p.shares.dram},
          {"scm_hit", p.shares.scm},
          {"miss", p.shares.miss()},
          {"miss_band", p.shares.miss_band},
          {"throughput", ToJson(p.throughput)},
          {"mean_us", ToJson(p.mean_us)},
          {"p50_us", ToJson(p.p50_us)},
          {"p95_us", ToJson(p.p95_us)},
          {"p99_us", ToJson(p.p99_us)},
          {"cpu_share", p.cpu_share},
          {"flash_reads_per_s", p.flash_reads_per_s},
          {"scm_written_bytes_per_s", p.scm_written_bytes_per_s},
          {"bottleneck", p.bottleneck}};
}

std::string ScmText(const Sizes& sizes) {
  if (sizes.scm == 0) return "none";
  return HumanBytes(sizes.scm) + (sizes.slow_scm > 0 ? " > " + HumanBytes(sizes.slow_scm) : "");
}

std::string LineOf(const Sizes& sizes, const Prediction& p, size_t scm_columns) {
  return fmt::format("{:>9} + {:<{}} {:>10.0f} {:>21} {:>9} {:>9} {:>9} {:>6.2f} {:>6.2f} {:>5.0f} {}\n",
                     HumanBytes(sizes.dram), ScmText(sizes), scm_columns, p.throughput.value,
                     fmt::format("{:.0f}-{:.0f}", p.throughput.low, p.throughput.high), Duration(p.p50_us.value),
                     Duration(p.p95_us.value), Duration(p.p99_us.value), 100 * p.shares.dram, 100 * p.shares.scm,
                     100 * p.cpu_share, p.bottleneck);
}

}  // namespace

Status RunPredict(const PredictOptions& options, const Curve& curve, std::string* text) {
  MEZZ_RETURN_IF_ERROR(CheckLoad(options.threads, options.rate, options.lookups_per_operation));
  MEZZ_RETURN_IF_ERROR(CheckWritable("json", options.json_path));
  std::vector<Sizes> all;
  MEZZ_RETURN_IF_ERROR(ParseSizes(options.sizes, &all));
  Machine machine;
  Calibration calibration;
  MEZZ_RETURN_IF_ERROR(MachineOf(options, &machine, &calibration));
  const Traffic traffic = TrafficOf(curve, calibration.lookups_per_operation, calibration.reads_per_miss);
  const Load load{.closed = options.rate == 0,
                  .threads = options.threads > 0 ? options.threads : machine.cores,
                  .rate = options.rate};
  const CurveSurface surface(curve);
  size_t scm_columns = 9;
  for (const Sizes& sizes : all) scm_columns = std::max(scm_columns, ScmText(sizes).size());
  json rows = json::array();
  *text = fmt::format("{}: {} cores, {} threads, SCM {}, flash {}; costs of operations: {}\n\n", traffic.name,
                      machine.cores, load.threads, options.model, options.flash, machine.costs.source);
  *text +=
      fmt::format("{:>{}} {:>10} {:>21} {:>9} {:>9} {:>9} {:>6} {:>6} {:>5} {}\n", "DRAM + SCM  ", 12 + scm_columns,
                  "ops/s", "low-high", "P50", "P95", "P99", "DRAM%", "SCM%", "CPU%", "bottleneck");
  for (const Sizes& sizes : all) {
    const auto fast = static_cast<double>(sizes.scm), slow = static_cast<double>(sizes.slow_scm);
    const double scm = fast + slow;
    if (sizes.slow_scm > 0 && machine.slow_scm_modules == 0)
      return Status::InvalidArgument(
          fmt::format("--sizes={} has a fast and a slow medium; name the models of both, such as --model=cxl,optane100",
                      options.sizes));
    const auto total = static_cast<double>(sizes.dram);
    const double dram = total - OwnDramBytes(traffic, total, scm, load.threads);
    if (dram <= 0)
      return Status::InvalidArgument(fmt::format(
          "--sizes={}: index and policy for {} of SCM take more than {} of DRAM; give more DRAM, or less SCM",
          options.sizes, HumanBytes(sizes.scm + sizes.slow_scm), HumanBytes(sizes.dram)));
    const Prediction p = Predict(machine, traffic, SharesOfMedia(surface, dram, fast, slow), load);
    *text += LineOf(sizes, p, scm_columns);
    rows.push_back(RowOf(sizes, p));
  }
  if (options.json_path.empty()) return Status::Ok();
  json result = ManifestOf("mezz_plan predict", options.command_line);
  result.update({{"cores", machine.cores},
                 {"threads", load.threads},
                 {"model", options.model},
                 {"flash", options.flash},
                 {"rows", rows}});
  return WriteJson(options.json_path, result, 1);
}

}  // namespace mezz::plan
