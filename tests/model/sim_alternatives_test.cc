// SPDX-License-Identifier: Apache-2.0
// The simulator's CompressedSecondaryCache against RocksDB's: each look-up is answered from the same place, and as many
// blocks are written.
#include <gtest/gtest.h>
#include <malloc.h>

#include <set>

#include "../unit/sim/test_traces.h"
#include "admission/curves/block_key.h"
#include "rocksdb/advanced_cache.h"
#include "rocksdb/cache.h"
#include "rocksdb/memory_allocator.h"
#include "rocksdb/perf_context.h"
#include "rocksdb/perf_level.h"
#include "workloads/sim/compressed_secondary.h"

namespace mezz::sim {
namespace {

using Found = PlaceholderTiers::Found;
using rocksdb::Cache;

constexpr uint32_t kBlocks = 3000;
constexpr size_t kHeaderBytes = 4;  // a length of two bytes, a tag of two

uint32_t BytesOf(BlockId block) { return static_cast<uint32_t>(200 + MixWord(block) % 1000); }
// glibc's malloc_usable_size, where no chunk is larger than it must be.
constexpr size_t MallocBytes(size_t bytes) { return (bytes + 8 + 15) / 16 * 16 - 8; }

// The real tier charges what malloc gave it; this gives it no more than it asked for, rounded.
class ExactAllocator final : public rocksdb::MemoryAllocator {
 public:
  ~ExactAllocator() override {
    for (void* chunk : too_large_) free(chunk);
  }
  const char* Name() const override { return "ExactAllocator"; }
  void* Allocate(size_t bytes) override {
    for (;;) {
      void* const chunk = malloc(bytes);
      if (malloc_usable_size(chunk) == MallocBytes(bytes)) return chunk;
      too_large_.push_back(chunk);
    }
  }
  void Deallocate(void* chunk) override { free(chunk); }

 private:
  std::vector<void*> too_large_;
};

void DeleteBlock(Cache::ObjectPtr object, rocksdb::MemoryAllocator*) { delete static_cast<std::string*>(object); }
size_t SizeOfBlock(Cache::ObjectPtr object) { return static_cast<std::string*>(object)->size(); }
rocksdb::Status SaveBlock(Cache::ObjectPtr object, size_t from, size_t length, char* out) {
  static_cast<std::string*>(object)->copy(out, length, from);
  return rocksdb::Status::OK();
}
rocksdb::Status CreateBlock(const rocksdb::Slice& bytes, rocksdb::CompressionType, rocksdb::CacheTier,
                            Cache::CreateContext*, rocksdb::MemoryAllocator*, Cache::ObjectPtr* object,
                            size_t* charge) {
  *object = new std::string(bytes.ToString());
  *charge = bytes.size();
  return rocksdb::Status::OK();
}
const Cache::CacheItemHelper kPlain{rocksdb::CacheEntryRole::kDataBlock, DeleteBlock};
const Cache::CacheItemHelper kHelper{
    rocksdb::CacheEntryRole::kDataBlock, DeleteBlock, SizeOfBlock, SaveBlock, CreateBlock, &kPlain};

std::shared_ptr<Cache> RealTiers(const PlaceholderTiers::Options& options) {
  rocksdb::CompressedSecondaryCacheOptions below;
  below.capacity = options.second.capacity;
  below.num_shard_bits = 0;
  below.high_pri_pool_ratio = options.second.high_priority_pool;
  below.metadata_charge_policy = rocksdb::kDontChargeCacheMetadata;
  below.compression_type = rocksdb::kNoCompression;
  below.memory_allocator = std::make_shared<ExactAllocator>();
  rocksdb::LRUCacheOptions above;
  above.capacity = options.first.capacity;
  above.num_shard_bits = 0;
  above.high_pri_pool_ratio = options.first.high_priority_pool;
  above.metadata_charge_policy = rocksdb::kDontChargeCacheMetadata;
  above.secondary_cache = below.MakeSharedSecondaryCache();
  return above.MakeSharedCache();
}

// Looks a block up and inserts it on a miss, as RocksDB does, releasing at once.
Found Access(Cache& cache, BlockId block) {
  const BlockKey key = BlockKeyOf(block);
  const rocksdb::Slice slice(key.bytes().data(), key.bytes().size());
  const rocksdb::PerfContext* perf = rocksdb::get_perf_context();
  const uint64_t copied = perf->block_cache_standalone_handle_count, moved = perf->block_cache_real_handle_count;
  Cache::Handle* handle = cache.Lookup(slice, &kHelper, nullptr, Cache::Priority::LOW, nullptr);
  Found found = Found::kFirst;
  if (handle == nullptr) {
    found = Found::kMiss;
    EXPECT_TRUE(cache.Insert(slice, new std::string(BytesOf(block), 'x'), &kHelper, BytesOf(block), &handle).ok());
  } else if (perf->block_cache_standalone_handle_count != copied) {
    found = Found::kSecondCopied;
  } else if (perf->block_cache_real_handle_count != moved) {
    found = Found::kSecondMoved;
  }
  cache.Release(handle);
  return found;
}

struct CountWrites final : PlaceholderTiers::Writes {
  void OnWrite(BlockId) override { ++count; }
  uint64_t count = 0;
};

TEST(SimCompressedSecondary, FindsEachBlockWhereRocksDbDoes) {
  rocksdb::SetPerfLevel(rocksdb::PerfLevel::kEnableCount);
  std::set<Found> ways;
  for (const double pool : {0.0, 0.5}) {
    for (const uint64_t blocks_below : {150, 700}) {
      std::mt19937_64 random(test::Seed());
      PlaceholderTiers::Options options;
      options.first = {.capacity = 200 * 700, .high_priority_pool = pool};
      options.second = {.capacity = blocks_below * 700, .high_priority_pool = pool};
      for (BlockId block = 0; block < kBlocks; ++block) {
        options.first_charges.push_back(BytesOf(block));
        options.second_charges.push_back(static_cast<uint32_t>(MallocBytes(BytesOf(block) + kHeaderBytes)));
      }
      CountWrites writes;
      CompressedSecondaryModel<LruModel> model(kBlocks, options, &writes);
      const std::shared_ptr<Cache> real = RealTiers(options);
      const uint64_t written = rocksdb::get_perf_context()->compressed_sec_cache_insert_real_count;
      size_t at = 0;
      for (const BlockId block : MixedAccesses(random, 60'000, kBlocks)) {
        const Found want = Access(*real, block);
        ASSERT_EQ(model.Access(block, DramPriority::kLow), want) << "access " << at << ", pool " << pool;
        ways.insert(want);
        ++at;
      }
      EXPECT_EQ(writes.count, rocksdb::get_perf_context()->compressed_sec_cache_insert_real_count - written);
    }
  }
  EXPECT_EQ(ways.size(), 4u) << "every way was walked";
}

}  // namespace
}  // namespace mezz::sim
