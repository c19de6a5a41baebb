// SPDX-License-Identifier: Apache-2.0
#include "workloads/replay/block_replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "rocksdb/perf_context.h"
#include "rocksdb/perf_level.h"
#include "workloads/block_key.h"
#include "workloads/generators/generators.h"
#include "workloads/readers/cut_extents.h"
#include "workloads/readers/open_trace.h"
#include "workloads/replay/block_cache.h"
#include "workloads/replay/block_file.h"
#include "workloads/replay/cache_factory.h"
#include "workloads/replay/peer_throttle.h"
#include "workloads/sim/trace.h"

namespace mezz {
namespace {

using Clock = std::chrono::steady_clock;
using Accesses = std::span<const sim::BlockId>;

// The default seed leaves the keys as mezz_sim has them, so that policies sample the same blocks there and here.
constexpr uint64_t kPlainSeed = 1;
constexpr uint64_t kLookEvery = 4096;  // accesses between two looks at `stop` and the progress

Status LoadTrace(const ReplayOptions& o, Progress* progress, sim::LoadedTrace* trace) {
  progress->Phase(fmt::format("reading {}", o.trace));
  std::unique_ptr<RequestSource> source;
  if (o.is_generator()) {
    MEZZ_RETURN_IF_ERROR(MakeGenerator(o.generator_options(0, 1), &source));
  } else {
    MEZZ_RETURN_IF_ERROR(OpenTrace(o.trace, o.format, &source));
    source = CutExtents(std::move(source), o.unit_bytes);
  }
  return sim::LoadedTrace::Load(source.get(), {.unit_bytes = o.unit_bytes}, trace);
}

// The trace's blocks as they lie in the file: each at a sector, in the order of first access.
class Layout {
 public:
  Layout(const sim::LoadedTrace& trace, BlockSizes sizes) : trace_(trace), unit_only_(sizes == BlockSizes::kUnit) {
    first_sector_.reserve(trace.unique() + 1);
    first_sector_.push_back(0);
    for (sim::BlockId block = 0; block < trace.unique(); ++block) {
      first_sector_.push_back(first_sector_.back() + BlockFile::Sectors(bytes(block)));
      footprint_ += bytes(block);
      largest_ = std::max(largest_, bytes(block));
    }
  }
  uint32_t bytes(sim::BlockId block) const { return unit_only_ ? trace_.unit_bytes() : trace_.bytes(block); }
  uint64_t place(sim::BlockId block) const { return first_sector_[block] * BlockFile::kSectorBytes; }
  uint64_t file_bytes() const { return first_sector_.back() * BlockFile::kSectorBytes; }
  uint64_t footprint_bytes() const { return footprint_; }
  uint32_t largest_bytes() const { return largest_; }
  uint64_t mean_bytes() const { return footprint_ / trace_.unique(); }

 private:
  const sim::LoadedTrace& trace_;
  const bool unit_only_;
  std::vector<uint64_t> first_sector_;  // of each block, and the end
  uint64_t footprint_ = 0;
  uint32_t largest_ = 0;
};

struct Hits {
  uint64_t dram = 0;
  uint64_t scm = 0;
  uint64_t misses = 0;
  uint64_t stock_writes = 0;  // blocks that went to a stock second tier

  Hits& operator+=(const Hits& other) {
    dram += other.dram;
    scm += other.scm;
    misses += other.misses;
    stock_writes += other.stock_writes;
    return *this;
  }
};

// What the threads of a phase share.
struct Phase {
  const sim::LoadedTrace& trace;
  const Layout& layout;
  const BlockFile& file;
  const BuiltCache& built;
  const bool verify;
  const uint64_t salt;  // of the keys: other seeds place the same blocks otherwise
  const std::atomic<bool>& stop;
  // Relaxed, both: a progress bar, and a hint to stop early; joining the threads publishes the rest.
  std::atomic<uint64_t> done{0};
  std::atomic<bool> failed{false};
};

// One thread: looks each access up, and on a miss reads the block and inserts it.
class BlockThread {
 public:
  explicit BlockThread(Phase* phase)
      : phase_(*phase),
        cache_(phase->built.cache),
        peer_(phase->built, phase->layout.mean_bytes()),
        buffer_(BlockFile::MakeBuffer(BlockFile::Sectors(phase->layout.largest_bytes()) * BlockFile::kSectorBytes)) {}

  // `progress` only on the thread that owns it.
  void Run(Accesses accesses, uint64_t total, Progress* progress) {
    rocksdb::SetPerfLevel(rocksdb::PerfLevel::kEnableCount);
    rocksdb::get_perf_context()->Reset();
    Clock::time_point before = Clock::now();
    for (size_t i = 0; i < accesses.size() && status_.ok(); ++i) {
      if (i % kLookEvery == 0) {
        if (phase_.stop.load(std::memory_order_relaxed) || phase_.failed.load(std::memory_order_relaxed)) break;
        const uint64_t done = phase_.done.fetch_add(kLookEvery, std::memory_order_relaxed);
        if (progress != nullptr) progress->Update(done, total);
      }
      status_ = Access(accesses[i]);
      peer_.ChargeSinceLast(CountsOfThisThread());
      const Clock::time_point now = Clock::now();
      latencies_.Record(static_cast<uint64_t>(std::chrono::nanoseconds(now - before).count()));
      before = now;
    }
    if (!status_.ok()) phase_.failed.store(true, std::memory_order_relaxed);
    hits_.stock_writes = CountsOfThisThread().second_inserts;
  }

  const Status& status() const { return status_; }
  const Hits& hits() const { return hits_; }
  const LatencyHistogram& latencies() const { return latencies_; }

 private:
  Status Access(sim::BlockId block) {
    const BlockKey key = BlockKeyOf(phase_.trace.key(block) ^ phase_.salt);
    const BlockRole role = phase_.trace.role(block);
    const uint64_t second_before = rocksdb::get_perf_context()->secondary_cache_hit_count;
    if (const BlockCache::Held held = cache_.Lookup(key, role)) {
      const bool second = phase_.built.second_tier == SecondTier::kWholeCache ||
                          rocksdb::get_perf_context()->secondary_cache_hit_count != second_before;
      ++(second ? hits_.scm : hits_.dram);
      return Check(block, held);
    }
    ++hits_.misses;
    const uint64_t place = phase_.layout.place(block);
    const std::span<const std::byte> bytes(buffer_.get(), phase_.layout.bytes(block));
    MEZZ_RETURN_IF_ERROR(phase_.file.Read(place, bytes.size(), buffer_.get()));
    if (!Matches(place, bytes)) {
      return Status::IoError(
          fmt::format("block {} of the file of blocks is not what was written; remove the file", block));
    }
    const BlockCache::Held held = cache_.Insert(key, role, bytes);
    return held ? Check(block, held) : Status::Ok();
  }

  Status Check(sim::BlockId block, const BlockCache::Held& held) const {
    if (held.bytes().size() == phase_.layout.bytes(block) && Matches(phase_.layout.place(block), held.bytes())) {
      return Status::Ok();
    }
    return Status::IoError(fmt::format("cache {} handed out wrong bytes for block {}: it must not be used",
                                       phase_.built.spec.name, block));
  }

  // Whether these are the bytes at `place`: all of them with --verify, else the first and the last sector's, which tell
  // one block from another. To read a large block whole would take longer than to find it.
  bool Matches(uint64_t place, std::span<const std::byte> bytes) const {
    constexpr size_t kSector = BlockFile::kSectorBytes;
    if (phase_.verify || bytes.size() <= 2 * kSector) return BlockFile::Matches(place, bytes);
    const size_t last = (bytes.size() - 1) / kSector * kSector;
    return BlockFile::Matches(place, bytes.first(kSector)) && BlockFile::Matches(place + last, bytes.subspan(last));
  }

  // RocksDB's table readers count hits; here nobody else does.
  BlockCounts CountsOfThisThread() const {
    BlockCounts counts = BlockCounts::Of(*rocksdb::get_perf_context());
    counts.hits = hits_.dram + hits_.scm;
    return counts;
  }

  Phase& phase_;
  BlockCache cache_;
  PeerThrottle peer_;
  const BlockFile::Buffer buffer_;
  Hits hits_;
  LatencyHistogram latencies_;
  Status status_;
};

// Each block's accesses go to one thread, in the trace's order.
std::vector<std::vector<sim::BlockId>> ShareOut(Accesses accesses, unsigned threads) {
  std::vector<std::vector<sim::BlockId>> shares(threads);
  for (const sim::BlockId block : accesses) shares[MixWord(block) % threads].push_back(block);
  return shares;
}

class BlockRunner {
 public:
  BlockRunner(const ReplayOptions& options, const sim::LoadedTrace& trace, const Layout& layout, const BlockFile& file,
              Progress* progress, const std::atomic<bool>& stop)
      : options_(options), trace_(trace), layout_(layout), file_(file), progress_(progress), stop_(stop) {}

  // *row is whole unless the run was stopped.
  Status Run(const BuiltCache& built, BlockRow* row) {
    const uint64_t count =
        options_.ops == 0 ? trace_.accesses().size() : std::min<uint64_t>(options_.ops, trace_.accesses().size());
    const Accesses accesses = Accesses(trace_.accesses()).first(count);
    const auto warm = static_cast<uint64_t>(static_cast<double>(count) * options_.warmup);
    progress_->Phase(fmt::format("replaying {} accesses on {}", count, built.spec.name));
    Hits hits;
    LatencyHistogram warming;
    MEZZ_RETURN_IF_ERROR(RunPhase(built, accesses.first(warm), &hits, &warming));
    const CounterSnapshot before = built.stats != nullptr ? built.stats->Counters() : CounterSnapshot{};
    hits = {};
    const auto started = Clock::now();
    MEZZ_RETURN_IF_ERROR(RunPhase(built, accesses.subspan(warm), &hits, &row->latencies));
    row->seconds = std::chrono::duration<double>(Clock::now() - started).count();
    row->accesses = hits.dram + hits.scm + hits.misses;
    row->dram_hits = hits.dram;
    row->scm_hits = hits.scm;
    row->misses = hits.misses;
    if (built.stats == nullptr) {
      row->scm_writes = hits.stock_writes;
      row->scm_bytes_written = hits.stock_writes * layout_.mean_bytes();
      return Status::Ok();
    }
    const CounterSnapshot ours = built.stats->Counters() - before;
    row->scm_writes = ours[Event::kScmPut] + ours[Event::kScmSecondChance];
    row->scm_bytes_written = ours[Event::kScmWrittenBytes];
    row->promotions = ours[Event::kPromotion];
    row->counters = built.stats->Report();
    return Status::Ok();
  }

 private:
  Status RunPhase(const BuiltCache& built, Accesses accesses, Hits* hits, LatencyHistogram* latencies) {
    Phase phase{.trace = trace_,
                .layout = layout_,
                .file = file_,
                .built = built,
                .verify = options_.verify,
                .salt = options_.seed == kPlainSeed ? 0 : MixWord(options_.seed),
                .stop = stop_};
    const auto shares = ShareOut(accesses, options_.threads);
    std::vector<std::unique_ptr<BlockThread>> replays;
    for (unsigned i = 0; i < options_.threads; ++i) replays.push_back(std::make_unique<BlockThread>(&phase));
    std::vector<std::thread> threads;
    for (unsigned i = 1; i < options_.threads; ++i) {
      threads.emplace_back([&, i] { replays[i]->Run(shares[i], accesses.size(), nullptr); });
    }
    replays[0]->Run(shares[0], accesses.size(), progress_);
    for (std::thread& thread : threads) thread.join();
    for (const auto& replay : replays) {
      MEZZ_RETURN_IF_ERROR(replay->status());
      *hits += replay->hits();
      latencies->Add(replay->latencies());
    }
    return Status::Ok();
  }

  const ReplayOptions& options_;
  const sim::LoadedTrace& trace_;
  const Layout& layout_;
  const BlockFile& file_;
  Progress* const progress_;
  const std::atomic<bool>& stop_;
};

}  // namespace

Status RunBlockReplay(const ReplayOptions& options, Progress* progress, const std::atomic<bool>& stop,
                      BlockReport* report) {
  MEZZ_RETURN_IF_ERROR(options.Validate());
  sim::LoadedTrace trace;
  MEZZ_RETURN_IF_ERROR(LoadTrace(options, progress, &trace));
  const Layout layout(trace, options.sizes);
  std::unique_ptr<BlockFile> file;
  MEZZ_RETURN_IF_ERROR(BlockFile::Open(options.db_dir, layout.file_bytes(), progress, stop, &file));
  report->workload = trace.name();
  report->accesses = trace.accesses().size();
  report->unique = trace.unique();
  report->footprint_bytes = layout.footprint_bytes();
  BlockRunner runner(options, trace, layout, *file, progress, stop);
  for (const CacheSpec& spec : options.caches) {
    if (stop.load(std::memory_order_relaxed)) break;
    BuiltCache built;  // gone, with its file, before the next
    MEZZ_RETURN_IF_ERROR(BuildCache(options, spec, /*ordinal=*/0, progress, &built));
    BlockRow row;
    row.cache = spec.name;
    row.unavailable = built.unavailable;
    row.medium = built.medium;
    row.emulated = built.emulated;
    if (built.unavailable.empty()) MEZZ_RETURN_IF_ERROR(runner.Run(built, &row));
    if (!stop.load(std::memory_order_relaxed)) report->rows.push_back(std::move(row));
  }
  report->complete = !stop.load(std::memory_order_relaxed);
  progress->End();
  return Status::Ok();
}

}  // namespace mezz
