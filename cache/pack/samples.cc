// SPDX-License-Identifier: Apache-2.0
#include "cache/pack/samples.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <new>

#include "cache/pack/packer.h"

namespace mezz {
namespace {

constexpr unsigned kShareShift = 32;
constexpr unsigned kMeanShift = 8;
// ZDICT needs many samples: a block larger than one in this many of a set is left out.
constexpr size_t kSamplesMin = 8;
constexpr uint32_t kRestFactorMax = 64;

}  // namespace

void Samples::Tried(BlockRole role_of_block, std::span<const std::byte> block, uint16_t dictionary,
                    size_t stored_bytes) {
  Role& role = this->role(role_of_block);
  if (dictionary != 0) NoteShare(role, dictionary, stored_bytes, block.size());
  if (role.tried.fetch_add(1, std::memory_order_relaxed) % rules_.sample_every != 0) return;
  const std::unique_lock lock(role.mutex, std::try_to_lock);
  if (!lock.owns_lock() || !role.collects) return;
  if (role.phase == Phase::kResting) {
    role.rest_bytes -= std::min<uint64_t>(role.rest_bytes, block.size());
    if (role.rest_bytes == 0 && DoesWorse(role)) role.phase = Phase::kCollecting;
  } else if (role.phase == Phase::kCollecting) {
    AddLocked(role, block);
  }
}

// Notes the share of a block. Nothing is noted of a dictionary that is not live any more.
void Samples::NoteShare(Role& role, uint16_t dictionary, size_t stored_bytes, size_t bytes) {
  uint64_t seen = role.live_share.load(std::memory_order_relaxed);
  if (seen >> kShareShift != dictionary) return;
  const auto share = static_cast<uint32_t>(stored_bytes * kWhole / bytes);
  const uint32_t mean = Decayed(static_cast<uint32_t>(seen), share, kMeanShift);
  role.live_share.compare_exchange_weak(seen, uint64_t{dictionary} << kShareShift | mean, std::memory_order_relaxed,
                                        std::memory_order_relaxed);
}

// Whether to train anew: the live dictionary packs worse than it did, or there is none.
bool Samples::DoesWorse(const Role& role) {
  const uint64_t seen = role.live_share.load(std::memory_order_relaxed);
  return seen >> kShareShift == 0 || static_cast<uint32_t>(seen) > role.share_max.load(std::memory_order_relaxed);
}

void Samples::AddLocked(Role& role, std::span<const std::byte> block) {
  if (block.size() > bytes_ / kSamplesMin) return;
  if (role.set.bytes.get() == nullptr && !AllocateLocked(role)) return;
  SampleSet& set = role.set;
  if (set.used + block.size() <= bytes_ && set.sizes.size() < set.sizes.capacity()) {
    std::memcpy(set.bytes.get() + set.used, block.data(), block.size());
    set.used += block.size();
    set.sizes.push_back(block.size());
    return;
  }
  role.phase = Phase::kFull;
  on_full_->Call();
}

bool Samples::AllocateLocked(Role& role) {
  try {
    role.set.sizes.reserve(bytes_ / Packer::kPackBytesMin);
  } catch (const std::bad_alloc&) {
    return false;
  }
  role.set.bytes = UndumpedBuffer(bytes_);
  if (role.set.bytes.get() == nullptr) return false;
  held_bytes_.fetch_add(bytes_, std::memory_order_relaxed);
  return true;
}

void Samples::Collect(bool collects) {
  for (Role& role : roles_) {
    const std::lock_guard lock(role.mutex);
    role.collects = collects;
    if (collects || role.set.bytes.get() == nullptr) continue;
    assert(role.phase == Phase::kCollecting || role.phase == Phase::kFull);
    role.set = SampleSet();
    role.phase = Phase::kCollecting;
    held_bytes_.fetch_sub(bytes_, std::memory_order_relaxed);
  }
}

SampleSet Samples::Take(BlockRole role_of_blocks) {
  Role& role = this->role(role_of_blocks);
  const std::lock_guard lock(role.mutex);
  if (role.phase != Phase::kFull) return {};
  role.phase = Phase::kTraining;
  return std::exchange(role.set, SampleSet());
}

void Samples::Rest(BlockRole role_of_blocks, bool useful) {
  Role& role = this->role(role_of_blocks);
  const std::lock_guard lock(role.mutex);
  assert(role.phase == Phase::kTraining);
  held_bytes_.fetch_sub(bytes_, std::memory_order_relaxed);
  role.rest_factor = useful ? 1 : std::min(2 * role.rest_factor, kRestFactorMax);
  role.rest_bytes = uint64_t{bytes_} * rules_.rest * role.rest_factor;
  role.phase = Phase::kResting;
}

void Samples::Expect(BlockRole role_of_blocks, uint16_t dictionary, uint32_t share) {
  Role& role = this->role(role_of_blocks);
  role.share_max.store(share + share / 10, std::memory_order_relaxed);
  role.live_share.store(uint64_t{dictionary} << kShareShift | share, std::memory_order_relaxed);
}

}  // namespace mezz
