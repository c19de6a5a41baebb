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

uint64_t Index::BucketsFor(uint64_t blocks) {
  return static_cast<uint64_t>(static_cast<double>(blocks) / kLoadMax) / kSlotsPerBucket + 1;
}

Index::Index(uint64_t blocks, uint64_t hash_seed) : hash_seed_(hash_seed), buckets_(BucketsFor(blocks)) {
  mapped_bytes_ = bytes() < kHugePageBytes ? bytes() : RoundUp(bytes(), kHugePageBytes);
  void* memory = mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  madvise(memory, mapped_bytes_, MADV_HUGEPAGE);  // a wish: fewer TLB misses on the hit path
  // A child shares the medium but not the parent's later changes of it: it must find nothing (docs/limitations.md).
  madvise(memory, mapped_bytes_, MADV_WIPEONFORK);
  slots_ = static_cast<Slot*>(memory);  // zero pages are empty words
}

Index::~Index() {
  if (slots_ != nullptr) munmap(slots_, mapped_bytes_);
}

KeyHash Index::Hash(const BlockKey& key) const {
  const XXH128_hash_t hash = XXH3_128bits_withSeed(key.words, BlockKey::kBytes, hash_seed_);
  return {{Scale(hash.low64, buckets_), Scale(hash.high64, buckets_)},
          static_cast<uint32_t>(hash.low64 & ((1u << IndexWord::kTagBits) - 1))};
}

// True: the slot's word named `record`, whatever its heat, and is `next` now.
bool Index::Exchange(Slot& slot, IndexWord record, IndexWord next, std::memory_order order) {
  uint64_t expected = record.raw();
  while (IndexWord(expected).SameRecord(record)) {
    if (slot.compare_exchange_weak(expected, next.raw(), order, std::memory_order_acquire)) return true;
  }
  return false;
}

bool Index::Remove(Slot& slot, IndexWord record) {
  assert(!record.empty());
  if (!Exchange(slot, record, IndexWord(), std::memory_order_seq_cst)) return false;
  blocks_.fetch_sub(1, std::memory_order_relaxed);
  return true;
}

IndexWord Index::Touch(Entry entry, unsigned heat) {
  const IndexWord touched = entry.word.with(/*dram=*/false, heat);
  if (touched.raw() != entry.word.raw()) {
    uint64_t expected = entry.word.raw();
    slots_[entry.slot].compare_exchange_strong(expected, touched.raw(), std::memory_order_relaxed,
                                               std::memory_order_relaxed);
  }
  return touched;
}

bool Index::SetDram(const KeyHash& hash, bool dram) {
  return VisitTag(hash, std::memory_order_acquire, [&](Slot& slot, IndexWord word) {
    uint64_t expected = word.raw();
    while (!word.empty() && word.tag() == hash.tag) {
      if (slot.compare_exchange_weak(expected, word.with(dram, word.heat()).raw(), std::memory_order_relaxed,
                                     std::memory_order_relaxed))
        return true;
      word = IndexWord(expected);
    }
    return false;
  });
}

Index::Entry Index::FindLine(const KeyHash& hash, uint64_t line) const {
  Entry found;
  VisitTag(hash, std::memory_order_acquire, [&](Slot& slot, IndexWord word) {
    if (word.line() == line) found = {NumberOf(slot), word};
    return word.line() == line;
  });
  return found;
}

void Index::Cool(Entry entry) {
  IndexWord seen = entry.word;
  while (seen.SameRecord(entry.word) && seen.heat() > 0) {
    uint64_t expected = seen.raw();
    const IndexWord cooled = seen.with(seen.dram(), seen.heat() - 1);
    assert(!cooled.empty());
    if (slots_[entry.slot].compare_exchange_weak(expected, cooled.raw(), std::memory_order_relaxed,
                                                 std::memory_order_relaxed))
      return;
    seen = IndexWord(expected);
  }
}

Index::Outcome Index::Move(Entry entry, uint64_t line, unsigned heat_cost) {
  Slot& slot = slots_[entry.slot];
  IndexWord seen = entry.word;
  while (seen.SameRecord(entry.word)) {
    uint64_t expected = seen.raw();
    const unsigned heat = seen.heat() - std::min(seen.heat(), heat_cost);
    const IndexWord moved = IndexWord::Make(seen.tag(), line, seen.dram(), heat);
    if (slot.compare_exchange_weak(expected, moved.raw(), std::memory_order_seq_cst, std::memory_order_acquire))
      return Outcome::kDone;
    seen = IndexWord(expected);
  }
  return Outcome::kChanged;
}

Index::Outcome Index::Drop(Entry entry) {
  uint64_t expected = entry.word.raw();
  if (!slots_[entry.slot].compare_exchange_strong(expected, 0, std::memory_order_seq_cst, std::memory_order_relaxed))
    return Outcome::kChanged;
  blocks_.fetch_sub(1, std::memory_order_relaxed);
  return Outcome::kDone;
}

Index::Outcome Index::RemoveRecord(Entry entry) {
  return Remove(slots_[entry.slot], entry.word) ? Outcome::kDone : Outcome::kChanged;
}

void Index::Clear() {
  for (uint64_t i = 0; i < slots(); ++i) {
    if (slots_[i].load(std::memory_order_relaxed) == 0) continue;
    if (slots_[i].exchange(0, std::memory_order_seq_cst) != 0) blocks_.fetch_sub(1, std::memory_order_relaxed);
  }
}

uint64_t Index::blocks() const { return static_cast<uint64_t>(std::max<int64_t>(0, counted())); }

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
