// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "admission/lineage.h"

namespace mezz {

// The user keys of the blocks that a compaction has found in the cache, in the order of its reading.
//
// Not thread-safe. Takes at most kBytesMax. As that fills, only every second, fourth, ... key of a block is kept.
// Blocks are read back by the keys that are left, and most blocks have several.
class ParentKeys {
 public:
  static constexpr size_t kBytesMax = 8 << 20;

  ParentKeys() = default;
  ParentKeys(ParentKeys&& other) noexcept;
  ParentKeys& operator=(ParentKeys&& other) noexcept;
  ~ParentKeys() { Clear(); }

  // Adds the keys of `block`, which is a data block as it lies uncompressed in the cache. Adds nothing of any other
  // block.
  void Add(std::span<const std::byte> block, Standing standing, uint8_t frequency);
  void Add(std::string_view key, const Parent& parent);
  // Sorts by key, as the database does; `reversed` stands for rocksdb::ReverseBytewiseComparator. Of two equal keys,
  // the one with the better standing is kept.
  void Sort(bool reversed);
  // Copies the keys from `first` on to `to`, which is emptied before.
  void MoveTail(size_t first, ParentKeys* to) const;
  void Clear();

  size_t size() const { return notes_.size(); }
  bool empty() const { return notes_.empty(); }
  std::string_view key(size_t i) const { return {text_.data() + notes_[i].at, notes_[i].bytes}; }
  const Parent& parent(size_t i) const { return notes_[i].parent; }
  size_t bytes() const { return counted_; }

  // The bytes of all objects of this class.
  static size_t bytes_of_all();

 private:
  struct Note {
    uint32_t at;
    uint16_t bytes;
    Parent parent;
  };
  size_t Stride() const;
  void Count();

  std::vector<char> text_;
  std::vector<Note> notes_;
  size_t counted_ = 0;
};

}  // namespace mezz
