// SPDX-License-Identifier: Apache-2.0
// mezz_trace: what a trace holds, and traces made of others.
#include <fmt/format.h>
#include <gflags/gflags.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "cache/base/text.h"
#include "workloads/program.h"
#include "workloads/trace/convert.h"
#include "workloads/trace/info.h"
#include "workloads/trace/info_report.h"
#include "workloads/trace/trace_writer.h"

DEFINE_string(format, "auto", "Format of the trace: be64, arc, twitter_csv, ... auto: by content and name");
DEFINE_bool(skip_bad, false, "Leave damaged records out and count them, instead of refusing the trace");
DEFINE_int64(unit, 4096, "Extents are cut into blocks of so many bytes");
DEFINE_string(memory, "8G", "A trace that needs more is refused (K, M, G, T)");
DEFINE_string(json, "", "info: write what was found to this file");
DEFINE_string(to, "",
              "Format to write: mezz_csv, oracle_general, rocksdb_block_csv, text, be64. sample: mezz_csv if empty");
DEFINE_string(out, "", "File to write; compressed if it ends in .zst, .gz or .xz");
DEFINE_double(rate, 0.01, "sample: share of the keys to keep, chosen by hash");
DEFINE_int64(seed, 1, "sample: of that hash");

namespace {

constexpr int kExitRefused = 2;

struct Arguments {
  std::string path;
  std::string command_line;
};

mezz::Status RunInfo(const Arguments& arguments) {
  mezz::InfoOptions options{.path = arguments.path, .format = FLAGS_format, .skip_bad = FLAGS_skip_bad};
  MEZZ_RETURN_IF_ERROR(mezz::Count("unit", FLAGS_unit, 1, &options.unit_bytes));
  MEZZ_RETURN_IF_ERROR(mezz::ParseBytes("--memory", FLAGS_memory, &options.memory_bytes_max));
  MEZZ_RETURN_IF_ERROR(mezz::CheckWritable("json", FLAGS_json));
  mezz::TraceInfo info;
  MEZZ_RETURN_IF_ERROR(mezz::InspectTrace(options, &info));
  fmt::print("{}", mezz::InfoTable(info));
  if (FLAGS_json.empty()) return mezz::Status::Ok();
  nlohmann::json result = mezz::ManifestOf("mezz_trace", arguments.command_line);
  result["info"] = mezz::InfoJson(info);
  return mezz::WriteFileAtomically(FLAGS_json, result.dump(2) + "\n");
}

mezz::Status Convert(const Arguments& arguments, const std::string& to, double rate) {
  mezz::ConvertOptions options{.path = arguments.path,
                               .format = FLAGS_format,
                               .skip_bad = FLAGS_skip_bad,
                               .to = to,
                               .out = FLAGS_out,
                               .rate = rate};
  MEZZ_RETURN_IF_ERROR(mezz::Count("unit", FLAGS_unit, 1, &options.unit_bytes));
  MEZZ_RETURN_IF_ERROR(mezz::Count("seed", FLAGS_seed, 0, &options.seed));
  MEZZ_RETURN_IF_ERROR(mezz::ParseBytes("--memory", FLAGS_memory, &options.memory_bytes_max));
  mezz::ConvertSummary summary;
  MEZZ_RETURN_IF_ERROR(mezz::ConvertTrace(options, &summary));
  fmt::print("{}: {} requests as {}, which keeps {}\n", options.out, summary.requests, to,
             mezz::FindWriterFormat(to)->keeps);
  if (summary.operations > 0) fmt::print("{} of them were no gets, and now look like gets\n", summary.operations);
  if (summary.damaged_records > 0) fmt::print("{} damaged records were left out\n", summary.damaged_records);
  return mezz::Status::Ok();
}

mezz::Status RunConvert(const Arguments& arguments) { return Convert(arguments, FLAGS_to, 1); }
mezz::Status RunSample(const Arguments& arguments) {
  return Convert(arguments, FLAGS_to.empty() ? "mezz_csv" : FLAGS_to, FLAGS_rate);
}

struct Subcommand {
  std::string_view name;
  std::string_view operand;  // what the argument behind the name is
  std::string_view about;
  std::vector<std::string_view> flags;  // that it takes
  mezz::Status (*run)(const Arguments& arguments);
};

const std::vector<Subcommand>& Subcommands() {
  static const std::vector<Subcommand> subcommands = {
      {"info", "FILE", "what a trace holds", {"format", "skip_bad", "unit", "memory", "json"}, &RunInfo},
      {"convert",
       "FILE",
       "the same requests in another format",
       {"format", "skip_bad", "unit", "memory", "to", "out"},
       &RunConvert},
      {"sample",
       "FILE",
       "the requests for a share of the keys",
       {"format", "skip_bad", "unit", "memory", "to", "out", "rate", "seed"},
       &RunSample},
  };
  return subcommands;
}

std::string Usage() {
  std::string text = "what a trace holds, and traces made of others\n\n";
  for (const Subcommand& subcommand : Subcommands()) {
    text += fmt::format("  mezz_trace {} {}", subcommand.name, subcommand.operand);
    for (const std::string_view flag : subcommand.flags) text += fmt::format(" [--{}]", flag);
    text += fmt::format("\n      {}\n", subcommand.about);
  }
  return text;
}

// A flag that the subcommand does not take would be passed over in silence.
mezz::Status CheckFlags(const Subcommand& subcommand) {
  for (const Subcommand& other : Subcommands()) {
    for (const std::string_view flag : other.flags) {
      gflags::CommandLineFlagInfo info;
      if (std::ranges::find(subcommand.flags, flag) != subcommand.flags.end()) continue;
      if (!gflags::GetCommandLineFlagInfo(std::string(flag).c_str(), &info) || info.is_default) continue;
      return mezz::Status::InvalidArgument(
          fmt::format("--{}={} is no flag of {}; leave it out", flag, info.current_value, subcommand.name));
    }
  }
  return mezz::Status::Ok();
}

mezz::Status Run(const std::vector<std::string>& words, const std::string& command_line) {
  if (words.empty()) return mezz::Status::InvalidArgument("what to do is missing; usage:\n\n" + Usage());
  const auto found = std::ranges::find(Subcommands(), words[0], &Subcommand::name);
  if (found == Subcommands().end()) {
    return mezz::Status::InvalidArgument(fmt::format("\"{}\" is not known; usage:\n\n{}", words[0], Usage()));
  }
  if (words.size() == 1) {
    return mezz::Status::InvalidArgument(
        fmt::format("{} of what? mezz_trace {} {}", words[0], words[0], found->operand));
  }
  if (words.size() > 2) {
    return mezz::Status::InvalidArgument(
        fmt::format("\"{}\" is one argument too many; mezz_trace {} {} and flags as --name=value", words[2], words[0],
                    found->operand));
  }
  MEZZ_RETURN_IF_ERROR(CheckFlags(*found));
  return found->run({.path = words[1], .command_line = command_line});
}

}  // namespace

int main(int argc, char** argv) {
  const std::string command_line = mezz::CommandLine(argc, argv);
  gflags::SetUsageMessage(Usage());
  gflags::ParseCommandLineFlags(&argc, &argv, /*remove_flags=*/true);
  const mezz::Status status = Run(std::vector<std::string>(argv + 1, argv + argc), command_line);
  if (status.ok()) return 0;
  fmt::print(stderr, "mezz_trace: {}\n", status.message());
  return kExitRefused;
}
