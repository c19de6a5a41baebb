// SPDX-License-Identifier: Apache-2.0
#include "workloads/plan/build_curve.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cmath>
#include <functional>
#include <optional>
#include <vector>

#include "admission/curves/sampler.h"
#include "admission/curves/seed_run.h"
#include "cache/base/text.h"
#include "workloads/plan/distinct_count.h"
#include "workloads/plan/known_policies.h"
#include "workloads/readers/loaded_trace.h"
#include "workloads/requests/remarks.h"

namespace mezz::plan {
namespace {

constexpr size_t kGridSizes = 8;
constexpr uint64_t kLargestSizeMin = 64 << 10;
constexpr uint64_t kCheckEvery = 1 << 16;  // requests between two looks at the memory in use

// Of all requests.
struct TraceTotals {
  uint64_t requests = 0;
  uint64_t bytes = 0;         // as the requests tell them
  bool unknown_size = false;  // of a request: its block may have one by another
  std::array<uint64_t, kOperations> operations{};
  std::array<uint64_t, kBlockRoles> roles{};

  void Add(const Request& request, uint32_t block_bytes) {
    ++requests;
    bytes += request.value_bytes == 0 ? block_bytes : request.value_bytes;
    unknown_size = unknown_size || request.value_bytes == 0;
    ++operations[static_cast<size_t>(request.operation)];
    ++roles[static_cast<size_t>(request.role)];
  }
};

class Builder {
 public:
  Builder(RequestSource* source, const CurveOptions& options, CurvePlan plan, Curve* curve, Progress* progress)
      : source_(source), options_(options), plan_(std::move(plan)), curve_(curve), progress_(progress) {}

  Status Run() {
    MEZZ_RETURN_IF_ERROR(ReadTrace());
    MEZZ_RETURN_IF_ERROR(Judge());
    Describe();
    ChooseGrid();
    const size_t runs = Runs();
    const std::function<void()> on_point = TellOfPoints(runs * curve_->points.size());
    for (size_t seed = 0; seed < runs; ++seed) {
      Sampler& sampler = samplers_[std::min(seed, samplers_.size() - 1)];
      SeedRunOptions run{.name = source_->description(),
                         .miniature = plan_.miniature,
                         .warmup = options_.warmup,
                         .make = MakeKnownPoint,
                         .read_again = [this](const auto& each) { return ReadAgain(each); },
                         .on_point = on_point};
      // The share of the blocks that the sample has, not the one that its threshold should give it: so blocks that are
      // asked for once are counted right, and a tier as large as the footprint holds all of the sample.
      run.miniature.rate =
          sampler.rate() >= 1 ? 1 : static_cast<double>(sampler.blocks()) / static_cast<double>(curve_->sums.blocks);
      if (options_.exact) run.miniature.seed += seed;
      std::vector<SampleCounts> counts;
      if (events_) {
        MEZZ_RETURN_IF_ERROR(RunSeed(curve_->points, run, *events_, &counts));
      } else if (options_.exact && seed + 1 < runs) {
        Sampler again = sampler;  // whose log is taken
        MEZZ_RETURN_IF_ERROR(RunSeed(curve_->points, run, &again, &counts));
      } else {
        MEZZ_RETURN_IF_ERROR(RunSeed(curve_->points, run, &sampler, &counts));
      }
      for (size_t i = 0; i < curve_->points.size(); ++i)
        AddSeed(curve_->sums, run.miniature.rate, counts[i], &curve_->points[i]);
    }
    if (progress_ != nullptr) progress_->End();
    FinishSeeds(runs, curve_);
    Warn();
    return Status::Ok();
  }

 private:
  Status ReadTrace();
  Status LoadEvents();
  Status ReadAgain(const std::function<Status(uint64_t key)>& each);
  Status CheckMemory() const;
  Status Judge();
  void Describe();
  void ChooseGrid();
  void Warn();
  void WarnOfBand();
  void WarnOfSmallTiers();

  std::function<void()> TellOfPoints(size_t all) {
    if (progress_ == nullptr) return {};
    progress_->Phase(fmt::format("points of the curve of {}", source_->description()), /*announce=*/false, " points");
    return [this, all] { progress_->Update(++points_done_, all); };
  }
  uint64_t Blocks() const {
    const Sampler& sampler = samplers_.front();
    return sampler.rate() >= 1 ? sampler.blocks() : static_cast<uint64_t>(std::llround(keys_.Estimate()));
  }
  // Of the models. Where samples hold everything, they are all one.
  size_t Runs() const {
    if (options_.exact) return plan_.form.seeds;
    return curve_->exact() ? 1 : samplers_.size();
  }
  // Of all requests, each with the size of its block: the first that is not 0. Where all requests tell the same, they
  // are added up; else the sample says what a request has.
  uint64_t RequestBytes() {
    uint64_t bytes = 0, requests = 0, resized = 0;
    for (Sampler& sampler : samplers_) {
      bytes += sampler.request_bytes();
      requests += sampler.requests();
      resized += sampler.resized();
    }
    if (resized == 0 && !totals_.unknown_size) return totals_.bytes;
    const double mean = static_cast<double>(bytes) / static_cast<double>(requests);
    return static_cast<uint64_t>(std::llround(mean * static_cast<double>(totals_.requests)));
  }
  uint64_t Counted(uint64_t whole) const {
    return whole - static_cast<uint64_t>(static_cast<double>(whole) * options_.warmup);
  }

  RequestSource* const source_;
  const CurveOptions& options_;
  const CurvePlan plan_;
  Curve* const curve_;
  Progress* const progress_;
  size_t points_done_ = 0;
  TraceTotals totals_;
  DistinctCount keys_;
  std::vector<Sampler> samplers_;
  uint64_t resized_ = 0;               // keys of changing size, of the sample that has the most
  std::optional<LoadedTrace> events_;  // all of the trace, if it has any
};

Status Builder::ReadTrace() {
  const uint32_t seeds = options_.exact ? 1 : plan_.form.seeds;
  for (uint32_t i = 0; i < seeds; ++i) {
    samplers_.emplace_back(Sampler::Options{.rate_max = options_.exact ? 1 : options_.rate,
                                            .blocks_max = options_.exact ? UINT32_MAX : options_.blocks_max,
                                            .log_max = options_.exact ? UINT32_MAX : options_.log_max,
                                            .block_bytes = options_.block_bytes,
                                            .seed = options_.seed + i});
  }
  bool has_events = false;
  for (Request request; source_->Next(&request);) {
    totals_.Add(request, options_.block_bytes);
    has_events = has_events || !source_->events().empty();
    if (!options_.exact) keys_.Add(request.key);
    for (Sampler& sampler : samplers_) {
      if (sampler.Keeps(request.key)) sampler.Add(request.key, request.role, request.value_bytes);
    }
    if (options_.exact && totals_.requests % kCheckEvery == 0) MEZZ_RETURN_IF_ERROR(CheckMemory());
  }
  MEZZ_RETURN_IF_ERROR(source_->status());
  if (totals_.requests == 0)
    return Status::InvalidArgument(fmt::format("trace {} holds no requests", source_->description()));
  return has_events ? LoadEvents() : Status::Ok();
}

Status Builder::LoadEvents() {
  if (!options_.exact) {
    return Status::InvalidArgument(
        fmt::format("trace {} names the parents of blocks, and a sample would lack most of them; use --exact",
                    source_->description()));
  }
  MEZZ_RETURN_IF_ERROR(source_->Rewind());
  const LoadOptions options{.unit_bytes = options_.block_bytes, .memory_bytes_max = options_.memory_bytes};
  return LoadedTrace::Load(source_, options, &events_.emplace());
}

Status Builder::ReadAgain(const std::function<Status(uint64_t key)>& each) {
  MEZZ_RETURN_IF_ERROR(source_->Rewind());
  for (Request request; source_->Next(&request);) MEZZ_RETURN_IF_ERROR(each(request.key));
  return source_->status();
}

Status Builder::CheckMemory() const {
  const uint64_t copies = plan_.form.seeds > 1 ? 2 : 1;
  if (copies * samplers_.front().memory_bytes() <= options_.memory_bytes) return Status::Ok();
  return Status::NoSpace(fmt::format(
      "trace {} needs more than the {} MiB of --memory with --exact: {} blocks after {} requests; raise it, "
      "or leave --exact out",
      source_->description(), options_.memory_bytes >> 20, samplers_.front().blocks(), totals_.requests));
}

Status Builder::Judge() {
  uint64_t requests = 0;
  uint64_t blocks = 0;
  for (Sampler& sampler : samplers_) {
    requests += sampler.requests();
    blocks += sampler.blocks();
    if (sampler.rate() >= 1 || sampler.blocks() >= kSampleBlocksMin) continue;
    const double rate =
        sampler.blocks() == 0 ? 1 : std::min(1.0, sampler.rate() * options_.blocks_max / sampler.blocks());
    return Status::InvalidArgument(fmt::format(
        "trace {} is too short for --rate={} and --blocks={}: the sample has {} blocks, and {} are the "
        "least; use --rate={:.2g}, or --exact",
        source_->description(), options_.rate, options_.blocks_max, sampler.blocks(), kSampleBlocksMin, rate));
  }
  if (requests > blocks || events_) return Status::Ok();
  return Status::InvalidArgument(
      fmt::format("trace {} asks for each of its {} blocks once: there is no reuse, so no cache helps",
                  source_->description(), Blocks()));
}

void Builder::Describe() {
  CurveSums& sums = curve_->sums;
  sums = {.hosts = 1,
          .requests = totals_.requests,
          .counted_requests = Counted(totals_.requests),
          .counted_bytes = Counted(RequestBytes()),
          .damaged_records = source_->skipped(),
          .operations = totals_.operations};
  for (size_t role = 0; role < kBlockRoles; ++role) sums.role_requests[role] = Counted(totals_.roles[role]);
  curve_->rate_min = 1;
  uint64_t sampled_bytes = 0;
  for (Sampler& sampler : samplers_) {
    sums.sampled_blocks += sampler.blocks();
    sampled_bytes += sampler.footprint_bytes();
    resized_ = std::max(resized_, sampler.resized());  // now: a sampler whose log is taken knows nothing
    curve_->rate_min = std::min(curve_->rate_min, sampler.rate());
  }
  sums.blocks = Blocks();
  const double mean = static_cast<double>(sampled_bytes) / static_cast<double>(sums.sampled_blocks);
  sums.footprint_bytes = static_cast<uint64_t>(std::llround(mean * static_cast<double>(sums.blocks)));
  curve_->traces = {source_->description()};
}

void Builder::ChooseGrid() {
  CurveForm& form = curve_->form;
  form = plan_.form;
  const uint64_t largest = std::bit_ceil(std::max<uint64_t>(curve_->sums.footprint_bytes, kLargestSizeMin));
  for (std::vector<uint64_t>* axis : {&form.dram, &form.scm}) {
    if (!axis->empty()) continue;
    const bool adds_none = axis == &form.scm && form.dram.front() != 0;
    if (adds_none) axis->push_back(0);  // DRAM alone: what SCM is compared with
    for (size_t i = kGridSizes; i-- > 0;) axis->push_back(largest >> i);
  }
  for (const uint64_t dram : form.dram) {
    for (const uint64_t scm : form.scm) curve_->points.push_back({.dram_bytes = dram, .scm_bytes = scm});
  }
}

void Builder::WarnOfBand() {
  double widest = 0;
  const CurvePoint* where = nullptr;
  for (const CurvePoint& point : curve_->points) {
    const double band = curve_->Shares(point).both.band;
    if (band <= widest) continue;
    widest = band;
    where = &point;
  }
  if (widest <= kBandTarget) return;
  const double wanted = curve_->rate_min * std::pow(widest / kBandTarget, 2);
  const std::string remedy =
      wanted >= 1 ? "--exact" : fmt::format("--blocks={:.0f}", wanted * static_cast<double>(curve_->sums.blocks));
  curve_->warnings.push_back(fmt::format(
      "trace {} is too short or too skewed for a rate of {:.2g}: at dram={} scm={} the hit ratio is known to "
      "+-{:.1f} points only; a rate of {:.2g} would do ({})",
      source_->description(), curve_->rate_min, HumanBytes(where->dram_bytes), HumanBytes(where->scm_bytes),
      100 * widest, std::min(1.0, wanted), remedy));
}

void Builder::WarnOfSmallTiers() {
  const double block =
      static_cast<double>(curve_->sums.footprint_bytes) / static_cast<double>(curve_->sums.blocks) / curve_->rate_min;
  for (const auto& [tier, axis] : {std::pair("dram", &curve_->form.dram), std::pair("scm", &curve_->form.scm)}) {
    const uint64_t smallest = axis->front() != 0 || axis->size() == 1 ? axis->front() : (*axis)[1];
    const double holds = static_cast<double>(smallest) / block;
    if (smallest == 0 || holds >= kTierBlocksMin) continue;
    curve_->warnings.push_back(
        fmt::format("trace {}: {}={} holds {:.0f} blocks of the sample at a rate of {:.2g}, so its figures are coarse; "
                    "--blocks={} would do, or sizes from {} on",
                    source_->description(), tier, HumanBytes(smallest), holds, curve_->rate_min,
                    static_cast<uint64_t>(std::ceil(options_.blocks_max * kTierBlocksMin / std::max(holds, 1e-3))),
                    HumanBytes(static_cast<uint64_t>(kTierBlocksMin * block))));
  }
}

void Builder::Warn() {
  if (!curve_->exact()) WarnOfBand();
  if (!curve_->exact()) WarnOfSmallTiers();
  for (const std::string& remark : source_->remarks())
    curve_->warnings.push_back(fmt::format("trace {}: {}", source_->description(), remark));
  if (source_->sample_rate() < 1) {
    curve_->warnings.push_back(fmt::format(
        "trace {}: bands leave out how the sample was drawn; plan this curve with --growth={:.6g} times what you want",
        source_->description(), 1 / source_->sample_rate()));
  }
  if (resized_ > 0) {
    curve_->warnings.push_back(fmt::format("trace {}: {}{}", source_->description(),
                                           curve_->exact() ? "" : "of the sample, ", SizesChangeRemark(resized_)));
  }
  std::ranges::sort(curve_->warnings);
}

}  // namespace

Status BuildCurve(RequestSource* source, const CurveOptions& options, Curve* curve, Progress* progress) {
  MEZZ_RETURN_IF_ERROR(options.Validate());
  CurvePlan plan;
  MEZZ_RETURN_IF_ERROR(MakeCurvePlan(options, &plan));
  Curve built;
  MEZZ_RETURN_IF_ERROR(Builder(source, options, std::move(plan), &built, progress).Run());
  *curve = std::move(built);
  return Status::Ok();
}

}  // namespace mezz::plan
