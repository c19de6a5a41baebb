// SPDX-License-Identifier: Apache-2.0
#include "cache/index.h"

#include <sys/mman.h>

#include <new>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace mezz {
namespace {

// Words per slot at which inserting into the emptier of two buckets of sixteen displaces under 1 % of the words, under
// random churn too (tests/unit/cache/index_test.cc). Two buckets of eight would displace 7 % there, three 2 %.
constexpr double kLoadMax = 0.86;

constexpr uint64_t kHugePageBytes = 2 << 20;

// Maps a uniform 64-bit hash onto [0, n) without a division (Lemire, "Fast random integer generation in an interval").
uint64_t Scale(uint64_t hash, uint64_t n) {
  return static_cast<uint64_t>(static_cast<unsigned __int128>(hash) * n >> 64);
}

}  // namespace

Index::Index(uint64_t blocks, uint64_t hash_seed) : hash_seed_(hash_seed) {
  buckets_ = static_cast<uint64_t>(static_cast<double>(blocks) / kLoadMax) / kSlotsPerBucket + 1;
  mapped_bytes_ = bytes() < kHugePageBytes ? bytes() : RoundUp(bytes(), kHugePageBytes);
  void* memory = mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  madvise(memory, mapped_bytes_, MADV_HUGEPAGE);  // a wish: fewer TLB misses on the hit path
  slots_ = static_cast<Slot*>(memory);            // zero pages are empty words
}

Index::~Index() {
  if (slots_ != nullptr) munmap(slots_, mapped_bytes_);
}

KeyHash Index::Hash(const BlockKey& key) const {
  const XXH128_hash_t hash = XXH3_128bits_withSeed(key.words, BlockKey::kBytes, hash_seed_);
  return {{Scale(hash.low64, buckets_), Scale(hash.high64, buckets_)},
          static_cast<uint32_t>(hash.low64 & ((1u << IndexWord::kTagBits) - 1))};
}

Index::Slot* Index::FindRecord(const KeyHash& hash, uint64_t line, IndexWord* word) const {
  Slot* found = nullptr;
  FindTag(hash, [&](Slot& slot, IndexWord seen) {
    if (seen.line() != line) return false;
    found = &slot;
    *word = seen;
    return true;
  });
  return found;
}

Index::Slot* Index::EmptySlot(const KeyHash& hash) const {
  Slot* first_empty[2] = {nullptr, nullptr};
  unsigned empties[2] = {0, 0};
  for (unsigned choice = 0; choice < 2; ++choice) {
    Slot* bucket = Bucket(hash, choice);
    for (size_t i = 0; i < kSlotsPerBucket; ++i) {
      if (bucket[i].load(std::memory_order_relaxed) != 0) continue;
      if (empties[choice]++ == 0) first_empty[choice] = &bucket[i];
    }
  }
  return first_empty[empties[1] > empties[0] ? 1 : 0];
}

}  // namespace mezz
