// SPDX-License-Identifier: Apache-2.0
// mezz_plan: from traces to the server to buy.
#include <fmt/format.h>
#include <gflags/gflags.h>

#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "admission/curves/curve_file.h"
#include "cache/base/read_file.h"
#include "cache/base/text.h"
#include "workloads/generators/generators.h"
#include "workloads/plan/build_curve.h"
#include "workloads/plan/calibrate.h"
#include "workloads/plan/curve_table.h"
#include "workloads/plan/devices/devices.h"
#include "workloads/plan/predict.h"
#include "workloads/plan/run_plan.h"
#include "workloads/program/command_line.h"
#include "workloads/program/program.h"
#include "workloads/program/subcommands.h"
#include "workloads/readers/open_trace.h"
#include "workloads/requests/cut_extents.h"
#include "workloads/requests/progress.h"
#include "workloads/requests/tracked_source.h"
#include "workloads/rocksdb/query_trace_reader.h"

DEFINE_string(trace, "", "Trace to plan for, or gen:NAME; its curve is made first");
DEFINE_string(curve, "", "Curve to plan for: what `curve` or `merge` wrote");
DEFINE_string(prices, "", "Price book, such as workloads/plan/prices/2026.yaml");
DEFINE_string(target, "", "What the server must do: 'throughput>=0.95*baseline; p99<=1ms'");
DEFINE_string(baseline, "",
              "What would be bought otherwise, a population of the price book: [SERVER/]dram:256G[+scm:1T]; "
              "+scm:64G>256G: a fast medium before a slow one");
DEFINE_string(calibration, "", "Costs of operations on the machine: what `calibrate` wrote");
DEFINE_string(
    flash, "",
    "Model of all drives: sata_ssd, nvme_flash, xpoint_ssd, optane_ssd, network_volume. Empty: as the book says");
DEFINE_string(without, "", "Modules and servers of the price book that are not to be had, comma-separated");
DEFINE_string(dram_reserved, "", "DRAM for all that is not the block cache (K, M, G, T)");
DEFINE_int32(threads, 0, "Closed loop: threads that ask. 0: as many as the baseline has cores");
DEFINE_double(ops_per_s, 0, "Open loop: operations a second. 0: closed");
DEFINE_double(hosts, 1, "Servers of the fleet");
DEFINE_double(growth, 1, "Plan for so many times the data of the trace, used alike");
DEFINE_double(lookups, 0, "Block look-ups for an operation. 0: as calibrated, or 1");
DEFINE_string(
    sizes, "",
    "Tiers to predict, DRAM[+SCM], DRAM holding the index: 256M+1G,512M; 64M+64M>1G: a fast and a slow medium");
DEFINE_string(model, "none", "SCM that they are of: none, optane100, cxl; a fast and a slow medium: cxl,optane100");
DEFINE_bool(emulated, false,
            "It is memory of this host that mezz_replay --model slows down: predict what that measures");
DEFINE_int32(modules, 1, "SCM modules that share the bandwidth");
DEFINE_int32(cores, 0, "Of the machine. 0: as many as this one has");
DEFINE_string(json, "", "File for the plan");
DEFINE_string(csv, "", "File for the plan's servers");
DEFINE_string(alternatives, "",
              "Curves of the same trace under other policies, such as memory_mode: what the targets cost with them");
DEFINE_string(html, "", "File for the plan as one page, whose prices and capacities the reader turns");
DEFINE_string(out, "", "File to write the curve or calibration to");
DEFINE_string(format, "auto", "Format of the trace: be64, arc, twitter_csv, ... auto: by content and name");
DEFINE_bool(skip_bad, false, "Leave damaged records out and count them, instead of refusing the trace");
DEFINE_int64(unit, 4096, "Extents are cut into blocks of so many bytes; also the size of blocks without one");
DEFINE_string(policy, "adaptive", "Two tiers: the names of policy=. DRAM alone: lru, hcc. SCM alone: naive_scm");
DEFINE_string(dram_cache, "hcc", "Stock cache that is the DRAM tier: hcc, lru");
DEFINE_string(dram, "", "Its sizes: 64M,256M,1G. Empty: eight, up to the footprint, each twice the one before");
DEFINE_string(scm, "", "Those of the SCM tier; 0 is none");
DEFINE_string(pack, "off", "Whether the SCM tier packs records: off, lz4, zstd");
DEFINE_string(
    pack_ratio, "",
    "How many times smaller blocks pack: a number, or a file of lines ratio,weight. Empty: 2.25 lz4, 3.25 zstd");
DEFINE_double(warmup, 0, "Share of the requests before counting starts");
DEFINE_double(rate, 1, "Look at this share of the blocks at most, chosen by hash");
DEFINE_int64(blocks, 8192, "And at so many of them at most, for each seed");
DEFINE_int32(
    seeds, 0,
    "Independent samples; their spread gives the confidence bands. exact: seeds of the policy. 0: five, or one");
DEFINE_int32(writers, 4, "CPUs of the machine that will serve: SCM has a lane for each that writes, up to four");
DEFINE_int64(seed, 1, "Of the first sample and of the policies' hashes");
DEFINE_bool(exact, false, "Look at every request, with tiers as they live");
DEFINE_string(memory, "8G", "exact: a trace that needs more is refused (K, M, G, T)");
DEFINE_int64(ops, 10'000'000, "gen:NAME: requests");
DEFINE_int64(keys, 0, "gen:NAME: keys; 0: the workload's own number");
DEFINE_bool(list, false, "Only list the places: measure no speed, write nowhere");

namespace {

using mezz::Arguments;

mezz::Status OpenSource(const std::string& trace, std::unique_ptr<mezz::RequestSource>* source) {
  constexpr std::string_view kPrefix = "gen:";
  if (!trace.starts_with(kPrefix)) {
    return mezz::OpenTrace(trace, mezz::OpenOptions{.format = FLAGS_format, .skip_bad = FLAGS_skip_bad}, source);
  }
  mezz::GeneratorOptions options{.name = trace.substr(kPrefix.size())};
  MEZZ_RETURN_IF_ERROR(mezz::Count("keys", FLAGS_keys, 0, &options.keys));
  MEZZ_RETURN_IF_ERROR(mezz::Count("ops", FLAGS_ops, 1, &options.ops));
  MEZZ_RETURN_IF_ERROR(mezz::Count("seed", FLAGS_seed, 0, &options.seed));
  return mezz::MakeGenerator(options, source);
}

mezz::Status CurveOptionsFromFlags(mezz::plan::CurveOptions* o) {
  o->policy = FLAGS_policy;
  o->dram_cache = FLAGS_dram_cache;
  o->dram = FLAGS_dram;
  o->scm = FLAGS_scm;
  o->pack = FLAGS_pack;
  o->pack_ratio = FLAGS_pack_ratio;
  o->warmup = FLAGS_warmup;
  o->rate = FLAGS_rate;
  o->exact = FLAGS_exact;
  MEZZ_RETURN_IF_ERROR(mezz::Count("unit", FLAGS_unit, 1, &o->block_bytes));
  MEZZ_RETURN_IF_ERROR(mezz::Count("blocks", FLAGS_blocks, 1, &o->blocks_max));
  MEZZ_RETURN_IF_ERROR(mezz::Count("seeds", FLAGS_seeds, 0, &o->seeds));
  MEZZ_RETURN_IF_ERROR(mezz::Count("writers", FLAGS_writers, 1, &o->writers));
  MEZZ_RETURN_IF_ERROR(mezz::Count("seed", FLAGS_seed, 0, &o->seed));
  MEZZ_RETURN_IF_ERROR(mezz::ParseBytes("--memory", FLAGS_memory, &o->memory_bytes));
  return o->Validate();
}

// What came out, for the terminal; and the file.
mezz::Status Deliver(const mezz::plan::Curve& curve, const std::string& command_line) {
  MEZZ_RETURN_IF_ERROR(mezz::plan::WriteCurve(curve, mezz::ManifestOf("mezz_plan", command_line), FLAGS_out));
  fmt::print("{}", mezz::plan::CurveTable(curve));
  return mezz::Status::Ok();
}

mezz::Status CheckOut() {
  if (FLAGS_out.empty()) return mezz::Status::InvalidArgument("--out is missing; name the file to write");
  return mezz::CheckWritable("out", FLAGS_out);
}

// `*sample_rate`: of the trace, if not null.
mezz::Status CurveOf(const std::string& trace, mezz::plan::Curve* curve, double* sample_rate = nullptr) {
  mezz::plan::CurveOptions options;
  MEZZ_RETURN_IF_ERROR(CurveOptionsFromFlags(&options));
  std::unique_ptr<mezz::RequestSource> source;
  MEZZ_RETURN_IF_ERROR(OpenSource(trace, &source));
  mezz::Progress progress;
  source = mezz::CutExtents(mezz::TrackProgress(std::move(source), &progress), options.block_bytes);
  MEZZ_RETURN_IF_ERROR(mezz::plan::BuildCurve(source.get(), options, curve, &progress));
  if (sample_rate != nullptr) *sample_rate = source->sample_rate();
  return mezz::Status::Ok();
}

mezz::Status RunCurve(const Arguments& arguments) {
  MEZZ_RETURN_IF_ERROR(CheckOut());
  mezz::plan::Curve curve;
  MEZZ_RETURN_IF_ERROR(CurveOf(arguments.operands[0], &curve));
  return Deliver(curve, arguments.command_line);
}

mezz::Status RunMerge(const Arguments& arguments) {
  MEZZ_RETURN_IF_ERROR(CheckOut());
  mezz::plan::Curve sum;
  for (size_t i = 0; i < arguments.operands.size(); ++i) {
    mezz::plan::Curve curve;
    MEZZ_RETURN_IF_ERROR(mezz::plan::ReadCurve(arguments.operands[i], i == 0 ? &sum : &curve));
    if (i == 0) continue;
    const mezz::Status status = mezz::plan::Merge(curve, &sum);
    if (!status.ok()) {
      return mezz::Status::InvalidArgument(
          fmt::format("{} and {}: {}", arguments.operands[0], arguments.operands[i], status.message()));
    }
  }
  return Deliver(sum, arguments.command_line);
}

mezz::Status PlanOptionsFromFlags(mezz::plan::PlanOptions* o) {
  o->prices = FLAGS_prices;
  o->target = FLAGS_target;
  o->baseline = FLAGS_baseline;
  o->calibration = FLAGS_calibration;
  o->flash = FLAGS_flash;
  o->without = FLAGS_without;
  o->rate = FLAGS_ops_per_s;
  o->hosts = FLAGS_hosts;
  o->growth = FLAGS_growth;
  o->lookups_per_operation = FLAGS_lookups;
  o->json_path = FLAGS_json;
  o->csv_path = FLAGS_csv;
  o->html_path = FLAGS_html;
  o->alternatives = FLAGS_alternatives;
  MEZZ_RETURN_IF_ERROR(mezz::Count("threads", FLAGS_threads, 0, &o->threads));
  if (!FLAGS_dram_reserved.empty())
    MEZZ_RETURN_IF_ERROR(mezz::ParseBytes("--dram_reserved", FLAGS_dram_reserved, &o->reserved_bytes));
  return o->Validate();
}

// What the making of a curve takes, and nothing else does.
using Flags = std::vector<std::string_view>;
const Flags& CurveFlags() {
  static const Flags flags = {"format", "skip_bad",   "unit",   "policy", "dram_cache", "dram",  "scm",
                              "pack",   "pack_ratio", "warmup", "rate",   "blocks",     "seeds", "seed",
                              "exact",  "memory",     "ops",    "keys",   "writers"};
  return flags;
}
Flags WithCurveFlags(Flags flags) {
  flags.insert(flags.end(), CurveFlags().begin(), CurveFlags().end());
  return flags;
}

std::optional<std::string> FlagGiven(std::string_view flag) {
  gflags::CommandLineFlagInfo info;
  if (!gflags::GetCommandLineFlagInfo(std::string(flag).c_str(), &info) || info.is_default) return std::nullopt;
  return info.current_value;
}

// A curve that is there was made with its own.
mezz::Status RefuseCurveFlags() {
  for (const std::string_view flag : CurveFlags()) {
    if (const auto given = FlagGiven(flag)) {
      return mezz::Status::InvalidArgument(
          fmt::format("--{}={} is of no use with --curve, which was made already: give it to mezz_plan curve{}", flag,
                      *given, flag == "rate" ? "; operations a second are --ops_per_s" : ""));
    }
  }
  return mezz::Status::Ok();
}

mezz::Status RunPlan(const Arguments& arguments) {
  mezz::plan::PlanOptions options;
  MEZZ_RETURN_IF_ERROR(PlanOptionsFromFlags(&options));
  options.command_line = arguments.command_line;
  if (FLAGS_trace.empty() == FLAGS_curve.empty())
    return mezz::Status::InvalidArgument("name one of --trace=T and --curve=FILE: what to plan for");
  mezz::plan::Curve curve;
  if (FLAGS_curve.empty()) {
    double sample_rate = 1;
    MEZZ_RETURN_IF_ERROR(CurveOf(FLAGS_trace, &curve, &sample_rate));
    options.growth /= sample_rate;
    if (sample_rate < 1)
      fmt::print("the trace is a sample of {} of the keys: planned for {:.6g} times its data\n", sample_rate,
                 options.growth);
  } else {
    MEZZ_RETURN_IF_ERROR(RefuseCurveFlags());
    MEZZ_RETURN_IF_ERROR(mezz::plan::ReadCurve(FLAGS_curve, &curve));
  }
  std::string text;
  MEZZ_RETURN_IF_ERROR(mezz::plan::RunPlan(options, curve, &text));
  fmt::print("{}", text);
  return mezz::Status::Ok();
}

mezz::Status RunCalibrate(const Arguments& arguments) {
  MEZZ_RETURN_IF_ERROR(CheckOut());
  const std::string& path = arguments.operands[0];
  std::string text;
  if (!mezz::ReadWholeFile(path, &text)) return mezz::Status::NotFound(fmt::format("{} cannot be read", path));
  mezz::plan::Calibration calibration;
  MEZZ_RETURN_IF_ERROR(
      mezz::plan::Calibrate(nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false), path, &calibration));
  fmt::print("{}", calibration.text);
  return mezz::WriteJson(FLAGS_out, mezz::plan::CalibrationToJson(calibration), 1);
}

mezz::Status RunPredict(const Arguments& arguments) {
  mezz::plan::PredictOptions options;
  options.sizes = FLAGS_sizes;
  options.model = FLAGS_model;
  options.emulated = FLAGS_emulated;
  options.flash = FLAGS_flash.empty() ? options.flash : FLAGS_flash;
  options.rate = FLAGS_ops_per_s;
  options.calibration = FLAGS_calibration;
  options.lookups_per_operation = FLAGS_lookups;
  options.json_path = FLAGS_json;
  options.command_line = arguments.command_line;
  MEZZ_RETURN_IF_ERROR(mezz::Count("modules", FLAGS_modules, 1, &options.scm_modules));
  MEZZ_RETURN_IF_ERROR(mezz::CheckCount("cores", FLAGS_cores, 0, mezz::plan::kCoresMax));
  options.cores = static_cast<unsigned>(FLAGS_cores);
  MEZZ_RETURN_IF_ERROR(mezz::Count("threads", FLAGS_threads, 0, &options.threads));
  mezz::plan::Curve curve;
  MEZZ_RETURN_IF_ERROR(mezz::plan::ReadCurve(arguments.operands[0], &curve));
  std::string text;
  MEZZ_RETURN_IF_ERROR(mezz::plan::RunPredict(options, curve, &text));
  fmt::print("{}", text);
  return mezz::Status::Ok();
}

mezz::Status RunDevices(const Arguments& arguments) {
  mezz::plan::DevicesOptions options;
  options.measure = !FLAGS_list;
  options.json_path = FLAGS_json;
  options.command_line = arguments.command_line;
  std::string text;
  MEZZ_RETURN_IF_ERROR(mezz::plan::RunDevices(options, &text));
  fmt::print("{}", text);
  return mezz::Status::Ok();
}

const mezz::Program& Program() {
  static const mezz::Program program = {
      "mezz_plan",
      "from traces to the server to buy",
      {
          {"", "--trace=TRACE or --curve=CURVE", 0, "the cheapest server that meets the targets, and how sure that is",
           WithCurveFlags({"trace", "curve", "prices", "target", "baseline", "calibration", "flash", "dram_reserved",
                           "threads", "ops_per_s", "without", "alternatives", "hosts", "growth", "lookups", "json",
                           "csv", "html"}),
           &RunPlan},
          {"predict",
           "CURVE",
           1,
           "figures for tiers of given sizes on a machine, to hold against what mezz_replay measures there",
           {"sizes", "model", "emulated", "modules", "flash", "cores", "threads", "ops_per_s", "calibration", "lookups",
            "json"},
           &RunPredict},
          {"calibrate",
           "RESULT",
           1,
           "costs of operations, fitted to what mezz_replay --json=RESULT measured on the machine",
           {"out"},
           &RunCalibrate},
          {"curve", "TRACE", 1, "hit ratios of a trace over the sizes of both tiers; TRACE is a file or gen:NAME",
           WithCurveFlags({"out"}), &RunCurve},
          {"merge",
           "CURVE...",
           SIZE_MAX,
           "the curve of many hosts from theirs, weighted by requests",
           {"out"},
           &RunMerge},
          {"devices",
           "",
           0,
           "the memory of this machine that an SCM tier could use, how fast it is, and the URI to use it",
           {"json", "list"},
           &RunDevices},
      }};
  return program;
}

const mezz::FlagGroup kFlagGroups[] = {
    {"What to plan for", {"trace", "curve", "target", "baseline", "hosts", "growth"}},
    {"Prices and hardware", {"prices", "flash", "without", "dram_reserved", "model", "emulated", "modules", "cores"}},
    {"Load", {"threads", "ops_per_s", "lookups", "calibration"}},
    {"The devices", {"list"}},
    {"Results", {"json", "csv", "html", "alternatives", "out"}},
    {"Reading a trace", {"format", "skip_bad", "unit", "ops", "keys", "memory"}},
    {"The curve", {"policy", "dram_cache", "dram", "scm", "sizes", "pack", "pack_ratio", "warmup", "writers"}},
    {"Its samples", {"rate", "blocks", "seeds", "seed", "exact"}}};

int Main(int argc, char** argv) {
  const std::string command_line = mezz::CommandLine(argc, argv);
  std::vector<gflags::CommandLineFlagInfo> known;
  gflags::GetAllFlags(&known);
  const std::vector<mezz::Flag> flags = mezz::OwnFlags(known, __FILE__);
  const std::vector<const char*> words(argv, argv + argc);
  if (const auto done = mezz::BeforeFlags(Program(), kFlagGroups, flags, words)) return *done;
  gflags::ParseCommandLineFlags(&argc, &argv, /*remove_flags=*/true);
  mezz::UseRocksdbQueryReader();
  const mezz::Status status = mezz::RunSubcommand(Program(), {argv + 1, argv + argc}, command_line, &FlagGiven);
  if (status.ok()) return 0;
  fmt::print(stderr, "mezz_plan: {}\n", status.message());
  return mezz::kExitRefused;
}

}  // namespace

int main(int argc, char** argv) {
  return mezz::RunMain("mezz_plan", argc, argv, {"json", "csv", "html", "out"}, [&] { return Main(argc, argv); });
}
