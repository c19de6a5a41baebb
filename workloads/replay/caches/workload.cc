// SPDX-License-Identifier: Apache-2.0
#include "workloads/replay/caches/workload.h"

#define XXH_INLINE_ALL
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "workloads/generators/generators.h"
#include "workloads/generators/random.h"
#include "workloads/readers/open_trace.h"
#include "workloads/replay/caches/block_workload.h"
#include "workloads/replay/caches/database.h"
#include "workloads/requests/trace_clock.h"

namespace mezz {
namespace {

constexpr size_t kBatch = 512;

std::unique_ptr<RequestSource> MakeSource(const ReplayOptions& options, unsigned thread) {
  GeneratorOptions generator = options.generator_options(thread, options.threads);
  generator.ops = 0;
  std::unique_ptr<RequestSource> source;
  (void)MakeGenerator(generator, &source);  // ReplayOptions::Validate judged it
  return source;
}

class EndlessGeneratorFeed final : public RequestFeed {
 public:
  // The requests are every `step`th of all, from `first` on.
  EndlessGeneratorFeed(std::unique_ptr<RequestSource> source, uint64_t first, uint64_t step)
      : source_(std::move(source)), first_(first), ordinal_(first), step_(step) {
    batch_.resize(kBatch);
  }
  void BeginWindow() override { ordinal_ = first_; }
  std::span<const Request> Next() override {
    for (Request& request : batch_) {
      source_->Next(&request);
      request.time_us = ordinal_;
      ordinal_ += step_;
    }
    return batch_;
  }

 private:
  std::unique_ptr<RequestSource> source_;
  const uint64_t first_;
  uint64_t ordinal_;  // of the next request in its window
  const uint64_t step_;
  std::vector<Request> batch_;
};

class GeneratedWorkload final : public DatabaseWorkload {
 public:
  GeneratedWorkload(const ReplayOptions& options, ValueSizes sizes)
      : DatabaseWorkload(options), sizes_(std::move(sizes)) {
    for (unsigned thread = 0; thread < options.threads; ++thread) sources_.push_back(MakeSource(options, thread));
    window_.resize(options.threads);
  }

  nlohmann::json Identity() const override {
    nlohmann::json identity = {{"source", "generator"}, {"keys", options_.keys}, {"values", "fixed"}};
    if (options_.value_bytes == 0) {
      identity["values"] = options_.generator();
      identity["sizes_xxh3"] = fmt::format("{:016x}", HashOfSizes());
    }
    return identity;
  }
  std::string Description() const override { return sources_.front()->description(); }
  uint64_t distinct_keys() const override { return options_.keys; }
  uint64_t requests() const override { return options_.seconds > 0 ? 0 : options_.ops; }
  bool has_deletes() const override { return sources_.front()->deletes(); }
  uint64_t key(uint64_t index) const override { return index; }
  uint32_t InitialValueBytes(uint64_t key) const override {
    return options_.value_bytes > 0 ? options_.value_bytes : sizes_(key);
  }

  Status NextWindow(uint64_t requests) override {
    for (unsigned thread = 0; thread < options_.threads; ++thread) {
      const uint64_t share = requests / options_.threads + (thread < requests % options_.threads ? 1 : 0);
      window_[thread].resize(share);
      uint64_t ordinal = thread;
      for (Request& request : window_[thread]) {
        sources_[thread]->Next(&request);
        request.time_us = ordinal;
        ordinal += options_.threads;
      }
    }
    return Status::Ok();
  }

 private:
  // A model's files may say otherwise today than when a database was loaded by their name.
  uint64_t HashOfSizes() const {
    constexpr uint64_t kSample = 4096;
    uint64_t hash = 0;
    for (uint64_t i = 0; i < kSample; ++i) {
      const uint32_t bytes = sizes_(i * std::max<uint64_t>(options_.keys / kSample, 1) % options_.keys);
      hash = XXH3_64bits_withSeed(&bytes, sizeof(bytes), hash);
    }
    return hash;
  }

  const ValueSizes sizes_;
  std::vector<std::unique_ptr<RequestSource>> sources_;
};

class TraceWorkload final : public DatabaseWorkload {
 public:
  TraceWorkload(const ReplayOptions& options, std::unique_ptr<RequestSource> source)
      : DatabaseWorkload(options), source_(std::move(source)) {
    window_.resize(options.threads);
  }

  // Reads the trace whole: its length, its keys, and a hash that tells it from others.
  Status Scan(Progress* progress) {
    progress->Phase(fmt::format("reading {}", options_.trace));
    const uint64_t limit = options_.ops == 0 ? std::numeric_limits<uint64_t>::max() : options_.ops;
    size_t compact_at = 1 << 22;
    TraceClock clock;
    Request request;
    bool in_batch = false;
    while ((requests_ < limit || in_batch) && source_->Next(&request)) {
      ++requests_;
      in_batch = request.batch_goes_on();
      has_times_ |= request.time_us != 0;
      clock.Add(request.time_us);
      has_deletes_ |= request.operation == Operation::kDelete;
      hash_ = XXH3_64bits_withSeed(&request.key, sizeof(request.key), hash_);
      keys_.push_back(request.key);
      if (keys_.size() >= compact_at) {
        KeepDistinct();
        compact_at = std::max<size_t>(1 << 22, 2 * keys_.size());
      }
      if (requests_ % 65536 == 0) progress->Update(requests_, source_->size_hint());
    }
    MEZZ_RETURN_IF_ERROR(source_->status());
    if (requests_ == 0) return Status::InvalidArgument(fmt::format("trace {}: it holds no requests", options_.trace));
    if (options_.timestamps > 0 && !has_times_) {
      return Status::InvalidArgument(
          fmt::format("--timestamps={}: trace {} has no times; use --rate", options_.timestamps, options_.trace));
    }
    KeepDistinct();
    skipped_ = source_->skipped();
    remarks_ = source_->remarks();
    MEZZ_RETURN_IF_ERROR(source_->Rewind());
    if (options_.timestamps > 0) source_ = SpreadTimes(std::move(source_), clock.tick_us());
    return Status::Ok();
  }

  nlohmann::json Identity() const override {
    return {
        {"source", "trace"}, {"requests", requests_}, {"keys", keys_.size()}, {"xxh3", fmt::format("{:016x}", hash_)}};
  }
  std::string Description() const override {
    std::string text = fmt::format("{}: {} requests, {} keys{}", source_->description(), requests_, keys_.size(),
                                   skipped_ == 0 ? "" : fmt::format(", {} damaged left out", skipped_));
    for (const std::string& remark : remarks_) text += "; " + remark;
    return text;
  }
  uint64_t distinct_keys() const override { return keys_.size(); }
  uint64_t requests() const override { return requests_; }
  uint64_t key(uint64_t index) const override { return keys_[index]; }
  uint32_t InitialValueBytes(uint64_t) const override { return options_.value_bytes; }
  bool has_deletes() const override { return has_deletes_; }
  uint64_t window_first_time_us() const override { return first_time_us_; }

  Status NextWindow(uint64_t requests) override {
    for (std::vector<Request>& share : window_) share.clear();
    // What the last window took beyond its end, so as not to cut a batch, this one lacks.
    window_end_ = std::min(window_end_ + requests, requests_);
    Request request;
    bool in_batch = false;
    size_t thread = 0;
    for (uint64_t i = 0; (taken_ < window_end_ || in_batch) && source_->Next(&request); ++i, ++taken_) {
      if (!in_batch) thread = Mix64(request.key) % options_.threads;
      in_batch = request.batch_goes_on();
      if (i == 0) first_time_us_ = request.time_us;
      if (options_.rate > 0) request.time_us = i;
      window_[thread].push_back(request);
    }
    return source_->status();
  }

 private:
  void KeepDistinct() {
    std::sort(keys_.begin(), keys_.end());
    keys_.erase(std::unique(keys_.begin(), keys_.end()), keys_.end());
  }

  std::unique_ptr<RequestSource> source_;
  std::vector<uint64_t> keys_;
  uint64_t requests_ = 0;
  uint64_t taken_ = 0;       // by windows, so far
  uint64_t window_end_ = 0;  // as asked for
  uint64_t skipped_ = 0;
  std::vector<std::string> remarks_;
  uint64_t hash_ = 0;
  bool has_times_ = false;
  bool has_deletes_ = false;
  uint64_t first_time_us_ = 0;
};

}  // namespace

std::unique_ptr<RequestFeed> Workload::EndlessFeed(const ReplayOptions& options, unsigned thread) {
  return std::make_unique<EndlessGeneratorFeed>(MakeSource(options, thread), thread, options.threads);
}

Status Workload::Open(const ReplayOptions& options, Progress* progress, std::unique_ptr<Workload>* workload) {
  if (options.mode == ReplayMode::kBlock) return OpenBlockWorkload(options, progress, workload);
  std::unique_ptr<DatabaseWorkload> opened;
  MEZZ_RETURN_IF_ERROR(DatabaseWorkload::Open(options, progress, &opened));
  *workload = std::move(opened);
  return Status::Ok();
}

Status DatabaseWorkload::ClaimStore(std::unique_ptr<BackingStore>* store) const {
  std::unique_ptr<Database> database;
  MEZZ_RETURN_IF_ERROR(Database::Claim(options_, *this, &database));
  *store = std::move(database);
  return Status::Ok();
}

Status DatabaseWorkload::Open(const ReplayOptions& options, Progress* progress,
                              std::unique_ptr<DatabaseWorkload>* workload) {
  if (options.is_generator()) {
    ReplayOptions resolved = options;
    ValueSizes sizes;
    MEZZ_RETURN_IF_ERROR(GeneratorKeys(options.generator_options(0, 1), &resolved.keys));
    MEZZ_RETURN_IF_ERROR(GeneratorValueSizes(options.generator_options(0, 1), &sizes));
    resolved.scale = 1;
    *workload = std::make_unique<GeneratedWorkload>(resolved, std::move(sizes));
    return Status::Ok();
  }
  std::unique_ptr<RequestSource> source;
  MEZZ_RETURN_IF_ERROR(OpenTrace(options.trace, {.format = options.format, .skip_bad = options.skip_bad}, &source));
  auto trace = std::make_unique<TraceWorkload>(options, std::move(source));
  MEZZ_RETURN_IF_ERROR(trace->Scan(progress));
  *workload = std::move(trace);
  return Status::Ok();
}

}  // namespace mezz
