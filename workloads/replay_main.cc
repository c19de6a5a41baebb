// SPDX-License-Identifier: Apache-2.0
// mezz_replay: a workload against a real RocksDB over several block caches, side by side; or a trace of blocks against
// the caches alone.
#include <fmt/format.h>
#include <gflags/gflags.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "cache/base/text.h"
#include "workloads/program/command_line.h"
#include "workloads/program/program.h"
#include "workloads/replay/processes/cache_worker.h"
#include "workloads/replay/processes/worker_process.h"
#include "workloads/replay/report.h"
#include "workloads/replay/runner.h"
#include "workloads/report/compare.h"
#include "workloads/report/html_report.h"
#include "workloads/report/result_file.h"
#include "workloads/rocksdb/query_trace_reader.h"
#include "workloads/sim/options.h"

DEFINE_string(trace, "", "What to replay: a trace file, or a generator, such as gen:zipf, gen:messaging, gen:ycsb_a");
DEFINE_string(format, "", "Format of the trace file: be64, be32, arc, arc_pages, ... Empty: by name and content");
DEFINE_string(mode, "db", "db: a RocksDB over each cache; block: each cache alone, over a file of blocks");
DEFINE_int64(unit, 4096, "--mode=block: bytes that extents are cut into, and of blocks whose size the trace lacks");
DEFINE_string(sizes, "bytes", "--mode=block: blocks are as large as the trace says (bytes), or all one --unit (unit)");
DEFINE_string(caches, "hcc,hcc+compressed,lru+compressed,naive_scm,all_dram,hybrid",
              "Caches to compare; ratios are to the first. hybrid:POLICY names a policy, hybrid@64M+1G sizes");
DEFINE_string(dram, "64M", "Size of the DRAM tier (K, M, G, T)");
DEFINE_string(scm, "256M", "Size of the SCM tier (K, M, G, T)");
DEFINE_string(scm_path, "/dev/shm/mezz", "The SCM tier's file or devdax device");
DEFINE_string(medium, "file", "What the SCM tier lies on: file, numa:N, dram");
DEFINE_string(model, "none", "Emulated device, for our tier and the stock peers: none, optane100, cxl");
DEFINE_string(policy, std::string(mezz::kDefaultPolicyName), "Policy of our caches that name none");
DEFINE_string(
    curve_file, "",
    "hybrid: keeps a live curve, and writes it here for mezz_plan as the cache goes; each but the first cache "
    "to a name with its number");
DEFINE_double(curve_rate, 0.01, "Of that curve: look at this share of the blocks at most");
DEFINE_string(write_budget, "0", "Bytes that a policy may write to SCM in a second (K, M, G, T). 0: any number");
DEFINE_string(segment, "", "Retired: leave it out, the tier's size chooses");
DEFINE_int32(shard_bits, -1, "DRAM tiers have 2 to the power of this many shards. -1: as many as suit their size");
DEFINE_string(serve, "auto", "Retired: leave it out, the size of the block and the medium choose");
DEFINE_string(
    pack, std::string(mezz::ToString(mezz::kDefaultPackMode)),
    "Whether our SCM tier packs records: off, image, lz4, zstd, auto. hybrid+lz4 and so on say it for one cache");
DEFINE_string(dram_cache, "", "DRAM tier of hybrid: hcc, lru. Empty: hcc where RocksDB has it, from 8.9");
DEFINE_bool(skip_bad, false, "Leave damaged records out and count them, instead of refusing the trace");
DEFINE_int64(threads, 2, "Replay threads");
DEFINE_int64(value_bytes, 1000, "Bytes of a value; 0: as the generator says");
DEFINE_string(values, "", "What values and blocks hold: cut from this file, a sample of your data. Empty: made");
DEFINE_double(value_ratio, 1, "Made values: LZ4 and zstd pack them to about one part in so many, 1 to 8");
DEFINE_int64(block_bytes, 4096, "Block size");
DEFINE_string(compression, "none", "Of the databases' blocks: none, lz4, zstd. See --values and --value_ratio");
DEFINE_string(write_buffer, "0",
              "Bytes put between two flushes: RocksDB's memtable (K, M, G). 0: a 64th of both tiers, 1 to 64 MiB");
DEFINE_string(settle, "within",
              "Flushes and compactions that a window brought about end within its time, or after it: within, after");
DEFINE_bool(index_in_cache, false, "Keep index and filter blocks in the block cache");
DEFINE_string(db, "", "Folder of the databases, or of the file of blocks; written once and reused while it fits");
DEFINE_string(flash, "disk",
              "What databases and blocks are read from: disk, the one --db lies on; sata_ssd, nvme_flash, "
              "xpoint_ssd, optane_ssd, network_volume: an emulated one, --db in /dev/shm");
DEFINE_int64(dbs, 1, "Databases that share each cache; a key's hash says which has it");
DEFINE_string(warmup, "0.3", "Share of the requests replayed before the clock starts; settle: until hit ratios settle");
DEFINE_int64(warmup_ops, 0, "So many requests of warm-up instead. 0: as --warmup says");
DEFINE_int64(cold_windows, 1, "Cut the warm-up into so many windows, reported apart");
DEFINE_int64(repeats, 5, "Cut the rest into so many windows, interleaved over the caches");
DEFINE_double(seconds, 0, "Windows of so many seconds instead of so many requests; generators only");
DEFINE_int64(keys, 0, "Generators: number of keys. 0: the workload's own, where it has none 1,000,000");
DEFINE_int64(scale, 1, "Generators: divide the number of keys by this");
DEFINE_int64(ops, 0, "Requests to replay. 0: the whole trace; generators: 1,000,000");
DEFINE_double(skew, -1, "Generators: exponent of the popularity law. Negative: the generator's own");
DEFINE_double(put_share, 0, "gen:uniform, gen:zipf: share of the requests that are puts");
DEFINE_int64(seed, 1, "Generators: seed; --mode=block: salts the keys, so that caches place them otherwise");
DEFINE_double(rate, 0, "Open loop: so many requests a second over all threads. 0: each as soon as the last has ended");
DEFINE_double(timestamps, 0, "Open loop at the trace's own times, so many times as fast. 0: closed loop");
DEFINE_bool(verify, false, "Check every byte of every value, or block");
DEFINE_string(worker, "", "For the processes that mezz_replay starts, one for each cache; not for users");
DEFINE_string(json, "", "Write the results to this file");
DEFINE_string(csv, "", "Write every window to this file, one a line");
DEFINE_string(block_trace, "", "Record the look-ups of blocks of the one cache to this file, as RocksDB records them");
DEFINE_string(lineage_trace, "",
              "Record what the one cache sees of its blocks, and the parents of those that are written, to this file, "
              "for mezz_sim and mezz_plan");
DEFINE_string(html, "", "Write the results to this file as a page for a browser");
DEFINE_string(compare, "", "Run nothing, compare two results of --json: --compare A.json B.json");
DEFINE_string(from, "", "With --html: run nothing, make the page from this result of --json");

namespace {

constexpr int kExitInterrupted = 130;
constexpr int kExitCacheFailed = 3;
constexpr int64_t kGeneratorOps = 1'000'000;

std::atomic<bool> stop{false};
static_assert(std::atomic<bool>::is_always_lock_free);

// The second signal kills, should the first not suffice.
void OnSignal(int signal) {
  stop.store(true, std::memory_order_relaxed);
  std::signal(signal, SIG_DFL);
}

// A worker is told to stop by its parent, by the terminal, or by both.
void OnWorkerSignal(int) { stop.store(true, std::memory_order_relaxed); }

// The URI's parser judges the tiers' settings: one judge for the program, the library and the plug-in.
mezz::Status ParseTiers(mezz::ReplayOptions* o) {
  for (const char* const flag :
       {"scm", "medium", "model", "policy", "serve", "pack", "scm_path", "write_budget", "segment"}) {
    const std::string value = gflags::GetCommandLineFlagInfoOrDie(flag).current_value;
    if (value.find(';') == std::string::npos) continue;
    return mezz::Status::InvalidArgument(
        fmt::format("--{}={}: a semicolon begins another setting of the URI; leave it out", flag, value));
  }
  uint64_t ignored = 0;
  MEZZ_RETURN_IF_ERROR(mezz::ParseBytes("--dram", FLAGS_dram, &ignored));
  std::string scm = FLAGS_scm;
  if (scm.find('@') == std::string::npos) {
    MEZZ_RETURN_IF_ERROR(mezz::ParseBytes("--scm", FLAGS_scm, &ignored));
    scm += fmt::format("@{}", FLAGS_medium == "file" ? FLAGS_scm_path : FLAGS_medium);
  }
  // Cold, as every other cache is: what an earlier run left in the file would be a head start.
  std::string uri =
      fmt::format("{}dram={};scm={};model={};policy={};serve={};pack={};recovery=discard", mezz::kHybridScheme,
                  FLAGS_dram, scm, FLAGS_model, FLAGS_policy, FLAGS_serve, FLAGS_pack);
  if (FLAGS_write_budget != "0") uri += fmt::format(";write_budget={}", FLAGS_write_budget);
  if (!FLAGS_segment.empty()) uri += fmt::format(";segment={}", FLAGS_segment);
  MEZZ_RETURN_IF_ERROR(mezz::ParseHybridUri(uri, &o->hybrid));
  if (!FLAGS_dram_cache.empty()) {
    mezz::sim::DramCache kind{};
    MEZZ_RETURN_IF_ERROR(mezz::sim::ParseDramCache(FLAGS_dram_cache, &kind));
    o->hybrid.dram_cache =
        kind == mezz::sim::DramCache::kHcc ? mezz::DramCacheKind::kHyperClock : mezz::DramCacheKind::kLru;
  }
  o->hybrid.dram_shard_bits = FLAGS_shard_bits;
  o->hybrid.curve = !FLAGS_curve_file.empty();
  o->hybrid.curve_rate = FLAGS_curve_rate;
  o->hybrid.curve_file = FLAGS_curve_file;
  MEZZ_RETURN_IF_ERROR(o->hybrid.Validate());
  o->hybrid.scm.expected_block_bytes = o->expected_block_bytes();
  return mezz::Status::Ok();
}

bool IsGiven(const char* flag) { return !gflags::GetCommandLineFlagInfoOrDie(flag).is_default; }

// Nobody could say who would set them, to what. They have their effect until the next release.
void TellRetired() {
  for (const char* const flag : {"segment", "serve"}) {
    if (IsGiven(flag))
      fmt::print(stderr, "mezz_replay: --{} is retired, and the next release refuses it: leave it out\n", flag);
  }
}

// What was given and would be ignored.
mezz::Status RefuseUnused(const mezz::ReplayOptions& o) {
  const bool block = o.mode == mezz::ReplayMode::kBlock;
  const bool generator = o.is_generator() || o.trace.empty();  // nameless traces have a refusal of their own
  const struct {
    const char* flag;
    bool used;
    const char* with;
  } flags[] = {{"unit", block, "--mode=block"},
               {"sizes", block, "--mode=block"},
               {"keys", generator, "--trace=gen:NAME"},
               {"scale", generator, "--trace=gen:NAME"},
               {"skew", generator, "--trace=gen:NAME"},
               {"curve_rate", !FLAGS_curve_file.empty(), "--curve_file=FILE"},
               {"ops", FLAGS_seconds == 0, "runs without --seconds"}};
  for (const auto& [flag, used, with] : flags) {
    if (used || !IsGiven(flag)) continue;
    return mezz::Status::InvalidArgument(fmt::format("--{}={} is only for {}; use that, or drop it", flag,
                                                     gflags::GetCommandLineFlagInfoOrDie(flag).current_value, with));
  }
  return mezz::Status::Ok();
}

mezz::Status ParseMode(mezz::ReplayOptions* o) {
  if (FLAGS_mode != "db" && FLAGS_mode != "block") {
    return mezz::Status::InvalidArgument(fmt::format("--mode={} is unknown; it is db or block", FLAGS_mode));
  }
  if (FLAGS_mode == "db") return mezz::Status::Ok();
  o->mode = mezz::ReplayMode::kBlock;
  mezz::sim::Sizes sizes{};
  MEZZ_RETURN_IF_ERROR(mezz::sim::ParseSizes(FLAGS_sizes, &sizes));
  o->sizes = sizes == mezz::sim::Sizes::kUnit ? mezz::BlockSizes::kUnit : mezz::BlockSizes::kTrace;
  // Defaults of the other mode that this one has no use for.
  if (!IsGiven("threads")) FLAGS_threads = 1;
  if (!IsGiven("warmup")) FLAGS_warmup = "0";
  return mezz::Status::Ok();
}

mezz::Status ParseWarmup(mezz::ReplayOptions* o) {
  MEZZ_RETURN_IF_ERROR(mezz::Count("warmup_ops", FLAGS_warmup_ops, 0, &o->warmup_ops));
  o->warmup_settle = FLAGS_warmup == "settle";
  if (o->warmup_settle) return mezz::Status::Ok();
  char* end = nullptr;
  o->warmup = std::strtod(FLAGS_warmup.c_str(), &end);
  if (end != FLAGS_warmup.c_str() && *end == 0) return mezz::Status::Ok();
  return mezz::Status::InvalidArgument(
      fmt::format("--warmup={} is neither a share from 0 up to 1 nor settle", FLAGS_warmup));
}

mezz::Status OptionsFromFlags(mezz::ReplayOptions* o) {
  MEZZ_RETURN_IF_ERROR(ParseMode(o));
  o->trace = FLAGS_trace;
  MEZZ_RETURN_IF_ERROR(RefuseUnused(*o));
  o->format = FLAGS_format;
  o->skip_bad = FLAGS_skip_bad;
  o->db_dir = FLAGS_db;
  MEZZ_RETURN_IF_ERROR(mezz::ParseFlash(FLAGS_flash, &o->flash));
  o->compression = FLAGS_compression;
  o->index_in_cache = FLAGS_index_in_cache;
  o->values = FLAGS_values;
  o->value_ratio = FLAGS_value_ratio;
  if (FLAGS_settle != "within" && FLAGS_settle != "after")
    return mezz::Status::InvalidArgument(fmt::format("--settle={} is unknown; it is within or after", FLAGS_settle));
  o->settle_within = FLAGS_settle == "within";
  MEZZ_RETURN_IF_ERROR(ParseWarmup(o));
  o->seconds = FLAGS_seconds;
  o->skew = FLAGS_skew;
  o->put_share = FLAGS_put_share;
  o->verify = FLAGS_verify;
  o->rate = FLAGS_rate;
  o->timestamps = FLAGS_timestamps;
  o->json_path = FLAGS_json;
  o->csv_path = FLAGS_csv;
  o->block_trace = FLAGS_block_trace;
  o->lineage_trace = FLAGS_lineage_trace;
  MEZZ_RETURN_IF_ERROR(mezz::Count("dbs", FLAGS_dbs, 1, &o->dbs));
  MEZZ_RETURN_IF_ERROR(mezz::Count("threads", FLAGS_threads, 1, &o->threads));
  MEZZ_RETURN_IF_ERROR(mezz::Count("value_bytes", FLAGS_value_bytes, 0, &o->value_bytes));
  MEZZ_RETURN_IF_ERROR(mezz::Count("block_bytes", FLAGS_block_bytes, 1, &o->block_bytes));
  if (FLAGS_write_buffer != "0")
    MEZZ_RETURN_IF_ERROR(mezz::ParseBytes("--write_buffer", FLAGS_write_buffer, &o->write_buffer_bytes));
  MEZZ_RETURN_IF_ERROR(mezz::Count("unit", FLAGS_unit, 1, &o->unit_bytes));
  MEZZ_RETURN_IF_ERROR(mezz::Count("cold_windows", FLAGS_cold_windows, 0, &o->cold_windows));
  MEZZ_RETURN_IF_ERROR(mezz::Count("repeats", FLAGS_repeats, 1, &o->repeats));
  MEZZ_RETURN_IF_ERROR(mezz::Count("keys", FLAGS_keys, 0, &o->keys));
  MEZZ_RETURN_IF_ERROR(mezz::Count("scale", FLAGS_scale, 1, &o->scale));
  MEZZ_RETURN_IF_ERROR(mezz::Count("ops", FLAGS_ops, 0, &o->ops));
  MEZZ_RETURN_IF_ERROR(mezz::Count("seed", FLAGS_seed, 0, &o->seed));
  if (o->ops == 0 && o->is_generator()) o->ops = kGeneratorOps;
  MEZZ_RETURN_IF_ERROR(ParseTiers(o));
  MEZZ_RETURN_IF_ERROR(mezz::ParseCaches(FLAGS_caches, FLAGS_policy, &o->caches));
  return o->Validate();
}

mezz::Status WriteResults(const mezz::ReplayOptions& options, const mezz::ReplayReport& report) {
  fmt::print("{}", mezz::ReportTable(options, report));
  std::fflush(stdout);
  const nlohmann::json json = mezz::ReportJson(options, report);
  if (!options.json_path.empty()) {
    MEZZ_RETURN_IF_ERROR(mezz::WriteJson(options.json_path, json, 2));
  }
  if (!FLAGS_html.empty()) MEZZ_RETURN_IF_ERROR(mezz::WriteFileAtomically(FLAGS_html, mezz::HtmlReport(json)));
  return options.csv_path.empty() ? mezz::Status::Ok()
                                  : mezz::WriteFileAtomically(options.csv_path, mezz::ReportCsv(options, report));
}

mezz::Status MakePage() {
  if (FLAGS_html.empty()) return mezz::Status::InvalidArgument("--from needs --html=FILE, the page to write");
  nlohmann::json result;
  MEZZ_RETURN_IF_ERROR(mezz::ReadResult("from", FLAGS_from, &result));
  return mezz::WriteFileAtomically(FLAGS_html, mezz::HtmlReport(result));
}

mezz::Status Compare(const std::string& path_b) {
  nlohmann::json a;
  nlohmann::json b;
  mezz::Comparison comparison;
  MEZZ_RETURN_IF_ERROR(mezz::ReadResult("compare", FLAGS_compare, &a));
  MEZZ_RETURN_IF_ERROR(mezz::ReadResult("compare", path_b, &b));
  MEZZ_RETURN_IF_ERROR(mezz::CompareResults(a, b, &comparison));
  fmt::print("A: {}\nB: {}\n{}", FLAGS_compare, path_b, mezz::ComparisonTable(comparison));
  return mezz::Status::Ok();
}

mezz::Status Replay(const mezz::ReplayOptions& options, const std::vector<std::string>& arguments, int* exit_status) {
  mezz::ReplayReport report;
  mezz::Progress progress;
  MEZZ_RETURN_IF_ERROR(mezz::RunReplay(options, mezz::ProcessLauncher(arguments), &progress, stop, &report));
  for (const mezz::CacheRow& row : report.rows) {
    if (!row.failure.empty()) *exit_status = kExitCacheFailed;
  }
  if (!report.complete) *exit_status = kExitInterrupted;
  return WriteResults(options, report);
}

mezz::Status RunWorker() {
  mezz::WorkerAddress address;
  MEZZ_RETURN_IF_ERROR(mezz::ParseWorkerAddress(FLAGS_worker, &address));
  mezz::ReplayOptions options;
  MEZZ_RETURN_IF_ERROR(OptionsFromFlags(&options));
  std::signal(SIGINT, &OnWorkerSignal);
  std::signal(SIGTERM, &OnWorkerSignal);
  if (address.number >= options.caches.size()) return mezz::ParseWorkerAddress("", &address);
  mezz::Channel channel(address.channel_fd);
  mezz::SharedWindow window(address.window_fd);
  return mezz::ServeCache(options, address.number, &channel, &window, stop);
}

// `file` is the argument that is no flag; empty: there is none.
mezz::Status Run(const std::vector<std::string>& arguments, const std::string& command_line, const std::string& file,
                 int* exit_status) {
  if (!FLAGS_compare.empty()) {
    if (!file.empty()) return Compare(file);
    return mezz::Status::InvalidArgument("--compare needs two results of --json: --compare A.json B.json");
  }
  if (!file.empty()) {
    return mezz::Status::InvalidArgument(fmt::format("\"{}\" is not a flag; flags are spelt --name=value", file));
  }
  MEZZ_RETURN_IF_ERROR(mezz::CheckWritable("html", FLAGS_html));
  if (!FLAGS_from.empty()) return MakePage();
  mezz::ReplayOptions options;
  MEZZ_RETURN_IF_ERROR(OptionsFromFlags(&options));
  MEZZ_RETURN_IF_ERROR(mezz::CheckWritable("json", options.json_path));
  MEZZ_RETURN_IF_ERROR(mezz::CheckWritable("csv", options.csv_path));
  options.command_line = command_line;
  mezz::UseRocksdbQueryReader();
  std::signal(SIGINT, &OnSignal);
  std::signal(SIGTERM, &OnSignal);
  return Replay(options, arguments, exit_status);
}

const mezz::Program& Program() {
  static const mezz::Program program = {
      "mezz_replay",
      "a workload against RocksDB over several block caches, side by side",
      {{"", "--trace=FILE|gen:NAME", 0, "runs it over each cache", {"trace"}, nullptr},
       {"--compare", "A.json B.json", 2, "what differs between two results", {}, nullptr},
       {"--from", "A.json --html=FILE", 1, "a page of a result", {}, nullptr}}};
  return program;
}

// What a group does not name stands behind them.
const mezz::FlagGroup kFlagGroups[] = {
    {"The workload",
     {"trace", "format", "skip_bad", "mode", "unit", "sizes", "keys", "scale", "ops", "seconds", "skew", "put_share",
      "seed"}},
    {"The caches",
     {"caches", "dram", "scm", "scm_path", "medium", "model", "policy", "pack", "dram_cache", "write_budget",
      "shard_bits"}},
    {"The database",
     {"db", "dbs", "flash", "value_bytes", "values", "value_ratio", "block_bytes", "compression", "write_buffer",
      "index_in_cache"}},
    {"The clock", {"warmup", "warmup_ops", "cold_windows", "repeats", "threads", "rate", "timestamps", "verify"}},
    {"Results",
     {"json", "csv", "html", "compare", "from", "block_trace", "lineage_trace", "curve_file", "curve_rate"}}};

int Main(int argc, char** argv) {
  const std::string command_line = mezz::CommandLine(argc, argv);
  const std::vector<std::string> arguments(argv, argv + argc);
  std::vector<gflags::CommandLineFlagInfo> known;
  gflags::GetAllFlags(&known);
  const std::vector<mezz::Flag> flags = mezz::OwnFlags(known, __FILE__);
  const std::vector<const char*> words(argv, argv + argc);
  if (const auto done = mezz::BeforeFlags(Program(), kFlagGroups, flags, words)) return *done;
  gflags::ParseCommandLineFlags(&argc, &argv, /*remove_flags=*/true);
  if (argc > 2) {
    fmt::print(stderr, "mezz_replay: \"{}\" is not a flag; flags are spelt --name=value\n", argv[2]);
    return mezz::kExitRefused;
  }
  if (FLAGS_worker.empty()) TellRetired();
  int exit_status = 0;
  const mezz::Status status =
      FLAGS_worker.empty() ? Run(arguments, command_line, argc > 1 ? argv[1] : "", &exit_status) : RunWorker();
  if (!status.ok()) {
    // A worker's one error of its own is that its parent has gone.
    if (FLAGS_worker.empty()) fmt::print(stderr, "mezz_replay: {}\n", status.message());
    return mezz::kExitRefused;
  }
  return exit_status;
}

}  // namespace

int main(int argc, char** argv) {
  return mezz::RunMain("mezz_replay", argc, argv, {"json", "csv", "html"}, [&] { return Main(argc, argv); });
}
