// SPDX-License-Identifier: Apache-2.0
// Blocks for tests of a whole cache: objects that know what they should hold, and the helpers RocksDB would pass.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cache/types.h"
#include "rocksdb/advanced_cache.h"
#include "rocksdb/memory_allocator.h"
#include "tests/support/random.h"

namespace mezz::test {

// Blocks as a file might hold them compressed, for caches that know nothing of the codec: runs of 8-byte words. Like a
// real codec it has no checksum, so damaged bytes give other ones, or none.
inline constexpr unsigned char kFakeCompression = 0x80;  // RocksDB's first for codecs of users

// A byte that counts, and the word, for each run; then what is left of the block.
inline std::string FakeImage(std::string_view block) {
  constexpr size_t kWord = sizeof(uint64_t);
  std::string image;
  size_t at = 0;
  while (at + kWord <= block.size()) {
    unsigned char run = 1;
    while (run < 255 && at + (run + 1) * kWord <= block.size() &&
           std::memcmp(&block[at], &block[at + run * kWord], kWord) == 0)
      ++run;
    image += static_cast<char>(run);
    image += block.substr(at, kWord);
    at += run * kWord;
  }
  image += '\0';
  return image.append(block.substr(at));
}

inline std::optional<std::string> UnpackFakeImage(std::string_view image) {
  constexpr size_t kWord = sizeof(uint64_t);
  std::string block;
  size_t at = 0;
  for (; at < image.size() && image[at] != '\0'; at += 1 + kWord) {
    if (at + 1 + kWord > image.size()) return std::nullopt;
    for (unsigned run = static_cast<unsigned char>(image[at]); run > 0; --run) block += image.substr(at + 1, kWord);
  }
  if (at == image.size()) return std::nullopt;
  block += image.substr(at + 1);
  return block;
}

// The content of block `id` in its `generation`-th life: every word depends on all three. Those of even ids pack: four
// words in a row are alike, or, behind the beginning, all are of one vocabulary, which a dictionary holds.
class Content {
 public:
  Content(uint64_t id, uint64_t generation, size_t bytes)
      : seed_(Mix(Mix(id) ^ generation) ^ bytes), bytes_(bytes), alike_(id % 4 == 2 ? 32 : 8), common_(id % 4 == 0) {}

  size_t bytes() const { return bytes_; }
  void Write(char* to) const {
    for (size_t at = 0; at < bytes_; at += 8) {
      const uint64_t word = Word(at);
      std::memcpy(to + at, &word, std::min<size_t>(8, bytes_ - at));
    }
  }
  bool Matches(const char* from, size_t bytes) const {
    if (bytes != bytes_) return false;
    for (size_t at = 0; at < bytes_; at += 8) {
      const uint64_t word = Word(at);
      if (std::memcmp(from + at, &word, std::min<size_t>(8, bytes_ - at)) != 0) return false;
    }
    return true;
  }

 private:
  uint64_t Word(size_t at) const {
    const uint64_t word = Mix(seed_ + at / alike_);
    return common_ && at >= 128 ? CommonWord(word) : word;
  }

  uint64_t seed_;
  size_t bytes_;
  size_t alike_;  // bytes
  bool common_;
};

// What RocksDB's Block and BlobContents are to a cache: an object that owns bytes it got from an allocator.
class TestBlock {
 public:
  TestBlock(size_t bytes, rocksdb::MemoryAllocator* allocator)
      : allocator_(allocator),
        data_(allocator != nullptr ? static_cast<char*>(allocator->Allocate(bytes)) : new char[bytes]),
        bytes_(bytes) {}
  ~TestBlock() {
    if (allocator_ != nullptr) {
      allocator_->Deallocate(data_);
    } else {
      delete[] data_;
    }
  }
  TestBlock(const TestBlock&) = delete;
  TestBlock& operator=(const TestBlock&) = delete;

  static TestBlock* New(const Content& content, rocksdb::MemoryAllocator* allocator) {
    auto* block = new TestBlock(content.bytes(), allocator);
    content.Write(block->data_);
    return block;
  }

  char* data() const { return data_; }
  // As the file that it comes from would hold it.
  std::string image() const { return FakeImage({data_, bytes_}); }
  size_t bytes() const { return bytes_; }
  size_t charge() const {
    return sizeof(*this) + (allocator_ != nullptr ? allocator_->UsableSize(data_, bytes_) : bytes_);
  }

 private:
  rocksdb::MemoryAllocator* const allocator_;
  char* const data_;
  const size_t bytes_;
};

inline void DeleteTestBlock(rocksdb::Cache::ObjectPtr obj, rocksdb::MemoryAllocator*) {
  delete static_cast<TestBlock*>(obj);
}
inline size_t TestBlockSize(rocksdb::Cache::ObjectPtr obj) { return static_cast<TestBlock*>(obj)->bytes(); }
inline rocksdb::Status SaveTestBlock(rocksdb::Cache::ObjectPtr obj, size_t offset, size_t bytes, char* to) {
  std::memcpy(to, static_cast<TestBlock*>(obj)->data() + offset, bytes);
  return rocksdb::Status::OK();
}
// What unpacks a FakeImage. RocksDB's own callbacks crash without theirs, and give a null object where they fail.
inline rocksdb::Cache::CreateContext fake_context;
inline rocksdb::Status CreateTestBlock(const rocksdb::Slice& data, rocksdb::CompressionType type, rocksdb::CacheTier,
                                       rocksdb::Cache::CreateContext* context, rocksdb::MemoryAllocator* allocator,
                                       rocksdb::Cache::ObjectPtr* obj, size_t* charge) {
  if (type != rocksdb::kNoCompression) {
    if (context != &fake_context || static_cast<unsigned char>(type) != kFakeCompression) std::abort();
    const auto unpacked = UnpackFakeImage({data.data(), data.size()});
    if (!unpacked) return rocksdb::Status::OK();
    auto block = std::make_unique<TestBlock>(unpacked->size(), allocator);
    unpacked->copy(block->data(), unpacked->size());
    *charge = block->charge();
    *obj = block.release();
    return rocksdb::Status::OK();
  }
  auto block = std::make_unique<TestBlock>(data.size(), allocator);
#ifdef __SANITIZE_THREAD__
  // TSan takes the copy onto itself, which stores nothing, for a write.
  if (block->data() != data.data())
#endif
    std::memmove(block->data(), data.data(), data.size());
  *charge = block->charge();
  *obj = block.release();
  return rocksdb::Status::OK();
}

using Helper = rocksdb::Cache::CacheItemHelper;

// RocksDB's call after a miss: it uses what it has read, so it wants a handle, which is released here if `handle` is
// null. (Without one it warms the cache with what it has written.)
inline rocksdb::Status InsertRead(rocksdb::Cache* cache, const rocksdb::Slice& key, TestBlock* block,
                                  const Helper* helper, rocksdb::Cache::Handle** handle = nullptr,
                                  rocksdb::Cache::Priority priority = rocksdb::Cache::Priority::LOW,
                                  const rocksdb::Slice& image = {},
                                  rocksdb::CompressionType type = rocksdb::kNoCompression) {
  rocksdb::Cache::Handle* released = nullptr;
  rocksdb::Status s =
      cache->Insert(key, block, helper, block->charge(), handle != nullptr ? handle : &released, priority, image, type);
  if (released != nullptr) cache->Release(released);
  return s;
}
// The same of a block that its file holds compressed.
inline rocksdb::Status InsertWithImage(rocksdb::Cache* cache, const rocksdb::Slice& key, TestBlock* block,
                                       const Helper* helper, rocksdb::Cache::Handle** handle = nullptr,
                                       rocksdb::Cache::Priority priority = rocksdb::Cache::Priority::LOW) {
  return InsertRead(cache, key, block, helper, handle, priority, block->image(),
                    static_cast<rocksdb::CompressionType>(kFakeCompression));
}

template <rocksdb::CacheEntryRole kRole>
inline const Helper kBasicHelper{kRole, &DeleteTestBlock};
template <rocksdb::CacheEntryRole kRole>
inline const Helper kFullHelper{kRole,          &DeleteTestBlock, &TestBlockSize,
                                &SaveTestBlock, &CreateTestBlock, &kBasicHelper<kRole>};

// Helpers of the roles that demote, in the order of BlockRole.
inline const Helper* const kHelpers[] = {
    &kFullHelper<rocksdb::CacheEntryRole::kDataBlock>,   &kFullHelper<rocksdb::CacheEntryRole::kIndexBlock>,
    &kFullHelper<rocksdb::CacheEntryRole::kFilterBlock>, &kFullHelper<rocksdb::CacheEntryRole::kOtherBlock>,
    &kFullHelper<rocksdb::CacheEntryRole::kBlobValue>,   &kFullHelper<rocksdb::CacheEntryRole::kMisc>,
};
// Never demoted, like a cache reservation: no object, no way to save it.
inline const Helper kReservationHelper{rocksdb::CacheEntryRole::kWriteBuffer};

// The 16-byte key of block `id`.
inline std::string KeyOf(uint64_t id) {
  const uint64_t words[2] = {Mix(id), id};
  return {reinterpret_cast<const char*>(words), sizeof(words)};
}

}  // namespace mezz::test
