// SPDX-License-Identifier: Apache-2.0
#include "workloads/replay/caches/block_cache.h"

#include <cstring>

#include "admission/curves/dram_models.h"
#include "rocksdb/memory_allocator.h"

namespace mezz {
namespace {

using rocksdb::Cache;
using rocksdb::MemoryAllocator;
using rocksdb::Slice;

Slice ToSlice(const BlockKey& key) { return {key.bytes().data(), BlockKey::kBytes}; }

// As RocksDB's Block: owns bytes that came from an allocator.
class Block {
 public:
  Block(std::span<const std::byte> bytes, MemoryAllocator* allocator)
      : allocator_(allocator),
        data_(static_cast<std::byte*>(allocator != nullptr ? allocator->Allocate(bytes.size())
                                                           : ::operator new(bytes.size()))),
        bytes_(bytes.size()) {
    if (data_ != bytes.data()) std::memcpy(data_, bytes.data(), bytes_);  // in place, they are the same bytes
  }
  ~Block() { allocator_ != nullptr ? allocator_->Deallocate(data_) : ::operator delete(data_); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  std::span<const std::byte> bytes() const { return {data_, bytes_}; }
  // Nothing of a block that lies in SCM; an allocator that hands over a buffer which it filled has DRAM in it.
  size_t charge() const { return allocator_ != nullptr && allocator_->UsableSize(data_, bytes_) == 0 ? 0 : bytes_; }

 private:
  MemoryAllocator* const allocator_;
  std::byte* const data_;
  const size_t bytes_;
};

size_t SizeOf(void* object) { return static_cast<Block*>(object)->bytes().size(); }

#if ROCKSDB_MAJOR < 8

// 7.8's callbacks are asked for the whole block.
rocksdb::Status Save(void* object, size_t offset, size_t bytes, void* to) {
  std::memcpy(to, static_cast<Block*>(object)->bytes().data() + offset, bytes);
  return rocksdb::Status::OK();
}
void Delete(const Slice&, void* object) { delete static_cast<Block*>(object); }
rocksdb::Status Create(const void* bytes, size_t size, void** object, size_t* charge) {
  auto* const block = new Block({static_cast<const std::byte*>(bytes), size}, nullptr);
  *object = block;
  *charge = block->charge();
  return rocksdb::Status::OK();
}

// 7.8 has no roles.
const Cache::CacheItemHelper* HelperOf(BlockRole) {
  static const Cache::CacheItemHelper helper(&SizeOf, &Save, &Delete);
  return &helper;
}

#else

rocksdb::Status Save(void* object, size_t offset, size_t bytes, char* to) {
  std::memcpy(to, static_cast<Block*>(object)->bytes().data() + offset, bytes);
  return rocksdb::Status::OK();
}
void Delete(void* object, MemoryAllocator*) { delete static_cast<Block*>(object); }
rocksdb::Status Create(const Slice& bytes, rocksdb::CompressionType, rocksdb::CacheTier, Cache::CreateContext*,
                       MemoryAllocator* allocator, void** object, size_t* charge) {
  auto* const block = new Block(std::as_bytes(std::span(bytes.data(), bytes.size())), allocator);
  *object = block;
  *charge = block->charge();
  return rocksdb::Status::OK();
}

template <rocksdb::CacheEntryRole kRole>
const Cache::CacheItemHelper* Helper() {
  static const Cache::CacheItemHelper basic(kRole, &Delete);
  static const Cache::CacheItemHelper full(kRole, &Delete, &SizeOf, &Save, &Create, &basic);
  return &full;
}

const Cache::CacheItemHelper* HelperOf(BlockRole role) {
  switch (role) {
    case BlockRole::kData:
      return Helper<rocksdb::CacheEntryRole::kDataBlock>();
    case BlockRole::kIndex:
      return Helper<rocksdb::CacheEntryRole::kIndexBlock>();
    case BlockRole::kFilter:
      return Helper<rocksdb::CacheEntryRole::kFilterBlock>();
    case BlockRole::kDictionary:
      return Helper<rocksdb::CacheEntryRole::kOtherBlock>();
    case BlockRole::kBlob:
      return Helper<rocksdb::CacheEntryRole::kBlobValue>();
    case BlockRole::kOther:
      break;
  }
  return Helper<rocksdb::CacheEntryRole::kMisc>();
}

#endif

Cache::Priority PriorityOf(BlockRole role) {
  switch (sim::PriorityOf(role)) {
    case sim::DramPriority::kHigh:
      return Cache::Priority::HIGH;
    case sim::DramPriority::kBottom:
      return Cache::Priority::BOTTOM;
    case sim::DramPriority::kLow:
      break;
  }
  return Cache::Priority::LOW;
}

}  // namespace

std::span<const std::byte> BlockCache::Held::bytes() const {
  return static_cast<Block*>(cache_->Value(handle_))->bytes();
}

BlockCache::Held BlockCache::Lookup(const BlockKey& key, BlockRole role) {
#if ROCKSDB_MAJOR < 8
  static const Cache::CreateCallback create = &Create;
  return {cache_.get(), cache_->Lookup(ToSlice(key), HelperOf(role), create, PriorityOf(role), /*wait=*/true)};
#else
  return {cache_.get(), cache_->Lookup(ToSlice(key), HelperOf(role), /*create_context=*/nullptr, PriorityOf(role))};
#endif
}

BlockCache::Held BlockCache::Insert(const BlockKey& key, BlockRole role, std::span<const std::byte> bytes) {
#if ROCKSDB_MAJOR < 8
  auto block = std::make_unique<Block>(bytes, nullptr);
#else
  auto block = std::make_unique<Block>(bytes, cache_->memory_allocator());
#endif
  Cache::Handle* handle = nullptr;
  const rocksdb::Status inserted =
      cache_->Insert(ToSlice(key), block.get(), HelperOf(role), block->charge(), &handle, PriorityOf(role));
  if (!inserted.ok()) return {};
  block.release();
  return {cache_.get(), handle};
}

}  // namespace mezz
