// SPDX-License-Identifier: Apache-2.0
#include "integration/lru_overflow.h"

namespace mezz {

void LruOverflow::Watch(rocksdb::Cache* lru) {
  capacity_.store(lru->GetCapacity(), std::memory_order_relaxed);
  lru_ = lru;
}

void LruOverflow::SetCapacity(uint64_t bytes) {
  capacity_.store(bytes, std::memory_order_seq_cst);
  lru_->SetCapacity(bytes);
}

// A strict limit is that of the cache's own capacity. A Check that has missed the new limit sees it before it ends.
void LruOverflow::SetStrict(bool strict) {
  lru_->SetStrictCapacityLimit(strict);
  if (!strict) return;
  uint64_t capacity = 0;
  do {
    capacity = capacity_.load(std::memory_order_seq_cst);
    lru_->SetCapacity(capacity);
  } while (capacity_.load(std::memory_order_seq_cst) != capacity);
}

// The usage is a sum over the shards, under the mutex of each.
bool LruOverflow::DueAfterInsert() {
  if (lru_ == nullptr) return false;
  if (over_.load(std::memory_order_relaxed)) return CountedDue();
  thread_local unsigned inserts = 0;
  if (++inserts % kCallsOfCheck != 0) return false;
  return lru_->GetUsage() > capacity_.load(std::memory_order_relaxed);
}

// A capacity or a strict limit that somebody sets meanwhile counts: who sets it either is seen here, or sets the
// capacity after this.
void LruOverflow::Check() {
  if (checking_.exchange(true, std::memory_order_acq_rel)) return;
  uint64_t capacity = 0;
  bool over = false;
  do {
    capacity = capacity_.load(std::memory_order_seq_cst);
    lru_->SetCapacity(capacity);
    const uint64_t in_use = lru_->GetUsage();
    over = in_use > capacity && !lru_->HasStrictCapacityLimit();
    if (over) lru_->SetCapacity(capacity + 2 * in_use);
    over_.store(over, std::memory_order_relaxed);
  } while (capacity_.load(std::memory_order_seq_cst) != capacity || (over && lru_->HasStrictCapacityLimit()));
  checking_.store(false, std::memory_order_release);
}

}  // namespace mezz
