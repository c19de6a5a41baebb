// SPDX-License-Identifier: Apache-2.0
#include "workloads/plan/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "cache/base/read_file.h"
#include "workloads/sim/access_time.h"

namespace mezz::plan {
namespace {

using nlohmann::json;

constexpr size_t kTerms = 3;  // base, SCM hits, misses
using Terms = std::array<double, kTerms>;

// One window of one cache.
struct Sample {
  double scm_hits = 0;  // for an operation
  double misses = 0;
  double reads = 0;     // of flash: fewer than misses where a scan reads ahead and the device counts what it is asked
  double own_ns = 0;    // of an operation, beside the waits for flash: what a core works, or the time that is left
  double ns = 0;        // of a thread
  double known_to = 0;  // errors of own_ns are a share of this: of itself, or of the time it is what is left of
};

double Number(const json& row, const char* key) {
  const auto at = row.find(key);
  return at != row.end() && at->is_number() ? at->get<double>() : 0;
}

double MissesOf(const json& row) { return Number(row, "flash_reads_per_op") + Number(row, "read_ahead_per_op"); }

// Reads for an operation. Beside those of single blocks an emulated device also counts those that read ahead.
double ReadsOf(const json& window) {
  const double misses = MissesOf(window), ops = Number(window, "ops");
  if (Number(window, "read_ahead_per_op") == 0 || ops == 0) return misses;
  const double device = Number(window.value("flash", json::object()), "reads") / ops;
  return device > 0 ? std::min(misses, device) : misses;
}

// Look-ups for an operation: from the misses, or from the roles where nothing missed.
double LookupsOf(const json& row) {
  const double ops = Number(row, "ops");
  double lookups = 0;
  if (const auto roles = row.find("roles"); roles != row.end()) {
    for (const auto& role : *roles) lookups += Number(role, "lookups");
  }
  if (lookups > 0 && ops > 0) return lookups / ops;
  const double miss = 1 - Number(row, "dram_hit") - Number(row, "scm_hit");
  return miss > 0.01 ? MissesOf(row) / miss : 0;
}

// Solves the normal equations for the terms in use; the others stay 0. False if rows do not tell them apart.
bool Solve(const std::vector<Sample>& samples, const std::array<bool, kTerms>& used, Terms* fitted, Terms* variance) {
  double a[kTerms][2 * kTerms + 1] = {};
  for (const Sample& sample : samples) {
    const double x[kTerms] = {1, sample.scm_hits, sample.misses};
    // Relative errors count alike: a row of 30 us would drown one of 2.
    const double weight = 1 / (sample.known_to * sample.known_to);
    for (size_t i = 0; i < kTerms; ++i) {
      for (size_t j = 0; j < kTerms; ++j) a[i][j] += used[i] && used[j] ? weight * x[i] * x[j] : 0;
      a[i][2 * kTerms] += used[i] ? weight * x[i] * sample.own_ns : 0;
    }
  }
  for (size_t i = 0; i < kTerms; ++i) {
    if (!used[i]) a[i][i] = 1;
    a[i][kTerms + i] = 1;
  }
  for (size_t i = 0; i < kTerms; ++i) {
    const double before = std::abs(a[i][i]);
    if (before == 0) return false;
    const double pivot = a[i][i];
    for (double& cell : a[i]) cell /= pivot;
    for (size_t j = 0; j < kTerms; ++j) {
      if (j == i) continue;
      const double diagonal = std::abs(a[j][j]);
      const double factor = a[j][i];
      for (size_t k = 0; k < 2 * kTerms + 1; ++k) a[j][k] -= factor * a[i][k];
      if (j > i && std::abs(a[j][j]) < 1e-9 * diagonal) return false;
    }
  }
  for (size_t i = 0; i < kTerms; ++i) {
    (*fitted)[i] = used[i] ? a[i][2 * kTerms] : 0;
    (*variance)[i] = used[i] ? a[i][kTerms + i] : 0;
  }
  return true;
}

// Least squares without negative coefficients: with three terms, those that come out negative are left out in turn.
bool Fit(const std::vector<Sample>& samples, std::array<bool, kTerms>* used, Terms* fitted, Terms* variance) {
  for (;;) {
    if (!Solve(samples, *used, fitted, variance)) return false;
    const auto worst = std::min_element(fitted->begin(), fitted->end());
    if (*worst >= 0) return true;
    (*used)[static_cast<size_t>(worst - fitted->begin())] = false;
  }
}

Status Refused(const std::string& path, const std::string& why) {
  return Status::InvalidArgument(fmt::format("{}: {}", path, why));
}

// Caches that work as the planner has it: a stock cache in DRAM, or ours over SCM, however a database that is written
// to warms it. Peers unpack, copy or count otherwise.
bool IsModelled(const std::string& cache) {
  static constexpr std::array<std::string_view, 3> kWarmings = {"+warm", "+warmflush", "+nowarm"};
  std::string_view name = std::string_view(cache).substr(0, cache.find('@'));
  for (const std::string_view warming : kWarmings) {
    if (name.ends_with(warming)) name.remove_suffix(warming.size());
  }
  static constexpr std::array<std::string_view, 7> kModelled = {"hcc",          "auto_hcc", "lru",       "all_dram",
                                                                "all_dram_lru", "hybrid",   "hybrid+raw"};
  return std::find(kModelled.begin(), kModelled.end(), name) != kModelled.end();
}

std::vector<Sample> SamplesOf(const json& result, double threads, double emulated_flash_ns, double* lookups) {
  std::vector<Sample> samples;
  double sum = 0;
  unsigned counted = 0;
  for (const json& row : result["rows"]) {
    if (!row.value("available", false) || !IsModelled(row.value("cache", ""))) continue;
    const double known = LookupsOf(row);
    sum += known;
    counted += known > 0 ? 1 : 0;
    const double per_op = known > 0 ? known : 1;
    for (const json& window : row.value("windows", json::array())) {
      Sample sample{.scm_hits = per_op * Number(window, "scm_hit"),
                    .misses = MissesOf(window),
                    .reads = ReadsOf(window),
                    .own_ns = Number(window, "cpu_s_per_mop") * 1e3,
                    .ns = Number(window, "ops_per_s") > 0 ? threads * 1e9 / Number(window, "ops_per_s") : 0};
      // Beside an emulated device the processors also emulate it, while the thread waits for it anyway.
      if (emulated_flash_ns > 0) sample.own_ns = sample.ns - sample.reads * emulated_flash_ns;
      sample.known_to = emulated_flash_ns > 0 ? sample.ns : sample.own_ns;
      if (sample.own_ns > 0) samples.push_back(sample);
    }
  }
  *lookups = counted > 0 ? sum / counted : 1;
  return samples;
}

bool Varies(const std::vector<Sample>& samples, double Sample::*what) {
  constexpr double kLeast = 0.02;  // a term seen less often than once in fifty operations is lost in the noise
  const auto [low, high] = std::minmax_element(samples.begin(), samples.end(),
                                               [&](const Sample& a, const Sample& b) { return a.*what < b.*what; });
  return !samples.empty() && (*high).*what - (*low).*what >= kLeast;
}

// Mean of the squared relative errors.
double Unexplained(const std::vector<Sample>& samples, const Terms& fitted) {
  double sum = 0;
  for (const Sample& s : samples) {
    const double said = fitted[0] + fitted[1] * s.scm_hits + fitted[2] * s.misses;
    sum += std::pow((said - s.own_ns) / s.known_to, 2);
  }
  return sum / static_cast<double>(samples.size());
}

// The emulated medium's own part of a hit: what the emulation had threads wait beyond the host's memory.
double ModelledNs(const json& result) {
  MediumModel medium{};
  const std::string model = result.value("model", "none");
  if (model == "none" || !ParseScmModel(model, &medium).ok()) return 0;
  return sim::CostsOf(medium, std::max(1.0, Number(result, "mean_block_bytes")), 0).scm_hit_ns;
}

// The mean latency of the emulated flash, if nothing but its reads kept threads waiting; else 0.
double EmulatedFlashNs(const json& result, bool closed, double threads) {
  const json flash = result.value("flash", json::object());
  const bool cores_for_all = threads <= Number(result.value("host", json::object()), "cores");
  return closed && cores_for_all && flash.value("emulated", false) ? 1e3 * Number(flash, "mean_latency_us") : 0;
}

Bracket Around(double value, double sigma, double rms) {
  const double off = std::max(1.96 * sigma, rms * value);
  // A time of nothing is nothing that a machine can do.
  return {.low = std::max(value / 10, value - off), .value = value, .high = value + off};
}

double ReadsPerMiss(const std::vector<Sample>& samples) {
  double reads = 0, misses = 0;
  for (const Sample& s : samples) {
    reads += s.reads;
    misses += s.misses;
  }
  return misses > 0 ? reads / misses : 1;
}

// What a thread waits for one miss, where misses make most of the time.
Bracket WaitOf(const std::vector<Sample>& samples) {
  std::vector<double> waits;
  for (const Sample& s : samples) {
    if (s.misses > 0.1 && s.ns > s.own_ns) waits.push_back((s.ns - s.own_ns) / s.misses);
  }
  if (waits.empty()) return {};
  std::sort(waits.begin(), waits.end());
  return {.low = waits.front(), .value = waits[waits.size() / 2], .high = waits.back()};
}

// From the row of DRAM alone that reads the least flash, if next to none of its operations do. Percentiles up to P95
// are asked of the model, so up to there the lognormal goes through what was measured.
double BaseSigmaOf(const json& result) {
  constexpr double kReadsMax = 0.01;
  constexpr double kP95 = 1.6449;  // of the normal distribution
  double least = kReadsMax, sigma = 0;
  for (const json& row : result["rows"]) {
    const json latency = row.value("latency_us", json::object());
    const double p50 = Number(latency, "p50"), p95 = Number(latency, "p95");
    if (!row.value("available", false) || !IsModelled(row.value("cache", "")) || Number(row, "scm_hit") > 0) continue;
    if (MissesOf(row) >= least || p50 <= 0 || p95 < p50) continue;
    least = MissesOf(row);
    sigma = std::log(p95 / p50) / kP95;
  }
  return sigma;
}

Status CheckResult(const json& result, const std::string& path) {
  if (!result.is_object() || result.value("program", "") != "mezz_replay" || !result.contains("rows"))
    return Refused(path, "this is no result of mezz_replay (--json=FILE)");
  if (result.value("asserts", false))
    return Refused(path, "measured with a debug build, whose times mean nothing; use a release build of mezz_replay");
  return Status::Ok();
}

}  // namespace

Status Calibrate(const json& result, const std::string& path, Calibration* calibration) {
  MEZZ_RETURN_IF_ERROR(CheckResult(result, path));
  const json options = result.value("options", json::object());
  const double threads = std::max(1.0, Number(options, "threads"));
  const bool closed = Number(options, "rate") == 0 && Number(options, "timestamps") == 0;
  const std::vector<Sample> samples =
      SamplesOf(result, threads, EmulatedFlashNs(result, closed, threads), &calibration->lookups_per_operation);
  constexpr size_t kFewest = 3;
  if (samples.size() < kFewest)
    return Refused(
        path, fmt::format("{} windows are too few to fit from; use --repeats=3 and several caches", samples.size()));
  std::array<bool, kTerms> used = {true, Varies(samples, &Sample::scm_hits), Varies(samples, &Sample::misses)};
  if (!used[1] && !used[2])
    return Refused(path,
                   "its caches find the same blocks in the same places, so their costs cannot be told apart; replay "
                   "--caches=hcc,hybrid,all_dram at sizes where flash is read");
  Terms fitted{}, variance{};
  if (!Fit(samples, &used, &fitted, &variance) || !used[0])
    return Refused(path, "SCM hits and flash reads go together in all its caches; add all_dram or another size");
  const double unexplained = Unexplained(samples, fitted);
  const double rms = std::sqrt(unexplained);
  const auto bracket = [&](size_t term, double less) {
    return Around(std::max(0.0, fitted[term] - less), std::sqrt(unexplained * variance[term]), rms);
  };
  calibration->reads_per_miss = ReadsPerMiss(samples);
  OperationCosts& costs = calibration->costs;
  costs = PresetCosts();
  costs.base = bracket(0, 0);
  if (used[1]) costs.scm_hit = bracket(1, ModelledNs(result));
  if (used[2]) costs.flash_read = bracket(2, 0);
  const bool emulated = result.value("flash", json::object()).value("emulated", false);
  if (closed && !emulated) costs.flash_wait = WaitOf(samples);
  if (closed) costs.base_sigma = BaseSigmaOf(result);
  costs.source = fmt::format("fitted to {}", path);
  const auto line = [](const char* name, const Bracket& b, bool told, const char* otherwise) {
    return fmt::format("{:<10} {:>9.0f} ns ({:.0f}-{:.0f}){}\n", name, b.value, b.low, b.high, told ? "" : otherwise);
  };
  static constexpr char kPreset[] = " preset: its caches do not show it";
  calibration->text = fmt::format("{} windows, {:.1f} % unexplained\n", samples.size(), 100 * rms);
  calibration->text += line("base", costs.base, true, "");
  calibration->text += line("scm_hit", costs.scm_hit, used[1], kPreset);
  calibration->text += line("flash_read", costs.flash_read, used[2], kPreset);
  calibration->text += line("flash_wait", costs.flash_wait, costs.flash_wait.value > 0, " the device's model has it");
  calibration->text += fmt::format("base_sigma {:>9.2f}{}\n", costs.base_sigma,
                                   costs.base_sigma > 0 ? "" : " no cache finds all blocks in DRAM: not known");
  calibration->text += fmt::format("look-ups for an operation {:.3f}\n", calibration->lookups_per_operation);
  if (calibration->reads_per_miss < 1)
    calibration->text +=
        fmt::format("reads of flash for a miss {:.3f}: scans read ahead\n", calibration->reads_per_miss);
  return Status::Ok();
}

namespace {

bool FromJson(const json& read, Bracket* b) {
  const auto number = [&](const char* key, double* value) {
    const auto at = read.find(key);
    if (at == read.end() || !at->is_number()) return false;
    *value = at->get<double>();
    return std::isfinite(*value) && *value >= 0;
  };
  return read.is_object() && number("low", &b->low) && number("value", &b->value) && number("high", &b->high) &&
         b->low <= b->value && b->value <= b->high;
}

}  // namespace

json CalibrationToJson(const Calibration& calibration) {
  const OperationCosts& costs = calibration.costs;
  return {{"calibration", 1},
          {"unit", "ns"},
          {"source", costs.source},
          {"base", ToJson(costs.base)},
          {"scm_hit", ToJson(costs.scm_hit)},
          {"flash_read", ToJson(costs.flash_read)},
          {"flash_wait", ToJson(costs.flash_wait)},
          {"base_sigma", costs.base_sigma},
          {"lookups_per_operation", calibration.lookups_per_operation},
          {"reads_per_miss", calibration.reads_per_miss}};
}

Status ReadCalibration(const std::string& path, Calibration* calibration) {
  std::string text;
  if (!ReadWholeFile(path, &text)) return Status::NotFound(fmt::format("--calibration={} cannot be read", path));
  const json read = json::parse(text, nullptr, /*allow_exceptions=*/false);
  OperationCosts& costs = calibration->costs;
  const auto refused = [&] {
    return Status::InvalidArgument(
        fmt::format("--calibration={} is none; `mezz_plan calibrate RESULT --out=FILE` writes one", path));
  };
  if (!read.is_object() || Number(read, "calibration") != 1) return refused();
  const std::pair<const char*, Bracket*> fields[] = {{"base", &costs.base},
                                                     {"scm_hit", &costs.scm_hit},
                                                     {"flash_read", &costs.flash_read},
                                                     {"flash_wait", &costs.flash_wait}};
  for (const auto& [key, bracket] : fields) {
    if (!read.contains(key) || !FromJson(read[key], bracket)) return refused();
  }
  calibration->lookups_per_operation = Number(read, "lookups_per_operation");
  calibration->reads_per_miss = read.contains("reads_per_miss") ? Number(read, "reads_per_miss") : 1;
  if (costs.base.low <= 0 || calibration->lookups_per_operation <= 0 || !(calibration->reads_per_miss > 0) ||
      calibration->reads_per_miss > 1) {
    return refused();
  }
  costs.base_sigma = Number(read, "base_sigma");
  if (costs.base_sigma < 0 || costs.base_sigma > 3) return refused();
  costs.source = read.value("source", path);
  return Status::Ok();
}

Status ChooseCalibration(const std::string& path, double lookups, Calibration* calibration) {
  *calibration = {};
  if (!path.empty()) MEZZ_RETURN_IF_ERROR(ReadCalibration(path, calibration));
  if (lookups > 0) calibration->lookups_per_operation = lookups;
  return Status::Ok();
}

}  // namespace mezz::plan
