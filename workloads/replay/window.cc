// SPDX-License-Identifier: Apache-2.0
#include "workloads/replay/window.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <latch>
#include <limits>
#include <mutex>
#include <thread>

#include "rocksdb/perf_context.h"
#include "rocksdb/perf_level.h"
#include "workloads/replay/values.h"

namespace mezz {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kPollEvery = std::chrono::milliseconds(150);

uint64_t NowNs() {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count());
}

double ProcessCpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// The PerfContext counts that tell where a thread's blocks came from.
struct BlockCounts {
  uint64_t hits = 0;
  uint64_t second_hits = 0;
  uint64_t flash_reads = 0;
  uint64_t second_inserts = 0;

  static BlockCounts OfThisThread() {
    const rocksdb::PerfContext* perf = rocksdb::get_perf_context();
    return {perf->block_cache_hit_count, perf->secondary_cache_hit_count, perf->block_read_count,
            perf->compressed_sec_cache_insert_real_count};
  }
};

// Charges a stock cache that stands on emulated SCM for what it did: the same model, by the same rules, as our tier. A
// second tier hands out copies; a cache that lies in SCM as a whole is searched where it is (its writes are charged by
// its allocator). Block sizes are taken as the mean: RocksDB's counts have no sizes.
class PeerThrottle {
 public:
  PeerThrottle(const BuiltCache& cache, uint64_t block_bytes)
      : throttle_(cache.throttle.get()),
        in_place_(cache.second_tier == SecondTier::kWholeCache),
        block_bytes_(block_bytes),
        lines_(BlockSearchLines(block_bytes)) {}

  void ChargeSinceLast() {
    if (throttle_ == nullptr) return;
    const BlockCounts now = BlockCounts::OfThisThread();
    if (in_place_) {
      for (uint64_t i = last_.hits; i < now.hits; ++i) throttle_->ChargeLines(lines_);
    } else {
      for (uint64_t i = last_.second_hits; i < now.second_hits; ++i) throttle_->ChargeStreamRead(block_bytes_);
      for (uint64_t i = last_.second_inserts; i < now.second_inserts; ++i) throttle_->ChargeWrite(block_bytes_);
    }
    last_ = now;
  }

 private:
  Throttle* throttle_;
  bool in_place_;
  uint64_t block_bytes_;
  unsigned lines_;
  BlockCounts last_;
};

uint64_t TouchLines(const rocksdb::Slice& value) {
  uint64_t sum = 0;
  for (size_t at = 0; at < value.size(); at += kLineBytes) sum += static_cast<unsigned char>(value[at]);
  return sum;
}

class ReplayThread {
 public:
  ReplayThread(rocksdb::DB* db, const BuiltCache& cache, const WindowSettings& settings, RequestFeed* feed)
      : db_(db), settings_(settings), feed_(feed), peer_(cache, settings.mean_block_bytes) {
    write_.disableWAL = true;
  }

  void Run(uint64_t deadline_ns, const std::atomic<bool>& stop) {
    rocksdb::SetPerfLevel(rocksdb::PerfLevel::kEnableCount);
    rocksdb::get_perf_context()->Reset();
    uint64_t before = NowNs();
    for (auto batch = feed_->Next(); !batch.empty() && !ended_; batch = feed_->Next()) {
      for (const Request& request : batch) {
        if (!Replay(request)) return;
        peer_.ChargeSinceLast();
        const uint64_t now = NowNs();
        latencies_.Record(now - before);
        before = now;
        if (now >= deadline_ns || stop.load(std::memory_order_relaxed)) {
          ended_ = true;
          break;
        }
      }
      if (ended_) break;
    }
    counts_ = BlockCounts::OfThisThread();
    end_ns_ = before;
  }

  uint64_t end_ns() const { return end_ns_; }
  uint64_t touched() const { return touched_; }
  const std::string& error() const { return error_; }
  const BlockCounts& counts() const { return counts_; }
  const LatencyHistogram& latencies() const { return latencies_; }

 private:
  bool Replay(const Request& request) {
    const DatabaseKey encoded = EncodeKey(request.key);
    const rocksdb::Slice key(encoded.data(), encoded.size());
    switch (request.operation) {
      case Operation::kGet:
      case Operation::kMultiGet:
        return Get(request, key);
      case Operation::kDelete:
        return Check(db_->Delete(write_, key), request);
      case Operation::kPut:
      case Operation::kMerge:
        FillValue(request.key, settings_.put_value_bytes > 0 ? settings_.put_value_bytes : request.value_bytes,
                  &put_value_);
        return Check(db_->Put(write_, key, put_value_), request);
      case Operation::kSeek:
        return Seek(request, key);
    }
    return false;
  }

  bool Get(const Request& request, const rocksdb::Slice& key) {
    value_.Reset();
    if (!Check(db_->Get(read_, db_->DefaultColumnFamily(), key, &value_), request)) return false;
    touched_ += TouchLines(value_);
    const bool right = !settings_.verify || ValueMatches(request.key, {value_.data(), value_.size()});
    value_.Reset();  // pins its block no longer than the request
    return right || Fail(request, "the value's bytes are wrong");
  }

  bool Seek(const Request& request, const rocksdb::Slice& key) {
    const std::unique_ptr<rocksdb::Iterator> it(db_->NewIterator(read_));
    uint32_t entries = 0;
    for (it->Seek(key); it->Valid() && entries < std::max(request.scan_length, 1u); it->Next(), ++entries) {
      touched_ += TouchLines(it->value());
      if (settings_.verify && !EntryMatches(*it)) return Fail(request, "a scanned value's bytes are wrong");
    }
    return Check(it->status(), request);
  }

  static bool EntryMatches(const rocksdb::Iterator& it) {
    uint64_t key = 0;
    for (size_t i = 0; i < it.key().size(); ++i) key = key << 8 | static_cast<unsigned char>(it.key()[i]);
    return ValueMatches(key, {it.value().data(), it.value().size()});
  }

  bool Check(const rocksdb::Status& status, const Request& request) {
    return status.ok() || Fail(request, status.ToString());
  }
  bool Fail(const Request& request, std::string_view what) {
    error_ = fmt::format("request for key {}: {}", request.key, what);
    return false;
  }

  rocksdb::DB* db_;
  const WindowSettings& settings_;
  RequestFeed* feed_;
  PeerThrottle peer_;
  rocksdb::ReadOptions read_;
  rocksdb::WriteOptions write_;
  rocksdb::PinnableSlice value_;
  std::string put_value_;
  std::string error_;
  BlockCounts counts_;
  LatencyHistogram latencies_;
  uint64_t touched_ = 0;
  uint64_t end_ns_ = 0;
  bool ended_ = false;
};

void AddThread(ReplayThread& thread, const BuiltCache& cache, uint64_t mean_block_bytes, WindowResult* result) {
  const BlockCounts& counts = thread.counts();
  result->ops += thread.latencies().count();
  result->touched += thread.touched();
  result->cache_hits += counts.hits;
  result->flash_reads += counts.flash_reads;
  if (cache.second_tier == SecondTier::kStock) {
    result->second_hits += counts.second_hits;
    result->scm_bytes_written += counts.second_inserts * mean_block_bytes;
  } else if (cache.second_tier == SecondTier::kWholeCache) {
    result->second_hits += counts.hits;
  }
  result->latencies.Add(thread.latencies());
}

}  // namespace

Status RunWindow(rocksdb::DB* db, const BuiltCache& cache, const WindowSettings& settings,
                 const std::vector<RequestFeed*>& feeds, Progress* progress, const std::atomic<bool>& stop,
                 WindowResult* result) {
  std::vector<std::unique_ptr<ReplayThread>> replays;
  for (unsigned i = 0; i < settings.threads; ++i)
    replays.push_back(std::make_unique<ReplayThread>(db, cache, settings, feeds[i]));
  const CounterSnapshot ours_before = cache.stats != nullptr ? cache.stats->Counters() : CounterSnapshot{};
  const uint64_t allocated_before = cache.allocator != nullptr ? cache.allocator->allocated_bytes() : 0;

  std::latch ready(settings.threads + 1);
  std::atomic<unsigned> running{settings.threads};
  uint64_t deadline_ns = std::numeric_limits<uint64_t>::max();
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < settings.threads; ++i) {
    threads.emplace_back([&, i] {
      ready.arrive_and_wait();
      replays[i]->Run(deadline_ns, stop);
      running.fetch_sub(1, std::memory_order_release);
    });
  }
  const double cpu_before = ProcessCpuSeconds();
  const uint64_t start_ns = NowNs();
  if (settings.seconds > 0) deadline_ns = start_ns + static_cast<uint64_t>(settings.seconds * 1e9);
  ready.arrive_and_wait();
  while (progress->on_terminal() && running.load(std::memory_order_acquire) > 0) {
    std::this_thread::sleep_for(kPollEvery);
    uint64_t done = 0;
    for (const auto& replay : replays) done += replay->latencies().count();
    settings.seconds > 0 ? progress->Update(NowNs() - start_ns, static_cast<uint64_t>(settings.seconds * 1e9))
                         : progress->Update(done, settings.expected_ops);
  }
  for (std::thread& thread : threads) thread.join();
  result->cpu_seconds = ProcessCpuSeconds() - cpu_before;

  uint64_t end_ns = start_ns;
  for (const auto& replay : replays) {
    if (!replay->error().empty()) return Status::IoError(fmt::format("cache {}: {}", cache.spec.name, replay->error()));
    end_ns = std::max(end_ns, replay->end_ns());
    AddThread(*replay, cache, settings.mean_block_bytes, result);
  }
  result->seconds = static_cast<double>(end_ns - start_ns) * 1e-9;
  if (cache.stats != nullptr) {
    const CounterSnapshot ours = cache.stats->Counters() - ours_before;
    result->second_hits = ours[Event::kScmHit];
    result->scm_bytes_written = ours[Event::kScmWrittenBytes];
  }
  if (cache.allocator != nullptr) result->scm_bytes_written = cache.allocator->allocated_bytes() - allocated_before;
  return Status::Ok();
}

}  // namespace mezz
