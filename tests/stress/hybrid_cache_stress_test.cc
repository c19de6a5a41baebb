// SPDX-License-Identifier: Apache-2.0
// Many threads on one hybrid cache whose blocks never change: every hit, and every byte held across others' work, must
// be what the key says. Also meant for TSan, over a RocksDB built with it (tools/rocksdb VERSION --sanitize=thread).
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "rocksdb/advanced_cache.h"
#include "tests/support/hybrid_blocks.h"
#include "tests/support/hybrid_fixture.h"
#include "tests/support/sanitizer.h"
#include "tests/support/seed.h"

namespace mezz::test {
namespace {

using rocksdb::Cache;

constexpr uint64_t kDramBytes = 1 << 20;
constexpr uint64_t kScmBytes = 16 * kSegmentBytesMin;
constexpr uint64_t kKeys = 2000;
constexpr int kThreads = 4;
constexpr int kStepsPerThread = 20000 / kStressShare;
constexpr size_t kHeldMax = 16;

Content ContentOf(uint64_t id) {
  const size_t bytes = id % 50 == 0 ? 40000 + id : 1 + Mix(id) % 7000;
  return {id, 0, bytes};
}
const Helper* HelperOf(uint64_t id) { return kHelpers[id % std::size(kHelpers)]; }

// One thread's view of the cache.
class Worker {
 public:
  Worker(Cache* cache, HybridStats* stats, uint64_t seed) : cache_(cache), stats_(stats), random_(seed) {}

  void Run() {
    for (int step = 0; step < kStepsPerThread; ++step) Step();
    while (!held_.empty()) ReleaseOldest();
  }
  uint64_t lookups() const { return lookups_; }
  uint64_t wrong() const { return wrong_; }

 private:
  struct Held {
    uint64_t id;
    Cache::Handle* handle;
  };

  void Step() {
    const uint64_t id = random_.OneIn(2) ? random_.Below(kKeys / 10) : random_.Below(kKeys);
    const uint64_t roll = random_.Below(1000);
    if (roll < 890) return Read(id);
    if (roll < 950) return Warm(id);
    if (roll < 990) return cache_->Erase(KeyOf(id));
    if (roll < 994) return cache_->SetCapacity(kDramBytes / (1 + random_.Below(3)));
    if (roll < 996) return cache_->SetStrictCapacityLimit(random_.OneIn(2));
    if (roll < 999) return ResizeScm();
    if (random_.OneIn(8)) cache_->EraseUnRefEntries();
  }

  void ResizeScm() {
    const uint64_t quarters[] = {2, 3, 4, 4};
    if (!stats_->SetScmCapacity(quarters[random_.Below(4)] * kScmBytes / 4).ok()) ++wrong_;
  }

  // As RocksDB reads: look up, and insert what missed.
  void Read(uint64_t id) {
    const std::string key = KeyOf(id);
    Cache::Handle* handle = random_.OneIn(4) ? LookupAsync(key, id) : Lookup(key, id);
    if (handle == nullptr) handle = InsertAfterMiss(key, id);
    if (handle == nullptr) return;
    Check({id, handle});
    held_.push_back({id, handle});
    if (held_.size() > kHeldMax || !random_.OneIn(4)) ReleaseOldest();
  }

  Cache::Handle* Lookup(const std::string& key, uint64_t id) {
    ++lookups_;
    return cache_->Lookup(key, HelperOf(id), nullptr);
  }
  Cache::Handle* LookupAsync(const std::string& key, uint64_t id) {
    ++lookups_;
    Cache::AsyncLookupHandle async(key, HelperOf(id), nullptr);
    cache_->StartAsyncLookup(async);
    return cache_->Wait(async);
  }

  Cache::Handle* InsertAfterMiss(const std::string& key, uint64_t id) {
    TestBlock* obj = TestBlock::New(ContentOf(id), cache_->memory_allocator());
    Cache::Handle* handle = nullptr;
    const rocksdb::Status s = InsertRead(cache_, key, obj, HelperOf(id), random_.OneIn(2) ? &handle : nullptr);
    if (!s.ok()) delete obj;
    return handle;
  }

  // As RocksDB does with what a flush (LOW) or a compaction (BOTTOM) has written.
  void Warm(uint64_t id) {
    TestBlock* obj = TestBlock::New(ContentOf(id), cache_->memory_allocator());
    const auto priority = random_.OneIn(2) ? Cache::Priority::BOTTOM : Cache::Priority::LOW;
    if (!cache_->Insert(KeyOf(id), obj, HelperOf(id), obj->charge(), /*handle=*/nullptr, priority).ok()) delete obj;
  }

  void Check(Held held) {
    const auto* obj = static_cast<TestBlock*>(cache_->Value(held.handle));
    if (!ContentOf(held.id).Matches(obj->data(), obj->bytes())) ++wrong_;
  }
  void ReleaseOldest() {
    const Held held = held_.front();
    held_.erase(held_.begin());
    Check(held);
    cache_->Release(held.handle, /*erase_if_last_ref=*/random_.OneIn(20));
  }

  Cache* const cache_;
  HybridStats* const stats_;
  Random random_;
  std::vector<Held> held_;
  uint64_t lookups_ = 0;
  uint64_t wrong_ = 0;
};

using Config = std::tuple<DramCacheKind, const char*>;
class HybridCacheStress : public HybridTest, public ::testing::WithParamInterface<Config> {};

TEST_P(HybridCacheStress, EveryHitIsRight) {
  const uint64_t seed = Seed();
  SCOPED_TRACE("MEZZ_SEED=" + std::to_string(seed));
  HybridCacheOptions options = SmallOptions(MediumKind::kFile, file_, kDramBytes, kScmBytes);
  options.dram_cache = std::get<0>(GetParam());
  const std::string policy = std::get<1>(GetParam());
  const bool switching = policy == "switching";  // all of them in turn, while the threads run
  if (!switching) options.policy = policy;
  ASSERT_NO_FATAL_FAILURE(Make(options));

  std::vector<Worker> workers;
  for (int i = 0; i < kThreads; ++i) workers.emplace_back(cache_.get(), stats_, Mix(seed + i));
  std::vector<std::thread> threads;
  for (Worker& worker : workers) threads.emplace_back(&Worker::Run, &worker);
  std::atomic<bool> done{false};
  std::thread switcher([&] {
    for (size_t i = 0; switching && !done.load(std::memory_order_relaxed); ++i) {
      EXPECT_TRUE(stats_->SetPolicy(PolicyNames()[i % PolicyNames().size()]).ok());
      std::this_thread::yield();
    }
  });
  for (std::thread& thread : threads) thread.join();
  done.store(true, std::memory_order_relaxed);
  switcher.join();

  uint64_t lookups = 0;
  for (const Worker& worker : workers) {
    lookups += worker.lookups();
    EXPECT_EQ(worker.wrong(), 0u) << "wrong bytes, or a refused resize";
  }
  const CounterSnapshot counters = stats_->Counters();
  EXPECT_GT(counters[Event::kScmHit], 500u);
  EXPECT_GT(counters[Event::kDramHit], 1000u);
  EXPECT_GT(stats_->Decisions().of(DecisionPoint::kWarm, Action::kToScm), 100u);
  EXPECT_EQ(counters[Event::kCreateFailed] + counters[Event::kAdoptionFailed], 0u);
  ExpectLookupsAddUp(counters, lookups);
}

INSTANTIATE_TEST_SUITE_P(All, HybridCacheStress,
                         ::testing::Combine(::testing::Values(DramCacheKind::kHyperClock, DramCacheKind::kLru),
                                            ::testing::Values("dram_first", "scm_first", "bidirectional", "switching")),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param) == DramCacheKind::kLru ? "lru_" : "hcc_") +
                                  std::get<1>(test.param);
                         });

}  // namespace
}  // namespace mezz::test
