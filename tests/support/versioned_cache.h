// SPDX-License-Identifier: Apache-2.0
// A cache of versioned values, the same on every RocksDB release: what a hit returns tells whose it is and how new.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "rocksdb/cache.h"
#include "rocksdb/version.h"
#include "tests/support/random.h"
#if ROCKSDB_MAJOR < 8
#include "tests/support/blocks_v7.h"
#else
#include "tests/support/hybrid_blocks.h"
#endif

namespace mezz::test {

// From this id on blocks are letters, each 32 of them twice: zstd packs them to half of what LZ4 does.
inline constexpr uint64_t kLetters = uint64_t{1} << 40;

// `version` of block `id`: both in front, then words that follow from them; those of even ids pack, and every other of
// them shares its words with others.
inline std::string VersionedBytes(uint64_t id, uint64_t version, size_t bytes) {
  std::string text(std::max<size_t>(bytes, 2 * sizeof(uint64_t)), '\0');
  std::memcpy(text.data(), &id, sizeof(id));
  std::memcpy(text.data() + sizeof(id), &version, sizeof(version));
  const uint64_t seed = Mix(Mix(id) ^ version) ^ text.size();
  if (id >= kLetters) {
    for (size_t at = 2 * sizeof(uint64_t); at < text.size(); ++at)
      text[at] = static_cast<char>('a' + Mix(seed + at / 64 * 32 + at % 32) % 8);
    return text;
  }
  for (size_t at = 2 * sizeof(uint64_t); at < text.size(); at += sizeof(uint64_t)) {
    const uint64_t own = Mix(seed + at / (id % 4 == 2 ? 32 : 8));
    const uint64_t word = id % 4 == 0 && at >= 128 ? CommonWord(own) : own;
    std::memcpy(text.data() + at, &word, std::min(sizeof(word), text.size() - at));
  }
  return text;
}

// The version in bytes that belong to `id`; nothing if they are anything else.
inline std::optional<uint64_t> VersionIn(std::string_view bytes, uint64_t id) {
  uint64_t head[2];
  if (bytes.size() < sizeof(head)) return std::nullopt;
  std::memcpy(head, bytes.data(), sizeof(head));
  if (head[0] != id || bytes != VersionedBytes(id, head[1], bytes.size())) return std::nullopt;
  return head[1];
}

// The calls of rocksdb::Cache that a user of blocks makes, on values of one kind.
class VersionedCache {
 public:
#if ROCKSDB_MAJOR < 8
  using Helper = rocksdb::Cache::CacheItemHelper;
  using CreateCall = rocksdb::Status (*)(const void*, size_t, void**, size_t*);
  static constexpr const Helper* kHelper = &kBlockHelper;
  static constexpr CreateCall kCreate = &CreateBlock;
#else
  using CreateCall = rocksdb::Cache::CreateCallback;
  static constexpr const Helper* kHelper = &kFullHelper<rocksdb::CacheEntryRole::kDataBlock>;
  static constexpr CreateCall kCreate = &CreateTestBlock;
#endif

  // `create` is asked on 7.8 only; later helpers have their own.
  explicit VersionedCache(rocksdb::Cache* cache, const Helper* helper = kHelper, CreateCall create = kCreate)
      : cache_(cache), helper_(helper), create_(create) {}

  // False: the cache had no room, and holds nothing of the key.
  bool Insert(uint64_t id, uint64_t version, size_t bytes) const;

  struct Hit {
    bool whole = true;     // the bytes are some version of this block
    uint64_t version = 0;  // if they are
  };
  std::optional<Hit> Lookup(uint64_t id) const;

  void Erase(uint64_t id) const { cache_->Erase(Key(id)); }

  // The version found, 0 for a miss. Bytes that are no version of the block are a failure.
  uint64_t Found(uint64_t id) const {
    const auto hit = Lookup(id);
    if (!hit) return 0;
    EXPECT_TRUE(hit->whole) << "block " << id;
    return hit->version;
  }

#if ROCKSDB_MAJOR < 8
  static std::string Key(uint64_t id) { return KeyV7(id); }
#else
  static std::string Key(uint64_t id) { return KeyOf(id); }
#endif

 private:
  rocksdb::Cache* const cache_;
  const Helper* const helper_;
  [[maybe_unused]] const CreateCall create_;  // RocksDB 7 is asked with it
};

#if ROCKSDB_MAJOR < 8
inline bool VersionedCache::Insert(uint64_t id, uint64_t version, size_t bytes) const {
  auto* const block = new BlockV7(VersionedBytes(id, version, bytes));
  return cache_->Insert(Key(id), block, helper_, block->bytes.size()).ok();
}
inline std::optional<VersionedCache::Hit> VersionedCache::Lookup(uint64_t id) const {
  rocksdb::Cache::Handle* const handle =
      cache_->Lookup(Key(id), helper_, create_, rocksdb::Cache::Priority::LOW, /*wait=*/true);
  if (handle == nullptr) return std::nullopt;
  const auto version = VersionIn(static_cast<BlockV7*>(cache_->Value(handle))->bytes, id);
  cache_->Release(handle);
  return Hit{version.has_value(), version.value_or(0)};
}
#else
inline bool VersionedCache::Insert(uint64_t id, uint64_t version, size_t bytes) const {
  const std::string text = VersionedBytes(id, version, bytes);
  auto* const block = new TestBlock(text.size(), cache_->memory_allocator());
  text.copy(block->data(), text.size());
  // Three files in four are compressed.
  const bool inserted =
      (id % 8 < 6 ? InsertWithImage(cache_, Key(id), block, helper_) : InsertRead(cache_, Key(id), block, helper_))
          .ok();
  if (!inserted) delete block;
  return inserted;
}
inline std::optional<VersionedCache::Hit> VersionedCache::Lookup(uint64_t id) const {
  rocksdb::Cache::Handle* const handle = cache_->Lookup(Key(id), helper_, &fake_context);
  if (handle == nullptr) return std::nullopt;
  const auto* const block = static_cast<TestBlock*>(cache_->Value(handle));
  const auto version = VersionIn({block->data(), block->bytes()}, id);
  cache_->Release(handle);
  return Hit{version.has_value(), version.value_or(0)};
}
#endif

}  // namespace mezz::test
