// SPDX-License-Identifier: Apache-2.0
#include "integration/large_entries.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <string>
#include <utility>

#include "cache/base/if_memory.h"

namespace mezz {
namespace {

// Shares of a shard, and of the tier.
constexpr uint64_t kLargeBlockOfShard = 4;
constexpr uint64_t kLargeReservationOfShard = 8;
constexpr uint64_t kShardsKeep = 8;

}  // namespace

uint32_t LargeEntries::ShardsIn(std::string_view printable_options) {
  constexpr std::string_view kName = "num_shard_bits : ";
  const size_t at = printable_options.find(kName);
  if (at == std::string_view::npos) return 1;
  const std::string_view digits = printable_options.substr(at + kName.size());
  uint32_t bits = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), bits);
  return parsed.ec == std::errc() && bits < 32 ? uint32_t{1} << bits : 1;
}

void LargeEntries::Open(uint64_t bytes, uint32_t shards) {
  const std::lock_guard lock(resize_mutex_);
  shards_ = shards;
  shards_have_ = bytes;
  SetCapacityLocked(bytes);
}

void LargeEntries::SetCapacity(uint64_t bytes) {
  {
    const std::lock_guard lock(resize_mutex_);
    shards_have_ = UINT64_MAX;  // whatever it was
    SetCapacityLocked(bytes);
  }
  Rebalance();
}

void LargeEntries::SetCapacityLocked(uint64_t bytes) {
  capacity_.store(bytes, std::memory_order_relaxed);
  if (shards_ <= 1) return;  // one shard holds what the tier does
  const uint64_t shard = bytes / shards_;
  block_min_.store(shard / kLargeBlockOfShard, std::memory_order_relaxed);
  reservation_min_.store(std::max<uint64_t>(shard / kLargeReservationOfShard, 1), std::memory_order_relaxed);
}

LargeEntries::Stripe& LargeEntries::StripeOf(const BlockKey& key) {
  return stripes_[std::hash<std::string_view>()(key.bytes()) % kStripes];
}

uint64_t LargeEntries::BlocksMax() const {
  const uint64_t capacity = this->capacity();
  return capacity / 4 * 3 - std::min(capacity / 4 * 3, reserved());
}

LargeEntries::Handle* LargeEntries::Find(const BlockKey& key) {
  if (listed() == 0) return nullptr;
  Stripe& stripe = StripeOf(key);
  if (stripe.count.load(std::memory_order_relaxed) == 0) return nullptr;
  const std::shared_lock lock(stripe.mutex);
  for (const std::unique_ptr<Entry>& entry : stripe.entries) {
    if (!(entry->key == key)) continue;
    owner_->RefLarge(entry->handle);  // under the lock, so that it is there
    if (!entry->recent.load(std::memory_order_relaxed)) entry->recent.store(true, std::memory_order_relaxed);
    if (!entry->hit.load(std::memory_order_relaxed)) entry->hit.store(true, std::memory_order_relaxed);
    return entry->handle;
  }
  return nullptr;
}

bool LargeEntries::Put(const BlockKey& key, Handle* handle, size_t charge) {
  Stripe& stripe = StripeOf(key);
  std::unique_ptr<Entry> old;
  const bool memory = IfThereIsMemory([&] {
    std::unique_ptr<Entry> entry(new Entry{.key = key, .handle = handle, .charge = charge});
    const std::lock_guard lock(stripe.mutex);
    for (std::unique_ptr<Entry>& one : stripe.entries) {
      if (one->key == key) return static_cast<void>(old = std::exchange(one, std::move(entry)));
    }
    stripe.entries.push_back(std::move(entry));
    stripe.count.store(static_cast<uint32_t>(stripe.entries.size()), std::memory_order_relaxed);
  });
  if (!memory) return false;
  if (old != nullptr) Drop(std::move(old), /*offer=*/false);
  listed_.fetch_add(1, std::memory_order_relaxed);
  bytes_.fetch_add(charge, std::memory_order_relaxed);
  Rebalance();
  return true;
}

template <typename Is>
std::unique_ptr<LargeEntries::Entry> LargeEntries::TakeFrom(Stripe* stripe, const Is& is) {
  if (stripe->count.load(std::memory_order_relaxed) == 0) return nullptr;
  const std::lock_guard lock(stripe->mutex);
  const auto found = std::find_if(stripe->entries.begin(), stripe->entries.end(),
                                  [&](const std::unique_ptr<Entry>& entry) { return is(*entry); });
  if (found == stripe->entries.end()) return nullptr;
  std::unique_ptr<Entry> entry = std::move(*found);
  stripe->entries.erase(found);
  stripe->count.store(static_cast<uint32_t>(stripe->entries.size()), std::memory_order_relaxed);
  return entry;
}

void LargeEntries::Drop(std::unique_ptr<Entry> entry, bool offer) {
  bytes_.fetch_sub(entry->charge, std::memory_order_relaxed);
  listed_.fetch_sub(1, std::memory_order_relaxed);
  owner_->DropLarge(entry->key, entry->handle, entry->hit.load(std::memory_order_relaxed), offer);
}

bool LargeEntries::Erase(const BlockKey& key) {
  if (listed() == 0) return false;
  std::unique_ptr<Entry> entry = TakeFrom(&StripeOf(key), [&](const Entry& one) { return one.key == key; });
  if (entry == nullptr) return false;
  Drop(std::move(entry), /*offer=*/false);
  Rebalance();
  return true;
}

bool LargeEntries::Erase(const Handle* handle) {
  if (listed() == 0) return false;
  for (Stripe& stripe : stripes_) {
    std::unique_ptr<Entry> entry = TakeFrom(&stripe, [&](const Entry& one) { return one.handle == handle; });
    if (entry == nullptr) continue;
    Drop(std::move(entry), /*offer=*/false);
    Rebalance();
    return true;
  }
  return false;
}

void LargeEntries::Clear() {
  for (Stripe& stripe : stripes_) {
    while (std::unique_ptr<Entry> entry = TakeFrom(&stripe, [](const Entry&) { return true; }))
      Drop(std::move(entry), /*offer=*/false);
  }
  Rebalance();
}

void LargeEntries::ForEach(const std::function<void(const BlockKey&, Handle*, size_t charge)>& visit) {
  for (Stripe& stripe : stripes_) {
    if (stripe.count.load(std::memory_order_relaxed) == 0) continue;
    const std::shared_lock lock(stripe.mutex);
    for (const std::unique_ptr<Entry>& entry : stripe.entries) visit(entry->key, entry->handle, entry->charge);
  }
}

void LargeEntries::Reserve(uint64_t bytes) {
  reserved_.fetch_add(bytes, std::memory_order_relaxed);
  Rebalance();
}

void LargeEntries::Unreserve(uint64_t bytes) {
  assert(reserved() >= bytes);
  reserved_.fetch_sub(bytes, std::memory_order_relaxed);
  Rebalance();
}

// The first that nobody asked for since the hand came by; after one round all are such, but for what is asked for
// meanwhile.
bool LargeEntries::EvictOneLocked() {
  for (size_t step = 0; step < 3 * kStripes; ++step) {
    Stripe& stripe = stripes_[hand_];
    std::unique_ptr<Entry> entry = TakeFrom(&stripe, [](const Entry& one) {
      return !const_cast<Entry&>(one).recent.exchange(false, std::memory_order_relaxed);
    });
    if (entry != nullptr) {
      Drop(std::move(entry), /*offer=*/true);
      return true;
    }
    hand_ = (hand_ + 1) % kStripes;
  }
  return false;
}

void LargeEntries::Rebalance() {
  const std::lock_guard lock(resize_mutex_);
  while (bytes_.load(std::memory_order_relaxed) > BlocksMax() && EvictOneLocked()) {
  }
  const uint64_t capacity = this->capacity();
  const uint64_t taken = std::min(bytes(), capacity - capacity / kShardsKeep);
  if (std::exchange(shards_have_, capacity - taken) != capacity - taken) owner_->ResizeShards(capacity - taken);
}

}  // namespace mezz
