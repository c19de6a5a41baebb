// SPDX-License-Identifier: Apache-2.0
#include "cache/index_buckets.h"

#include <sys/mman.h>

#include <new>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "cache/media/populate.h"

namespace mezz {
namespace {

// The words per slot up to which inserting into the emptier of two buckets of sixteen displaces less than 1 % of the
// words, under random churn too (tests/unit/cache/index_test.cc). Two buckets of eight would displace 7 % there, and
// three 2 %.
constexpr double kLoadMax = 0.86;

// The words per slot above which a growing index grows. It is less than kLoadMax, as groups that are not split yet take
// a larger share.
constexpr double kGrowAbove = 0.81;

}  // namespace

uint64_t IndexBuckets::GroupsFor(uint64_t blocks, Size size) {
  const uint64_t buckets = static_cast<uint64_t>(static_cast<double>(blocks) / kLoadMax) / kSlotsPerBucket + 1;
  return (buckets + MembersAtFirst(size) - 1) / MembersAtFirst(size);
}

IndexBuckets::IndexBuckets(uint64_t blocks, uint64_t hash_seed, Size size)
    : hash_seed_(hash_seed), members_(MembersAtFirst(size)), groups_(GroupsFor(blocks, size)) {
  constexpr uint64_t kBucketBytes = kSlotsPerBucket * sizeof(Slot);
  const bool grows = size == Size::kGrows;
  const uint64_t bytes_max = (grows ? groups_ * BucketGroups::kMembersMax + 1 : groups_) * kBucketBytes;
  mapped_bytes_ = bytes_max < kHugePageBytes ? bytes_max : RoundUp(bytes_max, kHugePageBytes);
  const int reserve = grows ? MAP_NORESERVE : 0;
  void* memory = mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | reserve, -1, 0);
  if (memory == MAP_FAILED) return;
  madvise(memory, mapped_bytes_, grows ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);  // a wish: fewer TLB misses at hits
  // A child shares the medium but not the parent's later changes of it: it must find nothing
  // (docs/reference/limitations.md).
  madvise(memory, mapped_bytes_, MADV_WIPEONFORK);
  memory_ = memory;
  slots_ = static_cast<Slot*>(memory);  // zero pages are empty words, and the first state
  if (!grows) return;
  growth_ = slots_;
  slots_ += kSlotsPerBucket;
  AdviseHugePages(State{}, State{});
}

// Asks for huge pages, where a whole one is in use. One that is partly unused would take up to 2 MiB without words,
// which is several times the index of a small tier. The kernel need not comply.
void IndexBuckets::AdviseHugePages(State before, State after) {
  const auto memory = reinterpret_cast<uintptr_t>(memory_);
  const auto end = [&](State state) {
    return reinterpret_cast<uintptr_t>(slots_ + BucketsIn(state) * kSlotsPerBucket) / kHugePageBytes * kHugePageBytes;
  };
  const bool first = after.raw == 0;
  const uintptr_t from = first ? RoundUp(memory, kHugePageBytes) : end(before);
  if (end(after) > from && from >= memory)
    madvise(static_cast<char*>(memory_) + (from - memory), end(after) - from, MADV_HUGEPAGE);
}

IndexBuckets::~IndexBuckets() {
  if (memory_ != nullptr) munmap(memory_, mapped_bytes_);
}

KeyHash IndexBuckets::Hash(const BlockKey& key) const {
  const XXH128_hash_t hash = XXH3_128bits_withSeed(key.words, BlockKey::kBytes, hash_seed_);
  return {{hash.low64, hash.high64}, static_cast<uint32_t>(hash.low64 & ((1u << IndexWord::kTagBits) - 1))};
}

bool IndexBuckets::InSplit(const KeyHash& hash, State state) const {
  if (!state.splitting()) return false;
  return GroupOf(hash.choice[0]) == state.next() || GroupOf(hash.choice[1]) == state.next();
}

bool IndexBuckets::Moved(const KeyHash& hash, State then, State now) const {
  if (then.raw == now.raw && !now.splitting()) return false;
  if (InSplit(hash, now)) return true;
  return NumberOfBucket(hash.choice[0], then) != NumberOfBucket(hash.choice[0], now) ||
         NumberOfBucket(hash.choice[1], then) != NumberOfBucket(hash.choice[1], now);
}

IndexBuckets::State IndexBuckets::StateToChange(const KeyHash& hash) {
  for (;;) {
    const State state = LoadState(std::memory_order_seq_cst);
    if (!InSplit(hash, state)) return state;
    const std::lock_guard split_is_over(split_mutex_);
  }
}

IndexBuckets::Slot* IndexBuckets::EmptySlot(const KeyHash& hash, State state) const {
  Slot* first_empty[2] = {nullptr, nullptr};
  unsigned empties[2] = {0, 0};
  for (unsigned choice = 0; choice < 2; ++choice) {
    Slot* bucket = Bucket(hash, choice, state);
    for (size_t i = 0; i < kSlotsPerBucket; ++i) {
      if (bucket[i].load(std::memory_order_relaxed) != 0) continue;
      if (empties[choice]++ == 0) first_empty[choice] = &bucket[i];
    }
  }
  return first_empty[empties[1] > empties[0] ? 1 : 0];
}

bool IndexBuckets::IsCrowded(int64_t words) const {
  const State state = LoadState(std::memory_order_relaxed);
  if (growth_ == nullptr || members_ + state.added() == BucketGroups::kMembersMax) return false;
  const auto slots = static_cast<double>(BucketsIn(state) * kSlotsPerBucket);
  return static_cast<double>(words) > (state.raw == 0 ? kLoadMax : kGrowAbove) * slots;
}

bool IndexBuckets::TakeShape(const Shape& shape) {
  if (shape.groups != groups_ || shape.members != members_) return false;
  const State state{shape.growth};
  const unsigned most = growth_ != nullptr ? BucketGroups::kMembersMax - members_ : 0;
  if (state.splitting() || state.next() >= groups_ || state.added() + (state.next() != 0 ? 1u : 0u) > most)
    return false;
  if (growth_ != nullptr) growth_->store(state.raw, std::memory_order_release);
  if (state.raw != 0) AdviseHugePages(State{}, state);
  return true;
}

}  // namespace mezz
