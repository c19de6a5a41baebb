// SPDX-License-Identifier: Apache-2.0
// mezz_trace: what a trace holds, traces made of others, and traces recorded from a database.
#include <fmt/format.h>
#include <gflags/gflags.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "cache/base/text.h"
#include "workloads/generators/generators.h"
#include "workloads/program/command_line.h"
#include "workloads/program/program.h"
#include "workloads/program/subcommands.h"
#include "workloads/requests/progress.h"
#include "workloads/requests/tracked_source.h"
#include "workloads/rocksdb/query_trace.h"
#include "workloads/rocksdb/query_trace_reader.h"
#include "workloads/rocksdb/record.h"
#include "workloads/trace/convert.h"
#include "workloads/trace/info.h"
#include "workloads/trace/info_report.h"
#include "workloads/trace/trace_writer.h"

DEFINE_string(format, "auto", "Format of the trace: be64, arc, twitter_csv, ... auto: by content and name");
DEFINE_bool(skip_bad, false, "Leave damaged records out and count them, instead of refusing the trace");
DEFINE_int64(
    unit, 4096,
    "Extents are cut into blocks of so many bytes; convert to oracle_general: also the size of keys without one");
DEFINE_string(memory, "8G", "A trace that needs more is refused (K, M, G, T)");
DEFINE_string(json, "", "info: write what was found to this file");
DEFINE_string(to, "",
              "Format to write: mezz_csv, oracle_general, rocksdb_block_csv, text, be64. sample: mezz_csv if empty");
DEFINE_string(out, "", "File to write; compressed if it ends in .zst, .gz or .xz");
DEFINE_double(rate, 0.01, "sample: share of the keys to keep, chosen by hash");
DEFINE_int64(seed, 1, "sample: of that hash; record, generate: of the generator");
DEFINE_string(workload, "", "record: what to ask of the database: gen:NAME, or a trace file");
DEFINE_int64(ops, 100'000, "record, generate: requests");
DEFINE_string(query_trace, "", "record: write the requests to this file, as RocksDB records queries");
DEFINE_string(block_trace, "", "record: write the look-ups of blocks to this file, as RocksDB records them");
DEFINE_string(
    lineage_trace, "",
    "record: write the look-ups of blocks to this file, and the parents of those that are written, for mezz_sim "
    "and mezz_plan");
DEFINE_string(
    pack_ratios, "",
    "record: write how the database's blocks pack to PACK_RATIOS.lz4 and PACK_RATIOS.zstd, for --pack_ratio of "
    "mezz_sim and mezz_plan");
DEFINE_string(cache, "64M", "record: block cache of the database (K, M, G, T)");
DEFINE_int64(keys, 0, "record: of the database's keys ask for so many (0: 1,000,000). generate: keys (0: its own)");
DEFINE_int64(scale, 1, "generate: divides the workload's own number of keys");
DEFINE_bool(writes, false, "record: do the workload's writes too, and so change the database");

namespace {

using mezz::Arguments;

std::optional<std::string> FlagGiven(std::string_view flag) {
  gflags::CommandLineFlagInfo info;
  if (!gflags::GetCommandLineFlagInfo(std::string(flag).c_str(), &info) || info.is_default) return std::nullopt;
  return info.current_value;
}

mezz::Status RunInfo(const Arguments& arguments) {
  mezz::InfoOptions options{.path = arguments.operands[0], .format = FLAGS_format, .skip_bad = FLAGS_skip_bad};
  MEZZ_RETURN_IF_ERROR(mezz::Count("unit", FLAGS_unit, 1, &options.unit_bytes));
  MEZZ_RETURN_IF_ERROR(mezz::ParseBytes("--memory", FLAGS_memory, &options.memory_bytes_max));
  MEZZ_RETURN_IF_ERROR(mezz::CheckWritable("json", FLAGS_json));
  mezz::TraceInfo info;
  mezz::Progress progress;
  MEZZ_RETURN_IF_ERROR(mezz::InspectTrace(options, &info, &progress));
  fmt::print("{}", mezz::InfoTable(info));
  if (FLAGS_json.empty()) return mezz::Status::Ok();
  nlohmann::json result = mezz::ManifestOf("mezz_trace", arguments.command_line);
  result["info"] = mezz::InfoJson(info);
  return mezz::WriteJson(FLAGS_json, result, 2);
}

mezz::Status Convert(const Arguments& arguments, const std::string& to, double rate) {
  mezz::ConvertOptions options{.path = arguments.operands[0],
                               .format = FLAGS_format,
                               .skip_bad = FLAGS_skip_bad,
                               .to = to,
                               .out = FLAGS_out,
                               .rate = rate};
  MEZZ_RETURN_IF_ERROR(mezz::Count("unit", FLAGS_unit, 1, &options.unit_bytes));
  if (FlagGiven("unit")) options.unknown_bytes = options.unit_bytes;
  MEZZ_RETURN_IF_ERROR(mezz::Count("seed", FLAGS_seed, 0, &options.seed));
  MEZZ_RETURN_IF_ERROR(mezz::ParseBytes("--memory", FLAGS_memory, &options.memory_bytes_max));
  mezz::ConvertSummary summary;
  mezz::Progress progress;
  MEZZ_RETURN_IF_ERROR(mezz::ConvertTrace(options, &summary, &progress));
  fmt::print("{}: {} requests as {}, which keeps {}\n", options.out, summary.requests, to,
             mezz::FindWriterFormat(to)->keeps);
  if (summary.operations > 0) fmt::print("{} of them were no gets, and now look like gets\n", summary.operations);
  for (const std::string& remark : summary.remarks) fmt::print("{}\n", remark);
  if (summary.damaged_records > 0) fmt::print("{} damaged records were left out\n", summary.damaged_records);
  return mezz::Status::Ok();
}

mezz::Status RunConvert(const Arguments& arguments) { return Convert(arguments, FLAGS_to, 1); }
mezz::Status RunSample(const Arguments& arguments) {
  return Convert(arguments, FLAGS_to.empty() ? "mezz_csv" : FLAGS_to, FLAGS_rate);
}

std::atomic<bool> stop{false};
static_assert(std::atomic<bool>::is_always_lock_free);

// The second signal kills, should the first not suffice.
void OnSignal(int signal) {
  stop.store(true, std::memory_order_relaxed);
  std::signal(signal, SIG_DFL);
}

mezz::Status RunRecord(const Arguments& arguments) {
  mezz::RecordOptions options{.db = arguments.operands[0],
                              .workload = FLAGS_workload,
                              .format = FLAGS_format == "auto" ? "" : FLAGS_format,
                              .query_trace = FLAGS_query_trace,
                              .block_trace = FLAGS_block_trace,
                              .lineage_trace = FLAGS_lineage_trace,
                              .pack_ratios = FLAGS_pack_ratios,
                              .writes = FLAGS_writes};
  MEZZ_RETURN_IF_ERROR(mezz::Count("ops", FLAGS_ops, 1, &options.ops));
  MEZZ_RETURN_IF_ERROR(mezz::Count("seed", FLAGS_seed, 0, &options.seed));
  MEZZ_RETURN_IF_ERROR(mezz::ParseBytes("--cache", FLAGS_cache, &options.cache_bytes));
  if (FLAGS_keys != 0) MEZZ_RETURN_IF_ERROR(mezz::Count("keys", FLAGS_keys, 1, &options.keys_max));
  std::signal(SIGINT, &OnSignal);
  std::signal(SIGTERM, &OnSignal);
  mezz::RecordReport report;
  mezz::Progress progress;
  MEZZ_RETURN_IF_ERROR(mezz::RecordTraces(options, stop, &report, &progress));
  fmt::print("recorded {} reads, {} seeks and {} writes of {} keys; {} reads found nothing, {} writes were left out\n",
             report.reads, report.seeks, report.writes, report.keys, report.not_found, report.writes_left_out);
  fmt::print("{}\n", ToString(report.packing));
  if (!report.complete) fmt::print("interrupted: the traces hold what was done until then\n");
  return mezz::Status::Ok();
}

mezz::Status RunGenerate(const Arguments& arguments) {
  constexpr std::string_view kPrefix = "gen:";
  if (!arguments.operands[0].starts_with(kPrefix)) {
    return mezz::Status::InvalidArgument(
        fmt::format("\"{}\" is no generator; they are named gen:zipf, gen:messaging and so on", arguments.operands[0]));
  }
  mezz::GeneratorOptions options{.name = arguments.operands[0].substr(kPrefix.size())};
  MEZZ_RETURN_IF_ERROR(mezz::Count("keys", FLAGS_keys, 0, &options.keys));
  MEZZ_RETURN_IF_ERROR(mezz::Count("scale", FLAGS_scale, 1, &options.scale));
  MEZZ_RETURN_IF_ERROR(mezz::Count("ops", FLAGS_ops, 1, &options.ops));
  MEZZ_RETURN_IF_ERROR(mezz::Count("seed", FLAGS_seed, 0, &options.seed));
  std::unique_ptr<mezz::RequestSource> source;
  MEZZ_RETURN_IF_ERROR(mezz::MakeGenerator(options, &source));
  if (FLAGS_out.empty()) return mezz::Status::InvalidArgument("--out is missing; name the file to write");
  mezz::Progress progress;
  source = mezz::TrackProgress(std::move(source), &progress);
  MEZZ_RETURN_IF_ERROR(mezz::WriteQueryTrace(source.get(), options.ops, FLAGS_out, {}));
  fmt::print("{}: {}, {} requests as a RocksDB query trace\n", FLAGS_out, source->description(), options.ops);
  return mezz::Status::Ok();
}

const mezz::Program& Program() {
  static const mezz::Program program = {
      "mezz_trace",
      "what a trace holds, and traces made of others",
      {
          {"info", "FILE", 1, "what a trace holds", {"format", "skip_bad", "unit", "memory", "json"}, &RunInfo},
          {"convert",
           "FILE",
           1,
           "the same requests in another format",
           {"format", "skip_bad", "unit", "memory", "to", "out"},
           &RunConvert},
          {"sample",
           "FILE",
           1,
           "the requests for a share of the keys",
           {"format", "skip_bad", "unit", "memory", "to", "out", "rate", "seed"},
           &RunSample},
          {"record",
           "DB",
           1,
           "what RocksDB does under a workload: its own two kinds of traces, of a database that stays as it is",
           {"workload", "query_trace", "block_trace", "lineage_trace", "pack_ratios", "ops", "keys", "cache", "seed",
            "format", "writes"},
           &RunRecord},
          {"generate",
           "gen:NAME",
           1,
           "a generated workload as a RocksDB query trace, which db_bench --benchmarks=replay takes as well",
           {"out", "ops", "keys", "scale", "seed"},
           &RunGenerate},
      }};
  return program;
}

const mezz::FlagGroup kFlagGroups[] = {
    {"The trace", {"format", "skip_bad", "unit", "memory"}},
    {"What is written", {"to", "out", "json", "query_trace", "block_trace", "lineage_trace", "pack_ratios"}},
    {"Samples", {"rate"}},
    {"Workloads", {"workload", "ops", "keys", "scale", "seed", "cache", "writes"}}};

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
  fmt::print(stderr, "mezz_trace: {}\n", status.message());
  return mezz::kExitRefused;
}

}  // namespace

int main(int argc, char** argv) {
  return mezz::RunMain("mezz_trace", argc, argv, {"json", "out", "query_trace", "block_trace", "lineage_trace"},
                       [&] { return Main(argc, argv); });
}
