// SPDX-License-Identifier: Apache-2.0
#include "workloads/replay/caches/block_workload.h"

#include <fmt/format.h>

#include <algorithm>

#include "admission/curves/block_key.h"
#include "workloads/generators/generators.h"
#include "workloads/readers/loaded_trace.h"
#include "workloads/readers/open_trace.h"
#include "workloads/replay/caches/block_file.h"
#include "workloads/requests/cut_extents.h"
#include "workloads/requests/trace_clock.h"

namespace mezz {
namespace {

class BlockStore final : public BackingStore {
 public:
  BlockStore(std::unique_ptr<BlockFile> file, uint64_t bytes, uint64_t mean_block_bytes)
      : file_(std::move(file)), reused_(file_->whole()), bytes_(bytes), mean_block_bytes_(mean_block_bytes) {}

  Status Load(Progress* progress, const std::atomic<bool>& stop) override { return file_->Fill(progress, stop); }
  Status PathFor(unsigned, std::string* path) override {
    *path = file_->path();
    return Status::Ok();
  }
  int lock_fd() const override { return file_->fd(); }
  bool reused() const override { return reused_; }
  uint64_t bytes() const override { return bytes_; }
  uint64_t mean_block_bytes() const override { return mean_block_bytes_; }

 private:
  const std::unique_ptr<BlockFile> file_;
  const bool reused_;
  const uint64_t bytes_;
  const uint64_t mean_block_bytes_;
};

class BlockWorkload final : public Workload {
 public:
  explicit BlockWorkload(const ReplayOptions& options) : options_(options) { window_.resize(options.threads); }

  Status Read(Progress* progress) {
    progress->Phase(fmt::format("reading {}", options_.trace));
    std::unique_ptr<RequestSource> source;
    if (options_.is_generator()) {
      MEZZ_RETURN_IF_ERROR(MakeGenerator(options_.generator_options(0, 1), &source));
    } else {
      MEZZ_RETURN_IF_ERROR(
          OpenTrace(options_.trace, {.format = options_.format, .skip_bad = options_.skip_bad}, &source));
      source = CutExtents(std::move(source), options_.unit_bytes);
    }
    MEZZ_RETURN_IF_ERROR(LoadedTrace::Load(source.get(), {.unit_bytes = options_.unit_bytes}, &trace_));
    if (options_.timestamps > 0 && !trace_.has_time()) {
      return Status::InvalidArgument(
          fmt::format("--timestamps={}: trace {} has no times; use --rate", options_.timestamps, options_.trace));
    }
    if (options_.timestamps > 0) due_us_ = SpreadTimes(trace_.time_us());
    return Status::Ok();
  }

  Status ClaimStore(std::unique_ptr<BackingStore>* store) const override {
    uint64_t bytes = 0;
    uint64_t sectors = 0;
    for (BlockId block = 0; block < trace_.unique(); ++block) {
      bytes += BytesOf(block);
      sectors += BlockFile::Sectors(BytesOf(block));
    }
    Values values;
    MEZZ_RETURN_IF_ERROR(Values::Open(options_.value_options(), &values));
    std::unique_ptr<BlockFile> file;
    MEZZ_RETURN_IF_ERROR(
        BlockFile::Claim(options_.db_dir, values, sectors * BlockFile::kSectorBytes, options_.flash, &file));
    *store = std::make_unique<BlockStore>(std::move(file), bytes, bytes / trace_.unique());
    return Status::Ok();
  }

  std::string Description() const override {
    const uint64_t damaged = trace_.damaged_records();
    std::string text = trace_.name() + (damaged == 0 ? "" : fmt::format(", {} damaged left out", damaged));
    for (const std::string& remark : trace_.remarks()) text += "; " + remark;
    return text;
  }
  uint64_t distinct_keys() const override { return trace_.unique(); }
  uint64_t requests() const override {
    const uint64_t all = trace_.accesses().size();
    return options_.ops == 0 ? all : std::min(options_.ops, all);
  }
  uint64_t window_first_time_us() const override { return first_time_us_; }

  Status NextWindow(uint64_t requests) override {
    for (std::vector<Request>& share : window_) share.clear();
    const uint64_t first = next_;
    next_ = std::min(first + requests, this->requests());
    first_time_us_ = TimeOf(first);
    for (uint64_t i = first; i < next_; ++i) {
      const BlockId block = trace_.accesses()[i];
      Request request;
      request.key = trace_.key(block);
      request.value_bytes = BytesOf(block);
      request.role = trace_.role(block);
      request.time_us = options_.rate > 0 ? i - first : TimeOf(i);
      window_[MixWord(block) % options_.threads].push_back(request);
    }
    return Status::Ok();
  }

 private:
  uint32_t BytesOf(BlockId block) const {
    return options_.sizes == BlockSizes::kUnit ? trace_.unit_bytes() : trace_.bytes(block);
  }
  // 0 where nothing is paced by times.
  uint64_t TimeOf(uint64_t access) const { return due_us_.empty() ? 0 : due_us_[access]; }

  const ReplayOptions options_;
  LoadedTrace trace_;
  std::vector<uint64_t> due_us_;
  uint64_t next_ = 0;
  uint64_t first_time_us_ = 0;
};

}  // namespace

Status OpenBlockWorkload(const ReplayOptions& options, Progress* progress, std::unique_ptr<Workload>* workload) {
  auto blocks = std::make_unique<BlockWorkload>(options);
  MEZZ_RETURN_IF_ERROR(blocks->Read(progress));
  *workload = std::move(blocks);
  return Status::Ok();
}

}  // namespace mezz
