// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "cache/base/thread_buffer.h"
#include "cache/types.h"
#include "rocksdb/cache.h"
#include "rocksdb/version.h"

#if ROCKSDB_MAJOR < 8
#include "integration/whole_block_v7.h"
#else
#include "integration/rocksdb_compat.h"
#endif

namespace mezz {

// An object that RocksDB keeps in a cache, with the helper that tells its size and saves its bytes; alike for every
// release. Owns nothing.
class CachedObject {
 public:
  using Helper = rocksdb::Cache::CacheItemHelper;

  CachedObject(void* object, const Helper* helper) : object_(object), helper_(helper) {}

  // 7.8 tells no roles: there it is always kOther.
  static constexpr bool kTellsRoles = ROCKSDB_MAJOR >= 8;
  // `helper` may be null.
  static BlockRole RoleOf([[maybe_unused]] const Helper* helper) {
#if ROCKSDB_MAJOR < 8
    return BlockRole::kOther;
#else
    return helper == nullptr ? BlockRole::kOther : ToBlockRole(helper->role);
#endif
  }
  // Whether objects with this helper, which may be null, can be saved and made again.
  static bool CanBeSaved(const Helper* helper) {
    return helper != nullptr && helper->size_cb != nullptr && helper->saveto_cb != nullptr;
  }

  BlockRole role() const { return RoleOf(helper_); }
  bool can_be_read() const { return object_ != nullptr && CanBeSaved(helper_); }
  // REQUIRES of the following: can_be_read(). May throw what the helper throws.
  size_t bytes() const { return helper_->size_cb(object_); }
  // Saves the object, whose bytes() are `bytes`, as a BlockSource does. A helper that throws has failed.
  auto source([[maybe_unused]] size_t bytes) const {
#if ROCKSDB_MAJOR < 8
    return WholeBlockV7(helper_, object_, bytes);
#else
    return [*this](size_t offset, size_t count, std::byte* to) noexcept {
      try {
        return helper_->saveto_cb(object_, offset, count, reinterpret_cast<char*>(to)).ok();
      } catch (...) {
        return false;
      }
    };
#endif
  }
  // All bytes of the object, in memory of this thread that its next call reuses. Empty if they cannot be had.
  std::span<const std::byte> Copy() const {
    const size_t count = bytes();
    std::byte* const copy = ThreadBuffer<CachedObject>::AtLeast(count);
    if (copy == nullptr || !source(count)(0, count, copy)) return {};
    return {copy, count};
  }

 private:
  void* object_;
  const Helper* helper_;
};

}  // namespace mezz
