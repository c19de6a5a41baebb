// SPDX-License-Identifier: Apache-2.0
// The whole hybrid cache of RocksDB 7.8 against a plain map: a hit returns the bytes last put under its key, an erased
// key never returns, and every object dies exactly once.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "integration/hybrid_cache_v7.h"
#include "tests/support/blocks_v7.h"
#include "tests/support/flash_clock.h"
#include "tests/support/hybrid_fixture.h"
#include "tests/support/seed.h"

namespace mezz {
namespace {

using rocksdb::Cache;
using test::BlockV7;
using test::kBlockHelper;
using test::KeyV7;
using test::TestMedium;

constexpr uint64_t kKeys = 400;
constexpr int kSteps = 30'000;
constexpr size_t kHeldMax = 24;
constexpr uint64_t kDramBytes = 256 << 10;
constexpr uint64_t kScmBytes = 2 << 20;

struct Setup {
  std::string policy;
  TestMedium medium;
  PackMode pack = PackMode::kOff;
  int shard_bits = 0;  // 2: shards smaller than the larger blocks, which are kept beside them
};

class Fuzz {
 public:
  Fuzz(const Setup& setup, uint64_t seed) : random_(seed), seed_(seed) {
    HybridCacheOptions options = test::SmallOptions(setup.medium, file_, kDramBytes, kScmBytes);
    options.policy = setup.policy;
    options.dram_shard_bits = setup.shard_bits;
    options.scm.pack = setup.pack;
    options.now_ns = test::ChangingFlashClock();
    options.scm.verify = OneIn(2) ? VerifyMode::kAlways : VerifyMode::kOff;
    EXPECT_EQ(NewHybridCache(options, &cache_).message(), "");
    stats_ = GetHybridStats(cache_.get());
    // Some kinds of step are missing from some runs: rare combinations become common.
    for (unsigned& weight : weights_) weight = OneIn(5) ? 0 : weight * (1 + static_cast<unsigned>(Below(3)));
  }

  void Run() {
    for (step_ = 0; step_ < kSteps && !::testing::Test::HasFatalFailure(); ++step_) Step();
    while (!held_.empty()) ReleaseOne();
    test::ExpectSound(cache_.get());
    while (!reserved_.empty()) Leave();
    const size_t idle = cache_->GetPinnedUsage();
    EXPECT_EQ(idle, 0u) << Repro();
    const CounterSnapshot counters = stats_->Counters();
    test::ExpectLookupsAddUp(counters, lookups_);
    cache_.reset();
    EXPECT_EQ(BlockV7::alive, 0) << "an object leaked, or died twice: " << Repro();
  }

 private:
  struct Held {
    Cache::Handle* handle;
    std::string bytes;  // what it must hold to the end
  };
  using StepFunction = void (Fuzz::*)();

  uint64_t Below(uint64_t bound) { return random_() % bound; }
  bool OneIn(uint64_t n) { return Below(n) == 0; }
  std::string Repro() const { return "MEZZ_SEED=" + std::to_string(seed_) + " step " + std::to_string(step_); }

  void Step() {
    unsigned total = 0;
    for (const unsigned weight : weights_) total += weight;
    if (total == 0) return;
    uint64_t pick = Below(total);
    size_t chosen = 0;
    while (pick >= weights_[chosen]) pick -= weights_[chosen++];
    const StepFunction step = kSteps_[chosen];
    (this->*step)();
  }

  // Skewed: a few keys are hot.
  uint64_t Id() { return Below(1 + Below(kKeys)); }

  // What a key names until it is erased or given other bytes. Those of even ids pack.
  std::string BytesOf(uint64_t id) {
    const uint64_t generation = generations_[id];
    std::mt19937_64 bytes(id * 1'000'003 + generation);
    std::string text(1 + bytes() % (bytes() % 8 == 0 ? 60'000 : 6'000), static_cast<char>(bytes()));
    for (size_t at = 0; at + 8 <= text.size(); at += id % 2 == 0 ? 509 : 8) {
      const uint64_t word = bytes();
      std::memcpy(text.data() + at, &word, sizeof(word));
    }
    return text;
  }

  void Insert() {
    const uint64_t id = Id();
    if (OneIn(4)) ++generations_[id];  // other bytes, which RocksDB never has for a key that it did not erase
    auto* const block = new BlockV7(BytesOf(id));
    Cache::Handle* handle = nullptr;
    const bool hold = OneIn(2);
    const bool plain = OneIn(10);
    const size_t charge = block->bytes.size();
    const auto priority = OneIn(4) ? Cache::Priority::HIGH : Cache::Priority::LOW;
    const rocksdb::Status status =
        plain ? cache_->Insert(KeyV7(id), block, charge, &test::DeleteBlock, hold ? &handle : nullptr, priority)
              : cache_->Insert(KeyV7(id), block, &kBlockHelper, charge, hold ? &handle : nullptr, priority);
    if (!status.ok()) {
      ASSERT_TRUE(status.IsMemoryLimit()) << status.ToString();
      ASSERT_TRUE(hold);
      delete block;  // on failure it stays ours, and the cache holds nothing of the key
      present_[id] = false;
      return;
    }
    present_[id] = true;
    if (hold) Keep(handle, id);
  }

  void Lookup() {
    const uint64_t id = Id();
    ++lookups_;
    Check(cache_->Lookup(KeyV7(id), &kBlockHelper, &test::CreateBlock, Cache::Priority::LOW, OneIn(2)), id);
  }
  void PlainLookup() {
    const uint64_t id = Id();
    Check(cache_->Lookup(KeyV7(id)), id);
  }
  void Check(Cache::Handle* handle, uint64_t id) {
    if (handle == nullptr) return;  // a cache may forget
    ASSERT_TRUE(present_[id]) << "a hit on key " << id << ", which was erased: " << Repro();
    ASSERT_EQ(static_cast<BlockV7*>(cache_->Value(handle))->bytes, BytesOf(id)) << "key " << id << ": " << Repro();
    Keep(handle, id);
  }
  void Keep(Cache::Handle* handle, uint64_t id) {
    held_.push_back({handle, BytesOf(id)});
    if (held_.size() > kHeldMax) ReleaseOne();
  }

  void ReleaseOne() {
    if (held_.empty()) return;
    const size_t at = Below(held_.size());
    const Held held = std::move(held_[at]);
    held_.erase(held_.begin() + static_cast<ptrdiff_t>(at));
    ASSERT_EQ(static_cast<BlockV7*>(cache_->Value(held.handle))->bytes, held.bytes) << Repro();
    ASSERT_GE(cache_->GetUsage(held.handle), cache_->GetCharge(held.handle));
    cache_->Release(held.handle, /*erase_if_last_ref=*/OneIn(10));
  }
  void RefOne() {
    if (held_.empty() || held_.size() >= kHeldMax) return;
    const Held held = held_[Below(held_.size())];
    ASSERT_TRUE(cache_->Ref(held.handle));
    held_.push_back(held);
  }

  // As a WriteBufferManager does, or an iterator that fills no cache, which names no deleter.
  void ReserveOrLeave() {
    if (reserved_.size() == 4 || (!reserved_.empty() && OneIn(2))) return Leave();
    const auto deleter = OneIn(2) ? nullptr : +[](const rocksdb::Slice&, void*) {};
    Cache::Handle* handle = nullptr;
    const uint64_t key = kKeys + ++reservations_;
    if (cache_->Insert(KeyV7(key), nullptr, Below(kDramBytes / 8), deleter, &handle, Cache::Priority::LOW).ok())
      reserved_.push_back(handle);
  }
  void Leave() {
    cache_->Release(reserved_.back(), /*erase_if_last_ref=*/true);
    reserved_.pop_back();
  }

  void Erase() {
    const uint64_t id = Id();
    cache_->Erase(KeyV7(id));
    present_[id] = false;
    ++generations_[id];
  }
  void EraseAll() {
    cache_->EraseUnRefEntries();
    // What is referred to may stay in DRAM: only the others are gone for certain, and each may be either.
  }
  void ResizeDram() { cache_->SetCapacity(Below(3) == 0 ? 0 : Below(2 * kDramBytes)); }
  void ResizeScm() { EXPECT_TRUE(stats_->SetScmCapacity(OneIn(3) ? 0 : kScmBytes).ok()) << Repro(); }
  void ToggleStrict() { cache_->SetStrictCapacityLimit(!cache_->HasStrictCapacityLimit()); }
  void Audit() {
    EXPECT_GE(cache_->GetUsage(), cache_->GetPinnedUsage()) << Repro();
    EXPECT_EQ(stats_->scm().Audit().live_pins, 0u) << "7.8 copies: nothing stays pinned: " << Repro();
  }

  static constexpr StepFunction kSteps_[] = {&Fuzz::Insert,       &Fuzz::Lookup,     &Fuzz::PlainLookup,
                                             &Fuzz::ReleaseOne,   &Fuzz::RefOne,     &Fuzz::Erase,
                                             &Fuzz::EraseAll,     &Fuzz::ResizeDram, &Fuzz::ResizeScm,
                                             &Fuzz::ToggleStrict, &Fuzz::Audit,      &Fuzz::ReserveOrLeave};
  unsigned weights_[std::size(kSteps_)] = {3000, 4000, 200, 2000, 300, 300, 2, 20, 4, 10, 5, 100};

  std::mt19937_64 random_;
  const uint64_t seed_;
  int step_ = 0;
  uint64_t lookups_ = 0;
  test::ScratchFile file_;
  std::shared_ptr<Cache> cache_;
  HybridStats* stats_ = nullptr;
  std::map<uint64_t, bool> present_;
  std::map<uint64_t, uint64_t> generations_;
  std::vector<Held> held_;
  std::vector<Cache::Handle*> reserved_;
  uint64_t reservations_ = 0;
};

class HybridCacheV7Fuzz : public ::testing::TestWithParam<Setup> {};

TEST_P(HybridCacheV7Fuzz, NeverLies) {
  constexpr uint64_t kRuns = 3;
  for (uint64_t run = 0; run < kRuns; ++run) {
    SCOPED_TRACE("MEZZ_SEED=" + std::to_string(test::Seed() + run));
    Fuzz(GetParam(), test::Seed() + run).Run();
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, HybridCacheV7Fuzz,
    ::testing::Values(Setup{"dram_first", TestMedium::kAnonymous}, Setup{"scm_first", TestMedium::kAnonymous},
                      Setup{"bidirectional", TestMedium::kAnonymous}, Setup{"placeholder", TestMedium::kAnonymous},
                      Setup{"three_queue", TestMedium::kAnonymous}, Setup{"adaptive", TestMedium::kAnonymous},
                      Setup{"bidirectional", TestMedium::kFile}, Setup{"adaptive", TestMedium::kFile},
                      Setup{"dram_first", TestMedium::kThrottled}, Setup{"bidirectional", TestMedium::kThrottled},
                      Setup{"adaptive", TestMedium::kAnonymous, PackMode::kLz4},
                      Setup{"bidirectional", TestMedium::kAnonymous, PackMode::kZstd},
                      Setup{"dram_first", TestMedium::kAnonymous, PackMode::kZstd},
                      Setup{"adaptive", TestMedium::kAnonymous, PackMode::kAuto},
                      Setup{"bidirectional", TestMedium::kAnonymous, PackMode::kOff, /*shard_bits=*/2},
                      Setup{"adaptive", TestMedium::kAnonymous, PackMode::kZstd, /*shard_bits=*/2}),
    [](const auto& setup) {
      std::string name = setup.param.policy + "_" + test::NameOf(setup.param.medium);
      if (setup.param.shard_bits != 0) name += "_small_shards";
      if (setup.param.pack != PackMode::kOff) name.append("_").append(ToString(setup.param.pack));
      return name;
    });

}  // namespace
}  // namespace mezz
