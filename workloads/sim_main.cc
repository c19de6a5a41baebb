// SPDX-License-Identifier: Apache-2.0
// mezz_sim: the policies of the live cache over a trace, without bytes.
#include <fmt/format.h>
#include <gflags/gflags.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "cache/base/text.h"
#include "workloads/program/command_line.h"
#include "workloads/program/program.h"
#include "workloads/sim/report.h"
#include "workloads/sim/runner.h"

DEFINE_string(trace, "", "Trace files, comma-separated; compressed ones are read as they are");
DEFINE_string(format, "auto", "Format of the trace files: be64, arc, twitter_csv, ... auto: by content and name");
DEFINE_bool(skip_bad, false, "Leave damaged records out and count them, instead of refusing the trace");
DEFINE_string(policies, "adaptive,dram_first,scm_first,bidirectional,lru,s3_fifo,opt",
              "Two tiers: the names of policy=. What else a buyer could have: dram_only, naive_scm, memory_mode, "
              "compressed, page_cache, inline_memory. One tier of the whole total: lru, clock, s3_fifo, s3_fifo_lib, "
              "w_tinylfu, opt");
DEFINE_string(total, "0.01,0.05,0.1,0.25",
              "Capacities of both tiers together: shares of the footprint (0.1, 10%) or bytes (64M)");
DEFINE_double(dram_share, 0.2, "DRAM's part of the total");
DEFINE_double(
    fast_share, 0,
    "The fast level's part of the SCM tier, where its media are ordered: a fast one before a slow one. 0: one "
    "level");
DEFINE_string(dram_cache, "hcc", "Stock cache that is the DRAM tier: hcc, lru");
DEFINE_double(high_priority_pool, 0.5, "lru: its high_pri_pool_ratio; 0 is strict LRU");
DEFINE_int32(dram_shards, 0, "Its shards, a power of two. 0: one with --sizes=unit, else as the live cache has them");
DEFINE_int64(dram_overhead, -1, "--sizes=bytes: charged to DRAM for each block. -1: as the stock cache does");
DEFINE_int64(unit, 4096, "Extents are cut into blocks of so many bytes; also the size of blocks without one");
DEFINE_string(sizes, "unit", "unit: blocks are equal and capacities hold exactly so many. bytes: as the live tiers");
DEFINE_int64(segment_blocks, 0, "--sizes=unit: blocks of a segment. 0: a 256th of the SCM tier");
DEFINE_string(pack, "off", "Whether the SCM tier packs records: off, lz4, zstd");
DEFINE_string(pack_ratio, "",
              "How many times smaller blocks pack, also in compressed, page_cache and inline_memory: a number, or a "
              "file of lines ratio,weight. Empty: 2.25; for what --pack=zstd packs, 3.25");
DEFINE_bool(heirs, true,
            "Traces with the parents of blocks: the two tiers keep what becomes of a block when its file goes. false: "
            "what is written is a new block");
DEFINE_double(warmup, 0, "Share of the accesses before counting starts");
DEFINE_int32(threads, 0, "Policies and totals run at a time. 0: one per CPU");
DEFINE_double(sample, 1, "Keep the accesses to this share of the blocks, chosen by hash");
DEFINE_string(memory, "8G", "A trace, or policy opt, that needs more is refused (K, M, G, T)");
DEFINE_double(flash_us, 80, "Time of a miss, for the mean access times");
DEFINE_int64(seed, 1, "Of the policies' hashes, of hashed placement and of the sample");
DEFINE_string(json, "", "Write the results to this file; tools/plot.py draws it");
DEFINE_string(csv, "", "Write the rows to this file");

namespace {

mezz::Status OptionsFromFlags(mezz::sim::SimOptions* o) {
  MEZZ_RETURN_IF_ERROR(mezz::sim::ParseList("trace", FLAGS_trace, &o->traces));
  MEZZ_RETURN_IF_ERROR(mezz::sim::ParseList("policies", FLAGS_policies, &o->policies));
  MEZZ_RETURN_IF_ERROR(mezz::sim::ParseTotals(FLAGS_total, &o->totals));
  MEZZ_RETURN_IF_ERROR(mezz::sim::ParseDramCache(FLAGS_dram_cache, &o->dram_cache));
  MEZZ_RETURN_IF_ERROR(mezz::sim::ParseSizes(FLAGS_sizes, &o->sizes));
  MEZZ_RETURN_IF_ERROR(mezz::sim::ParsePacking(FLAGS_pack, FLAGS_pack_ratio, o));
  MEZZ_RETURN_IF_ERROR(mezz::ParseBytes("--memory", FLAGS_memory, &o->memory_bytes));
  MEZZ_RETURN_IF_ERROR(mezz::Count("dram_shards", FLAGS_dram_shards, 0, &o->dram_shards));
  MEZZ_RETURN_IF_ERROR(mezz::Count("dram_overhead", FLAGS_dram_overhead, -1, &o->dram_overhead_bytes));
  MEZZ_RETURN_IF_ERROR(mezz::Count("unit", FLAGS_unit, 1, &o->unit_bytes));
  MEZZ_RETURN_IF_ERROR(mezz::Count("segment_blocks", FLAGS_segment_blocks, 0, &o->segment_blocks));
  MEZZ_RETURN_IF_ERROR(mezz::Count("threads", FLAGS_threads, 0, &o->threads));
  MEZZ_RETURN_IF_ERROR(mezz::Count("seed", FLAGS_seed, 0, &o->seed));
  o->format = FLAGS_format;
  o->skip_bad = FLAGS_skip_bad;
  o->dram_share = FLAGS_dram_share;
  o->fast_share = FLAGS_fast_share;
  o->high_priority_pool = FLAGS_high_priority_pool;
  o->heirs = FLAGS_heirs;
  o->warmup = FLAGS_warmup;
  o->sample = FLAGS_sample;
  o->flash_us = FLAGS_flash_us;
  o->json_path = FLAGS_json;
  o->csv_path = FLAGS_csv;
  return o->Validate();
}

mezz::Status Run(const std::string& command_line) {
  mezz::sim::SimOptions options;
  MEZZ_RETURN_IF_ERROR(OptionsFromFlags(&options));
  MEZZ_RETURN_IF_ERROR(mezz::CheckWritable("json", options.json_path));
  MEZZ_RETURN_IF_ERROR(mezz::CheckWritable("csv", options.csv_path));
  options.command_line = command_line;
  mezz::sim::SimReport report;
  mezz::Progress progress;
  MEZZ_RETURN_IF_ERROR(mezz::sim::RunSim(options, &report, &progress));
  fmt::print("{}", mezz::sim::ReportTable(options, report));
  std::fflush(stdout);
  if (!options.json_path.empty()) {
    MEZZ_RETURN_IF_ERROR(mezz::WriteJson(options.json_path, mezz::sim::ReportJson(options, report), 2));
  }
  return options.csv_path.empty() ? mezz::Status::Ok()
                                  : mezz::WriteFileAtomically(options.csv_path, mezz::sim::ReportCsv(report));
}

const mezz::Program& Program() {
  static const mezz::Program program = {"mezz_sim",
                                        "the policies of the hybrid cache over traces, without bytes",
                                        {{"",
                                          "--trace=FILE[,FILE]...",
                                          0,
                                          "miss ratios and mean access times of each policy at each total",
                                          {"trace"},
                                          nullptr}}};
  return program;
}

const mezz::FlagGroup kFlagGroups[] = {{"What is run", {"trace", "policies", "total", "sizes", "warmup", "threads"}},
                                       {"The tiers",
                                        {"dram_share", "fast_share", "dram_cache", "high_priority_pool", "dram_shards",
                                         "dram_overhead", "segment_blocks"}},
                                       {"Packing", {"pack", "pack_ratio"}},
                                       {"Reading a trace", {"format", "skip_bad", "unit", "sample", "memory"}},
                                       {"Results", {"flash_us", "seed", "json", "csv"}}};

int Main(int argc, char** argv) {
  const std::string command_line = mezz::CommandLine(argc, argv);
  std::vector<gflags::CommandLineFlagInfo> known;
  gflags::GetAllFlags(&known);
  const std::vector<mezz::Flag> flags = mezz::OwnFlags(known, __FILE__);
  const std::vector<const char*> words(argv, argv + argc);
  if (const auto done = mezz::BeforeFlags(Program(), kFlagGroups, flags, words)) return *done;
  gflags::ParseCommandLineFlags(&argc, &argv, /*remove_flags=*/true);
  if (argc > 1) {
    fmt::print(stderr, "mezz_sim: \"{}\" is not a flag; flags are spelt --name=value\n", argv[1]);
    return mezz::kExitRefused;
  }
  const mezz::Status status = Run(command_line);
  if (status.ok()) return 0;
  fmt::print(stderr, "mezz_sim: {}\n", status.message());
  return mezz::kExitRefused;
}

}  // namespace

int main(int argc, char** argv) {
  return mezz::RunMain("mezz_sim", argc, argv, {"json", "csv"}, [&] { return Main(argc, argv); });
}
