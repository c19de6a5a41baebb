// SPDX-License-Identifier: Apache-2.0
#include "integration/adopting_allocator.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/tier_fixture.h"

namespace mezz {
namespace {

using Adoption = AdoptingAllocator::Adoption;

constexpr size_t kBytes = 4000;
constexpr uint64_t kKey = 1;
constexpr uint64_t kScmBytes = 32 * kSegmentBytesMin;

// The user's allocator: knows what it gave, and takes nothing else back.
class Fallback final : public rocksdb::MemoryAllocator {
 public:
  ~Fallback() override { EXPECT_TRUE(given_.empty()) << given_.size() << " allocations leaked"; }
  const char* Name() const override { return "Fallback"; }
  void* Allocate(size_t bytes) override {
    void* const address = std::malloc(bytes);
    const std::lock_guard lock(mutex_);
    given_[address] = bytes;
    return address;
  }
  void Deallocate(void* address) override {
    {
      const std::lock_guard lock(mutex_);
      EXPECT_EQ(given_.erase(address), 1u) << "never given, or taken back before";
    }
    std::free(address);
  }
  size_t UsableSize(void* address, size_t) const override {
    const std::lock_guard lock(mutex_);
    return given_.at(address) + 1;  // unlike malloc's
  }
  size_t given() const {
    const std::lock_guard lock(mutex_);
    return given_.size();
  }

 private:
  mutable std::mutex mutex_;
  std::map<void*, size_t> given_;
};

class AdoptingAllocatorTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(Put(kKey, 0), PutResult::kStored); }
  void TearDown() override { test::ExpectSound(*tier_); }

  PutResult Put(uint64_t key, uint64_t version) {
    return tier_->Put(test::Key(key), BlockRole::kData, test::Payload(key, version, kBytes));
  }
  // REQUIRES: a hit.
  PinnedBlock Find(uint64_t key = kKey) {
    PinnedBlock block = tier_->Find(test::Key(key));
    EXPECT_TRUE(block);
    return block;
  }
  uint64_t Pins() const { return tier_->Audit().live_pins; }
  void ExpectBytes(const void* object, uint64_t key = kKey, uint64_t version = 0) {
    EXPECT_EQ(std::memcmp(object, test::Payload(key, version, kBytes).data(), kBytes), 0);
  }

  const std::unique_ptr<ScmTier> tier_ = test::OpenOrDie(test::AnonymousOptions(kScmBytes));
  Fallback fallback_;
  AdoptingAllocator allocator_{*tier_, &fallback_};
};

TEST_F(AdoptingAllocatorTest, TheFirstRequestOfThatSizeGetsThePayloadAndThePinWithIt) {
  void* object = nullptr;
  {
    const Adoption adoption(allocator_, Find());
    EXPECT_FALSE(adoption.clean()) << "nobody took it yet";
    object = allocator_.Allocate(kBytes);
    EXPECT_EQ(object, adoption.payload().data());
    EXPECT_TRUE(adoption.clean());
  }
  EXPECT_EQ(fallback_.given(), 0u);
  EXPECT_EQ(Pins(), 1u) << "the object's, which outlives the scope";
  EXPECT_EQ(allocator_.UsableSize(object, kBytes), 0u) << "it takes no DRAM";
  ExpectBytes(object);
  allocator_.Deallocate(object);
  EXPECT_EQ(Pins(), 0u);
}

TEST_F(AdoptingAllocatorTest, AnOfferThatNobodyTookReturnsItsPin) {
  { const Adoption adoption(allocator_, Find()); }
  EXPECT_EQ(Pins(), 0u);
}

TEST_F(AdoptingAllocatorTest, RequestsOfOtherSizesGoToTheFallback) {
  std::vector<void*> others;
  {
    const Adoption adoption(allocator_, Find());
    for (const size_t bytes : {kBytes - 1, kBytes + 1, size_t{1}}) {
      others.push_back(allocator_.Allocate(bytes));
      EXPECT_FALSE(tier_->Owns(others.back())) << bytes;
      EXPECT_EQ(allocator_.UsableSize(others.back(), bytes), bytes + 1) << "as the fallback says";
    }
    void* const object = allocator_.Allocate(kBytes);
    EXPECT_EQ(object, adoption.payload().data()) << "the first of that size, not the first of all";
    EXPECT_FALSE(adoption.clean()) << "it asked for more than its bytes";
    allocator_.Deallocate(object);
  }
  EXPECT_EQ(fallback_.given(), 3u);
  for (void* other : others) allocator_.Deallocate(other);
}

TEST_F(AdoptingAllocatorTest, OnePinServesOneObject) {
  void *first = nullptr, *second = nullptr;
  {
    const Adoption adoption(allocator_, Find());
    first = allocator_.Allocate(kBytes);
    second = allocator_.Allocate(kBytes);
    EXPECT_TRUE(tier_->Owns(first));
    EXPECT_FALSE(tier_->Owns(second));
    EXPECT_FALSE(adoption.clean());
  }
  EXPECT_EQ(Pins(), 1u);
  allocator_.Deallocate(second);
  EXPECT_EQ(Pins(), 1u);
  allocator_.Deallocate(first);
}

TEST_F(AdoptingAllocatorTest, ACallbackThatGivesUpReturnsThePinOnceAndTheOfferIsOver) {
  {
    const Adoption adoption(allocator_, Find());
    allocator_.Deallocate(allocator_.Allocate(kBytes));
    EXPECT_FALSE(adoption.clean());
    EXPECT_EQ(Pins(), 1u) << "the scope's: its payload may still be read";
    void* const again = allocator_.Allocate(kBytes);
    EXPECT_FALSE(tier_->Owns(again));
    allocator_.Deallocate(again);
  }
  EXPECT_EQ(Pins(), 0u);
}

TEST_F(AdoptingAllocatorTest, ScopesNestAndTheInnerOneCounts) {
  ASSERT_EQ(Put(2, 0), PutResult::kStored);
  const Adoption outer(allocator_, Find());
  void* inside = nullptr;
  {
    const Adoption inner(allocator_, Find(2));
    inside = allocator_.Allocate(kBytes);
    EXPECT_EQ(inside, inner.payload().data());
  }
  void* const outside = allocator_.Allocate(kBytes);
  EXPECT_EQ(outside, outer.payload().data());
  EXPECT_TRUE(outer.clean());
  ExpectBytes(inside, 2);
  ExpectBytes(outside, kKey);
  allocator_.Deallocate(inside);
  allocator_.Deallocate(outside);
  // Taken back within the scope: the pin is the scope's again.
  EXPECT_FALSE(outer.clean());
}

TEST_F(AdoptingAllocatorTest, AnOfferIsForItsAllocatorAndItsThread) {
  AdoptingAllocator other(*tier_, &fallback_);
  const Adoption adoption(allocator_, Find());
  void* const foreign = other.Allocate(kBytes);
  EXPECT_FALSE(tier_->Owns(foreign));
  void* elsewhere = nullptr;
  std::thread([&] { elsewhere = allocator_.Allocate(kBytes); }).join();
  EXPECT_FALSE(tier_->Owns(elsewhere));
  other.Deallocate(foreign);
  allocator_.Deallocate(elsewhere);
  void* const object = allocator_.Allocate(kBytes);
  EXPECT_EQ(object, adoption.payload().data());
  EXPECT_TRUE(adoption.clean()) << "the others' requests are not this scope's";
  allocator_.Deallocate(object);
}

// A stale adoption: the key is replaced, erased, and its space wanted, while the object lives.
TEST_F(AdoptingAllocatorTest, AnObjectKeepsItsBytesWhateverBecomesOfItsKey) {
  void* object = nullptr;
  {
    const Adoption adoption(allocator_, Find());
    ASSERT_EQ(Put(kKey, 1), PutResult::kStored) << "between the look-up and the allocation";
    object = allocator_.Allocate(kBytes);
  }
  tier_->Erase(test::Key(kKey));
  for (uint64_t key = 100; key < 100 + 2 * kScmBytes / kBytes; ++key) Put(key, 0);
  EXPECT_GT(tier_->counters().Snapshot()[Event::kScmSegmentReclaimed], 4u);
  ExpectBytes(object, kKey, 0);
  allocator_.Deallocate(object);
}

// Two objects of one record: pins of one record are alike.
TEST_F(AdoptingAllocatorTest, AnOlderObjectOfTheRecordMayGoWhileAnAdoptionIsOpen) {
  for (const bool taken : {false, true}) {
    void *older = nullptr, *newer = nullptr;
    {
      const Adoption adoption(allocator_, Find());
      older = allocator_.Allocate(kBytes);
    }
    {
      const Adoption adoption(allocator_, Find());
      if (taken) newer = allocator_.Allocate(kBytes);
      allocator_.Deallocate(older);
      if (!taken) newer = allocator_.Allocate(kBytes);
      EXPECT_EQ(newer, adoption.payload().data());
      EXPECT_GE(Pins(), 1u);
    }
    EXPECT_EQ(Pins(), 1u) << "the newer object's";
    ExpectBytes(newer);
    allocator_.Deallocate(newer);
    EXPECT_EQ(Pins(), 0u);
  }
}

TEST_F(AdoptingAllocatorTest, WithoutAFallbackMallocServes) {
  AdoptingAllocator plain(*tier_, nullptr);
  void* const object = plain.Allocate(100);
  EXPECT_EQ(plain.UsableSize(object, 100), malloc_usable_size(object));
  plain.Deallocate(object);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they end the process instead
  const volatile size_t too_much = size_t{1} << 60;
  EXPECT_THROW(plain.Allocate(too_much), std::bad_alloc);
#endif
}

// Objects that one thread makes and another one frees.
class Pool {
 public:
  struct Object {
    uint64_t key = 0;
    void* address = nullptr;
  };

  // Keeps `object`, and gives back another one if it has too many.
  Object Exchange(Object object, uint64_t random) {
    const std::lock_guard lock(mutex_);
    objects_.push_back(object);
    if (objects_.size() <= kObjectsMax) return {};
    std::swap(objects_[random % objects_.size()], objects_.back());
    const Object other = objects_.back();
    objects_.pop_back();
    return other;
  }
  // REQUIRES: no other call runs.
  const std::vector<Object>& objects() const { return objects_; }

 private:
  static constexpr size_t kObjectsMax = 8;  // more would keep reclaim from most segments
  std::mutex mutex_;
  std::vector<Object> objects_;
};

TEST_F(AdoptingAllocatorTest, ObjectsOfManyThreadsKeepTheirBytesAndReturnTheirPins) {
  constexpr uint64_t kKeys = 64, kStrangers = 4000;
  Pool pool;
  std::atomic<uint64_t> adopted{0}, refused{0}, wrong{0};
  const auto add = [](std::atomic<uint64_t>* count) { count->fetch_add(1, std::memory_order_relaxed); };
  const auto adopt = [&](uint64_t key, bool asks_for_more) -> void* {
    PinnedBlock block = tier_->Find(test::Key(key));
    if (!block) return nullptr;
    const Adoption adoption(allocator_, std::move(block));
    if (asks_for_more) allocator_.Deallocate(allocator_.Allocate(kBytes / 2));
    void* const address = allocator_.Allocate(kBytes);
    add(address == adoption.payload().data() && adoption.clean() != asks_for_more ? &adopted : &refused);
    return address;
  };
  const auto work = [&](uint64_t seed) {
    std::mt19937_64 random(seed);
    for (int step = 0; step < 6000; ++step) {
      const uint64_t key = random() % kKeys;
      void* const address = adopt(key, random() % 4 == 0);
      if (address == nullptr) Put(key, 0);
      Put(kKeys + random() % kStrangers, 0);  // so that reclaim runs
      if (address == nullptr) continue;
      const Pool::Object other = pool.Exchange({key, address}, random());
      if (other.address == nullptr) continue;
      if (std::memcmp(other.address, test::Payload(other.key, 0, kBytes).data(), kBytes) != 0) add(&wrong);
      allocator_.Deallocate(other.address);
    }
  };
  const uint64_t seed = test::Seed();
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < 3; ++i) threads.emplace_back(work, seed + i);
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(Pins(), pool.objects().size());
  for (const Pool::Object& object : pool.objects()) {
    ExpectBytes(object.address, object.key);
    allocator_.Deallocate(object.address);
  }
  EXPECT_EQ(wrong.load(std::memory_order_relaxed), 0u);
  EXPECT_EQ(refused.load(std::memory_order_relaxed), 0u);
  EXPECT_GT(adopted.load(std::memory_order_relaxed), 1000u);
  EXPECT_GT(tier_->counters().Snapshot()[Event::kScmSegmentReclaimed], 50u);
}

}  // namespace
}  // namespace mezz
