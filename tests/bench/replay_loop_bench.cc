// SPDX-License-Identifier: Apache-2.0
// What mezz_replay itself costs for each request: pacing, timing, counting and the target's own work, over a database
// that answers at once.
#include <benchmark/benchmark.h>
#include <stdlib.h>

#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "admission/curves/block_key.h"
#include "rocksdb/utilities/stackable_db.h"
#include "rocksdb/version.h"
#include "workloads/replay/caches/block_target.h"
#include "workloads/replay/caches/database_target.h"
#include "workloads/replay/engine/replay_loop.h"

namespace mezz {
namespace {

constexpr size_t kRequests = 1 << 16;

// Every key has the same value, in memory.
class NullDatabase final : public rocksdb::StackableDB {
 public:
  explicit NullDatabase(size_t value_bytes)
      : StackableDB(static_cast<rocksdb::DB*>(nullptr)), value_(value_bytes, 'v') {}

  using StackableDB::Get;
#if ROCKSDB_MAJOR < 9
  rocksdb::Status Get(const rocksdb::ReadOptions&, rocksdb::ColumnFamilyHandle*, const rocksdb::Slice&,
                      rocksdb::PinnableSlice* value) override {
#else
  rocksdb::Status Get(const rocksdb::ReadOptions&, rocksdb::ColumnFamilyHandle*, const rocksdb::Slice&,
                      rocksdb::PinnableSlice* value, std::string* /*timestamp*/) override {
#endif
    value->PinSlice(value_, nullptr);
    return rocksdb::Status::OK();
  }
  rocksdb::ColumnFamilyHandle* DefaultColumnFamily() const override { return nullptr; }

 private:
  std::string value_;
};

struct NullTarget {
  uint64_t keys = 0;
  bool Execute(const Request& request) {
    keys += request.key;
    return true;
  }
};

class RepeatedFeed final : public RequestFeed {
 public:
  explicit RepeatedFeed(const std::vector<Request>& requests) : requests_(requests) {}
  std::span<const Request> Next() override {
    if (given_) return {};
    given_ = true;
    return requests_;
  }

 private:
  const std::vector<Request>& requests_;
  bool given_ = false;
};

std::vector<Request> Requests() {
  std::vector<Request> requests(kRequests);
  for (size_t i = 0; i < kRequests; ++i) requests[i].key = i * 0x9e3779b97f4a7c15;
  return requests;
}

template <typename Target>
void Loop(benchmark::State& state, const std::vector<Request>& requests, Target* target, const Pacing& pacing) {
  const std::atomic<bool> stop{false};
  ReplayClock clock;
  LatencyHistogram latencies;
  for (auto _ : state) {
    RepeatedFeed feed(requests);
    ReplayLoop<ReplayClock, Target> loop(&clock, target, &latencies);
    loop.Run(&feed, pacing, ReplayClock::NowNs(), {std::numeric_limits<uint64_t>::max(), stop});
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * kRequests));
  state.counters["per_op"] = benchmark::Counter(static_cast<double>(state.iterations() * kRequests),
                                                benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void BM_ClockAlone(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(ReplayClock::NowNs());
}
BENCHMARK(BM_ClockAlone);

void BM_LoopNullTarget(benchmark::State& state) {
  NullTarget target;
  Loop(state, Requests(), &target, {});
  benchmark::DoNotOptimize(target.keys);
}
BENCHMARK(BM_LoopNullTarget)->Unit(benchmark::kMillisecond);

// Everything that mezz_replay does for a get, with values of so many bytes that it reads line by line.
void BM_GetFromNullDatabase(benchmark::State& state) {
  Databases dbs;
  dbs.Add(std::make_unique<NullDatabase>(static_cast<size_t>(state.range(0))));
  const BuiltCache cache;
  DatabaseTarget target(dbs, cache, {});
  target.Begin();
  Loop(state, Requests(), &target, {});
  target.End();
}
BENCHMARK(BM_GetFromNullDatabase)->Arg(0)->Arg(1000)->Unit(benchmark::kMillisecond);

// --mode=block where every access hits: what the runner and the check of a block's ends add to the look-up alone.
class BlockHits : public benchmark::Fixture {
 public:
  void SetUp(benchmark::State& state) override {
    char folder[] = "/tmp/mezz_bench_XXXXXX";
    folder_ = mkdtemp(folder);
    Progress progress(/*quiet=*/true);
    const std::atomic<bool> stop{false};
    Status status = BlockFile::Claim(folder_, {}, 1 << 20, /*flash=*/nullptr, &file_);
    if (status.ok()) status = file_->Fill(&progress, stop);
    if (!status.ok()) state.SkipWithError(status.message().c_str());
    cache_.cache = rocksdb::NewLRUCache(size_t{64} << 20, /*num_shard_bits=*/0);
    for (size_t i = 0; i < requests_.size(); ++i) {
      requests_[i].key = i % kBlocks;
      requests_[i].value_bytes = kBlockBytes;
    }
  }
  void TearDown(benchmark::State&) override {
    file_.reset();
    cache_.cache.reset();
    std::filesystem::remove_all(folder_);
  }

 protected:
  static constexpr size_t kBlocks = 64, kBlockBytes = 4096;
  std::string folder_;
  std::unique_ptr<BlockFile> file_;
  BuiltCache cache_;
  std::vector<Request> requests_ = std::vector<Request>(kRequests);
};

BENCHMARK_F(BlockHits, LookupAlone)(benchmark::State& state) {
  BlockCache cache(cache_.cache);
  const std::vector<std::byte> bytes(kBlockBytes);
  for (uint64_t key = 0; key < kBlocks; ++key) cache.Insert(BlockKeyOf(key), BlockRole::kData, bytes);
  size_t i = 0;
  for (auto _ : state) {
    const BlockCache::Held held = cache.Lookup(BlockKeyOf(requests_[i++ % kRequests].key), BlockRole::kData);
    benchmark::DoNotOptimize(held.bytes().data());
  }
}

BENCHMARK_F(BlockHits, Replayed)(benchmark::State& state) {
  if (file_ == nullptr) return;
  BlockTarget target(file_.get(), cache_, {});
  target.Begin();
  Loop(state, requests_, &target, {});
  if (!target.error().empty()) state.SkipWithError(target.error().c_str());
}

}  // namespace
}  // namespace mezz

BENCHMARK_MAIN();
