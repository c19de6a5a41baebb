// SPDX-License-Identifier: Apache-2.0
// One random list of operations drives a hybrid cache and a plain map. A cache may forget; it may never lie: a hit
// returns the bytes last inserted, and an erased key never returns. MEZZ_SEED repeats a run.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "integration/compaction_thread.h"
#include "rocksdb/advanced_cache.h"
#include "tests/support/flash_clock.h"
#include "tests/support/hybrid_blocks.h"
#include "tests/support/hybrid_fixture.h"
#include "tests/support/seed.h"

namespace mezz::test {
namespace {

using rocksdb::Cache;

constexpr uint64_t kDramBytes = 1 << 20;
constexpr uint64_t kScmBytes = 16 * kSegmentBytesMin;
constexpr uint64_t kKeys = 1500;
constexpr int kSteps = 60000;
constexpr size_t kHeldMax = 64;

using Config = std::tuple<TestMedium, DramCacheKind, const char*, ServeMode, PackMode>;

enum class Op {
  kLookup,
  kInsert,
  kWarm,
  kAsyncLookup,
  kErase,
  kHold,
  kRelease,
  kReserve,
  kUnreserve,
  kResize,
  kEraseUnRef
};
// How often, of the sum.
constexpr std::pair<Op, unsigned> kWeights[] = {
    {Op::kLookup, 500}, {Op::kInsert, 350},   {Op::kAsyncLookup, 60}, {Op::kErase, 60},
    {Op::kHold, 60},    {Op::kRelease, 60},   {Op::kReserve, 6},      {Op::kUnreserve, 6},
    {Op::kResize, 2},   {Op::kEraseUnRef, 1}, {Op::kWarm, 100},
};

class HybridCacheFuzz : public ::testing::TestWithParam<Config> {
 protected:
  struct Block {
    uint64_t generation = 0;  // each Insert of other bytes begins one
    size_t bytes = 0;
    const Helper* helper = nullptr;
    bool live = false;  // inserted and not erased since
  };
  struct Held {
    uint64_t id;
    uint64_t generation;
    size_t bytes;
    Cache::Handle* handle;
  };

  // Shards smaller than the larger blocks: these are kept beside them.
  static constexpr int kSmallShardBits = 4;

  explicit HybridCacheFuzz(int shard_bits = 0) : seed_(Seed()), random_(seed_) {
    const auto [medium, dram, policy, serve, pack] = GetParam();
    HybridCacheOptions options = SmallOptions(medium, file_, kDramBytes, kScmBytes);
    options.dram_cache = dram;
    options.dram_shard_bits = shard_bits;
    options.policy = policy;
    options.serve = serve;
    options.scm.pack = pack;
    options.scm.pack_stage_bytes = kPackStageBytesMin;  // hits of staged blocks are not those of packed ones
    options.now_ns = ChangingFlashClock();
    EXPECT_EQ(NewHybridCache(options, &cache_).message(), "");
    if (cache_ != nullptr) stats_ = GetHybridStats(cache_.get());
    RecordProperty("seed", std::to_string(seed_));
  }

  void TearDown() override {
    while (!held_.empty()) Release(0);
    while (!reserved_.empty()) Unreserve();
    if (cache_ == nullptr) return;
    ExpectLookupsAddUp(stats_->Counters(), lookups_);
    ExpectSound(cache_.get());
  }

  // Keys of other sizes are for LRUCache only: HyperClockCache refuses them.
  std::string Key(uint64_t id) const {
    std::string key = KeyOf(id);
    if (id % 16 == 15 && std::get<1>(GetParam()) == DramCacheKind::kLru) key += "long";
    return key;
  }

  size_t RandomBytes() {
    if (random_.OneIn(200)) return kSegmentBytesMin + random_.Below(kSegmentBytesMin);  // larger than a segment
    if (random_.OneIn(10)) return 1 + random_.Below(64);
    if (random_.OneIn(10)) return 1 + random_.Below(64 << 10);
    return 1 + random_.Below(8 << 10);
  }

  void Insert(uint64_t id) {
    Block& block = blocks_[id];
    block.live = false;  // until this one is in: the cache forgets the old bytes even where it has no room for the new
    ++block.generation;
    block.bytes = RandomBytes();
    block.helper = kHelpers[random_.Below(std::size(kHelpers))];
    TestBlock* obj = TestBlock::New(Content(id, block.generation, block.bytes), cache_->memory_allocator());
    Cache::Handle* handle = nullptr;
    const bool hold = random_.OneIn(4);
    const auto priority = static_cast<Cache::Priority>(random_.Below(3));
    Cache::Handle** const held = hold ? &handle : nullptr;
    const rocksdb::Status s = random_.OneIn(4)
                                  ? InsertRead(cache_.get(), Key(id), obj, block.helper, held, priority)
                                  : InsertWithImage(cache_.get(), Key(id), obj, block.helper, held, priority);
    if (!s.ok()) {
      ASSERT_TRUE(s.IsMemoryLimit()) << s.ToString();
      ASSERT_EQ(handle, nullptr);
      delete obj;  // still ours
      return;
    }
    block.live = true;
    if (!hold) return;
    ASSERT_NE(handle, nullptr);
    Check(id, handle);
    Keep(id, handle);
  }

  // As RocksDB inserts what a flush (LOW) or a compaction (BOTTOM) has written, on a thread that has read some of it or
  // on a new one. The thread passes for a compaction's from then on, as one that calls CompactFiles, until it says that
  // it is done.
  void Warm(uint64_t id) {
    const auto warm = [this, id] {
      Block& block = blocks_[id];
      block.live = false;
      ++block.generation;
      block.bytes = RandomBytes();
      block.helper = kHelpers[random_.Below(std::size(kHelpers))];
      TestBlock* obj = TestBlock::New(Content(id, block.generation, block.bytes), cache_->memory_allocator());
      const auto priority = random_.OneIn(2) ? Cache::Priority::BOTTOM : Cache::Priority::LOW;
      const rocksdb::Status s = cache_->Insert(Key(id), obj, block.helper, obj->charge(), /*handle=*/nullptr, priority);
      block.live = s.ok();
      if (!s.ok()) delete obj;
    };
    if (random_.OneIn(8)) return std::thread(warm).join();
    warm();
    for (uint64_t reads = random_.Below(4); reads > 0; --reads) {
      if (Cache::Handle* handle = Lookup(RandomId()); handle != nullptr) cache_->Release(handle);
    }
    NoteCompactionEnd();
  }

  // What `handle`, a hit on `id`, must hold.
  void Check(uint64_t id, Cache::Handle* handle) {
    const Block& block = blocks_[id];
    ASSERT_TRUE(block.live) << "hit on an erased key " << id;
    const auto* obj = static_cast<TestBlock*>(cache_->Value(handle));
    ASSERT_NE(obj, nullptr);
    ASSERT_TRUE(Content(id, block.generation, block.bytes).Matches(obj->data(), obj->bytes())) << "stale bytes " << id;
  }

  // Not every look-up can unpack an image.
  Cache::CreateContext* RandomContext() { return random_.OneIn(20) ? nullptr : &fake_context; }

  Cache::Handle* Lookup(uint64_t id) {
    const Block& block = blocks_[id];
    const Helper* helper = block.helper != nullptr ? block.helper : kHelpers[0];
    ++lookups_;
    Cache::Handle* handle = cache_->Lookup(Key(id), random_.OneIn(20) ? nullptr : helper, RandomContext());
    if (handle != nullptr) Check(id, handle);
    return handle;
  }

  void LookupSeveral() {
    constexpr size_t kBatch = 5;
    std::vector<std::string> keys;
    std::vector<uint64_t> ids;
    Cache::AsyncLookupHandle batch[kBatch];
    for (size_t i = 0; i < kBatch; ++i) {
      ids.push_back(random_.Below(kKeys));
      keys.push_back(Key(ids.back()));
    }
    for (size_t i = 0; i < kBatch; ++i) {
      const Helper* helper = blocks_[ids[i]].helper;
      batch[i].key = keys[i];
      batch[i].helper = helper != nullptr ? helper : kHelpers[0];
      batch[i].create_context = RandomContext();
      ++lookups_;
      cache_->StartAsyncLookup(batch[i]);
    }
    cache_->WaitAll(batch, kBatch);
    for (size_t i = 0; i < kBatch; ++i) {
      if (Cache::Handle* handle = batch[i].Result(); handle != nullptr) {
        Check(ids[i], handle);
        cache_->Release(handle);
      }
    }
  }

  void Keep(uint64_t id, Cache::Handle* handle) {
    held_.push_back({id, blocks_[id].generation, blocks_[id].bytes, handle});
    if (held_.size() > kHeldMax) Release(random_.Below(held_.size()));
  }

  // The bytes must have stayed what they were, whatever happened to the key since.
  void Release(size_t at) {
    const Held held = held_[at];
    held_[at] = held_.back();
    held_.pop_back();
    const auto* obj = static_cast<TestBlock*>(cache_->Value(held.handle));
    EXPECT_TRUE(Content(held.id, held.generation, held.bytes).Matches(obj->data(), obj->bytes()))
        << "bytes of a held block " << held.id << " changed";
    const bool erase = random_.OneIn(10);
    cache_->Release(held.handle, erase);
  }

  void Reserve() {
    Cache::Handle* handle = nullptr;
    const size_t bytes = random_.OneIn(2) ? 16 << 10 : 4 << 10;
    const std::string key = KeyOf(1'000'000 + reservations_++);
    if (random_.OneIn(2)) {  // left to be evicted
      return cache_->Insert(key, nullptr, &kReservationHelper, bytes).PermitUncheckedError();
    }
    if (cache_->Insert(key, nullptr, &kReservationHelper, bytes, &handle).ok()) reserved_.push_back(handle);
  }
  void Unreserve() {
    if (reserved_.empty()) return;
    cache_->Release(reserved_.back(), /*erase_if_last_ref=*/true);
    reserved_.pop_back();
  }

  void Resize() {
    switch (random_.Below(4)) {
      case 0:
        return cache_->SetCapacity(random_.Below(2) * kDramBytes / 4);
      case 1:
        return cache_->SetCapacity(kDramBytes);
      case 2:
        return cache_->SetStrictCapacityLimit(random_.OneIn(2));
      default:
        const uint64_t quarters[] = {0, 2, 3, 4, 4};
        const Status resized = stats_->SetScmCapacity(quarters[random_.Below(5)] * kScmBytes / 4);
        EXPECT_TRUE(resized.ok()) << resized.message();
    }
  }

  Op RandomOp() {
    unsigned sum = 0;
    for (const auto& [op, weight] : kWeights) sum += weight;
    uint64_t at = random_.Below(sum);
    for (const auto& [op, weight] : kWeights) {
      if (at < weight) return op;
      at -= weight;
    }
    return Op::kLookup;
  }

  // Half of the operations go to a tenth of the keys.
  uint64_t RandomId() { return random_.OneIn(2) ? random_.Below(kKeys / 10) : random_.Below(kKeys); }

  void Step() {
    const uint64_t id = RandomId();
    switch (RandomOp()) {
      case Op::kLookup:
        if (Cache::Handle* handle = Lookup(id); handle != nullptr) cache_->Release(handle);
        return;
      case Op::kHold:
        if (Cache::Handle* handle = Lookup(id); handle != nullptr) Keep(id, handle);
        return;
      case Op::kInsert:
        // As RocksDB does after a miss; a block the cache forgot comes back with the same bytes.
        return InsertAfterMiss(id);
      case Op::kWarm:
        return Warm(id);
      case Op::kAsyncLookup:
        return LookupSeveral();
      case Op::kErase:
        cache_->Erase(Key(id));
        blocks_[id].live = false;
        return;
      case Op::kRelease:
        if (!held_.empty()) Release(random_.Below(held_.size()));
        return;
      case Op::kReserve:
        return Reserve();
      case Op::kUnreserve:
        return Unreserve();
      case Op::kResize:
        return Resize();
      case Op::kEraseUnRef:
        return cache_->EraseUnRefEntries();
    }
  }

  // RocksDB never inserts other bytes under a key that it did not erase; others may.
  void InsertAfterMiss(uint64_t id) {
    Block& block = blocks_[id];
    if (!block.live || random_.OneIn(4)) return Insert(id);
    ++lookups_;
    if (Cache::Handle* handle = cache_->Lookup(Key(id), block.helper, RandomContext()); handle != nullptr) {
      Check(id, handle);
      return static_cast<void>(cache_->Release(handle));
    }
    TestBlock* obj = TestBlock::New(Content(id, block.generation, block.bytes), cache_->memory_allocator());
    if (!InsertWithImage(cache_.get(), Key(id), obj, block.helper).ok()) delete obj;
  }

  void Run();

  const uint64_t seed_;
  Random random_;
  ScratchFile file_;
  std::shared_ptr<Cache> cache_;
  HybridStats* stats_ = nullptr;
  std::map<uint64_t, Block> blocks_;
  std::vector<Held> held_;
  std::vector<Cache::Handle*> reserved_;
  uint64_t reservations_ = 0;
  uint64_t lookups_ = 0;
};

void HybridCacheFuzz::Run() {
  SCOPED_TRACE("MEZZ_SEED=" + std::to_string(seed_));
  ASSERT_NE(stats_, nullptr);
  for (int step = 0; step < kSteps; ++step) {
    Step();
    if (step % 1000 == 0) stats_->scm().SettleDictionaries();
    if (HasFatalFailure()) FAIL() << "at step " << step;
  }
  const auto [medium, dram, policy, serve, pack] = GetParam();
  // Some policies pack little, whether a dictionary gains enough is chance, and so is how often `adaptive` stores an
  // image of what DRAM takes, when another codec is chosen, and what an LRUCache of small shards, whose hash has
  // another seed in each process, evicts to be packed later: then it goes on.
  const bool to_both = TakesImages(pack) && std::string(policy) == "adaptive";
  const auto packed_enough = [&, pack = pack] {
    const CounterSnapshot now = stats_->Counters();
    return pack == PackMode::kOff || (now[Event::kScmPackedHit] > 100 && stats_->scm().figures().staged_puts() > 100 &&
                                      (pack != PackMode::kZstd || now[Event::kPackedWithDictionary] > 0) &&
                                      (pack != PackMode::kAuto || now[Event::kPackCodecChanged] > 1) &&
                                      (!to_both || now[Event::kInsertToBoth] > 10));
  };
  for (int step = 0; step < 10 * kSteps && !packed_enough(); ++step) {
    for (int i = 0; i < 1000 && !HasFatalFailure(); ++i, ++step) Step();
    stats_->scm().SettleDictionaries();
    if (HasFatalFailure()) FAIL() << "at step " << kSteps + step;
  }
  // The run reached what it is for.
  const CounterSnapshot counters = stats_->Counters();
  EXPECT_GT(counters[Event::kDramHit], 100u);
  EXPECT_GT(counters[Event::kDemotion] + counters[Event::kInsertToScm], 1000u);
  EXPECT_GT(counters[Event::kScmHit], 1000u);
  EXPECT_GT(counters[Event::kScmErase], 10u);
  const DecisionSnapshot decisions = stats_->Decisions();
  for (const Action action : {Action::kToDram, Action::kToScm, Action::kBypass})
    EXPECT_GT(decisions.of(DecisionPoint::kWarm, action), 10u) << ToString(action);
  EXPECT_GT(counters[Event::kScmSegmentReclaimed], 10u);
  EXPECT_GT(counters[Event::kRefusedTooLarge], 0u);
  EXPECT_GT(counters[Event::kRefusedNotPersistable] + counters[Event::kRefusedKeySize], 0u);
  const bool promotes = std::string(policy) != "dram_first";
  EXPECT_GT(counters[promotes                    ? Event::kPromotion
                     : serve == ServeMode::kCopy ? Event::kServedCopied
                                                 : Event::kServedInPlace],
            100u);
  if (pack != PackMode::kOff) {
    EXPECT_GT(counters[Event::kScmPackedHit], 100u);
    EXPECT_GT(counters[Event::kScmHit], counters[Event::kScmPackedHit] + 500);
    EXPECT_GT(stats_->scm().figures().staged_puts(), 100u);
    EXPECT_EQ(counters[Event::kScmUnpackFailed] + counters[Event::kScmNoDictionary], 0u);
    if (pack != PackMode::kAuto) {
      EXPECT_EQ(counters[Event::kPackedWithDictionary] > 0, pack == PackMode::kZstd)
          << counters[Event::kDictionaryTrained] << " dictionaries were trained, "
          << counters[Event::kDictionaryUseless] << " of no use, of " << counters[Event::kScmPackedPut]
          << " packed records";
    }
  }
  if (TakesImages(pack) && std::string(policy) == "scm_first") {
    EXPECT_GT(counters[Event::kScmImageHit], 30u);
    EXPECT_GT(counters[Event::kScmImageUnread], 0u);
  }
  if (to_both) {
    EXPECT_GT(counters[Event::kInsertToBoth], 10u);
  }
  EXPECT_EQ(counters[Event::kScmImageFailed], 0u);
  if (pack == PackMode::kAuto) {
    EXPECT_GT(counters[Event::kPackCodecChanged], 1u);
  }
  EXPECT_EQ(counters[Event::kAdoptionFailed], 0u);
  EXPECT_EQ(counters[Event::kCreateFailed], 0u);
}

TEST_P(HybridCacheFuzz, ForgetsButNeverLies) { Run(); }

class HybridCacheOfSmallShardsFuzz : public HybridCacheFuzz {
 protected:
  HybridCacheOfSmallShardsFuzz() : HybridCacheFuzz(kSmallShardBits) {}
};
TEST_P(HybridCacheOfSmallShardsFuzz, ForgetsButNeverLies) { Run(); }

std::string ConfigName(const ::testing::TestParamInfo<Config>& info) {
  const auto [medium, dram, policy, serve, pack] = info.param;
  std::string name = NameOf(medium) + "_" + NameOf(dram) + "_" + policy;
  name += serve == ServeMode::kCopy ? "_copy" : "_in_place";
  if (pack != PackMode::kOff) name.append("_").append(ToString(pack));
  return name;
}

const auto kPolicies =
    ::testing::Values("dram_first", "scm_first", "bidirectional", "placeholder", "adaptive", "three_queue");
INSTANTIATE_TEST_SUITE_P(All, HybridCacheFuzz,
                         ::testing::Combine(::testing::Values(TestMedium::kFile),
                                            ::testing::Values(DramCacheKind::kHyperClock, DramCacheKind::kLru),
                                            kPolicies, ::testing::Values(ServeMode::kInPlace, ServeMode::kCopy),
                                            ::testing::Values(PackMode::kOff)),
                         ConfigName);
INSTANTIATE_TEST_SUITE_P(Throttled, HybridCacheFuzz,
                         ::testing::Combine(::testing::Values(TestMedium::kThrottled),
                                            ::testing::Values(DramCacheKind::kHyperClock, DramCacheKind::kLru),
                                            kPolicies, ::testing::Values(ServeMode::kInPlace),
                                            ::testing::Values(PackMode::kOff)),
                         ConfigName);
INSTANTIATE_TEST_SUITE_P(
    Packed, HybridCacheFuzz,
    ::testing::Combine(::testing::Values(TestMedium::kAnonymous), ::testing::Values(DramCacheKind::kHyperClock),
                       ::testing::Values("dram_first", "scm_first", "bidirectional", "adaptive"),
                       ::testing::Values(ServeMode::kInPlace),
                       ::testing::Values(PackMode::kImage, PackMode::kLz4, PackMode::kZstd, PackMode::kAuto)),
    ConfigName);
INSTANTIATE_TEST_SUITE_P(All, HybridCacheOfSmallShardsFuzz,
                         ::testing::Combine(::testing::Values(TestMedium::kAnonymous),
                                            ::testing::Values(DramCacheKind::kHyperClock, DramCacheKind::kLru),
                                            ::testing::Values("dram_first", "bidirectional", "adaptive"),
                                            ::testing::Values(ServeMode::kInPlace),
                                            ::testing::Values(PackMode::kOff, PackMode::kZstd)),
                         ConfigName);
INSTANTIATE_TEST_SUITE_P(PackedOverLru, HybridCacheFuzz,
                         ::testing::Combine(::testing::Values(TestMedium::kAnonymous),
                                            ::testing::Values(DramCacheKind::kLru), ::testing::Values("adaptive"),
                                            ::testing::Values(ServeMode::kInPlace),
                                            ::testing::Values(PackMode::kImage, PackMode::kZstd)),
                         ConfigName);

}  // namespace
}  // namespace mezz::test
