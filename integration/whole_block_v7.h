// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstring>

#include "cache/base/thread_buffer.h"
#include "rocksdb/cache.h"

namespace mezz {

// A block of RocksDB 7.8 as a BlockSource. The callbacks of 7.8 save a block only as a whole. They ignore the offset
// and assert the length, so a request for a piece from the middle would yield the block's first bytes again. Therefore
// a block that is wanted in pieces is saved once, as a whole, into memory of this thread. Ask for the pieces in order
// of their offsets, from 0.
class WholeBlockV7 {
 public:
  WholeBlockV7(const rocksdb::Cache::CacheItemHelper* helper, void* object, size_t bytes)
      : helper_(helper), object_(object), bytes_(bytes) {}

  // A helper that throws counts as failed.
  bool operator()(size_t offset, size_t bytes, std::byte* to) const noexcept {
    if (offset == 0 && bytes == bytes_) return SaveTo(to);
    std::byte* const whole = ThreadBuffer<WholeBlockV7>::AtLeast(bytes_);
    if (whole == nullptr || (offset == 0 && !SaveTo(whole))) return false;
    std::memcpy(to, whole + offset, bytes);
    return true;
  }

 private:
  bool SaveTo(std::byte* to) const {
    try {
      return helper_->saveto_cb(object_, 0, bytes_, to).ok();
    } catch (...) {
      return false;
    }
  }

  const rocksdb::Cache::CacheItemHelper* const helper_;
  void* const object_;
  const size_t bytes_;
};

}  // namespace mezz
