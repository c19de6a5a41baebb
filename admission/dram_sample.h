// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace mezz {

// A sample of the keys, by hash, of which DRAM holds about 128 to 256 blocks, or all if it holds fewer. One key in a
// power of two is in it, so a mask tells, which costs next to nothing for the keys that are not.
//
// Thread-safe. It has two relaxed words, stored by SetCapacity. An event meanwhile may be judged by either sample.
class DramSample {
 public:
  explicit DramSample(uint64_t dram_blocks) { SetCapacity(dram_blocks); }

  // Sets how many blocks DRAM holds from now on.
  void SetCapacity(uint64_t dram_blocks) {
    const uint64_t blocks = std::max<uint64_t>(1, dram_blocks);
    const uint64_t ratio = std::bit_ceil((blocks + kBlocksMax - 1) / kBlocksMax);
    mask_.store(ratio - 1, std::memory_order_relaxed);
    blocks_.store(static_cast<uint32_t>(std::max<uint64_t>(1, blocks / ratio)), std::memory_order_relaxed);
  }

  // Whether the key is in the sample. `hash` must be well mixed.
  bool Has(uint64_t hash) const { return (hash & mask_.load(std::memory_order_relaxed)) == 0; }
  uint64_t ratio() const { return mask_.load(std::memory_order_relaxed) + 1; }  // one key in this many is in it
  uint32_t blocks() const { return blocks_.load(std::memory_order_relaxed); }   // of DRAM

  static constexpr uint32_t kBlocksMax = 256;

 private:
  std::atomic<uint64_t> mask_{0};
  std::atomic<uint32_t> blocks_{1};
};

// When each key of a DramSample was noted last, in a unit that the caller chooses. The space is fixed: of keys that
// share a place only the last one is known.
//
// Thread-safe. Each place is one word, stored relaxed, as it is a hint.
class RecentKeys {
 public:
  void Note(uint64_t hash, uint32_t when) { PlaceOf(hash).store({TagOf(hash), when}, std::memory_order_relaxed); }
  // Whether the key was noted at most `distance` before `now`.
  bool Within(uint64_t hash, uint32_t now, uint32_t distance) const {
    const Entry last = PlaceOf(hash).load(std::memory_order_relaxed);
    return last.tag == TagOf(hash) && now - last.when <= distance;
  }

 private:
  struct alignas(uint64_t) Entry {  // without the alignment Clang calls libatomic
    uint32_t tag, when;
  };
  static_assert(std::atomic<Entry>::is_always_lock_free);
  static constexpr size_t kPlaces = size_t{4} * DramSample::kBlocksMax;

  static uint32_t TagOf(uint64_t hash) { return static_cast<uint32_t>(hash >> 42) + 1; }  // 0: no key yet
  std::atomic<Entry>& PlaceOf(uint64_t hash) { return places_[(hash >> 32) % kPlaces]; }
  const std::atomic<Entry>& PlaceOf(uint64_t hash) const { return places_[(hash >> 32) % kPlaces]; }

  std::array<std::atomic<Entry>, kPlaces> places_{};
};

}  // namespace mezz
