// SPDX-License-Identifier: Apache-2.0
#include "workloads/sim/runner.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <mutex>
#include <new>
#include <thread>

#include "workloads/readers/open_trace.h"
#include "workloads/requests/cut_extents.h"
#include "workloads/requests/tracked_source.h"
#include "workloads/sim/access_time.h"
#include "workloads/sim/opt.h"
#include "workloads/sim/references.h"
#include "workloads/sim/w_tinylfu.h"

namespace mezz::sim {
namespace {

constexpr size_t kPrefetchDistance = 12;  // accesses

double ThreadCpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

uint64_t CountMisses(std::string_view policy, const LoadedTrace& trace, const Charges& charges, uint64_t capacity,
                     uint64_t warmup) {
  const auto count = [&](auto cache) {
    const std::vector<BlockId>& accesses = trace.accesses();
    uint64_t misses = 0;
    for (size_t at = 0; at < accesses.size(); ++at) {
      if (at + kPrefetchDistance < accesses.size()) cache.Prefetch(accesses[at + kPrefetchDistance]);
      misses += !cache.Access(accesses[at]) & (at >= warmup);
    }
    return misses;
  };
  if (policy == "lru") return count(LruReference(trace.unique(), capacity, charges));
  if (policy == "clock") return count(ClockReference(trace.unique(), capacity, charges));
  if (policy == "w_tinylfu") return count(WTinyLfuReference(trace.unique(), capacity, charges));
  return count(S3FifoReference(trace.unique(), capacity, charges, /*fills_main=*/policy == "s3_fifo_lib"));
}

uint64_t CountOptMisses(const std::vector<uint32_t>& next_uses, uint64_t capacity, uint64_t warmup) {
  OptReference opt(next_uses, capacity);
  uint64_t misses = 0;
  for (uint32_t at = 0; at < next_uses.size(); ++at) misses += !opt.AccessAt(at) & (at >= warmup);
  return misses;
}

// One row to compute; reads what all share.
class Job {
 public:
  Job(const LoadedTrace& trace, const SimOptions& options, const std::vector<uint32_t>& next_uses)
      : trace_(trace), options_(options), next_uses_(next_uses) {}

  Status Run(SimRow* row) const {
    const double start = ThreadCpuSeconds();
    try {
      const bool by_policy =
          !row->single_tier && row->alternative.value_or(Alternative::kInlineMemory) == Alternative::kInlineMemory;
      MEZZ_RETURN_IF_ERROR(row->single_tier ? RunReference(row) : by_policy ? RunPolicy(row) : RunOther(row));
    } catch (const std::bad_alloc&) {
      return Status::NoSpace(fmt::format("no memory to run {} on trace {}; use fewer --threads or a smaller --sample",
                                         row->policy, row->trace));
    }
    row->cpu_seconds = ThreadCpuSeconds() - start;
    const double bytes = options_.sizes == Sizes::kUnit ? options_.unit_bytes : trace_.mean_access_bytes();
    const AccessCosts optane100 = CostsUnder(MediumModelName::kOptane100, *row, bytes);
    const AccessCosts cxl = CostsUnder(MediumModelName::kCxl, *row, bytes);
    row->optane100_ns = MeanAccessNs(optane100, row->counts);
    row->cxl_ns = MeanAccessNs(cxl, row->counts);
    if (row->has_levels()) row->ordered_ns = MeanAccessNs(cxl, optane100, row->counts);
    return Status::Ok();
  }

 private:
  AccessCosts CostsUnder(MediumModelName name, const SimRow& row, double block_bytes) const {
    const MediumModel& model = GetMediumModel(name);
    const SimCounts& counts = row.counts;
    if (row.alternative) {
      const auto written = static_cast<double>(counts.scm_written_units);
      const auto writes = static_cast<double>(std::max<uint64_t>(1, counts.scm_writes()));
      return AlternativeCostsOf(*row.alternative, model, block_bytes, written / writes, options_.flash_us);
    }
    AccessCosts costs = CostsOf(model, block_bytes, options_.flash_us);
    if (const auto codec = CodecOf(options_.pack)) {
      const double packed_bytes = static_cast<double>(counts.packed_bytes);
      const auto records = static_cast<double>(std::max<uint64_t>(1, counts.packed_writes));
      AddPackedCosts(model, block_bytes, *codec, packed_bytes / records, &costs);
    }
    return costs;
  }

  Status RunReference(SimRow* row) const {
    const auto warmup = static_cast<uint64_t>(static_cast<double>(trace_.accesses().size()) * options_.warmup);
    row->counts.accesses = trace_.accesses().size() - warmup;
    const auto count = options_.sizes == Sizes::kUnit ? &CountReferenceMisses : &CountSizedReferenceMisses;
    row->counts.misses = count(row->policy, trace_, row->capacity.total, warmup, next_uses_);
    row->counts.dram_hits = row->counts.accesses - row->counts.misses;
    return Status::Ok();
  }

  Status RunPolicy(SimRow* row) const {
    SimClock clock;
    const uint64_t unit = options_.sizes == Sizes::kUnit ? options_.unit_bytes : 1;
    uint64_t scm_block_bytes = row->capacity.scm * unit;
    const TwoTierOptions run = row->alternative
                                   ? MakeInlineMemoryOptions(trace_, options_, row->capacity, &scm_block_bytes)
                                   : MakeTwoTierOptions(trace_, options_, row->capacity);
    const PolicyOptions policy_options{
        .dram_bytes = row->capacity.dram * unit,
        .scm_bytes = scm_block_bytes,
        .block_bytes = options_.sizes == Sizes::kUnit
                           ? options_.unit_bytes
                           : static_cast<uint32_t>(trace_.footprint_bytes() / trace_.unique()),
        .now_ns = [&clock] { return clock.now_ns; },
        .seed = options_.seed,
        .packs = run.pack.has_value()};
    std::unique_ptr<Policy> policy;
    MEZZ_RETURN_IF_ERROR(MakePolicy(row->alternative ? "adaptive" : row->policy, policy_options, &policy));
    std::vector<std::string> violations;
    row->counts = RunTwoTier(trace_, run, policy.get(), &clock, &violations);
    row->policy_dram_bytes = policy->dram_bytes();
    row->scm_unit_bytes = run.record_units.empty() ? options_.unit_bytes : 1;
    return Judge(*row, violations);
  }

  Status RunOther(SimRow* row) const {
    const AlternativeOptions run = MakeAlternativeOptions(trace_, options_, row->capacity, *row->alternative);
    std::vector<std::string> violations;
    row->counts = RunAlternative(*row->alternative, trace_, run, &violations);
    row->scm_unit_bytes = run.second_charges.empty() && run.dram_charges.empty() ? options_.unit_bytes : 1;
    return Judge(*row, violations);
  }

  static Status Judge(const SimRow& row, const std::vector<std::string>& violations) {
    if (violations.empty()) return Status::Ok();
    return Status::IoError(fmt::format("the simulator contradicts itself ({} on trace {} at {}): {}", row.policy,
                                       row.trace, row.total, violations.front()));
  }

  const LoadedTrace& trace_;
  const SimOptions& options_;
  const std::vector<uint32_t>& next_uses_;
};

Status CheckOptFits(const LoadedTrace& trace, const SimOptions& options) {
  const uint64_t needed = OptMemoryBytes(trace.accesses().size(), trace.unique());
  if (needed <= options.memory_bytes && trace.accesses().size() < kNever) return Status::Ok();
  return Status::NoSpace(fmt::format(
      "policy opt needs {} MiB for the {} accesses of trace {}, more than the {} MiB of --memory; leave it "
      "out, or run a sample of the blocks, such as --sample={:.3g}",
      needed >> 20, trace.accesses().size(), trace.name(), options.memory_bytes >> 20, options.sample / 100));
}

// A row at a time, whichever thread has finished it.
class RowProgress {
 public:
  RowProgress(Progress* progress, const LoadedTrace& trace, size_t rows)
      : progress_(progress), accesses_(trace.accesses().size()), all_(rows * accesses_) {
    if (progress_ != nullptr)
      progress_->Phase(fmt::format("running {}", trace.name()), /*announce=*/false, " accesses");
  }
  ~RowProgress() {
    if (progress_ != nullptr) progress_->End();
  }
  RowProgress(const RowProgress&) = delete;
  RowProgress& operator=(const RowProgress&) = delete;

  void RowIsDone() {
    if (progress_ == nullptr) return;
    const std::lock_guard lock(mutex_);
    done_ += accesses_;
    progress_->Update(done_, all_);
  }

 private:
  Progress* const progress_;  // guarded by mutex_, as done_
  const uint64_t accesses_;   // of a row
  const uint64_t all_;
  std::mutex mutex_;
  uint64_t done_ = 0;
};

Status RunAll(std::vector<SimRow>* rows, const Job& job, unsigned threads, RowProgress* progress) {
  std::vector<Status> statuses(rows->size());
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < rows->size();) {
      statuses[i] = job.Run(&(*rows)[i]);
      progress->RowIsDone();
    }
  };
  std::vector<std::thread> helpers;
  for (unsigned i = 1; i < threads && i < rows->size(); ++i) helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
  for (Status& status : statuses) MEZZ_RETURN_IF_ERROR(std::move(status));
  return Status::Ok();
}

Status LoadFile(const std::string& path, const SimOptions& options, Progress* progress, LoadedTrace* trace) {
  std::unique_ptr<RequestSource> source;
  MEZZ_RETURN_IF_ERROR(OpenTrace(path, OpenOptions{.format = options.format, .skip_bad = options.skip_bad}, &source));
  source = CutExtents(TrackProgress(std::move(source), progress), options.unit_bytes);
  const LoadOptions load{.unit_bytes = options.unit_bytes,
                         .sample = options.sample,
                         .seed = options.seed,
                         .memory_bytes_max = options.memory_bytes};
  return LoadedTrace::Load(source.get(), load, trace);
}

// `*remarks`: of rows below the bound, which say nothing of the way to it.
void FillGapClosed(std::vector<SimRow>* rows, std::vector<std::string>* remarks) {
  for (SimRow& row : *rows) {
    const SimRow* lru = nullptr;
    const SimRow* opt = nullptr;
    for (const SimRow& other : *rows) {
      if (other.total != row.total) continue;
      if (other.policy == "lru") lru = &other;
      if (other.policy == "opt") opt = &other;
    }
    if (opt != nullptr && row.counts.misses < opt->counts.misses) {
      remarks->push_back(fmt::format(
          "{} at --total={} holds more than the total, which opt is kept to: it packs, or a shard of its DRAM "
          "keeps a block larger than itself",
          row.policy, row.total));
      continue;
    }
    if (lru != nullptr && opt != nullptr && lru->counts.misses > opt->counts.misses)
      row.gap_closed = (lru->miss() - row.miss()) / (lru->miss() - opt->miss());
  }
}

}  // namespace

uint64_t CountReferenceMisses(std::string_view policy, const LoadedTrace& trace, uint64_t capacity, uint64_t warmup,
                              const std::vector<uint32_t>& next_uses) {
  return policy == "opt" ? CountOptMisses(next_uses, capacity, warmup)
                         : CountMisses(policy, trace, kOneEach, capacity, warmup);
}

uint64_t CountSizedReferenceMisses(std::string_view policy, const LoadedTrace& trace, uint64_t capacity,
                                   uint64_t warmup, const std::vector<uint32_t>& next_uses) {
  if (policy == "opt") return PfooLowerMisses(trace, next_uses, capacity, warmup);
  std::vector<uint32_t> bytes(trace.unique());
  for (BlockId block = 0; block < trace.unique(); ++block) bytes[block] = trace.bytes(block);
  return CountMisses(policy, trace, Charges(std::move(bytes)), capacity, warmup);
}

Status JudgeTrace(const LoadedTrace& trace, const SimOptions& options) {
  for (const Total& total : options.totals) {
    Capacity capacity;
    MEZZ_RETURN_IF_ERROR(PlanCapacity(trace, options, total, &capacity));
  }
  const bool runs_opt = std::ranges::find(options.policies, "opt") != options.policies.end();
  return runs_opt ? CheckOptFits(trace, options) : Status::Ok();
}

Status RunTrace(const LoadedTrace& trace, const SimOptions& options, SimReport* report, Progress* progress) {
  MEZZ_RETURN_IF_ERROR(JudgeTrace(trace, options));
  std::vector<SimRow> rows;
  const bool unit = options.sizes == Sizes::kUnit;
  std::vector<std::string> remarks = trace.remarks();
  for (const Total& total : options.totals) {
    Capacity capacity;
    MEZZ_RETURN_IF_ERROR(PlanCapacity(trace, options, total, &capacity));
    if (capacity.exact && !unit)
      remarks.push_back(fmt::format(
          "--total={}: no live SCM tier is so small; this one has no segments' headers and no reserve", total.text));
    const double footprint = unit ? trace.unique() : static_cast<double>(trace.footprint_bytes());
    for (const std::string& policy : options.policies) {
      rows.push_back({.trace = trace.name(),
                      .policy = policy,
                      .total = total.text,
                      .capacity = capacity,
                      .share = static_cast<double>(capacity.total) / footprint,
                      .single_tier = IsReference(policy),
                      .alternative = AlternativeOf(policy)});
    }
  }
  std::vector<uint32_t> next_uses;
  if (std::ranges::find(options.policies, "opt") != options.policies.end())
    next_uses = NextUses(trace.accesses(), trace.unique());
  const unsigned threads = options.threads != 0 ? options.threads : std::max(1u, std::thread::hardware_concurrency());
  {
    RowProgress done(progress, trace, rows.size());
    MEZZ_RETURN_IF_ERROR(RunAll(&rows, Job(trace, options, next_uses), threads, &done));
  }
  FillGapClosed(&rows, &remarks);
  report->traces.push_back({.trace = trace.name(),
                            .accesses = trace.accesses().size(),
                            .unique = trace.unique(),
                            .footprint_bytes = trace.footprint_bytes(),
                            .mean_access_bytes = unit ? options.unit_bytes : trace.mean_access_bytes(),
                            .has_time = trace.has_time(),
                            .damaged_records = trace.damaged_records(),
                            .remarks = std::move(remarks)});
  report->rows.insert(report->rows.end(), rows.begin(), rows.end());
  return Status::Ok();
}

Status RunSim(const SimOptions& options, SimReport* report, Progress* progress) {
  MEZZ_RETURN_IF_ERROR(options.Validate());
  // With several traces, all are judged before the first is run: reading one is quick beside running it.
  for (const bool judge : {true, false}) {
    if (judge && options.traces.size() == 1) continue;
    for (const std::string& path : options.traces) {
      LoadedTrace trace;
      MEZZ_RETURN_IF_ERROR(LoadFile(path, options, progress, &trace));
      MEZZ_RETURN_IF_ERROR(judge ? JudgeTrace(trace, options) : RunTrace(trace, options, report, progress));
    }
  }
  return Status::Ok();
}

}  // namespace mezz::sim
