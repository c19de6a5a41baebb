// SPDX-License-Identifier: Apache-2.0
// What is too large for a shard stays beside the shards: blocks are found, and reservations fill no shard.
#include "integration/large_entries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "integration/hybrid_cache.h"
#include "rocksdb/cache.h"
#include "rocksdb/version.h"

#if ROCKSDB_MAJOR >= 8
#include "tests/support/hybrid_blocks.h"
#else
#include "tests/support/blocks_v7.h"
#endif

namespace mezz {
namespace {

using rocksdb::Cache;
using Handle = Cache::Handle;

constexpr size_t kMiB = 1 << 20;

BlockKey Key(uint64_t n) { return BlockKey{{n, ~n}}; }

// Handles are numbers, and each has as many references as were given and not taken back.
class FakeOwner final : public LargeEntries::Owner {
 public:
  static Handle* HandleOf(uint64_t n) { return reinterpret_cast<Handle*>(n << 4); }
  void RefLarge(Handle* handle) override { ++refs[handle]; }
  void DropLarge(const BlockKey& key, Handle* handle, bool was_hit, bool offer) override {
    --refs[handle];
    if (offer) evicted.push_back({key.words[0], was_hit});
  }
  void ResizeShards(uint64_t bytes) override { shards_have = bytes; }

  std::map<Handle*, int> refs;
  std::vector<std::pair<uint64_t, bool>> evicted;
  uint64_t shards_have = 0;
};

class LargeEntriesTest : public ::testing::Test {
 protected:
  LargeEntriesTest() { large_.Open(32 * kMiB, /*shards=*/16); }
  void Put(uint64_t n, size_t charge) {
    owner_.refs[FakeOwner::HandleOf(n)] = 1;
    EXPECT_TRUE(large_.Put(Key(n), FakeOwner::HandleOf(n), charge));
  }
  bool Finds(uint64_t n) {
    Handle* const found = large_.Find(Key(n));
    if (found == nullptr) return false;
    EXPECT_EQ(found, FakeOwner::HandleOf(n));
    --owner_.refs[found];
    return true;
  }

  FakeOwner owner_;
  LargeEntries large_{&owner_};
};

TEST_F(LargeEntriesTest, JudgesByTheSizeOfAShard) {
  EXPECT_FALSE(large_.IsLarge(kMiB / 2));
  EXPECT_TRUE(large_.IsLarge(kMiB / 2 + 1));
  EXPECT_TRUE(large_.IsLarge(24 * kMiB));
  EXPECT_FALSE(large_.IsLarge(24 * kMiB + 1)) << "more than three quarters of the tier";
  EXPECT_TRUE(large_.IsLargeReservation(256 << 10));
  EXPECT_FALSE(large_.IsLargeReservation((256 << 10) - 1));
  LargeEntries one_shard(&owner_);
  one_shard.Open(32 * kMiB, 1);
  EXPECT_FALSE(one_shard.IsLarge(8 * kMiB));
  EXPECT_FALSE(one_shard.IsLargeReservation(8 * kMiB));
  EXPECT_EQ(LargeEntries::ShardsIn("    capacity : 33554432\n    num_shard_bits : 4\n    strict : 0\n"), 16u);
  EXPECT_EQ(LargeEntries::ShardsIn("nothing"), 1u);
}

TEST_F(LargeEntriesTest, AllShardsGiveWayAlikeAndGetItBack) {
  Put(1, 3 * kMiB);
  EXPECT_EQ(owner_.shards_have, 29 * kMiB);
  large_.Reserve(5 * kMiB);
  EXPECT_EQ(owner_.shards_have, 24 * kMiB);
  EXPECT_EQ(large_.bytes(), 8 * kMiB);
  large_.Reserve(100 * kMiB);
  EXPECT_EQ(owner_.shards_have, 4 * kMiB) << "an eighth stays theirs";
  large_.Unreserve(105 * kMiB);
  EXPECT_EQ(owner_.shards_have, large_.capacity());
  large_.SetCapacity(64 * kMiB);
  EXPECT_EQ(owner_.shards_have, 64 * kMiB);
  EXPECT_FALSE(large_.IsLarge(kMiB)) << "a quarter of a shard of 4 MiB";
}

TEST_F(LargeEntriesTest, FindsWhatIsListedUntilItIsErased) {
  EXPECT_FALSE(Finds(1));
  for (uint64_t n = 1; n <= 8; ++n) Put(n, kMiB);
  for (uint64_t n = 1; n <= 8; ++n) EXPECT_TRUE(Finds(n));
  EXPECT_TRUE(large_.Erase(Key(3)));
  EXPECT_FALSE(large_.Erase(Key(3)));
  EXPECT_TRUE(large_.Erase(FakeOwner::HandleOf(4)));
  for (uint64_t n = 1; n <= 8; ++n) EXPECT_EQ(Finds(n), n != 3 && n != 4);
  owner_.refs[FakeOwner::HandleOf(50)] = 1;
  EXPECT_TRUE(large_.Put(Key(5), FakeOwner::HandleOf(50), 2 * kMiB));
  EXPECT_EQ(owner_.refs[FakeOwner::HandleOf(5)], 0) << "replaced";
  EXPECT_EQ(large_.bytes(), 7 * kMiB);
  large_.Clear();
  for (const auto& [handle, refs] : owner_.refs) EXPECT_EQ(refs, 0);
  EXPECT_EQ(large_.bytes(), 0u);
  EXPECT_TRUE(owner_.evicted.empty());
}

TEST_F(LargeEntriesTest, WhatIsAskedForStaysAndTheOthersAreEvicted) {
  for (uint64_t n = 1; n <= 200; ++n) {
    EXPECT_EQ(Finds(1), n > 1);
    Put(n, 2 * kMiB);
    EXPECT_LE(large_.bytes(), 24 * kMiB);
  }
  EXPECT_GE(owner_.evicted.size(), 188u);
  for (const auto& [n, was_hit] : owner_.evicted) {
    EXPECT_NE(n, 1u);
    EXPECT_FALSE(was_hit);
    EXPECT_EQ(owner_.refs[FakeOwner::HandleOf(n)], 0);
  }
  large_.Reserve(24 * kMiB);
  EXPECT_EQ(large_.listed(), 0u) << "reservations come first";
}

// --- the whole cache ---

std::shared_ptr<Cache> Make(uint64_t dram_bytes, bool strict = false) {
  HybridCacheOptions options;
  options.dram_bytes = dram_bytes;
  options.strict_capacity_limit = strict;
  options.scm.medium = MediumKind::kAnonymous;
  options.scm.capacity_bytes = 16 * kMiB;
  options.scm.prepare = Prepare::kBeforeOpen;
  options.scm.pack = PackMode::kOff;
  std::shared_ptr<Cache> cache;
  EXPECT_EQ(NewHybridCache(options, &cache).message(), "");
  return cache;
}

#if ROCKSDB_MAJOR >= 8
constexpr uint64_t kDramBytes = 32 * kMiB;  // 16 shards of 2 MiB
constexpr size_t kLargeBytes = 2'500'000;

std::string KeyText(uint64_t n) { return test::KeyOf(n); }
void Insert(Cache& cache, uint64_t n, size_t bytes) {
  auto* const block = test::TestBlock::New(test::Content(n, 0, bytes), cache.memory_allocator());
  Handle* handle = nullptr;
  EXPECT_TRUE(cache.Insert(KeyText(n), block, test::kHelpers[0], block->charge(), &handle).ok());
  cache.Release(handle);
}
bool Holds(Cache& cache, uint64_t n, size_t bytes) {
  Handle* const handle = cache.Lookup(KeyText(n), test::kHelpers[0], nullptr, Cache::Priority::LOW, nullptr);
  if (handle == nullptr) return false;
  const auto* const block = static_cast<const test::TestBlock*>(cache.Value(handle));
  EXPECT_TRUE(test::Content(n, 0, bytes).Matches(block->data(), block->bytes())) << n;
  cache.Release(handle);
  return true;
}
Handle* Reserve(Cache& cache, uint64_t n, size_t bytes) {
  static const Cache::CacheItemHelper helper(rocksdb::CacheEntryRole::kWriteBuffer);
  Handle* handle = nullptr;
  EXPECT_TRUE(cache.Insert(KeyText(n), nullptr, &helper, bytes, &handle).ok());
  return handle;
}
#else
constexpr uint64_t kDramBytes = 8 * kMiB;  // 16 shards of 512 KiB
constexpr size_t kLargeBytes = 700'000;

std::string KeyText(uint64_t n) { return test::KeyV7(n); }
std::string TextOf(uint64_t n, size_t bytes) { return std::string(bytes, static_cast<char>('a' + n % 26)); }
void Insert(Cache& cache, uint64_t n, size_t bytes) {
  Handle* handle = nullptr;
  auto* const block = new test::BlockV7(TextOf(n, bytes));
  EXPECT_TRUE(cache.Insert(KeyText(n), block, &test::kBlockHelper, bytes, &handle, Cache::Priority::LOW).ok());
  cache.Release(handle, false);
}
bool Holds(Cache& cache, uint64_t n, size_t bytes) {
  Handle* const handle =
      cache.Lookup(KeyText(n), &test::kBlockHelper, test::CreateBlock, Cache::Priority::LOW, true, nullptr);
  if (handle == nullptr) return false;
  EXPECT_EQ(static_cast<test::BlockV7*>(cache.Value(handle))->bytes, TextOf(n, bytes)) << n;
  cache.Release(handle, false);
  return true;
}
Handle* Reserve(Cache& cache, uint64_t n, size_t bytes) {
  Handle* handle = nullptr;
  EXPECT_TRUE(cache
                  .Insert(
                      KeyText(n), nullptr, bytes, [](const rocksdb::Slice&, void*) {}, &handle, Cache::Priority::LOW)
                  .ok());
  return handle;
}
#endif

TEST(LargeBlocks, StayWhileTheShardsTurnOver) {
  const auto cache = Make(kDramBytes);
  for (uint64_t n = 0; n < 3; ++n) Insert(*cache, n, kLargeBytes);
  for (uint64_t n = 0; n < 10'000; ++n) {
    Insert(*cache, 1000 + n, 4000);
    if (n % 100 == 0) {
      for (uint64_t large = 0; large < 3; ++large) ASSERT_TRUE(Holds(*cache, large, kLargeBytes)) << n;
      ASSERT_LE(cache->GetUsage(), kDramBytes * 17 / 16);
    }
  }
  EXPECT_GE(cache->GetUsage(), kDramBytes / 4 * 3);
  EXPECT_EQ(cache->GetCapacity(), kDramBytes);
  size_t seen = 0;
#if ROCKSDB_MAJOR >= 8
  cache->ApplyToAllEntries([&](const rocksdb::Slice&, Cache::ObjectPtr, size_t charge,
                               const Cache::CacheItemHelper*) { seen += charge >= kLargeBytes ? 1 : 0; },
                           {});
#else
  cache->ApplyToAllEntries(
      [&](const rocksdb::Slice&, void*, size_t charge, Cache::DeleterFn) { seen += charge >= kLargeBytes ? 1 : 0; },
      {});
#endif
  EXPECT_EQ(seen, 3u);
  cache->Erase(KeyText(0));
  EXPECT_FALSE(Holds(*cache, 0, kLargeBytes));
  cache->SetCapacity(kDramBytes / 2);
  EXPECT_EQ(cache->GetCapacity(), kDramBytes / 2);
  cache->EraseUnRefEntries();
  EXPECT_FALSE(Holds(*cache, 1, kLargeBytes));
}

TEST(LargeBlocks, ThatFitNoSegmentAreToldOnceWithWhatWouldHoldThem) {
  const auto cache = Make(kDramBytes);
  ::testing::internal::CaptureStderr();
  Insert(*cache, 1, 4000);
  Insert(*cache, 2, 600'000);  // of no other test: the same sentence twice in a row is said once
  Insert(*cache, 3, 600'000);
  const std::string told = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(told, ::testing::HasSubstr(" fits no segment, which holds 25"));
  EXPECT_THAT(told, ::testing::HasSubstr("Set segment=1M, or partition filters"));
  EXPECT_EQ(told.find("fits no segment"), told.rfind("fits no segment"));
}

TEST(LargeBlocks, InUseOutliveTheirPlace) {
  const auto cache = Make(kDramBytes);
  Insert(*cache, 1, kLargeBytes);
  Handle* const handle =
#if ROCKSDB_MAJOR >= 8
      cache->Lookup(KeyText(1), test::kHelpers[0], nullptr, Cache::Priority::LOW, nullptr);
#else
      cache->Lookup(KeyText(1), nullptr);
#endif
  ASSERT_NE(handle, nullptr);
  cache->Erase(KeyText(1));
  EXPECT_FALSE(Holds(*cache, 1, kLargeBytes));
  EXPECT_NE(cache->Value(handle), nullptr);
  EXPECT_TRUE(cache->Release(handle, /*erase_if_last_ref=*/false)) << "the last one frees it";
}

// As a WriteBufferManager that charges the cache: half of the tier, in pieces of which some shards would get twice as
// many as others.
TEST(LargeReservations, FillNoShard) {
  const auto cache = Make(kDramBytes);
  constexpr size_t kPiece = 256 << 10;
  std::vector<Handle*> reserved;
  for (uint64_t n = 0; n < kDramBytes / 2 / kPiece; ++n) reserved.push_back(Reserve(*cache, 1'000'000 + n, kPiece));
  EXPECT_GE(cache->GetUsage(), kDramBytes / 2);
  EXPECT_GE(cache->GetPinnedUsage(), kDramBytes / 2);
  const uint64_t fit = kDramBytes / 2 / 4400 / 4 * 3;  // a quarter is left for chance
  for (uint64_t n = 0; n < fit; ++n) Insert(*cache, n, 4000);
  const CounterSnapshot before = GetHybridStats(cache.get())->Counters();
  for (uint64_t n = 0; n < fit; ++n) EXPECT_TRUE(Holds(*cache, n, 4000));
  const CounterSnapshot after = GetHybridStats(cache.get())->Counters();
  EXPECT_GE(after[Event::kDramHit] - before[Event::kDramHit], fit / 100 * 95) << "in each of the shards";
  for (Handle* const handle : reserved) cache->Release(handle, /*erase_if_last_ref=*/true);
  EXPECT_LE(cache->GetPinnedUsage(), kDramBytes / 8);
  for (uint64_t n = 0; n < 2 * fit; ++n) Insert(*cache, n, 4000);
  EXPECT_GE(cache->GetUsage(), kDramBytes / 2) << "the shards have it back";
}

#if ROCKSDB_MAJOR < 8
// As for each block that an iterator reads without filling the cache: nobody deletes it.
TEST(LargeReservations, MayHaveNoDeleter) {
  const auto cache = Make(kDramBytes);
  for (const size_t bytes : {size_t{4000}, kLargeBytes}) {
    Handle* handle = nullptr;
    ASSERT_TRUE(cache->Insert(KeyText(1), nullptr, bytes, nullptr, &handle, Cache::Priority::LOW).ok());
    EXPECT_EQ(cache->GetDeleter(handle), nullptr);
    EXPECT_GE(cache->GetPinnedUsage(), bytes);
    EXPECT_TRUE(cache->Release(handle, /*erase_if_last_ref=*/true));
    EXPECT_LT(cache->GetPinnedUsage(), bytes);
  }
}
#endif

TEST(LargeReservations, OfAStrictCacheAreRefusedAsEver) {
  const auto cache = Make(kDramBytes, /*strict=*/true);
  std::vector<Handle*> reserved;
  for (uint64_t n = 0; n < kDramBytes / kMiB; ++n) {
    Handle* handle = nullptr;
#if ROCKSDB_MAJOR >= 8
    static const Cache::CacheItemHelper helper(rocksdb::CacheEntryRole::kWriteBuffer);
    const rocksdb::Status status = cache->Insert(KeyText(n), nullptr, &helper, kMiB, &handle);
#else
    const rocksdb::Status status = cache->Insert(
        KeyText(n), nullptr, kMiB, [](const rocksdb::Slice&, void*) {}, &handle, Cache::Priority::LOW);
#endif
    if (status.ok()) reserved.push_back(handle);
  }
  EXPECT_LT(reserved.size(), kDramBytes / kMiB) << "what a shard has no room for";
  EXPECT_LE(cache->GetUsage(), kDramBytes);
  for (Handle* const handle : reserved) cache->Release(handle, /*erase_if_last_ref=*/true);
}

}  // namespace
}  // namespace mezz
